//! Selection of the next task, and the reasons why other tasks cannot run.

use std::fmt;

use serde::{Serialize, Serializer};

use super::lookup::{DependencyTrust, LookedUpTask, PlanLookup};
use super::model::{Id, Plan, Priority, Task, TaskState};

/// Why an open task cannot run now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The task is blocked, with this reason.
    Blocked(String),
    /// Given up, with the last reason where one is known.
    Failed(Option<String>),
    /// A dependency is still to be done.
    Waits(Id),
    /// A dependency is claimed but not verified.
    Unverified(Id),
    /// A dependency was given up.
    DependencyFailed(Id),
    /// A dependency was skipped or deleted.
    DependencySkipped(Id),
    /// A dependency does not exist.
    DependencyMissing(Id),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked(reason) if reason.is_empty() => f.write_str("blocked"),
            Self::Blocked(reason) => write!(f, "blocked: {reason}"),
            Self::Failed(Some(reason)) => write!(f, "failed: {reason}"),
            Self::Failed(None) => f.write_str("failed"),
            Self::Waits(id) => write!(f, "waits for {id}"),
            Self::Unverified(id) => write!(f, "waits until {id} is verified"),
            Self::DependencyFailed(id) => write!(f, "needs {id}, which failed"),
            Self::DependencySkipped(id) => write!(f, "needs {id}, which was skipped"),
            Self::DependencyMissing(id) => write!(f, "needs {id}, which does not exist"),
        }
    }
}

/// As JSON it is its sentence.
impl Serialize for Obstacle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The order in which runnable tasks are taken: what already runs, then the spec's rank, then
/// priority, then the file's order.
type TaskRank = (u8, i64, Priority, usize);

/// Ranks of specs, worked out once.
struct SpecRanks<'p> {
    specs: Vec<(&'p str, i64)>,
}

impl<'p> SpecRanks<'p> {
    fn new(plan: &'p Plan) -> Self {
        let mut specs: Vec<_> =
            plan.specs.iter().map(|s| (s.id.as_str(), s.priority.unwrap_or(i64::MAX))).collect();
        specs.sort_unstable();
        Self { specs }
    }

    fn of(&self, task: &Task, index: usize) -> TaskRank {
        let spec = task
            .spec
            .as_deref()
            .and_then(|id| self.specs.binary_search_by(|(known, _)| (*known).cmp(id)).ok())
            .map_or(i64::MAX, |i| self.specs[i].1);
        let waiting = u8::from(task.state != TaskState::Running);
        (waiting, spec, task.priority.unwrap_or(Priority::Medium), index)
    }
}

/// The tasks that can run now, in the order in which they should.
pub fn runnable(plan: &Plan, trust: DependencyTrust) -> Vec<&Task> {
    let lookup = PlanLookup::new(plan);
    let ranks = SpecRanks::new(plan);
    let mut found: Vec<(TaskRank, &Task)> = plan
        .scoped_tasks()
        .enumerate()
        .filter(|(_, t)| can_run(t, &lookup, trust))
        .map(|(i, t)| (ranks.of(t, i), t))
        .collect();
    found.sort_unstable_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, task)| task).collect()
}

/// The task to work on next.
pub fn next_task(plan: &Plan, trust: DependencyTrust) -> Option<&Task> {
    let lookup = PlanLookup::new(plan);
    let ranks = SpecRanks::new(plan);
    plan.scoped_tasks()
        .enumerate()
        .filter(|(_, t)| can_run(t, &lookup, trust))
        .min_by_key(|(i, t)| ranks.of(t, *i))
        .map(|(_, task)| task)
}

/// A running mark counts as runnable: no backend outlives its loop, so a mark that is found in the
/// file was left by a crash.
fn can_run(task: &Task, lookup: &PlanLookup<'_>, trust: DependencyTrust) -> bool {
    matches!(task.state, TaskState::Pending | TaskState::Running)
        && task.deps.iter().all(|d| lookup.fate(d).satisfies(trust))
}

/// Every task in scope that is neither finished nor runnable, with the first thing in its way.
pub fn obstacles(plan: &Plan, trust: DependencyTrust) -> Vec<(&Task, Obstacle)> {
    let lookup = PlanLookup::new(plan);
    plan.scoped_tasks()
        .filter_map(|task| obstacle(task, &lookup, trust).map(|why| (task, why)))
        .collect()
}

/// Return the obstacle that keeps an open task from running, if there is one.
pub fn obstacle(task: &Task, lookup: &PlanLookup<'_>, trust: DependencyTrust) -> Option<Obstacle> {
    match &task.state {
        TaskState::Blocked(reason) => return Some(Obstacle::Blocked(reason.clone())),
        TaskState::Failed(reason) => return Some(Obstacle::Failed(reason.clone())),
        TaskState::Pending | TaskState::Running => {}
        TaskState::Done | TaskState::Accepted | TaskState::Killed(_) | TaskState::Skipped => {
            return None;
        }
    }
    task.deps.iter().find_map(|id| {
        let fate = lookup.fate(id);
        (!fate.satisfies(trust)).then(|| hindrance(id, fate))
    })
}

fn hindrance(id: &Id, fate: LookedUpTask<'_>) -> Obstacle {
    let id = id.clone();
    match fate {
        LookedUpTask::Unknown => Obstacle::DependencyMissing(id),
        LookedUpTask::Failed => Obstacle::DependencyFailed(id),
        LookedUpTask::Skipped => Obstacle::DependencySkipped(id),
        LookedUpTask::Accepted => Obstacle::Waits(id),
        LookedUpTask::Live(task) => match task.state {
            TaskState::Failed(_) => Obstacle::DependencyFailed(id),
            TaskState::Skipped => Obstacle::DependencySkipped(id),
            TaskState::Done => Obstacle::Unverified(id),
            _ => Obstacle::Waits(id),
        },
    }
}
