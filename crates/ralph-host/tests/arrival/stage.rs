//! What the tests share: home with a first commit, a run with landed commits, and a journal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use ralph_core::cycle::{
    ArrivalLine, ArrivalTarget, ArrivalWait, JournalRecord, LandedAttempt, MissingWorkAnswer,
    TakenOverFile, TipStart,
};
use ralph_host::git::{
    ArrivalError, ArrivalHost, ArrivalOutcome, LedgerMerge, LedgerPaths, Oid, ReplayGateResult,
    Repo,
};
use ralph_host::proc::JobRunner;
use ralph_testkit::TestProject;

pub(crate) const PLAN: &str = "ralph/plan.jsonl";

static STAGES: AtomicU32 = AtomicU32::new(0);

/// Home, the runner and the journal of a run.
pub(crate) struct Stage {
    pub(crate) project: TestProject,
    runner: JobRunner,
    pub(crate) line: ArrivalLine,
    pub(crate) host: TestHost,
    landings: u32,
}

/// A journal in memory, with answers for gates and plans.
pub(crate) struct TestHost {
    pub(crate) records: Vec<JournalRecord>,
    pub(crate) gates: ReplayGateResult,
    pub(crate) gated: Vec<String>,
    pub(crate) accepted: BTreeSet<String>,
}

impl ArrivalHost for TestHost {
    fn record(&mut self, record: JournalRecord) -> Result<(), ArrivalError> {
        // What cannot be read back is lost.
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<JournalRecord>(&json).unwrap(), record);
        self.records.push(record);
        Ok(())
    }

    fn merge_ledger(&mut self, merge: &LedgerMerge<'_>) -> Result<Vec<u8>, ArrivalError> {
        let mut bytes = merge.ours.clone().unwrap_or_default();
        let before = merge.base.clone().unwrap_or_default();
        bytes.extend(merge.theirs.strip_prefix(before.as_slice()).unwrap_or(&merge.theirs));
        Ok(bytes)
    }

    fn gate_replay(&mut self, commit: &Oid) -> Result<ReplayGateResult, ArrivalError> {
        self.gated.push(commit.to_string());
        Ok(self.gates.clone())
    }

    fn accepted_tasks(&mut self, _: &Oid) -> Result<BTreeSet<String>, ArrivalError> {
        Ok(self.accepted.clone())
    }
}

impl Stage {
    /// Home on `main` with a plan and three files, and a tip at the same commit.
    pub(crate) fn new() -> Self {
        let project = TestProject::new("git").git_init();
        for (key, value) in [("user.name", "Uma User"), ("user.email", "uma@example.com")] {
            project.git(["config", key, value]).ok();
        }
        let number = STAGES.fetch_add(1, Ordering::Relaxed);
        let run = format!("run-{}-{number}", std::process::id());
        let runner = JobRunner::with_supervisor(run, std::env::current_exe().unwrap());
        project.write(".gitignore", "*.ignored\n");
        project.write(PLAN, "plan\n");
        for name in ["a.txt", "b.txt", "c.txt"] {
            project.write(name, lines(name));
        }
        let host = TestHost {
            records: Vec::new(),
            gates: ReplayGateResult::Green,
            gated: Vec::new(),
            accepted: BTreeSet::new(),
        };
        let line = ArrivalLine::default();
        let mut stage = Self { project, runner, line, host, landings: 0 };
        stage.commit("first");
        stage.git(["branch", "-M", "main"]);
        stage.start("main", ArrivalTarget::HomeBranch);
        stage
    }

    /// Start the tip at a branch, or at HEAD when there is no such branch.
    pub(crate) fn start(&mut self, branch: &str, target: ArrivalTarget) {
        let at = self.find(&format!("refs/heads/{branch}")).unwrap_or_else(|| self.at("HEAD"));
        let start = TipStart {
            run: "r1".into(),
            branch: branch.into(),
            target,
            arrived: at.clone(),
            tip: at.clone(),
        };
        self.git(["update-ref", "refs/ralph/r1/tip", &at]);
        self.line = ArrivalLine::start(&start, None);
    }

    pub(crate) fn repo(&self) -> Repo<'_> {
        let ledger = LedgerPaths::with_plan(PLAN);
        Repo::open(self.project.root(), &self.project.path(".git"), &self.runner, &ledger).unwrap()
    }

    #[track_caller]
    pub(crate) fn git<'s>(&self, args: impl IntoIterator<Item = &'s str>) -> String {
        self.project.git(args).ok().stdout.trim_end().to_owned()
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        self.project.write(path, content);
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "-m", message]);
    }

    pub(crate) fn at(&self, name: &str) -> String {
        self.git(["rev-parse", "--verify", name])
    }

    pub(crate) fn find(&self, name: &str) -> Option<String> {
        let out = self.project.git(["for-each-ref", "--format=%(objectname)", name]).ok();
        let name = out.stdout.trim().to_owned();
        (!name.is_empty()).then_some(name)
    }

    pub(crate) fn tip(&self) -> String {
        self.at("refs/ralph/r1/tip")
    }

    /// Land a commit on the tip that writes these files, and removes those without content.
    pub(crate) fn land(&mut self, files: &[(&str, Option<&str>)]) -> String {
        self.land_taking(files, &[])
    }

    /// The same with files of home that were taken over as they are now.
    pub(crate) fn land_taking(&mut self, files: &[(&str, Option<&str>)], taken: &[&str]) -> String {
        self.landings += 1;
        let attempt = format!("01ATTEMPT{:04}", self.landings);
        let tip = self.tip();
        self.plumb(&["read-tree", &tip], b"");
        for (path, content) in files {
            match content {
                Some(content) => {
                    let mode = if path.ends_with(".sh") { "100755" } else { "100644" };
                    let blob = self.plumb(&["hash-object", "-w", "--stdin"], content.as_bytes());
                    let entry = format!("{mode},{blob},{path}");
                    self.plumb(&["update-index", "--add", "--cacheinfo", &entry], b"");
                }
                None => drop(self.plumb(&["update-index", "--force-remove", "--", path], b"")),
            }
        }
        let tree = self.plumb(&["write-tree"], b"");
        let message = format!("ralph: {attempt}\n\nRalph-Attempt: {attempt}\n");
        let commit = self.plumb(&["commit-tree", &tree, "-p", &tip], message.as_bytes());
        self.git(["update-ref", "refs/ralph/r1/tip", &commit]);
        let content = |path: &&str| TakenOverFile {
            path: (*path).to_owned(),
            content: self.repo().content_id(&self.project.read_bytes(path)).unwrap().to_string(),
        };
        let landed = LandedAttempt {
            attempt: attempt.clone(),
            commit: Some(commit.clone()),
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
            taken_over: taken.iter().map(content).collect(),
            ..LandedAttempt::default()
        };
        self.line.add(&JournalRecord::Landed(landed), |_| Some(format!("task-{attempt}")));
        commit
    }

    /// Git with a private index, by another author.
    pub(crate) fn plumb(&self, args: &[&str], stdin: &[u8]) -> String {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.project.root());
        command.env("GIT_INDEX_FILE", self.project.path(".git/lane-index"));
        command.env("GIT_AUTHOR_NAME", "Ada Agent").env("GIT_AUTHOR_EMAIL", "ada@example.com");
        command.env("GIT_AUTHOR_DATE", "@1700000000 +0200");
        command
            .env("GIT_COMMITTER_NAME", "Ada Agent")
            .env("GIT_COMMITTER_EMAIL", "ada@example.com");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success(), "git {args:?}");
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    #[track_caller]
    pub(crate) fn arrive(&mut self) -> ArrivalOutcome {
        self.arrive_with(MissingWorkAnswer::Wait)
    }

    #[track_caller]
    pub(crate) fn arrive_with(&mut self, on_missing: MissingWorkAnswer) -> ArrivalOutcome {
        self.act(|repo, line, host| repo.arrive(line, on_missing, host)).unwrap()
    }

    /// Do something with the journal, and follow what it records.
    pub(crate) fn act<T>(
        &mut self,
        work: impl FnOnce(&Repo<'_>, &ArrivalLine, &mut TestHost) -> Result<T, ArrivalError>,
    ) -> Result<T, ArrivalError> {
        let before = self.host.records.len();
        let ledger = LedgerPaths::with_plan(PLAN);
        let git_dir = self.project.path(".git");
        let repo = Repo::open(self.project.root(), &git_dir, &self.runner, &ledger).unwrap();
        let done = work(&repo, &self.line, &mut self.host);
        for record in &self.host.records[before..] {
            self.line.add(record, |_| None);
        }
        done
    }

    /// Arrive completely: the branch is at the tip and nothing waits.
    #[track_caller]
    pub(crate) fn arrives(&mut self) {
        assert_eq!(self.arrive(), ArrivalOutcome::Complete);
        assert!(self.line.is_settled(), "{:?}", self.line);
        assert_eq!(self.at(&format!("refs/heads/{}", self.line.branch)), self.tip());
    }

    /// Try to arrive, and wait.
    #[track_caller]
    pub(crate) fn waits(&mut self) -> ArrivalWait {
        let outcome = self.arrive();
        let ArrivalOutcome::Waits(not) = outcome else { panic!("it arrived") };
        assert!(self.line.open_arrival.is_none() && self.line.wait.as_ref() == Some(&not.why));
        not.why
    }

    pub(crate) fn status(&self) -> Vec<String> {
        let args = ["--no-optional-locks", "status", "--porcelain", "-uall", "--ignored"];
        let status = self.git(args);
        status.lines().map(str::to_owned).collect()
    }

    /// Everything of home that an arrival that waits must not change.
    pub(crate) fn picture(&self) -> Picture {
        let mut files = BTreeMap::new();
        look(self.project.root(), self.project.root(), &mut files);
        let index = fs::read(self.project.path(".git/index")).unwrap();
        let refs = self.git(["for-each-ref", "refs/heads", "refs/stash"]);
        let head = fs::read_to_string(self.project.path(".git/HEAD")).unwrap();
        Picture { files, index, refs, head }
    }

    /// The bytes of the work beside an arrival, with what is staged of it.
    pub(crate) fn beside(&self, paths: &[&str]) -> Vec<(Vec<u8>, String)> {
        let one = |path: &&str| {
            let staged = self.git(["ls-files", "-s", "--", path]);
            (self.project.read_bytes(path), staged)
        };
        paths.iter().map(one).collect()
    }
}

/// Files with their rights, the bytes of the index, and where the refs are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
    pub(crate) index: Vec<u8>,
    refs: String,
    head: String,
}

fn look(root: &Path, dir: &Path, files: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(root).unwrap().to_owned();
        if meta.is_dir() && name != Path::new(".git") {
            look(root, &path, files);
        } else if meta.is_file() {
            files.insert(name, (meta.mode(), fs::read(&path).unwrap()));
        }
    }
}

/// Ten lines, so that changes at both ends do not touch.
pub(crate) fn lines(word: &str) -> String {
    (1..=10).map(|n| format!("{word} {n}\n")).collect()
}

pub(crate) fn edited(paths: &[&str]) -> ArrivalWait {
    ArrivalWait::Edited { paths: paths.iter().map(|path| (*path).to_owned()).collect() }
}
