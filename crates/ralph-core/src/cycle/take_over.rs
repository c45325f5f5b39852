//! A person's edits of ledger files in home while a run works on its own copy.
//!
//! New tasks, issues and text are always taken over. A status that reopens a task whose work has landed
//! is not believed: an old file came back, by a stash, a checkout or a reset. Each function is pure and
//! gives the new text of the run's copy with remarks for the person.

use std::collections::BTreeSet;

use crate::format::{codec, detect};
use crate::merge::{
    MergedPlan, PlanChange, PlanMergeError, PlanSides, StatusRule, merge_plan, merge_text,
};
use crate::plan::{Id, PlanEdit};

/// A ledger file in home, and the run's copy of it.
#[derive(Clone, Copy, Debug)]
pub struct HomeEdit<'a> {
    /// The file as people call it.
    pub shown: &'a str,
    /// Text of the run's own copy.
    pub copy: &'a str,
    /// Home's text as it was last taken over or arrived; `None`: there was no file.
    pub seen: Option<&'a str>,
    /// Current text of the file in home.
    pub home: &'a str,
}

/// The new text of the run's copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenOverText {
    /// The text; `None`: home's file is left alone, and its edit waits.
    pub text: Option<String>,
    /// Messages for the user, one line each.
    pub remarks: Vec<String>,
}

impl TakenOverText {
    fn left_alone(remark: String) -> Self {
        Self { text: None, remarks: vec![remark] }
    }
}

/// Take over a person's edit of the plan. `landed` are the tasks whose complete landing is journalled,
/// is in the tip, and was not reopened since; `at` is the time for records of the past.
pub fn take_over_plan(edit: &HomeEdit<'_>, landed: &BTreeSet<Id>, at: &str) -> TakenOverText {
    let shown = edit.shown;
    if edit.home.trim().is_empty() && !edit.copy.trim().is_empty() {
        return TakenOverText::left_alone(format!("{shown} is empty and is left alone"));
    }
    let sides = PlanSides { name: shown, base: edit.seen, ours: edit.copy, theirs: edit.home };
    match merge_plan(sides, StatusRule::TheirsUnlessLanded(landed), at) {
        Ok(MergedPlan { text, changes }) => {
            // What git brought is here already, by a switch of branches or an arrival.
            let told = taken_over(shown, &changes).filter(|_| text != edit.copy);
            let mut remarks: Vec<String> = told.into_iter().collect();
            remarks.extend(changes.iter().filter_map(|change| refusal(shown, change)));
            TakenOverText { text: Some(text), remarks }
        }
        Err(PlanMergeError::Ours(e)) => {
            TakenOverText::left_alone(format!("the run's copy of {shown} cannot be read: {e}"))
        }
        Err(why) => TakenOverText::left_alone(format!("{shown} is left alone: {why}")),
    }
}

/// Take over a person's edit of the knowledge index or the progress log: no line of theirs is lost.
pub fn take_over_text(edit: &HomeEdit<'_>) -> TakenOverText {
    let (shown, seen) = (edit.shown, edit.seen.unwrap_or_default());
    match merge_text(shown, seen, edit.copy, edit.home) {
        Some(text) => {
            let is_new = text != edit.copy;
            let told = is_new.then(|| format!("took over your edit of {shown}"));
            let remarks = told.into_iter().collect();
            TakenOverText { text: Some(text), remarks }
        }
        None => TakenOverText::left_alone(format!("{shown} is left alone: it is not valid JSON")),
    }
}

/// The line that lists what was taken over, if anything was.
fn taken_over(shown: &str, changes: &[PlanChange]) -> Option<String> {
    let words = changes.iter().filter_map(|change| match change {
        PlanChange::TaskAdded(id) => Some(format!("new task {id}")),
        PlanChange::TaskChanged(id) => Some(format!("changed task {id}")),
        PlanChange::TaskDeleted(id) => Some(format!("deleted task {id}")),
        PlanChange::IssueChanged(id) => Some(format!("issue {id}")),
        _ => None,
    });
    let words: Vec<String> = words.collect();
    let refused = changes.iter().any(|change| refusal(shown, change).is_some());
    match words.is_empty() {
        false => Some(format!("took over your edit of {shown}: {}", words.join(", "))),
        true if refused => None,
        true => Some(format!("took over your edit of {shown}")),
    }
}

fn refusal(shown: &str, change: &PlanChange) -> Option<String> {
    match change {
        PlanChange::StatusRefused { id, said } => Some(format!(
            "{shown}: {id} is {said} there, but its work has landed; `ralph task retry {id}` does it again"
        )),
        PlanChange::DeletionRefused(id) => {
            Some(format!("{shown}: {id} is missing there, but its work is done, so it stays"))
        }
        PlanChange::TaskLeftPlan(id) => Some(format!(
            "{shown}: your change of {id} is left out: it was accepted and has left the plan"
        )),
        _ => None,
    }
}

/// The plan of a commit that is replayed onto a branch: the branch's plan with the statuses of the work
/// that the commit contains.
///
/// `parent` is the plan of the commit's own parent, which tells the commit's changes from the branch's;
/// without it every status of the commit counts. The work of `missing` tasks is not in the branch.
pub fn merged_ledger(
    name: &str,
    parent: Option<&str>,
    branch: &str,
    commit: &str,
    missing: &BTreeSet<Id>,
    at: &str,
) -> Result<String, PlanMergeError> {
    let sides = PlanSides { name, base: parent, ours: commit, theirs: branch };
    Ok(merge_plan(sides, StatusRule::OursUnlessMissing(missing), at)?.text)
}

/// The plan of a commit in which the work of `open` tasks is not: they have the status that they have in
/// the plan `before` it, or are pending.
pub fn without_open_work(
    name: &str,
    before: &str,
    plan: &str,
    open: &BTreeSet<Id>,
    at: &str,
) -> Result<String, PlanMergeError> {
    let sides = PlanSides { name, base: Some(before), ours: plan, theirs: before };
    Ok(merge_plan(sides, StatusRule::OursUnlessOpen(open), at)?.text)
}

/// The plan of another branch with the new tasks, issues and text of home's.
pub fn with_new_tasks(name: &str, branch: &str, home: &str) -> Result<String, PlanMergeError> {
    let format = detect(name, branch).map_err(PlanMergeError::Ours)?;
    let other = detect(name, home).map_err(PlanMergeError::Theirs)?;
    if other != format {
        return Err(PlanMergeError::Format { before: format, now: other });
    }
    let codec = codec(format);
    let known = codec.parse(branch).map_err(PlanMergeError::Ours)?;
    let new = codec.parse(home).map_err(PlanMergeError::Theirs)?;
    let tasks = new.tasks.iter().filter(|task| !known.knows(&task.id) && task.state.is_open());
    let tasks = tasks.map(|task| PlanEdit::AddTask { task: task.clone(), after: None });
    let issues = new.issues.iter().filter(|issue| !known.knows(&issue.id));
    let edits: Vec<PlanEdit> = tasks.chain(issues.cloned().map(PlanEdit::AddIssue)).collect();
    codec.edit(branch, &edits).map_err(|_| PlanMergeError::Irreconcilable)
}

#[cfg(test)]
#[path = "take_over_tests.rs"]
mod tests;
