//! INVESTIGATE: issues become tasks, or are out of scope.

use std::collections::BTreeSet;

use super::bench::{WorkingPlan, short, unique};
use super::mint::{DuplicateScope, TaskCreation, waiting_for};
use super::verify::MOST_CREATED;
use super::{AppliedChange, EditContext};
use crate::construct::answer::{Investigation, InvestigationOutcome};
use crate::construct::similar::WordSet;
use crate::cycle::ScopeRuling;
use crate::format::{EditError, PlanFormat};
use crate::plan::{Id, Issue, LookedUpTask, PlanEdit, PlanLookup, Task, TaskState};

/// Put what was found out into the plan. Issues without an answer stay.
pub fn investigated(
    text: &str,
    findings: &[(Id, Investigation)],
    pen: EditContext<'_>,
) -> Result<AppliedChange, EditError> {
    let mut bench = WorkingPlan::new(PlanFormat::Jsonl, text, pen)?;
    let mut seen = BTreeSet::new();
    for (id, finding) in findings {
        let Some(issue) = bench.plan.issue(id).cloned().filter(|_| seen.insert(id)) else {
            bench.note(format!("{id} is no open issue; what was found out about it is dropped"));
            continue;
        };
        match finding.outcome {
            InvestigationOutcome::Tasks => {
                let most = MOST_CREATED.saturating_sub(bench.came.created.len());
                if most == 0 {
                    bench.note(format!("{id} waits for the next iteration: enough new tasks"));
                    continue;
                }
                let like = like(&issue);
                let how = TaskCreation {
                    like: &like,
                    instead_of: None,
                    against: DuplicateScope::Unverified,
                    most,
                };
                let ids = bench.mint(&finding.tasks, &how);
                bench.release(&issue, &ids);
            }
            InvestigationOutcome::OutOfScope => {
                bench.note(format!("{id} is out of scope: {}", short(&finding.reason)));
                let (issue, reason) = (issue.desc, finding.reason.clone());
                bench.came.ruled_out.push(ScopeRuling { issue, reason });
            }
        }
        bench.edit(PlanEdit::RemoveIssue(id.clone()));
        bench.came.resolved.push(id.clone());
    }
    bench.finish()
}

/// Return a task with the fields that new tasks inherit from an issue.
pub(super) fn like(issue: &Issue) -> Task {
    Task {
        spec: issue.spec.clone(),
        priority: issue.priority,
        created_from: Some(issue.id.clone()),
        ..Task::default()
    }
}

impl WorkingPlan<'_> {
    /// The task that an issue is about can go on after the new ones; what waited for one that was
    /// given up waits for the new ones instead.
    pub(super) fn release(&mut self, issue: &Issue, new: &[Id]) {
        let Some(from) = &issue.created_from else { return };
        let fate = match PlanLookup::new(&self.plan).fate(from) {
            LookedUpTask::Live(task) if !self.in_scope(task) => None,
            LookedUpTask::Live(task) => matches!(task.state, TaskState::Blocked(_)).then_some(true),
            LookedUpTask::Failed => Some(false),
            _ => None,
        };
        // What waits for the task already would wait for itself.
        let waiting = waiting_for(&self.plan, Some(from));
        let free = |id: &&Id| *id != from && !waiting.contains(*id);
        let free: Vec<Id> = new.iter().filter(free).cloned().collect();
        match fate {
            Some(true) => self.change(from, |task| {
                task.state = TaskState::Pending;
                task.deps = unique(task.deps.drain(..).chain(free).collect());
            }),
            Some(false) if !new.is_empty() => self.repoint(from, &free),
            _ => {}
        }
    }
}

/// Of several issues that say the same, the first stays, with the highest priority of them.
pub fn merge_issues(text: &str, pen: EditContext<'_>) -> Result<AppliedChange, EditError> {
    let mut bench = WorkingPlan::new(PlanFormat::Jsonl, text, pen)?;
    let mut kept: Vec<(Issue, WordSet)> = Vec::new();
    let mut gone = Vec::new();
    for issue in bench.plan.scoped_issues().filter(|issue| issue.kill.is_none()) {
        let words = WordSet::new(&issue.desc);
        let same = |(other, known): &&mut (Issue, WordSet)| {
            known.similar(&words)
                && (other.created_from == issue.created_from || issue.created_from.is_none())
        };
        match kept.iter_mut().find(same) {
            Some((first, _)) => {
                first.priority = [first.priority, issue.priority].into_iter().flatten().min();
                gone.push((issue.id.clone(), first.id.clone()));
            }
            None => kept.push((issue.clone(), words)),
        }
    }
    for (id, first) in gone {
        bench.note(format!("{id} says the same as {first}"));
        bench.came.resolved.push(id.clone());
        bench.edit(PlanEdit::RemoveIssue(id));
    }
    for (issue, _) in kept {
        if bench.plan.issue(&issue.id).is_some_and(|old| *old != issue) {
            bench.edit(PlanEdit::UpdateIssue(issue));
        }
    }
    bench.finish()
}
