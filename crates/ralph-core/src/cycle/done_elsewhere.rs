//! Work that was done on another branch than the one that is looked at.

use super::attempts::{AttemptState, AttemptView};
use super::history::History;
use super::record::LandingExtent;
use crate::plan::{Id, Plan, TaskState};
use crate::text::shell_word;

/// Tasks whose work is on another branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoneElsewhere {
    /// The branch that has their work.
    pub branch: String,
    /// The ids of the tasks, in the order in which they landed.
    pub tasks: Vec<String>,
}

impl DoneElsewhere {
    /// Find tasks that `plan` says are still to be done on the branch `here`. A plan without tasks is
    /// compared with the last run.
    pub fn find(history: &History, plan: &Plan, here: &str) -> Vec<Self> {
        let last_run = history.run.as_ref().map(|run| run.run.as_str());
        let is_wanted = |view: &AttemptView| {
            let id = Id::new(view.started.task.as_str());
            match plan.task(&id) {
                Some(task) => matches!(task.state, TaskState::Pending | TaskState::Running),
                None => {
                    let is_of_last_run = Some(view.started.run.as_str()) == last_run;
                    plan.tasks.is_empty() && is_of_last_run && !plan.knows(&id)
                }
            }
        };
        let mut found: Vec<Self> = Vec::new();
        for view in history.attempts.iter().filter(|view| is_complete(view) && is_wanted(view)) {
            let task = &view.started.task;
            // The last landing of a task counts.
            found.iter_mut().for_each(|one| one.tasks.retain(|known| known != task));
            let Some(branch) = view.branch.name().filter(|branch| *branch != here) else {
                continue;
            };
            match found.iter_mut().find(|one| one.branch == branch) {
                Some(one) => one.tasks.push(task.clone()),
                None => found.push(Self { branch: branch.to_owned(), tasks: vec![task.clone()] }),
            }
        }
        found.retain(|one| !one.tasks.is_empty());
        found
    }

    /// Say it, with the command that brings the work.
    pub fn to_sentence(&self) -> String {
        let (names, branch) = (names(&self.tasks), &self.branch);
        let verb = if self.tasks.len() == 1 { "was" } else { "were" };
        format!(
            "{names} {verb} done on branch {branch}; `git merge {}` brings the work to this branch",
            shell_word(branch)
        )
    }
}

fn is_complete(view: &AttemptView) -> bool {
    matches!(view.fate, AttemptState::Landed { landing: LandingExtent::Complete, .. })
}

fn names(tasks: &[String]) -> String {
    match tasks {
        [one] => one.clone(),
        [some @ .., last] if some.len() < 5 => format!("{} and {last}", some.join(", ")),
        more => format!("{} tasks", more.len()),
    }
}
