//! Which task is meant when nobody says, and how a refusal is put.

use ralph_core::plan::{
    DependencyTrust, Id, Plan, Task, TaskState, TaskStateName, TaskVerb, VerbRefusal, runnable,
};
use ralph_core::text::nearest;

use crate::error::CommandError;
use crate::out;

/// The task that `task done` without an id means: the one that a loop works on (`working`, or marked
/// so in the plan), else the only one that is open, or that can run.
pub(super) fn only_open(plan: &Plan, working: Option<Id>) -> Result<Id, CommandError> {
    let open: Vec<&Task> = plan.scoped_tasks().filter(|t| t.state.is_open()).collect();
    if let Some(id) = working {
        return Ok(id);
    }
    let marked: Vec<&Task> =
        open.iter().copied().filter(|task| task.state == TaskState::Running).collect();
    match (&marked[..], &open[..]) {
        ([task], _) | ([], [task]) => Ok(task.id.clone()),
        ([], []) => Err(CommandError::new("no task is open, so there is nothing to mark as done")
            .hint("`ralph task list` shows them all")),
        ([], open) => match runnable(plan, DependencyTrust::Claimed)[..] {
            [task] => Ok(task.id.clone()),
            _ => Err(choose("several tasks are open", "task done ID", open)),
        },
        (marked, _) => Err(choose("several tasks are running", "task done ID", marked)),
    }
}

pub(super) fn only_done(plan: &Plan, reason: &str) -> Result<Id, CommandError> {
    if plan.task(&Id::new(reason)).is_some() {
        return Err(CommandError::usage(format!("a reason is missing for {reason}")).hint(
            format!("for example: ralph task reject {reason} \"no test for the empty file\""),
        ));
    }
    let claimed = |t: &&Task| match t.state {
        TaskState::Done => true,
        TaskState::Accepted => !plan.format.knows_claims(),
        _ => false,
    };
    let done: Vec<&Task> = plan.scoped_tasks().filter(claimed).collect();
    match done[..] {
        [task] => Ok(task.id.clone()),
        [] => Err(CommandError::new("no task is done, so there is nothing to reject")),
        _ => Err(choose("several tasks are done", "task reject ID REASON", &done)),
    }
}

fn choose(why: &str, usage: &str, tasks: &[&Task]) -> CommandError {
    const MOST: usize = 20;
    let mut error = CommandError::new(format!("{why}; say which task: ralph {usage}"));
    for task in tasks.iter().take(MOST) {
        error =
            error.hint(format!("{}  {}  {}", task.id, task.state.word(), out::clean(&task.name)));
    }
    if tasks.len() > MOST {
        error = error.hint(format!("… and {} more: ralph task list", tasks.len() - MOST));
    }
    error
}

/// A refusal with what to do about it.
pub(crate) fn refused(refusal: &VerbRefusal, plan: &Plan) -> CommandError {
    let hint = match refusal {
        VerbRefusal::NoTask(id) => {
            Some(match nearest(id.as_str(), plan.tasks.iter().map(|t| t.id.as_str())) {
                Some(near) => format!("did you mean {near}?"),
                None => "`ralph task list` shows them".to_owned(),
            })
        }
        VerbRefusal::NoIssue(_) => Some("`ralph issue list` shows them".to_owned()),
        VerbRefusal::Buried { id, fate: TaskStateName::Failed | TaskStateName::Skipped } => {
            Some(format!("`ralph task retry {id}` brings it back"))
        }
        VerbRefusal::WrongState {
            id,
            state: TaskStateName::Pending | TaskStateName::Running,
            verb: TaskVerb::Accept | TaskVerb::Reject,
        } => Some(format!("`ralph task done {id}` comes first")),
        VerbRefusal::Needed { .. } => {
            Some("change or delete those first, or skip this one".to_owned())
        }
        _ => None,
    };
    CommandError::new(refusal.to_string()).maybe_hint(hint)
}
