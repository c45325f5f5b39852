//! What the tests share: a repository with a first commit, and the steps of an attempt.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use ralph_host::git::{
    AttemptRef, Changes, Checkpoint, CommitMessage, GitError, LandError, Landed, LedgerPaths,
    OnDirty, Repo, RolledBack, Target,
};
use ralph_host::proc::Runner;
use ralph_testkit::TestProject;

pub(crate) const PLAN: &str = "ralph/plan.jsonl";

static STAGES: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Stage {
    pub(crate) project: TestProject,
    pub(crate) runner: Runner,
    attempts: AtomicU32,
}

impl Stage {
    /// A repository without a commit.
    pub(crate) fn unborn() -> Self {
        let project = ralph_testkit::project!().git_init();
        project.git(["config", "user.name", "Uma User"]).ok();
        project.git(["config", "user.email", "uma@example.com"]).ok();
        let number = STAGES.fetch_add(1, Ordering::Relaxed);
        let run = format!("git-{}-{number}", std::process::id());
        let runner = Runner::with_supervisor(run, env!("CARGO_BIN_EXE_ralph"));
        Self { project, runner, attempts: AtomicU32::new(1) }
    }

    /// A repository with a plan and two files of ten lines, committed.
    pub(crate) fn new() -> Self {
        let stage = Self::unborn();
        stage.write(".gitignore", "/.ralph/logs/\n/.ralph/state.json\n*.ignored\n");
        stage.write(PLAN, "{}\n");
        stage.write("one.txt", lines("one"));
        stage.write("two.txt", lines("two"));
        stage.commit("first");
        stage
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "-m", message]);
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        self.project.write(path, content);
    }

    pub(crate) fn remove(&self, path: impl AsRef<Path>) {
        fs::remove_file(self.project.path(path)).unwrap();
    }

    #[track_caller]
    pub(crate) fn git<'s>(&self, args: impl IntoIterator<Item = &'s str>) -> String {
        self.project.git(args).ok().stdout.trim_end().to_owned()
    }

    pub(crate) fn repo(&self) -> Repo<'_> {
        self.repo_at(self.project.root(), &self.project.path(".git"))
    }

    pub(crate) fn repo_at(&self, root: &Path, git_dir: &Path) -> Repo<'_> {
        Repo::open(root, git_dir, &self.runner, &LedgerPaths::with_plan(PLAN)).unwrap()
    }

    pub(crate) fn attempt(&self) -> AttemptRef {
        let number = self.attempts.fetch_add(1, Ordering::Relaxed);
        AttemptRef { run: "run1".into(), attempt: format!("01ATTEMPT{number:04}") }
    }

    #[track_caller]
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        self.try_checkpoint(OnDirty::Snapshot).unwrap()
    }

    pub(crate) fn try_checkpoint(&self, on_dirty: OnDirty) -> Result<Checkpoint, GitError> {
        let checkpoint = self.repo().checkpoint(&self.attempt(), on_dirty, Target::Head)?;
        // The journal keeps it, so it has to survive being written down.
        let json = serde_json::to_string(&checkpoint).unwrap();
        assert_eq!(serde_json::from_str::<Checkpoint>(&json).unwrap(), checkpoint);
        Ok(checkpoint)
    }

    #[track_caller]
    pub(crate) fn collect(&self, cp: &Checkpoint) -> Changes {
        let changes = self.repo().collect(cp).unwrap();
        let json = serde_json::to_string(&changes).unwrap();
        assert_eq!(serde_json::from_str::<Changes>(&json).unwrap(), changes);
        changes
    }

    pub(crate) fn try_land(&self, cp: &Checkpoint, changes: &Changes) -> Result<Landed, LandError> {
        self.repo().land(cp, changes, &message("ralph[1]: t-1 — done"))
    }

    #[track_caller]
    pub(crate) fn land(&self, cp: &Checkpoint, changes: &Changes) -> Landed {
        self.try_land(cp, changes).unwrap()
    }

    #[track_caller]
    pub(crate) fn roll_back(&self, cp: &Checkpoint, changes: &Changes) -> RolledBack {
        let rolled = self.repo().roll_back(cp, Some(changes)).unwrap();
        assert_eq!(rolled.differences, [], "the tree is not what it was");
        rolled
    }

    /// What the commit HEAD changed: letter and path.
    #[track_caller]
    pub(crate) fn committed(&self) -> Vec<String> {
        let out = self.git(["show", "--format=", "--name-status", "--no-renames", "HEAD"]);
        out.lines().map(|line| line.replace('\t', " ")).collect()
    }

    pub(crate) fn status(&self) -> String {
        self.git(["status", "--porcelain", "-uall"])
    }

    pub(crate) fn head(&self) -> String {
        self.git(["rev-parse", "HEAD"])
    }

    /// Every file, link and empty directory of the working tree.
    pub(crate) fn picture(&self) -> Picture {
        let mut picture = Picture::new();
        look(self.project.root(), self.project.root(), &mut picture);
        picture
    }

    /// What is staged.
    pub(crate) fn staged(&self) -> String {
        self.git(["ls-files", "-s", "-t"])
    }
}

/// Path → rights and content.
pub(crate) type Picture = BTreeMap<PathBuf, (u32, Vec<u8>)>;

fn look(root: &Path, dir: &Path, picture: &mut Picture) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(root).unwrap().to_owned();
        if name == Path::new(".git") {
            continue;
        }
        if meta.is_dir() {
            picture.insert(name, (meta.mode(), Vec::new()));
            look(root, &path, picture);
        } else if meta.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            picture.insert(name, (meta.mode(), target.as_os_str().as_bytes().to_vec()));
        } else {
            picture.insert(name, (meta.mode(), fs::read(&path).unwrap()));
        }
    }
}

pub(crate) fn message(subject: &str) -> CommitMessage {
    let trailers = vec![("Ralph-Task".into(), "t-1".into())];
    CommitMessage { subject: subject.into(), body: String::new(), trailers }
}

/// Ten lines, so that changes at both ends do not touch.
pub(crate) fn lines(word: &str) -> String {
    (1..=10).map(|n| format!("{word} {n}\n")).collect()
}

pub(crate) fn names(paths: &[ralph_host::git::RepoPath]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

pub(crate) fn changed(changes: &Changes) -> Vec<String> {
    changes.paths.iter().map(|c| c.path.to_string()).collect()
}
