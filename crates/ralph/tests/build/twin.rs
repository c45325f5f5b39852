//! Comparing a run that was killed with one that was not.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use ralph_testkit::{TestProject, project};

use crate::dirt::{self, Dirt};
use crate::plans::{Format, task};
use crate::repo::{BROKEN, GOOD, Repo, rule, said};

/// The tasks of these runs.
pub(crate) const TASKS: [&str; 10] = [
    "t-aa01", "t-aa02", "t-aa03", "t-aa04", "t-aa05", "t-aa06", "t-aa07", "t-aa08", "t-aa09",
    "t-aa10",
];

/// A repository whose runs are killed, its start, and the user's own work in it.
pub(crate) struct Victim {
    pub(crate) repo: Repo,
    pub(crate) start: String,
    pub(crate) dirt: Option<Dirt>,
}

/// What must be the same however often a run was killed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Result {
    tree: String,
    plan: String,
    landed: Vec<String>,
    files: BTreeMap<String, String>,
}

/// Whether somebody else's work is in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    Clean,
    Dirty,
}

/// Ten tasks; some fail at first, some leave debris. Whatever the number of the attempt, good work is
/// the same bytes: an interrupted attempt must not be told apart by its result.
pub(crate) fn original(tree: Tree) -> Victim {
    let repo = Repo::new(on_memory(), Format::Jsonl, &TASKS.map(task));
    let debris =
        r#"{ half = "src/main.c", text = "int main(void) { return 1; }\n" }, { signal = "kill" }"#;
    repo.script(
        &(rule("task = \"t-aa03\"\nattempt = 1", BROKEN)
            + &rule("task = \"t-aa06\"\nattempt = 1", debris)
            + &rule("", GOOD)),
    );
    let dirt = (tree == Tree::Dirty).then(|| dirt::make(&repo));
    let start = repo.head();
    Victim { repo, start, dirt }
}

/// A project on a file system in memory where there is one: these tests write a great deal.
fn on_memory() -> TestProject {
    let shm = Path::new("/dev/shm");
    if !shm.is_dir() {
        return project!();
    }
    // The directory must outlive the project, which removes only what it made itself.
    let place = tempfile::Builder::new().prefix("ralph-test-").tempdir_in(shm);
    match place {
        Ok(place) => TestProject::in_room(env!("CARGO_BIN_EXE_ralph"), place),
        Err(_) => project!(),
    }
}

impl Result {
    /// It is the same as another one.
    #[track_caller]
    pub(crate) fn is(&self, expected: &Self, what: &str) {
        assert_eq!(self.plan, expected.plan, "{what}: the plan");
        assert_eq!(self.tree, expected.tree, "{what}: the tree");
        assert_eq!(self, expected, "{what}");
    }
}

impl Victim {
    /// A copy, times and modes included, so that git sees what it saw here.
    pub(crate) fn copy(&self) -> Self {
        let project = on_memory();
        let scenario = project.home().join("scenario.toml");
        let project = project.env("RALPH_SIM", scenario);
        for (from, to) in [(self.repo.root(), project.root()), (self.repo.home(), project.home())] {
            let done = Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().unwrap();
            assert!(done.success());
        }
        let repo = Repo { project, format: self.repo.format, tasks: self.repo.tasks.clone() };
        // The copy has other inodes: let git's cache learn them, as it would on any machine.
        repo.git(["update-index", "-q", "--refresh"]);
        let dirt = self.dirt.is_some().then(|| dirt::look(&repo));
        Self { repo, start: self.start.clone(), dirt }
    }

    /// Start ralph again: it ends by itself and says that all is done.
    #[track_caller]
    pub(crate) fn restart(&self, what: &str) {
        let run = self.repo.build([]);
        assert_eq!(run.code, 0, "{what}: the restart failed\n{}", said(&run));
    }

    /// Everything that must hold at the end, and what must be as in another run.
    #[track_caller]
    pub(crate) fn result(&self, what: &str) -> Result {
        crate::processes::none_is_left(self.repo.home());
        if let Some(dirt) = &self.dirt {
            assert_eq!(dirt::look(&self.repo), *dirt, "{what}: the user's work changed");
            dirt.is_untouched(&self.repo, &self.start);
        }
        let mut landed = self.repo.landed();
        landed.sort();
        assert_eq!(landed, TASKS, "{what}: each task lands exactly once");
        let work = TASKS.iter().map(|id| {
            let path = format!("work/{id}.txt");
            (path.clone(), self.repo.read(&path))
        });
        Result {
            tree: self.repo.ask_git([
                "ls-tree",
                "-r",
                "HEAD",
                "--",
                "src",
                "user",
                "work",
                "README.md",
                "ralph.toml",
            ]),
            plan: plan(&self.repo.plan()),
            landed,
            files: work.collect(),
        }
    }
}

/// The plan without what is about the failures on the way: a crash may add to them. The order of
/// records is that of landing, which a crash does not change.
fn plan(text: &str) -> String {
    let records = crate::plans::records(text);
    let kept = records.into_iter().filter(|r| r["t"] != "reject").map(|mut record| {
        for field in ["at", "done_at"] {
            if !record[field].is_null() {
                record[field] = "…".into();
            }
        }
        record.to_string()
    });
    kept.collect::<Vec<_>>().join("\n")
}
