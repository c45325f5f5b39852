//! Read-only views of a plan, the same for every face and every format.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::{
    DependencyTrust, Issue, Plan, Stage, StageItem, Task, TaskState, next, runnable,
};

/// The answer of `ralph query next`.
#[derive(Clone, Debug, Serialize)]
pub struct NextAction<'p> {
    /// The stage that follows from the plan.
    pub action: Stage,
    /// First element of `items`.
    pub item: Option<StageItem<'p>>,
    /// Everything that the stage works on, in order.
    pub items: Vec<StageItem<'p>>,
}

impl<'p> NextAction<'p> {
    /// Find the stage that follows from a plan and the items of that stage.
    pub fn of(plan: &'p Plan) -> Self {
        let (action, items) = next(plan);
        Self { action, item: items.first().cloned(), items }
    }
}

/// The answer of `ralph query tasks`.
#[derive(Clone, Debug, Serialize)]
pub struct TaskLists<'p> {
    /// Open tasks in the order in which they will be taken, as far as that is known.
    pub pending: Vec<&'p Task>,
    /// Tasks that are claimed to be done.
    pub done: Vec<&'p Task>,
}

impl<'p> TaskLists<'p> {
    /// Collect the tasks in scope into the two lists.
    pub fn of(plan: &'p Plan) -> Self {
        let mut pending = runnable(plan, DependencyTrust::Claimed);
        let ready = pending.len();
        let rest = plan.scoped_tasks().filter(|task| task.state.is_open());
        for task in rest {
            if !pending[..ready].iter().any(|known| std::ptr::eq(*known, task)) {
                pending.push(task);
            }
        }
        let done = plan.scoped_tasks().filter(|task| task.state == TaskState::Done);
        Self { pending, done: done.collect() }
    }
}

/// The answer of a bare `ralph query`.
#[derive(Clone, Debug, Serialize)]
pub struct PlanSummary<'p> {
    /// The stage that follows from the plan.
    pub stage: Stage,
    /// The number of the current iteration.
    pub iteration: u32,
    /// Current spec. `None` means that all specs are in scope.
    pub spec: Option<&'p str>,
    /// Tasks in scope, open and done.
    pub tasks: TaskLists<'p>,
    /// Open issues in scope.
    pub issues: Vec<&'p Issue>,
    /// Next stage and its items.
    pub next: NextAction<'p>,
}

impl<'p> PlanSummary<'p> {
    /// Summarize a plan for `ralph query`.
    pub fn of(plan: &'p Plan, iteration: u32) -> Self {
        let next = NextAction::of(plan);
        Self {
            stage: next.action,
            iteration,
            spec: plan.current_spec.as_deref(),
            tasks: TaskLists::of(plan),
            issues: plan.scoped_issues().collect(),
            next,
        }
    }
}

/// The stage that follows from a plan, for people: one without tasks and issues is not complete.
pub fn stage_word(plan: &Plan) -> &'static str {
    match crate::plan::stage(plan) {
        Stage::Complete if TaskTally::of(plan).total() == 0 => "NO TASKS",
        stage => stage.as_str(),
    }
}

/// A remark on open tasks of other specs, which no count of the current spec has.
pub fn other_specs(plan: &Plan) -> Option<String> {
    let is_open = |task: &&Task| task.state.is_open() && !plan.in_scope(task.spec.as_deref());
    let number = plan.tasks.iter().filter(is_open).count();
    let verb = if number == 1 { "is" } else { "are" };
    let tasks = crate::words::count(number, "task");
    (number > 0).then(|| format!("{tasks} of other specs {verb} open (`ralph spec list`)"))
}

/// Number of tasks in scope, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TaskTally {
    /// Tasks that wait or run.
    pub pending: usize,
    /// Tasks claimed to be done but not verified yet.
    pub done: usize,
    /// Tasks accepted by a verifier.
    pub accepted: usize,
    /// Tasks that are blocked, or that were killed.
    pub blocked: usize,
    /// Tasks that ralph gave up on.
    pub failed: usize,
    /// Tasks that were skipped or deleted.
    pub skipped: usize,
}

impl TaskTally {
    /// Count the tasks in scope, those that have left the plan included.
    pub fn of(plan: &Plan) -> Self {
        use crate::plan::TombstoneKind;
        let mut tally = Self::default();
        for task in plan.scoped_tasks() {
            match task.state {
                TaskState::Pending | TaskState::Running => tally.pending += 1,
                TaskState::Done => tally.done += 1,
                TaskState::Accepted => tally.accepted += 1,
                TaskState::Blocked(_) | TaskState::Killed(_) => tally.blocked += 1,
                TaskState::Failed(_) => tally.failed += 1,
                TaskState::Skipped => tally.skipped += 1,
            }
        }
        let lookup = crate::plan::PlanLookup::new(plan);
        for stone in &plan.tombstones {
            // Only the last word about a task that is not live counts.
            let last = lookup.tombstone(&stone.id).is_some_and(|s| std::ptr::eq(s, stone));
            if !last || lookup.task(&stone.id).is_some() || !plan.in_scope(stone.spec.as_deref()) {
                continue;
            }
            match stone.kind {
                TombstoneKind::Accept => tally.accepted += 1,
                TombstoneKind::Reject => tally.failed += 1,
                TombstoneKind::Delete => tally.skipped += 1,
            }
        }
        tally
    }

    /// Tasks whose work was done. A task that was skipped or removed is not done.
    pub fn finished(&self) -> usize {
        self.done + self.accepted
    }

    /// Tasks that do not go on by themselves.
    pub fn stuck(&self) -> usize {
        self.blocked + self.failed
    }

    /// Return the number of all tasks in the tally.
    pub fn total(&self) -> usize {
        self.pending + self.done + self.accepted + self.blocked + self.failed + self.skipped
    }
}
