//! Queries on a history: about a task, a run or the next iteration.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attempts::{AttemptState, AttemptView};
use super::history::History;
use super::judge::{AttemptFailure, FREE_CRASHES, FailureKind, Proof};
use super::record::{AmendmentRecord, AttemptStart, BackendEnd, LandingExtent};
use super::run_record::{RunCommand, RunStart};
use crate::plan::{AmendmentOutcome, Plan, Task, TaskState};

/// A change of the plan by an agent, as reports and the page show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmendmentRow {
    /// Time of the change, RFC 3339.
    pub at: String,
    /// Number of the attempt.
    pub iteration: u32,
    /// The task that the agent worked on.
    pub by_task: String,
    /// Change that the agent made or wanted to make.
    #[serde(flatten)]
    pub outcome: AmendmentOutcome,
    /// Outcome in words for people.
    pub words: String,
}

impl History {
    /// The number of the next attempt: a new one, unless the last attempt met a usage limit and is
    /// simply made again.
    pub fn next_iteration(&self) -> u32 {
        match self.attempts.last() {
            Some(AttemptView { started, fate: AttemptState::Limited, .. }) => started.iteration,
            _ => self.iteration.saturating_add(1),
        }
    }

    /// Notes of the operator for the prompt that is made now: those of the attempt under way, or
    /// those that wait for the next one.
    pub fn notes_for_prompt(&self) -> &[String] {
        if self.open.is_some() { &self.given } else { &self.notes }
    }

    /// Return the number of times in a row that this task was only researched.
    pub fn researched(&self, task: &str) -> u32 {
        match &self.researched {
            Some((last, times)) if last == task => *times,
            _ => 0,
        }
    }

    /// Whether the knowledge index may be tried again: the more updates had to be undone in a row,
    /// the longer it waits, so that an agent that cannot do it does not use up the money.
    pub fn may_index(&self) -> bool {
        self.undone.as_ref().is_none_or(|undone| {
            let since = self.unindexed.iterations.saturating_sub(undone.unindexed);
            since + 1 >= undone.times
        })
    }

    /// The failure that an interruption of this task is: forgiven a few times, then counted.
    pub fn interruption(&self, task: &str, message: &str) -> AttemptFailure {
        AttemptFailure::interrupted(self.crashes_of(task), message)
    }

    pub(super) fn crashes_of(&self, task: &str) -> u32 {
        self.crashes.get(task).copied().unwrap_or(0)
    }

    /// Attempts on a task, oldest first.
    pub fn of_task<'h>(
        &'h self,
        task: &'h str,
    ) -> impl DoubleEndedIterator<Item = &'h AttemptView> {
        self.attempts.iter().filter(move |view| view.started.task == task)
    }

    /// Whether one more crash during this task is forgiven.
    pub fn crash_is_free(&self, task: &str) -> bool {
        self.crashes_of(task) < FREE_CRASHES
    }

    /// Attempts of the last run, oldest first.
    pub fn of_run(&self) -> impl DoubleEndedIterator<Item = &AttemptView> {
        let run = self.run.as_ref().map(|r| r.run.as_str()).unwrap_or_default();
        self.attempts.iter().filter(move |view| view.started.run == run)
    }

    /// The last landing of each task of the plan in scope that is done and that no gate proves, oldest
    /// first, since the last run that ended complete; none where the last run may end with it.
    pub fn unproven(&self, plan: &Plan) -> Vec<&AttemptView> {
        let counts = |run: &RunStart| run.command == RunCommand::Build && !run.allow_unproven;
        if !self.run.as_ref().is_some_and(counts) {
            return Vec::new();
        }
        let tasks = plan.all_tasks();
        let is_done = |task: &&Task| {
            plan.in_scope(task.spec.as_deref())
                && matches!(task.state, TaskState::Accepted | TaskState::Done)
        };
        let done: BTreeSet<&str> = tasks.iter().filter(is_done).map(|t| t.id.as_str()).collect();
        let mut seen = BTreeSet::new();
        let landed = self.attempts.iter().skip(self.work_from).rev().filter(|view| {
            matches!(view.fate, AttemptState::Landed { .. })
                && seen.insert(view.started.task.as_str())
        });
        let mut unproven: Vec<&AttemptView> = landed
            .filter(|view| matches!(view.fate, AttemptState::Landed { proof: Proof::Unproven, .. }))
            .filter(|view| done.contains(view.started.task.as_str()))
            .collect();
        unproven.reverse();
        unproven
    }

    /// Find the attempt with this id.
    pub fn attempt(&self, id: &str) -> Option<&AttemptView> {
        self.attempts.iter().rev().find(|view| view.started.attempt == id)
    }

    /// Attempts of the last run, or of its last construct, oldest first.
    pub fn of_loop(&self) -> impl DoubleEndedIterator<Item = &AttemptView> {
        self.attempts.iter().skip(self.loop_from)
    }

    /// Every change of the plan by an agent, oldest first.
    pub fn amendments(&self) -> impl DoubleEndedIterator<Item = AmendmentRow> {
        amendment_rows(&self.amended)
    }

    /// Those since the last run that ended complete, oldest first.
    pub fn open_amendments(&self) -> impl DoubleEndedIterator<Item = AmendmentRow> {
        amendment_rows(self.amended.get(self.amended_from..).unwrap_or_default())
    }

    /// Return the failures on this task since it last landed, newest last.
    /// A new attempt must not repeat these approaches.
    pub fn failures<'h>(&'h self, task: &'h str) -> Vec<(&'h AttemptView, &'h AttemptFailure)> {
        let mut found: Vec<_> = self
            .of_task(task)
            .rev()
            .take_while(|view| !matches!(view.fate, AttemptState::Landed { .. }))
            .filter_map(|view| match &view.fate {
                AttemptState::Failed { failure, .. }
                    if failure.kind != FailureKind::Interrupted =>
                {
                    Some((view, failure))
                }
                _ => None,
            })
            .collect();
        found.reverse();
        found
    }

    /// Whether the task's failure before this attempt still waits for an answer: the attempt gave none.
    pub fn has_unread_failure(&self, attempt: &AttemptStart) -> bool {
        let answered =
            self.of_task(&attempt.task).rev().find(|view| view.started.attempt == attempt.attempt);
        let answered = answered.and_then(|view| view.backend.as_ref());
        attempt.retries > 0 && !answered.is_some_and(BackendEnd::has_answer)
    }

    /// Return the number of times that a task landed in part since it last landed whole.
    pub fn partial_landings(&self, task: &str) -> usize {
        let landings = self.of_task(task).rev().filter_map(|view| match view.fate {
            AttemptState::Landed { landing, .. } => Some(landing),
            _ => None,
        });
        landings.take_while(|landing| *landing == LandingExtent::Partial).count()
    }

    /// Whether the last landing of a task was a part of it.
    pub fn partly_done(&self, task: &str) -> bool {
        self.partial_landings(task) > 0
    }
}

fn amendment_rows(
    amended: &[(String, AmendmentRecord)],
) -> impl DoubleEndedIterator<Item = AmendmentRow> {
    amended.iter().flat_map(|(at, amended)| {
        amended.outcomes.iter().map(|outcome| AmendmentRow {
            at: at.clone(),
            iteration: amended.iteration,
            by_task: amended.task.clone(),
            outcome: outcome.clone(),
            words: outcome.to_string(),
        })
    })
}
