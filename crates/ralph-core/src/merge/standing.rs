//! The standing of each task of a plan: live, gone with a record, or unknown.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::{Id, Plan, Task, TaskState};

/// Standing of one task: in the plan, out of it with a record, or absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaskStanding {
    /// In the plan, without its line number.
    Live(Task),
    /// Out of the plan, in this final state (plan.jsonl).
    Buried(Task),
    Absent,
}

impl TaskStanding {
    /// Whether the plan says that the task's work is done.
    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Live(task) | Self::Buried(task) => {
                matches!(task.state, TaskState::Accepted | TaskState::Done)
            }
            Self::Absent => false,
        }
    }

    /// Whether somebody took the task out of the plan.
    pub(super) fn is_gone(&self) -> bool {
        match self {
            Self::Live(_) => false,
            Self::Buried(task) => task.state == TaskState::Skipped,
            Self::Absent => true,
        }
    }

    pub(super) fn live(&self) -> Option<&Task> {
        match self {
            Self::Live(task) => Some(task),
            Self::Buried(_) | Self::Absent => None,
        }
    }
}

/// The standing of all tasks of a plan.
#[derive(Debug)]
pub(super) struct TaskStandings(BTreeMap<Id, TaskStanding>);

impl TaskStandings {
    pub(super) fn of(plan: &Plan) -> Self {
        let live = plan.tasks.iter().rev();
        let live = live.map(|t| (t.id.clone(), TaskStanding::Live(Task { line: 0, ..t.clone() })));
        let all = plan.all_tasks();
        let buried = all.into_iter().filter(|task| plan.task(&task.id).is_none());
        let buried = buried.map(|t| (t.id.clone(), TaskStanding::Buried(Task { line: 0, ..t })));
        Self(buried.chain(live).collect())
    }

    pub(super) fn get(&self, id: &Id) -> &TaskStanding {
        self.0.get(id).unwrap_or(&TaskStanding::Absent)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &Id> {
        self.0.keys()
    }
}

/// The ids of all plans, in the order in which the first plan that has them does.
pub(super) fn ids_in_order(plans: &[&Plan]) -> Vec<Id> {
    let (mut known, mut ids) = (BTreeSet::new(), Vec::new());
    for plan in plans {
        let live = plan.tasks.iter().map(|task| &task.id);
        for id in live.chain(plan.tombstones.iter().map(|stone| &stone.id)) {
            if known.insert(id.clone()) {
                ids.push(id.clone());
            }
        }
    }
    ids
}
