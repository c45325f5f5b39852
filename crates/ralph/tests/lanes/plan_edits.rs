//! The person's edits of the plan: tasks that are added, and a status given by hand.

use std::fs;

use serde_json::Value;

use crate::person::{Person, git};
use crate::repo::until;

/// Most tasks that a person adds during a run: each is one more attempt.
const MOST_ADDED: usize = 1;

const PLAN: &str = "plan.json";

impl Person {
    /// Add a task to home's plan, and leave it there, stage it or commit it.
    pub(crate) fn add_task(&mut self) {
        if self.branch() != "main" || self.added.len() == MOST_ADDED {
            return;
        }
        let id = format!("t-zz{:02}", self.count);
        let way = self.chance.of(&["leave", "stage", "commit"]);
        self.note(&format!("add {id} to the plan, and {way} it"));
        self.change_plan(|tasks| {
            if tasks.iter().all(|task| task["id"] != id.as_str()) {
                let mut task = tasks[0].clone();
                task["id"] = id.as_str().into();
                task["title"] = format!("Do {id}").into();
                task["status"] = "pending".into();
                tasks.push(task);
            }
        });
        self.added.push(id);
        self.plan_is_edited = true;
        let message = format!("plan {}", self.count);
        match way {
            "stage" => drop(self.in_home(&["add", PLAN])),
            // With an arrival in between there is nothing left to commit.
            "commit" => drop(self.in_home(&["commit", "-q", "-m", &message, "--", PLAN])),
            _ => {}
        }
    }

    /// Skip a task that is to be done, or have one done again that is.
    pub(crate) fn give_status(&mut self) {
        if self.branch() != "main" {
            return;
        }
        let place = self.chance.below(3);
        let (mut told, mut id) = (String::new(), String::new());
        self.change_plan(|tasks| {
            let task = &mut tasks[usize::try_from(place).unwrap()];
            let status = if task["status"] == "pending" { "skipped" } else { "pending" };
            task["status"] = status.into();
            told = format!("{} is {status}", task["id"]);
            id = task["id"].as_str().unwrap().to_owned();
        });
        if told.ends_with("pending") {
            self.reopened.push(id);
        }
        self.note(&format!("in the plan: {told}"));
        (self.gave_status, self.plan_is_edited) = (true, true);
    }

    /// Edit the tasks of home's plan until the edit is there: an editor tells when a file changed under it.
    fn change_plan(&self, mut change: impl FnMut(&mut Vec<Value>)) {
        let path = self.home.join(PLAN);
        let mut done = None;
        until(|| {
            self.until_unlocked();
            // Git removes a file before it writes it anew.
            let now = fs::read_to_string(&path).unwrap_or_default();
            if done.as_ref() == Some(&now) {
                return true;
            }
            if let Ok(mut plan) = serde_json::from_str::<Value>(&now) {
                change(plan["tasks"].as_array_mut().unwrap());
                let text = format!("{plan:#}\n");
                fs::write(&path, &text).unwrap();
                done = Some(text);
            }
            false
        });
    }

    /// Whether home's plan has an edit of the person's that is not committed.
    pub(crate) fn has_edited_plan(&mut self) -> bool {
        if self.plan_is_edited {
            let args = ["--no-optional-locks", "status", "--porcelain", "--", PLAN];
            self.plan_is_edited = !git(&self.home, &args).said.is_empty();
        }
        self.plan_is_edited
    }
}
