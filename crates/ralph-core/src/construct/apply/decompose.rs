//! DECOMPOSE: killed work becomes smaller work.

use std::collections::BTreeSet;

use super::bench::{WorkingPlan, short};
use super::investigate;
use super::mint::{DuplicateScope, TaskCreation, check_new_parts};
use super::{AppliedChange, EditContext};
use crate::construct::answer::{Decomposition, SUBTASKS};
use crate::construct::{MAX_DEPTH, similar};
use crate::format::{EditError, PlanFormat};
use crate::plan::{
    Id, Issue, KillReason, KilledRun, Plan, PlanEdit, PlanLookup, Retirement, Task, TaskState,
};

/// Return the number of times that work was broken down to get to this task.
/// Ancestors are found by the records that they left in the plan.
pub fn depth(plan: &Plan, id: &Id) -> usize {
    let lookup = PlanLookup::new(plan);
    let mut seen = BTreeSet::new();
    let mut here = id.clone();
    loop {
        let live = lookup.task(&here);
        let buried = || lookup.tombstone(&here).and_then(|stone| stone.task.as_deref());
        let parent = live.or_else(buried).and_then(|task| task.parent.clone());
        match parent {
            Some(parent) if seen.insert(here) => here = parent,
            _ => return seen.len(),
        }
    }
}

/// Put the parts of a killed task or issue in its place.
pub fn decomposed(
    text: &str,
    id: &Id,
    parts: &Decomposition,
    pen: EditContext<'_>,
) -> Result<AppliedChange, EditError> {
    let mut bench = WorkingPlan::new(PlanFormat::Jsonl, text, pen)?;
    if let Some(task) = bench.plan.task(id).cloned() {
        split_task(&mut bench, &task, parts)?;
    } else if let Some(issue) = bench.plan.issue(id).cloned() {
        split_issue(&mut bench, &issue, parts);
    } else {
        bench.note(format!("{id} is not in the plan any more; its parts are dropped"));
    }
    bench.finish()
}

fn split_task(
    bench: &mut WorkingPlan<'_>,
    task: &Task,
    parts: &Decomposition,
) -> Result<(), EditError> {
    let TaskState::Killed(kill) = &task.state else {
        bench.note(format!("{} is {}, so it is not broken down", task.id, task.state.word()));
        return Ok(());
    };
    if depth(&bench.plan, &task.id) >= MAX_DEPTH {
        bench.fail(&task.id, &format!("it was broken down {MAX_DEPTH} times already"));
        return Ok(());
    }
    let like = Task {
        parent: Some(task.id.clone()),
        notes: Some(origin(task, kill, &parts.reason)),
        ..task.clone()
    };
    let most = *SUBTASKS.end();
    let how = TaskCreation {
        like: &like,
        instead_of: Some(&task.id),
        against: DuplicateScope::Unverified,
        most,
    };
    if let Err(why) = check_new_parts(&bench.plan, task, &parts.tasks) {
        bench.note(format!("{} is not broken down: {why}", task.id));
        return Ok(());
    }
    let ids = bench.mint(&parts.tasks, &how);
    bench.repoint(&task.id, &ids);
    let list: Vec<&str> = ids.iter().map(Id::as_str).collect();
    bench.edit(PlanEdit::Retire {
        id: task.id.clone(),
        how: Retirement::Deleted,
        reason: Some(format!("broken down into {}", list.join(", "))),
        at: bench.pen.at.to_owned(),
    });
    bench.came.split.push(task.id.clone());
    Ok(())
}

/// Describe the origin of a part, for the agent that works on it.
fn origin(task: &Task, kill: &KilledRun, reason: &str) -> String {
    let what = match kill.reason {
        KillReason::Timeout => "ran out of time",
        KillReason::ContextLimit => {
            "filled its context; keep long output out of it (quiet flags, `tail`)"
        }
    };
    let mut text = format!("Part of {} (“{}”), which {what}.", task.id, short(&task.name));
    if !reason.trim().is_empty() {
        text.push_str(&format!(" It got stuck here: {}", crate::text::clip(reason.trim(), 1_000)));
    }
    text
}

fn split_issue(bench: &mut WorkingPlan<'_>, issue: &Issue, parts: &Decomposition) {
    let like = investigate::like(issue);
    let most = *SUBTASKS.end();
    let how =
        TaskCreation { like: &like, instead_of: None, against: DuplicateScope::Unverified, most };
    let ids = if parts.tasks.is_empty() { Vec::new() } else { bench.mint(&parts.tasks, &how) };
    for part in parts.issues.iter().take(most) {
        if !part.desc.trim().is_empty() && !similar(&part.desc, &issue.desc) {
            bench.raise(Issue { desc: part.desc.clone(), kill: None, ..issue.clone() });
        }
    }
    if ids.is_empty() && bench.came.raised.is_empty() {
        return again(bench, issue, "nothing narrower came of it");
    }
    // While a narrower issue is open, what is blocked stays so.
    if bench.came.raised.is_empty() {
        bench.release(issue, &ids);
    }
    bench.edit(PlanEdit::RemoveIssue(issue.id.clone()));
    bench.came.split.push(issue.id.clone());
}

/// Nobody could break it down: a task is given up, an issue is investigated again.
pub fn give_up(
    text: &str,
    id: &Id,
    reason: &str,
    pen: EditContext<'_>,
) -> Result<AppliedChange, EditError> {
    let mut bench = WorkingPlan::new(PlanFormat::Jsonl, text, pen)?;
    if bench.plan.task(id).is_some() {
        bench.fail(id, reason);
    } else if let Some(issue) = bench.plan.issue(id).cloned() {
        again(&mut bench, &issue, reason);
    } else {
        bench.note(format!("{id} is not in the plan any more"));
    }
    bench.finish()
}

fn again(bench: &mut WorkingPlan<'_>, issue: &Issue, reason: &str) {
    bench.note(format!("{} is investigated again: {}", issue.id, short(reason)));
    bench.edit(PlanEdit::UpdateIssue(Issue { kill: None, ..issue.clone() }));
}
