//! Work that was stopped: killed by a limit, or blocked by its own word.

use super::bench::WorkingPlan;
use super::decompose::depth;
use super::{AppliedChange, EditContext};
use crate::construct::MAX_DEPTH;
use crate::format::{EditError, PlanFormat};
use crate::plan::{Id, Issue, KilledRun, PlanEdit, TaskState, verbs};

/// Mark a task or an issue as killed. A task that was broken down too often is given up instead.
pub fn killed(
    text: &str,
    id: &Id,
    kill: &KilledRun,
    pen: EditContext<'_>,
) -> Result<AppliedChange, EditError> {
    let mut bench = WorkingPlan::new(PlanFormat::Jsonl, text, pen)?;
    if let Some(issue) = bench.plan.issue(id).cloned() {
        bench.edit(PlanEdit::UpdateIssue(Issue { kill: Some(kill.clone()), ..issue }));
        bench.came.killed.push(id.clone());
    } else if bench.plan.task(id).is_some_and(|task| task.state.is_open()) {
        bench.came.killed.push(id.clone());
        if depth(&bench.plan, id) >= MAX_DEPTH {
            let reason = format!(
                "killed ({}), and it was broken down {MAX_DEPTH} times already",
                kill.reason.as_str()
            );
            bench.fail(id, &reason);
        } else {
            bench.change(id, |task| task.state = TaskState::Killed(kill.clone()));
        }
    } else {
        bench.note(format!("{id} was killed and is not open any more"));
    }
    bench.finish()
}

/// A task cannot go on: it waits until the issue that says why is dealt with.
pub fn blocked(
    text: &str,
    id: &Id,
    reason: &str,
    pen: EditContext<'_>,
) -> Result<AppliedChange, EditError> {
    let mut bench = WorkingPlan::new(PlanFormat::Jsonl, text, pen)?;
    match verbs::block(&bench.plan, id, reason) {
        Ok(edits) => {
            let task = bench.plan.task(id).cloned().unwrap_or_default();
            edits.into_iter().for_each(|edit| bench.edit(edit));
            bench.raise(Issue {
                desc: format!("task {id} is blocked: {}: {reason}", task.name),
                spec: task.spec,
                priority: task.priority,
                created_from: Some(id.clone()),
                ..Issue::default()
            });
        }
        Err(refusal) => bench.note(refusal.to_string()),
    }
    bench.finish()
}
