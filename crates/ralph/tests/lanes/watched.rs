//! What ralph writes in home, seen by a watcher of files: its own ignored files and arrivals, and nothing
//! else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use crate::dirt;
use crate::plans::{Format, Task, task};
use crate::repo::{BROKEN, GOOD, Repo, repo_with, rule, said};

/// Attempts of an agent that works where it is told, badly.
const BAD: [&str; 5] = [
    BROKEN,
    r#"{ fault = "lie" }"#,
    r#"{ half = "src/main.c", text = "int main(void) { return 1; }\n" }, { signal = "kill" }"#,
    r#"{ write = "src/x.c", text = "x\n" }, { exit = 0 }"#,
    r#"{ delete = "user" }, { delete = "src" }, { signal = "abort" }"#,
];

/// Attempts of an agent that works against its user with git.
pub(crate) const HOSTILE: [&str; 6] = [
    r#"{ run = "git checkout -- . ; git clean -fdxq; git reset -q --hard" }, { claim = "done" }"#,
    r#"{ run = "echo x > src/x.c; git add -A; git commit -qm mine; git branch evil; git tag evil" }, { claim = "none" }"#,
    r#"{ run = "echo x >> src/main.c; git stash -q -u; git gc -q --prune=now" }, { claim = "done" }"#,
    r#"{ run = "git config core.worktree /; git config core.hooksPath /tmp; rm -rf .git" }, { claim = "done" }"#,
    r#"{ run = "rm -rf ./* .git* .ralph; rm -rf \"$PWD\"" }, { claim = "done" }"#,
    r#"{ run = "git checkout -q -b elsewhere; git update-ref -d refs/heads/main; echo > .gitignore; git rebase --root" }, { claim = "none" }"#,
];

/// A write to a path.
#[derive(Debug)]
struct Written {
    path: PathBuf,
    /// Whether something appeared there: made, or moved there.
    is_new: bool,
}

/// A watcher of everything in a folder.
struct Watched {
    events: Receiver<notify::Result<Event>>,
    root: PathBuf,
    _watcher: RecommendedWatcher,
}

impl Watched {
    fn start(root: &Path) -> Self {
        let (sender, events) = channel();
        let mut watcher = notify::recommended_watcher(sender).unwrap();
        watcher.watch(root, RecursiveMode::Recursive).unwrap();
        Self { events, root: root.to_owned(), _watcher: watcher }
    }

    /// Everything that was written since the start, relative to the folder, in order.
    fn written(&self) -> Vec<Written> {
        // A write of our own is the last one, so everything before it is here.
        let end = self.root.join(".git/end-of-watch");
        std::fs::write(&end, "").unwrap();
        let mut written = Vec::new();
        loop {
            let event = self.events.recv().unwrap().unwrap();
            assert!(!event.need_rescan(), "the watcher lost events");
            let reads = match event.kind {
                EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
                EventKind::Access(_) => true,
                // The two events of a rename, once more as one.
                EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => true,
                _ => false,
            };
            if event.paths.contains(&end) {
                std::fs::remove_file(&end).unwrap();
                while !matches!(self.events.recv().unwrap().unwrap().kind, EventKind::Remove(_)) {}
                return written;
            }
            if !reads {
                let is_new = matches!(
                    event.kind,
                    EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(RenameMode::To))
                );
                let inside = |path: &PathBuf| path.strip_prefix(&self.root).unwrap().to_owned();
                let paths = event.paths.iter().map(inside);
                written.extend(paths.map(|path| Written { path, is_new }));
            }
        }
    }
}

/// Whether ralph may write here at any time.
fn is_ralphs(repo: &Repo, path: &Path) -> bool {
    // `packed-refs.lock` is taken by every git that removes a ref, also one of ralph's own.
    let git = [".git/ralph", ".git/objects", ".git/refs/ralph", ".git/packed-refs.lock"];
    if path.starts_with(".git") {
        return git.iter().any(|folder| path.starts_with(folder))
            || [Path::new(".git"), Path::new(".git/refs")].contains(&path);
    }
    let ledger = [".ralph", "ralph", "build/ralph-logs"];
    if !ledger.iter().any(|folder| path.starts_with(folder) || Path::new(folder).starts_with(path))
    {
        return false;
    }
    let shown = path.display().to_string();
    repo.path(path).is_dir() || repo.git(["check-ignore", "-q", &shown]).code == 0
}

/// Files in the git directory that git writes when commits arrive.
const OF_ARRIVAL: [&str; 11] = [
    ".git/AUTO_MERGE.lock",
    ".git/index",
    ".git/index.lock",
    ".git/HEAD.lock",
    ".git/ORIG_HEAD",
    ".git/ORIG_HEAD.lock",
    ".git/logs/HEAD",
    ".git/logs/refs/heads/main",
    ".git/refs/heads",
    ".git/refs/heads/main",
    ".git/refs/heads/main.lock",
];

/// What was written that is neither ralph's nor part of an arrival that the journal announces.
fn strange(repo: &Repo, written: &[Written]) -> BTreeSet<PathBuf> {
    let mut known: BTreeSet<PathBuf> = BTreeSet::new();
    for intent in arrivals(repo) {
        let paths = intent["paths"].as_array().cloned().unwrap_or_default();
        for path in paths.iter().map(|path| PathBuf::from(path.as_str().unwrap())) {
            known.extend(path.ancestors().map(Path::to_owned));
        }
        known.extend(OF_ARRIVAL.iter().map(PathBuf::from));
    }
    let all: BTreeSet<&PathBuf> = written.iter().map(|one| &one.path).collect();
    all.into_iter().filter(|p| !known.contains(*p) && !is_ralphs(repo, p)).cloned().collect()
}

/// The arrivals that the journal announces.
pub(crate) fn arrivals(repo: &Repo) -> Vec<serde_json::Value> {
    let journal = repo.journal().into_iter();
    journal.filter(|record| record["record"] == "arrival_intent").collect()
}

const IDS: [&str; 17] = [
    "t-aa01", "t-aa02", "t-aa03", "t-aa04", "t-aa05", "t-aa06", "t-aa07", "t-aa08", "t-aa09",
    "t-aa10", "t-aa11", "t-aa12", "t-aa13", "t-aa14", "t-aa15", "t-aa16", "t-aa17",
];

/// Rules by which each task fails twice in its own way.
fn failures() -> String {
    let mut rules = String::new();
    let ways: Vec<&str> = BAD.into_iter().chain(HOSTILE).collect();
    for (n, id) in IDS.iter().enumerate() {
        for attempt in 0..2 {
            let way = ways[(2 * n + attempt) % ways.len()];
            let conditions = format!("task = \"{id}\"\nattempt = {}", attempt + 1);
            rules += &rule(&conditions, way);
        }
    }
    rules
}

/// Good work, when there is a task: a question about a missing claim gets no answer.
fn good() -> String {
    rule("when = \"## Current Task\"", GOOD)
}

#[test]
fn failing_crashing_and_hostile_attempts_write_nothing_in_home() {
    let tasks: Vec<Task> = IDS.into_iter().map(task).collect();
    let repo = repo_with(Format::Deluxe, &tasks);
    repo.set("max_retries = 1\ncommit_ledger = \"never\"");
    repo.script(&failures());
    let dirt = dirt::make(&repo);
    let before = repo.read_bytes(".git/index");
    let watched = Watched::start(repo.root());
    let mut run = repo.build([]).fails(3);
    for _ in 0..IDS.len() {
        // The breaker has tripped, and a person starts it again.
        if repo.runs().len() < 2 * IDS.len() {
            run = repo.build([]).fails(3);
        }
    }
    let written = watched.written();
    assert_eq!(arrivals(&repo), Vec::<serde_json::Value>::new(), "{}", said(&run));
    assert_eq!(repo.runs().len(), 34, "{}", said(&run));
    let mut strange = strange(&repo, &written);
    // A ledger that is never committed is written to home once, at the end.
    strange.remove(Path::new("plan.json"));
    strange.retain(|path| !path.display().to_string().starts_with(".ralph-tmp-"));
    assert_eq!(strange, BTreeSet::new(), "{}", said(&run));
    assert_eq!(repo.read_bytes(".git/index"), before);
    assert_eq!(dirt::look(&repo), dirt);
}

#[test]
fn fifty_attempts_write_in_home_what_arrives_and_nothing_else() {
    let tasks: Vec<Task> = IDS.into_iter().map(task).collect();
    let repo = repo_with(Format::Deluxe, &tasks);
    // A watcher sees what is in a new folder only from the moment in which it has seen the folder.
    repo.write("work/README.md", "# Work\n");
    repo.commit("a folder");
    repo.script(&(failures() + &good()));
    let dirt = dirt::make(&repo);
    let start = repo.head();
    let watched = Watched::start(repo.root());
    let run = repo.build(["--max-iterations", "60"]).ok();
    let written = watched.written();
    assert_eq!(repo.runs().len(), 51, "{}", said(&run));
    assert_eq!(strange(&repo, &written), BTreeSet::new(), "{}", said(&run));
    // One index for each arrival, and each file that arrived was written once.
    let count =
        |path: &str| written.iter().filter(|one| one.is_new && one.path == Path::new(path)).count();
    assert_eq!((arrivals(&repo).len(), count(".git/index")), (17, 17), "{}", said(&run));
    assert!(IDS.iter().all(|id| count(&format!("work/{id}.txt")) == 1), "{written:?}");
    dirt.is_untouched(&repo, &start);
    assert_eq!(repo.landed().len(), 17);
}
