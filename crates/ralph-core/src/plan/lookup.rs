//! Finding records: scope, and what became of an id.

use super::index::IdIndex;
use super::model::{Id, Issue, Plan, Task, TaskState, Tombstone, TombstoneKind};

/// Fate of the task with an id: live, gone for a reason, or unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookedUpTask<'p> {
    /// The task is in the plan.
    Live(&'p Task),
    /// The task was verified and has left the plan.
    Accepted,
    /// The task was given up and has left the plan.
    Failed,
    /// The task was skipped or deleted.
    Skipped,
    /// Neither the plan nor its history has the id.
    Unknown,
}

/// Whose word is enough for a dependency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DependencyTrust {
    /// Only accepted work counts: `ralph build`.
    #[default]
    Verified,
    /// Claimed work counts too, since VERIFY comes later: construct.
    Claimed,
}

impl LookedUpTask<'_> {
    /// Whether a dependency on this task is satisfied.
    pub fn satisfies(self, trust: DependencyTrust) -> bool {
        match self {
            Self::Live(task) => match task.state {
                TaskState::Accepted => true,
                TaskState::Done => trust == DependencyTrust::Claimed,
                _ => false,
            },
            Self::Accepted => true,
            Self::Failed | Self::Skipped | Self::Unknown => false,
        }
    }
}

/// Ids to records, built once for many questions.
#[derive(Debug)]
pub struct PlanLookup<'p> {
    live: IdIndex<'p, &'p Task>,
    buried: IdIndex<'p, &'p Tombstone>,
}

impl<'p> PlanLookup<'p> {
    /// Index a plan. Of two live tasks with one id the first counts; validation reports the other.
    pub fn new(plan: &'p Plan) -> Self {
        let live = IdIndex::new(plan.tasks.iter().map(|t| (t.id.as_str(), t)));
        // The last record about an id is the one that holds.
        let buried = IdIndex::new(plan.tombstones.iter().rev().map(|t| (t.id.as_str(), t)));
        Self { live, buried }
    }

    /// Return the fate of `id`. A live task outranks earlier tasks with the same id.
    pub fn fate(&self, id: &Id) -> LookedUpTask<'p> {
        if let Some(task) = self.live.get(id.as_str()) {
            return LookedUpTask::Live(task);
        }
        match self.buried.get(id.as_str()).map(|t| t.kind) {
            Some(TombstoneKind::Accept) => LookedUpTask::Accepted,
            Some(TombstoneKind::Reject) => LookedUpTask::Failed,
            Some(TombstoneKind::Delete) => LookedUpTask::Skipped,
            None => LookedUpTask::Unknown,
        }
    }

    /// The live task with this id.
    pub fn task(&self, id: &Id) -> Option<&'p Task> {
        self.live.get(id.as_str())
    }

    /// The last record about a task that left the plan.
    pub fn tombstone(&self, id: &Id) -> Option<&'p Tombstone> {
        self.buried.get(id.as_str())
    }
}

impl Plan {
    /// Whether a record of this spec is in scope: stage, selection and completion see only these.
    pub fn in_scope(&self, spec: Option<&str>) -> bool {
        match (&self.current_spec, spec) {
            (Some(current), Some(spec)) => current == spec,
            _ => true,
        }
    }

    /// The live tasks in scope, in file order.
    pub fn scoped_tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|t| self.in_scope(t.spec.as_deref()))
    }

    /// The open issues in scope, in file order.
    pub fn scoped_issues(&self) -> impl Iterator<Item = &Issue> {
        self.issues.iter().filter(|i| self.in_scope(i.spec.as_deref()))
    }

    /// Every task there ever was, as far as the file remembers: first those that left the plan,
    /// each in the state in which it did, then the live ones.
    pub fn all_tasks(&self) -> Vec<Task> {
        self.buried().map(exhume).chain(self.tasks.iter().cloned()).collect()
    }

    /// The last record of each task that left the plan and is not back, in file order.
    pub fn buried(&self) -> impl Iterator<Item = &Tombstone> {
        let lookup = PlanLookup::new(self);
        self.tombstones.iter().filter(move |stone| {
            lookup.task(&stone.id).is_none()
                && lookup.tombstone(&stone.id).is_some_and(|last| std::ptr::eq(last, *stone))
        })
    }

    /// Whether any record, live or past, has this id.
    pub fn knows(&self, id: &Id) -> bool {
        self.task(id).is_some()
            || self.issue(id).is_some()
            || self.tombstones.iter().any(|t| t.id == *id)
    }
}

/// The task that a tombstone stands for.
fn exhume(stone: &Tombstone) -> Task {
    let mut task = stone.task.as_deref().cloned().unwrap_or_else(|| Task {
        id: stone.id.clone(),
        name: stone.name.clone().unwrap_or_else(|| stone.id.to_string()),
        spec: stone.spec.clone(),
        done_at: stone.done_at.clone(),
        ..Task::default()
    });
    task.state = match stone.kind {
        TombstoneKind::Accept => TaskState::Accepted,
        TombstoneKind::Reject => TaskState::Failed(stone.reason.clone()),
        TombstoneKind::Delete => TaskState::Skipped,
    };
    task
}
