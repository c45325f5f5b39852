//! The stage of a plan: computed, never stored.

use std::fmt;

use serde::Serialize;

use super::lookup::DependencyTrust;
use super::model::{Issue, Plan, Task, TaskState};
use super::select::{Obstacle, obstacles, runnable};
use crate::word_enum::word_enum;

word_enum! {
    /// Next stage of construct for a plan.
    Stage {
        /// Break down tasks and issues whose run was killed.
        Decompose = "DECOMPOSE",
        Investigate = "INVESTIGATE",
        Build = "BUILD",
        /// Check what is claimed to be done.
        Verify = "VERIFY",
        /// No work is left.
        Complete = "COMPLETE",
        /// Work is left, and none of it can go on.
        Blocked = "BLOCKED",
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Task or issue that a stage works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum StageItem<'p> {
    /// A task to build, verify or break down.
    Task(&'p Task),
    /// An issue to investigate or break down.
    Issue(&'p Issue),
    /// A task that cannot go on, and why.
    Stuck {
        #[serde(flatten)]
        task: &'p Task,
        /// Obstacle that keeps the task from running.
        why: Obstacle,
    },
}

/// The stage of the records in scope.
pub fn stage(plan: &Plan) -> Stage {
    next(plan).0
}

/// The stage and everything it would work on, the first thing first.
pub fn next(plan: &Plan) -> (Stage, Vec<StageItem<'_>>) {
    let killed_tasks = plan
        .scoped_tasks()
        .filter(|t| matches!(t.state, TaskState::Killed(_)))
        .map(StageItem::Task);
    let killed_issues = plan.scoped_issues().filter(|i| i.kill.is_some()).map(StageItem::Issue);
    let killed: Vec<_> = killed_tasks.chain(killed_issues).collect();
    if !killed.is_empty() {
        return (Stage::Decompose, killed);
    }
    let issues: Vec<_> = plan.scoped_issues().map(StageItem::Issue).collect();
    if !issues.is_empty() {
        return (Stage::Investigate, issues);
    }
    let ready: Vec<_> =
        runnable(plan, DependencyTrust::Claimed).into_iter().map(StageItem::Task).collect();
    if !ready.is_empty() {
        return (Stage::Build, ready);
    }
    let claimed: Vec<_> =
        plan.scoped_tasks().filter(|t| t.state == TaskState::Done).map(StageItem::Task).collect();
    if !claimed.is_empty() {
        return (Stage::Verify, claimed);
    }
    let stuck: Vec<_> = obstacles(plan, DependencyTrust::Claimed)
        .into_iter()
        .map(|(task, why)| StageItem::Stuck { task, why })
        .collect();
    if stuck.is_empty() { (Stage::Complete, stuck) } else { (Stage::Blocked, stuck) }
}
