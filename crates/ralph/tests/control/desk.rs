//! A repository whose backend waits until a test lets it go on, and a loop in it.

use std::fs;
use std::ops::Deref;

use ralph_testkit::Running;
use serde_json::Value;

use crate::plans::task;
use crate::repo::{GOOD, Repo, repo, rule, until};

/// The backend says that it is there, and waits for the file `go`.
pub(crate) const WAITS: &str =
    r#"{ run = "touch \"$HOME/there\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.02; done" }"#;

/// A repository with two tasks, in real time.
pub(crate) struct Desk(pub(crate) Repo);

impl Deref for Desk {
    type Target = Repo;
    fn deref(&self) -> &Repo {
        &self.0
    }
}

/// A backend that waits in every attempt and then does its work.
pub(crate) fn desk() -> Desk {
    let repo = repo(&["t-aaa1", "t-aaa2"].map(task));
    repo.script(&rule("", &format!("{WAITS}, {GOOD}")));
    Desk(Repo { project: repo.project.real_time(), ..repo })
}

impl Desk {
    /// A loop whose backend is at work.
    pub(crate) fn at_work(&self) -> Running {
        let run = self.spawn(["build"]);
        until(|| self.home().join("there").exists());
        run
    }

    /// Let the backend, and all after it, go on.
    pub(crate) fn go(&self) {
        fs::write(self.home().join("go"), "").unwrap();
    }

    /// The journal's records of this kind; none when there is no journal yet.
    pub(crate) fn records(&self, kind: &str) -> Vec<Value> {
        let text = fs::read(self.git_dir().join("ralph/journal.jsonl")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let whole = text.split('\0').next().unwrap_or_default();
        let lines = whole.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let records = lines.map(crate::plans::value);
        records.filter(|record| record["record"] == kind).collect()
    }

    /// How often the journal has this command.
    pub(crate) fn carried_out(&self, command: &str) -> usize {
        self.records("command").iter().filter(|record| record["command"] == command).count()
    }

    /// Wait until the loop has taken this command.
    #[track_caller]
    pub(crate) fn taken(&self, command: &str) {
        until(|| self.carried_out(command) > 0);
    }

    /// What still waits in the queue.
    pub(crate) fn pending(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path(".ralph/control/commands.json"));
        let value: Value = serde_json::from_str(&text.unwrap_or_else(|_| "{}".into())).unwrap();
        value["pending"].as_array().cloned().unwrap_or_default()
    }

    /// Write the queue as a stranger would: at once, and without asking anybody.
    pub(crate) fn write_queue(&self, text: &str) {
        fs::create_dir_all(self.path(".ralph/control")).unwrap();
        fs::write(self.path(".ralph/control/new"), text).unwrap();
        fs::rename(self.path(".ralph/control/new"), self.path(".ralph/control/commands.json"))
            .unwrap();
    }

    /// The word of the state file.
    pub(crate) fn status_word(&self) -> String {
        let text = fs::read_to_string(self.path(".ralph/state.json")).unwrap_or_default();
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        value["status"].as_str().unwrap_or_default().to_owned()
    }
}
