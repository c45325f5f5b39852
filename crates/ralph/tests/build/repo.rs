//! A repository with a plan, gates and a backend that follows a script.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub(crate) use ralph_testkit::until;
use ralph_testkit::{Run, Running, TestProject, project};
use serde_json::Value;

use crate::plans::{Format, Task};

/// What the sim does when all goes well.
pub(crate) const GOOD: &str =
    r#"{ write = "work/{task}.txt", text = "{task} is done\n" }, { claim = "done" }"#;
/// Work that the gate `test` does not let pass.
pub(crate) const BROKEN: &str =
    r#"{ write = "work/{task}.txt", text = "BROKEN\n" }, { claim = "done" }"#;
/// The gate of these repositories: no work is broken.
pub(crate) const GATE: &str = "\
[[gates]]
name = \"test\"
command = \"! grep -rns BROKEN work\"
kind = \"test\"
";

/// What `ralph init` puts into .gitignore, and a directory of the user's own.
const IGNORED: &str = "\
/ralph/.agent-session
/.ralph/state.json
/.ralph/handoffs/
/.ralph/context/
/.ralph/control/
/.ralph/logs/
/.ralph/*.lock
/build/ralph-logs/
.ralph-tmp-*
/ignored/
";

/// A repository in which `ralph build` works.
pub(crate) struct Repo {
    pub(crate) project: TestProject,
    pub(crate) format: Format,
    pub(crate) tasks: Vec<&'static str>,
}

impl Deref for Repo {
    type Target = TestProject;
    fn deref(&self) -> &TestProject {
        &self.project
    }
}

/// A rule of the sim: its conditions, one a line, and what it does. Every run is counted.
pub(crate) fn rule(conditions: &str, steps: &str) -> String {
    let count = r#"{ run = "echo {task} >> \"$HOME/runs\"" }"#;
    format!("[[rule]]\n{conditions}\nsteps = [{count}, {steps}]\n")
}

/// A repository with a plan.jsonl of these tasks, and one commit.
pub(crate) fn repo(tasks: &[Task]) -> Repo {
    Repo::new(project!(), Format::Jsonl, tasks)
}

/// The same with a plan of this format.
pub(crate) fn repo_with(format: Format, tasks: &[Task]) -> Repo {
    Repo::new(project!(), format, tasks)
}

/// A step that makes a file in the home.
pub(crate) fn touch(name: &str) -> String {
    format!(r#"{{ run = "touch \"$HOME/{name}\"" }}"#)
}

/// A step that waits until a file is in the home, but not for ever.
pub(crate) fn wait_for(name: &str) -> String {
    format!(
        r#"{{ run = "i=0; while [ ! -e \"$HOME/{name}\" ] && [ $i -lt 1200 ]; do sleep 0.1; i=$((i+1)); done" }}"#
    )
}

/// Steps of a backend that waits first, until the file `go` is in the home.
pub(crate) fn held(steps: &str) -> String {
    format!("{{ hold = \"~/go\" }}, {steps}")
}

impl Repo {
    /// A repository in this project.
    pub(crate) fn new(project: TestProject, format: Format, tasks: &[Task]) -> Self {
        let scenario = project.home().join("scenario.toml");
        let project = project
            .git_init()
            .env("RALPH_SIM", &scenario)
            .file(".gitignore", IGNORED)
            .file("ralph.toml", format!("backend = \"sim\"\n{GATE}"))
            .file("README.md", "# Work\n")
            .file("src/main.c", "int main(void) { return 0; }\n")
            .file("user/kept.txt", "kept\n")
            .file("user/edited.txt", "one\ntwo\nthree\n")
            .file("user/staged.txt", "one\n")
            .file("user/removed.txt", "gone soon\n")
            .file("user/tool.sh", "#!/bin/sh\n")
            .file(format.path(), format.text(tasks));
        let tasks = tasks.iter().map(|task| task.id).collect();
        let repo = Self { project, format, tasks };
        repo.script(&rule("", GOOD));
        repo.commit("start");
        repo
    }

    /// What the sim follows from now on.
    pub(crate) fn script(&self, rules: &str) -> &Self {
        fs::write(self.home().join("scenario.toml"), rules).unwrap();
        self
    }

    /// Settings in front of the backend and the gate, committed.
    pub(crate) fn set(&self, settings: &str) -> &Self {
        self.config(&format!("{settings}\nbackend = \"sim\"\n{GATE}"))
    }

    /// The whole of ralph.toml, committed.
    pub(crate) fn config(&self, text: &str) -> &Self {
        self.write("ralph.toml", text);
        self.commit("settings");
        self
    }

    /// Commit everything.
    #[track_caller]
    pub(crate) fn commit(&self, message: &str) {
        self.git(["add", "-A"]).ok();
        self.git(["commit", "-q", "--allow-empty", "-m", message]).ok();
    }

    /// Run `ralph build`.
    #[track_caller]
    pub(crate) fn build<const N: usize>(&self, args: [&str; N]) -> Run {
        self.run(["build"].into_iter().chain(args))
    }

    /// Wait until the user's home has this file, which a rule of the sim has made.
    #[track_caller]
    pub(crate) fn until_home_has(&self, name: &str) {
        until(|| self.home().join(name).exists());
    }

    /// Release the backend that waits for this file.
    pub(crate) fn allow(&self, name: &str) {
        std::fs::write(self.home().join(name), "").unwrap();
    }

    /// Send a signal to a process.
    #[track_caller]
    pub(crate) fn signal(&self, word: &str, pid: u32) {
        self.shell(&format!("kill -{word} {pid}")).ok();
    }

    /// Send a signal, and once more when the first one was noticed.
    #[track_caller]
    pub(crate) fn signal_twice(&self, word: &str, run: &Running) {
        self.signal(word, run.pid());
        run.until_prints("Stopping");
        self.signal(word, run.pid());
    }

    /// How often the backend was started, and on which task: the sim's own count.
    pub(crate) fn runs(&self) -> Vec<String> {
        let text = fs::read_to_string(self.home().join("runs")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// What git prints, without the last line end.
    #[track_caller]
    pub(crate) fn ask_git<const N: usize>(&self, args: [&str; N]) -> String {
        self.git(args).ok().stdout.trim_end_matches('\n').to_owned()
    }

    /// The commit that is checked out.
    pub(crate) fn head(&self) -> String {
        self.ask_git(["rev-parse", "HEAD"])
    }

    /// Subjects of all commits, oldest first.
    pub(crate) fn subjects(&self) -> Vec<String> {
        let log = self.ask_git(["log", "--reverse", "--format=%s"]);
        log.lines().map(str::to_owned).collect()
    }

    /// The tasks that commits say they are for, oldest first.
    pub(crate) fn landed(&self) -> Vec<String> {
        let format = "--format=%(trailers:key=Ralph-Task,valueonly,separator=%x2C)";
        let log = self.ask_git(["log", "--reverse", format]);
        log.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// What git says about the tree, the ledger included.
    pub(crate) fn status(&self) -> String {
        self.ask_git(["status", "--porcelain", "--untracked-files=all"])
    }

    /// The text of the plan.
    pub(crate) fn plan(&self) -> String {
        self.read(self.format.path())
    }

    /// The text of the plan of the run that is open, else that of home.
    pub(crate) fn plan_of_run(&self) -> String {
        let runs = fs::read_dir(self.git_dir().join("ralph/runs")).into_iter().flatten();
        let plans = runs.map(|run| run.unwrap().path().join("ledger").join(self.format.path()));
        let open = plans.filter_map(|plan| fs::read_to_string(plan).ok()).next();
        open.unwrap_or_else(|| self.plan())
    }

    /// The plan as JSON.
    #[track_caller]
    pub(crate) fn plan_json(&self) -> Value {
        crate::plans::value(&self.plan())
    }

    /// Whether the plan says that a task is done.
    pub(crate) fn is_done(&self, id: &str) -> bool {
        self.format.says_done(&self.plan(), id)
    }

    /// The state file.
    #[track_caller]
    pub(crate) fn state(&self) -> Value {
        crate::plans::value(&self.read(".ralph/state.json"))
    }

    /// The events of one kind, or all of them.
    #[track_caller]
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        let text = self.read(".ralph/logs/events.jsonl");
        let events = text.lines().map(crate::plans::value);
        events.filter(|event| kind.is_empty() || event["event"] == kind).collect()
    }

    /// The journal, one record a line.
    #[track_caller]
    pub(crate) fn journal(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.git_dir().join("ralph/journal.jsonl")).unwrap();
        // A ralph that was killed leaves room behind the last record.
        text.trim_end_matches('\0').lines().map(crate::plans::value).collect()
    }

    /// A path in the first lane, whether it is there or not.
    pub(crate) fn lane(&self, path: &str) -> PathBuf {
        let lanes = self.home().join(".cache/ralph");
        let pools = fs::read_dir(&lanes).into_iter().flatten().flatten();
        let pool = pools.map(|pool| pool.path()).next().unwrap_or(lanes);
        pool.join("lane-1").join(path)
    }

    /// The git directory of this worktree.
    pub(crate) fn git_dir(&self) -> PathBuf {
        PathBuf::from(self.ask_git(["rev-parse", "--absolute-git-dir"]))
    }

    /// The prompt of an iteration, as the backend got it.
    #[track_caller]
    pub(crate) fn prompt(&self, iteration: u32) -> String {
        let end = format!("-build-{iteration}.prompt.md");
        let mut found = names(&self.path("build/ralph-logs"));
        found.retain(|name| name.ends_with(&end));
        assert_eq!(found.len(), 1, "prompts of iteration {iteration}: {found:?}");
        self.read(Path::new("build/ralph-logs").join(&found[0]))
    }

    /// The report of an iteration's gates.
    #[track_caller]
    pub(crate) fn report(&self, iteration: u32) -> Value {
        crate::plans::value(&self.read(format!(".ralph/logs/validation/iter-{iteration}.json")))
    }

    /// The names of the handoffs.
    pub(crate) fn handoffs(&self) -> Vec<String> {
        names(&self.path(".ralph/handoffs"))
    }

    /// Everything below the root and what is in it, git's own files included.
    pub(crate) fn everything(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.root().to_owned()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                let content = if meta.is_dir() {
                    open.push(path.clone());
                    Vec::new()
                } else if meta.is_symlink() {
                    fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                } else {
                    fs::read(&path).unwrap()
                };
                found.insert(path, (meta.permissions().mode(), content));
            }
        }
        found
    }
}

/// The one task of a repository lands although its agent does something with git in the middle.
pub(crate) fn lands_after_git_fault(repo: &Repo, fault: &str) {
    let steps = format!(
        r#"{{ write = "work/{{task}}.txt", text = "{{task}} is done\n" }}, {{ fault = "{fault}" }}, {{ write = "work/after.txt", text = "x\n" }}, {{ claim = "done" }}"#
    );
    repo.script(&(rule("attempt = 1", &steps) + &rule("", GOOD)));
    repo.build([]).ok();
    assert_eq!(repo.ask_git(["symbolic-ref", "HEAD"]), "refs/heads/main", "{fault}");
    assert_eq!(repo.landed(), ["t-aaa1"], "{fault}: {:?}", repo.subjects());
}

/// What a run said, wherever it said it.
pub(crate) fn said(run: &Run) -> String {
    format!("{}{}", run.stdout, run.stderr)
}

/// A run said this, wherever.
#[track_caller]
pub(crate) fn says(run: &Run, part: &str) {
    let said = said(run);
    assert!(said.contains(part), "it did not say {part:?}:\n{said}");
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).map(|entries| entries.flatten().collect::<Vec<_>>());
    let mut names: Vec<String> = entries
        .unwrap_or_default()
        .into_iter()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
