//! Actions on tasks and issues, with the checks that keep a plan consistent.
//!
//! Each action looks at the plan and returns edits or a [`VerbRefusal`]. Nothing here writes a file.

use super::edit::{PlanEdit, Retirement};
use super::lookup::PlanLookup;
use super::model::{Id, Issue, Plan, Task, TaskState, TaskStateName};
use crate::word_enum::word_enum;

word_enum! {
    /// What somebody asks to be done to a task, as a participle.
    TaskVerb {
        /// Claim that it is done.
        MarkDone = "marked done",
        /// Take it as verified.
        Accept = "accepted",
        /// Find the work wanting.
        Reject = "rejected",
        /// Leave it out.
        Skip = "skipped",
        /// Take it out of the plan.
        Delete = "deleted",
        /// Say that it cannot go on.
        Block = "blocked",
        /// Try it again.
        Retry = "retried",
        /// Give it up.
        Fail = "failed",
    }
}

/// Why a verb does not apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerbRefusal {
    #[error("no task {0}")]
    NoTask(Id),
    #[error("no issue {0}")]
    NoIssue(Id),
    /// The task has left the plan.
    #[error("task {id} was {} and is no longer in the plan", .fate.as_str())]
    Buried {
        id: Id,
        /// The state in which it left.
        fate: TaskStateName,
    },
    /// The action is not possible in the task's state.
    #[error("task {id} is {}, so it cannot be {}", .state.as_str(), .verb.as_str())]
    WrongState {
        id: Id,
        /// Where it stands.
        state: TaskStateName,
        /// What was asked for.
        verb: TaskVerb,
    },
    /// Other tasks depend on the task.
    #[error("task {id} is needed by {}", list(.by))]
    Needed {
        id: Id,
        /// Tasks that depend on it.
        by: Vec<Id>,
    },
    /// The words that were given make no sense.
    #[error("{0}")]
    Invalid(String),
}

fn list(ids: &[Id]) -> String {
    ids.iter().map(Id::as_str).collect::<Vec<_>>().join(", ")
}

fn live<'p>(plan: &'p Plan, id: &Id) -> Result<&'p Task, VerbRefusal> {
    if let Some(task) = plan.task(id) {
        return Ok(task);
    }
    Err(match PlanLookup::new(plan).tombstone(id) {
        Some(stone) => VerbRefusal::Buried { id: id.clone(), fate: stone.kind.state() },
        None => VerbRefusal::NoTask(id.clone()),
    })
}

fn wrong_state(task: &Task, verb: TaskVerb) -> VerbRefusal {
    VerbRefusal::WrongState { id: task.id.clone(), state: task.state.name(), verb }
}

/// The task is claimed to be done. Formats that do not tell claimed from verified take it as
/// accepted.
pub fn done(plan: &Plan, id: &Id, at: &str) -> Result<Vec<PlanEdit>, VerbRefusal> {
    let task = live(plan, id)?;
    if !task.state.is_open() {
        return Err(wrong_state(task, TaskVerb::MarkDone));
    }
    if !plan.format.knows_claims() {
        return Ok(vec![retire(id, Retirement::Accepted, None, at)]);
    }
    Ok(vec![PlanEdit::UpdateTask(Task {
        state: TaskState::Done,
        done_at: Some(at.to_owned()),
        reject: None,
        ..task.clone()
    })])
}

/// Accept a task that is claimed done. It leaves the live plan.
pub fn accept(plan: &Plan, id: &Id, at: &str) -> Result<Vec<PlanEdit>, VerbRefusal> {
    let task = live(plan, id)?;
    if task.state != TaskState::Done {
        return Err(wrong_state(task, TaskVerb::Accept));
    }
    Ok(vec![retire(id, Retirement::Accepted, None, at)])
}

/// All claimed tasks in scope are verified.
pub fn accept_all(plan: &Plan, at: &str) -> Vec<PlanEdit> {
    plan.scoped_tasks()
        .filter(|t| t.state == TaskState::Done)
        .map(|t| retire(&t.id, Retirement::Accepted, None, at))
        .collect()
}

/// Reject the work of a task, so that it is pending again.
///
/// The task must be claimed done, or accepted in formats that do not tell the two apart.
pub fn reject(plan: &Plan, id: &Id, reason: &str, at: &str) -> Result<Vec<PlanEdit>, VerbRefusal> {
    let task = live(plan, id)?;
    let rejectable = match task.state {
        TaskState::Done => true,
        TaskState::Accepted => !plan.format.knows_claims(),
        _ => false,
    };
    if !rejectable {
        return Err(wrong_state(task, TaskVerb::Reject));
    }
    if reason.trim().is_empty() {
        return Err(VerbRefusal::Invalid("a rejection needs a reason".into()));
    }
    Ok(vec![PlanEdit::Reject { id: id.clone(), reason: reason.to_owned(), at: at.to_owned() }])
}

/// Skip a task: leave it out on purpose.
pub fn skip(
    plan: &Plan,
    id: &Id,
    reason: Option<&str>,
    at: &str,
) -> Result<Vec<PlanEdit>, VerbRefusal> {
    let task = live(plan, id)?;
    if matches!(task.state, TaskState::Accepted | TaskState::Skipped) {
        return Err(wrong_state(task, TaskVerb::Skip));
    }
    Ok(vec![retire(id, Retirement::Skipped, reason, at)])
}

/// Take the task out of the file. Done work stays, and so does what others need.
pub fn delete(
    plan: &Plan,
    id: &Id,
    reason: Option<&str>,
    at: &str,
) -> Result<Vec<PlanEdit>, VerbRefusal> {
    let task = live(plan, id)?;
    if matches!(task.state, TaskState::Done | TaskState::Accepted) {
        return Err(wrong_state(task, TaskVerb::Delete));
    }
    let by: Vec<Id> =
        plan.tasks.iter().filter(|t| t.deps.contains(id)).map(|t| t.id.clone()).collect();
    if !by.is_empty() {
        return Err(VerbRefusal::Needed { id: id.clone(), by });
    }
    Ok(vec![retire(id, Retirement::Deleted, reason, at)])
}

/// Block an open task, because it cannot go on.
pub fn block(plan: &Plan, id: &Id, reason: &str) -> Result<Vec<PlanEdit>, VerbRefusal> {
    let task = live(plan, id)?;
    if !task.state.is_open() {
        return Err(wrong_state(task, TaskVerb::Block));
    }
    Ok(vec![PlanEdit::UpdateTask(Task {
        state: TaskState::Blocked(reason.to_owned()),
        ..task.clone()
    })])
}

/// Try again: whatever stopped the task is forgotten, its retries are counted from zero, and a
/// failed or skipped task comes back.
pub fn retry(plan: &Plan, id: &Id) -> Result<Vec<PlanEdit>, VerbRefusal> {
    let fresh = |task: &Task| Task { state: TaskState::Pending, retries: 0, ..task.clone() };
    let back = match plan.task(id) {
        Some(task) => match task.state {
            TaskState::Pending if task.retries == 0 => {
                return Err(wrong_state(task, TaskVerb::Retry));
            }
            TaskState::Done | TaskState::Accepted => {
                return Err(wrong_state(task, TaskVerb::Retry));
            }
            _ => PlanEdit::UpdateTask(fresh(task)),
        },
        None => match PlanLookup::new(plan).tombstone(id).and_then(|t| t.task.as_deref()) {
            Some(task) => PlanEdit::AddTask { task: fresh(task), after: None },
            None => {
                return Err(live(plan, id)
                    .err()
                    .unwrap_or_else(|| VerbRefusal::NoTask(id.clone())));
            }
        },
    };
    // The issues that took the place of what stopped it.
    let issues = plan.issues.iter().filter(|issue| issue.created_from.as_ref() == Some(id));
    let issues = issues.map(|issue| PlanEdit::RemoveIssue(issue.id.clone()));
    Ok(std::iter::once(back).chain(issues).collect())
}

/// Give up on the task. Where failed tasks leave the plan, an issue takes its place.
pub fn fail(
    plan: &Plan,
    id: &Id,
    reason: &str,
    at: &str,
    issue: Id,
) -> Result<Vec<PlanEdit>, VerbRefusal> {
    let task = live(plan, id)?;
    if !task.state.is_open() && task.state != TaskState::Done {
        return Err(wrong_state(task, TaskVerb::Fail));
    }
    let mut edits = vec![retire(id, Retirement::Failed, Some(reason), at)];
    if plan.format.buries_tasks() {
        edits.push(PlanEdit::AddIssue(Issue {
            id: issue,
            desc: format!("task {id} failed: {}: {reason}", task.name),
            spec: task.spec.clone(),
            priority: task.priority,
            created_from: Some(id.clone()),
            ..Issue::default()
        }));
    }
    Ok(edits)
}

/// The issue was dealt with. Tasks that were blocked because of it can go on.
pub fn resolve_issue(plan: &Plan, id: &Id) -> Result<Vec<PlanEdit>, VerbRefusal> {
    let issue = plan.issue(id).ok_or_else(|| VerbRefusal::NoIssue(id.clone()))?;
    let mut edits = vec![PlanEdit::RemoveIssue(id.clone())];
    let blocked = issue.created_from.as_ref().and_then(|task| plan.task(task));
    if let Some(task) = blocked
        && matches!(task.state, TaskState::Blocked(_))
    {
        edits.push(PlanEdit::UpdateTask(Task { state: TaskState::Pending, ..task.clone() }));
    }
    Ok(edits)
}

fn retire(id: &Id, how: Retirement, reason: Option<&str>, at: &str) -> PlanEdit {
    PlanEdit::Retire { id: id.clone(), how, reason: reason.map(str::to_owned), at: at.to_owned() }
}
