//! What stays of a plan that was edited by hand while a backend ran.
//!
//! New words stay, where a person may have written also changed ones, and as many new tasks and issues as an attempt may add. Nothing goes away, no state
//! changes, no past is made up. Where more was done than can be taken back piece by piece, the plan is
//! put back as a whole and the new tasks are added to it again.

use crate::format::{PlanCodec, PlanFormat, codec, detect};
use crate::plan::{Issue, Plan, PlanConfig, PlanEdit, PlanGate, Task, TaskState};

/// Plan after the forbidden changes were undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconciledPlan {
    /// The plan as it is to be.
    pub text: String,
    /// Number of new tasks and issues in the text.
    pub added: usize,
    /// Changes that were undone, one line each.
    pub undone: Vec<String>,
}

/// Treatment of words of a progress file that were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedWords {
    /// The backend's own file: agents like to return a document with other or fewer words.
    Undo,
    /// A file in which a person writes, too: only a document that got shorter is put back.
    Keep,
}

/// What stays of `after`, given what the plan was `before`; at most `most` new tasks and issues do.
/// `None`: it cannot be read, or tells of a past that was not, so nothing of it stays.
pub fn reconcile(
    name: &str,
    before: &str,
    after: &str,
    most: usize,
    words: ChangedWords,
) -> Option<ReconciledPlan> {
    let codec = codec(detect(name, before).ok()?);
    let (old, new) = (codec.parse(before).ok()?, codec.parse(after).ok()?);
    let added = AddedItems::between(&old, &new);
    let mut undone = changed_states(&old, &new);
    undone.extend(added.beyond(most));
    if old.format == PlanFormat::Progress && old.says_done != new.says_done {
        undone.push("the status line was changed".into());
    }
    let settings = settings(&old) != settings(&new);
    if settings {
        undone.push("its gates, settings or current spec were changed".into());
    }
    let is_shorter = words == ChangedWords::Undo || after.lines().count() < before.lines().count();
    let shortened = old.format == PlanFormat::Progress && is_shorter && lost(before, after);
    if shortened && undone.is_empty() {
        undone.push("text was taken out".into());
    }
    let whole = shortened || settings || old.says_done != new.says_done || added.count() > most;
    let text = if whole {
        with_added(codec, before, &added, most)?
    } else {
        piece_by_piece(codec, &old, &new, after)?
    };
    codec.parse(&text).ok()?;
    Some(ReconciledPlan { text, added: added.count().min(most), undone })
}

/// Return the gates, the settings and the current spec of a plan.
fn settings(plan: &Plan) -> (&[PlanGate], PlanConfig, Option<&str>) {
    let config = PlanConfig { line: 0, ..plan.config.clone() };
    (&plan.gates, config, plan.current_spec.as_deref())
}

/// Whether a text is a progress file in which this task is ticked: an agent's own way to say that it
/// is done.
pub fn is_ticked(name: &str, text: &str, task: &Task) -> bool {
    let Some(format) = detect(name, text).ok().filter(|f| *f == PlanFormat::Progress) else {
        return false;
    };
    let plan = codec(format).parse(text).ok();
    plan.is_some_and(|plan| plan.task(&task.id).is_some_and(|t| t.state == TaskState::Accepted))
}

/// Tasks and issues that only the new plan has.
struct AddedItems<'p> {
    tasks: Vec<&'p Task>,
    issues: Vec<&'p Issue>,
}

impl<'p> AddedItems<'p> {
    fn between(old: &Plan, new: &'p Plan) -> Self {
        Self {
            tasks: new.tasks.iter().filter(|task| old.task(&task.id).is_none()).collect(),
            issues: new
                .issues
                .iter()
                .filter(|issue| old.issues.iter().all(|known| known.id != issue.id))
                .collect(),
        }
    }

    fn count(&self) -> usize {
        self.tasks.len() + self.issues.len()
    }

    /// Describe the added tasks and issues beyond the limit, if there are any.
    fn beyond(&self, most: usize) -> Option<String> {
        let names = self.tasks.iter().map(|t| t.name.as_str());
        let names = names.chain(self.issues.iter().map(|i| i.desc.as_str()));
        let left: Vec<String> = names.skip(most).map(|name| format!("\"{name}\"")).collect();
        (!left.is_empty())
            .then(|| format!("more than {most} tasks and issues were added: {}", left.join(", ")))
    }
}

/// Describe the forbidden changes of old tasks: removal, another state or other retries.
fn changed_states(old: &Plan, new: &Plan) -> Vec<String> {
    let told = |task: &Task| match new.task(&task.id) {
        None => Some(format!("{} was taken out", task.id)),
        Some(now) if now.state != task.state => {
            let word = match now.state {
                TaskState::Accepted => "done",
                _ => now.state.word(),
            };
            Some(format!("{} was marked {word}", task.id))
        }
        Some(now) if now.retries != task.retries => {
            Some(format!("the retries of {} were changed", task.id))
        }
        Some(_) => None,
    };
    old.tasks.iter().filter_map(told).collect()
}

/// The new text with the old states in it.
fn piece_by_piece(codec: &dyn PlanCodec, old: &Plan, new: &Plan, after: &str) -> Option<String> {
    // A record of the past that ralph did not write is no past.
    if new.tombstones != old.tombstones || new.accepted_specs != old.accepted_specs {
        return None;
    }
    let mut edits = Vec::new();
    for task in &old.tasks {
        match new.task(&task.id) {
            None => edits.push(PlanEdit::AddTask { task: task.clone(), after: None }),
            Some(now) if now.state != task.state || now.retries != task.retries => {
                let (state, retries) = (task.state.clone(), task.retries);
                edits.push(PlanEdit::UpdateTask(Task { state, retries, ..now.clone() }));
            }
            Some(_) => {}
        }
    }
    let claimed = |t: &&Task| old.task(&t.id).is_none() && !t.state.is_open();
    if new.tasks.iter().any(|t| claimed(&t)) || edits.iter().any(reburies) {
        return None;
    }
    if edits.is_empty() { Some(after.to_owned()) } else { codec.edit(after, &edits).ok() }
}

/// Finished tasks are put back as they were, not by an edit.
fn reburies(edit: &PlanEdit) -> bool {
    match edit {
        PlanEdit::UpdateTask(task) | PlanEdit::AddTask { task, .. } => !task.state.is_open(),
        _ => false,
    }
}

/// Whether words of a document went away, ticks left out: agents like to return it shorter.
fn lost(before: &str, after: &str) -> bool {
    let words = |text: &str| text.replace("[x]", "[ ]").replace("[X]", "[ ]");
    let (before, after) = (words(before), words(after));
    let mut left = after.lines();
    before.lines().any(|line| !left.any(|other| other == line))
}

/// The plan as it was, and the first new things that may stay.
fn with_added(
    codec: &dyn PlanCodec,
    before: &str,
    added: &AddedItems<'_>,
    most: usize,
) -> Option<String> {
    let open = added.tasks.iter().filter(|task| task.state == TaskState::Pending);
    let tasks = open.map(|task| PlanEdit::AddTask { task: (*task).clone(), after: None });
    let issues = added.issues.iter().map(|issue| PlanEdit::AddIssue((*issue).clone()));
    let edits: Vec<PlanEdit> = tasks.chain(issues).take(most).collect();
    if edits.is_empty() { Some(before.to_owned()) } else { codec.edit(before, &edits).ok() }
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
