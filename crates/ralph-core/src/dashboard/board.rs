//! The plan as a board: every task as a card, and one task with all its attempts.

use schemars::JsonSchema;
use serde::Serialize;

use crate::cycle::{AttemptSummary, History};
use crate::needs::LoopProcess;
use crate::plan::{
    DependencyTrust, Issue, Plan, PlanLookup, Priority, Task, TaskState, TaskStateName, Tombstone,
    TombstoneKind, obstacle, runnable,
};
use crate::view::{TaskTally, stage_word};

/// Summary of a task, as the board shows it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TaskCard {
    /// Id of the task.
    pub id: String,
    /// One line that says what to do.
    pub name: String,
    /// Where it stands: `running` also when only the journal says so.
    pub state: TaskStateName,
    /// Spec that the task belongs to.
    pub spec: Option<String>,
    /// Priority of the task, if it has one.
    pub priority: Option<Priority>,
    /// Tasks that must be accepted first.
    pub deps: Vec<String>,
    /// Reason why the task cannot run now, or why it left the plan. Absent if there is none.
    pub why: Option<String>,
    /// Position among the tasks that can run now, from 1. Absent if the task cannot run now.
    pub turn: Option<usize>,
    /// Number of attempts at the task.
    pub attempts: usize,
    /// Cost of these attempts in dollars, as far as it is known.
    pub cost_usd: f64,
}

/// One page of the plan's tasks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TaskBoard {
    /// The plan's title, where it has one.
    pub title: Option<String>,
    /// Spec that the plan works on now.
    pub spec: Option<String>,
    /// The stage that follows from the plan.
    pub stage: &'static str,
    /// Number of tasks in each state.
    pub tally: TaskTally,
    /// All tasks that fit the question, also those on other pages.
    pub total: usize,
    /// Number of tasks before this page.
    pub offset: usize,
    /// Tasks on this page.
    pub tasks: Vec<TaskCard>,
    /// Open issues of the current spec.
    pub issues: Vec<Issue>,
}

/// A page of the plan: tasks in scope in file order, and then those that were verified and buried.
pub fn board(
    plan: &Plan,
    history: &History,
    running: &LoopProcess,
    offset: usize,
    limit: usize,
) -> TaskBoard {
    let lookup = PlanLookup::new(plan);
    let turns: Vec<&Task> = runnable(plan, DependencyTrust::Claimed);
    let effort = TaskEffort::of(history);
    let live = plan.scoped_tasks().count();
    let buried: Vec<TaskCard> = plan
        .tombstones
        .iter()
        .filter(|s| plan.in_scope(s.spec.as_deref()))
        .filter(|s| lookup.task(&s.id).is_none())
        .filter(|s| lookup.tombstone(&s.id).is_some_and(|last| std::ptr::eq(last, *s)))
        .map(|stone| effort.put(TaskCard { why: stone.reason.clone(), ..buried_card(stone) }))
        .collect();
    let open = open_task(history, running);
    let cards = plan.scoped_tasks().map(|task| {
        let mut card = card(task, &lookup);
        if open == Some(task.id.as_str()) {
            card.state = TaskStateName::Running;
        }
        card.turn = turns.iter().position(|t| std::ptr::eq(*t, task)).map(|at| at + 1);
        effort.put(card)
    });
    let total = live + buried.len();
    TaskBoard {
        title: plan.title.clone(),
        spec: plan.current_spec.clone(),
        stage: stage_word(plan),
        tally: TaskTally::of(plan),
        total,
        offset,
        tasks: cards.chain(buried).skip(offset).take(limit).collect(),
        issues: plan.scoped_issues().cloned().collect(),
    }
}

/// The task that a loop works on now.
fn open_task<'h>(history: &'h History, running: &LoopProcess) -> Option<&'h str> {
    let open = history.open.as_ref().filter(|_| *running != LoopProcess::Nobody);
    open.map(|open| open.started.task.as_str())
}

fn empty(id: &str, name: String, state: TaskStateName) -> TaskCard {
    TaskCard {
        id: id.to_owned(),
        name,
        state,
        spec: None,
        priority: None,
        deps: Vec::new(),
        why: None,
        turn: None,
        attempts: 0,
        cost_usd: 0.0,
    }
}

fn buried_card(stone: &Tombstone) -> TaskCard {
    empty(stone.id.as_str(), stone.name.clone().unwrap_or_default(), stone.kind.state())
}

fn card(task: &Task, lookup: &PlanLookup<'_>) -> TaskCard {
    let why = match &task.state {
        TaskState::Killed(kill) => Some(format!("its run was killed: {}", kill.reason.as_str())),
        _ => obstacle(task, lookup, DependencyTrust::Claimed).map(|why| why.to_string()),
    };
    TaskCard {
        spec: task.spec.clone(),
        priority: task.priority,
        deps: task.deps.iter().map(ToString::to_string).collect(),
        why,
        ..empty(task.id.as_str(), task.name.clone(), task.state.name())
    }
}

/// Attempts and cost of every task, added up once.
struct TaskEffort<'h>(std::collections::BTreeMap<&'h str, (usize, f64)>);

impl<'h> TaskEffort<'h> {
    fn of(history: &'h History) -> Self {
        let mut all = std::collections::BTreeMap::<&str, (usize, f64)>::new();
        for view in &history.attempts {
            let sum = all.entry(view.started.task.as_str()).or_default();
            sum.0 += 1;
            sum.1 += view.backend.as_ref().and_then(|end| end.cost).unwrap_or(0.0);
        }
        Self(all)
    }

    fn put(&self, mut card: TaskCard) -> TaskCard {
        if let Some((attempts, cost)) = self.0.get(card.id.as_str()) {
            card.attempts = *attempts;
            card.cost_usd = *cost;
        }
        card
    }
}

/// One record of a task's past.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TaskEvent {
    /// Event: accept, reject or delete.
    pub kind: TombstoneKind,
    /// Reason, if one was recorded.
    pub reason: Option<String>,
    /// Time of the event, if it was recorded.
    pub at: Option<String>,
}

/// One task with all its attempts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TaskPage {
    /// Summary of the task, as the board shows it.
    pub card: TaskCard,
    /// All fields, as `ralph query` shows them; null for a task that has left the plan.
    pub task: Option<Task>,
    /// Ids of the tasks that depend on this one.
    pub dependents: Vec<String>,
    /// Earlier events: the task was accepted, rejected or deleted.
    pub past: Vec<TaskEvent>,
    /// Attempts at the task, newest first.
    pub attempts: Vec<AttemptSummary>,
}

/// Everything about a task; `None` when neither plan nor history know it.
pub fn task_page(
    plan: &Plan,
    history: &History,
    running: &LoopProcess,
    id: &str,
) -> Option<TaskPage> {
    let lookup = PlanLookup::new(plan);
    let task = plan.tasks.iter().find(|t| t.id.as_str() == id);
    let stones: Vec<_> = plan.tombstones.iter().filter(|s| s.id.as_str() == id).collect();
    let mut attempts: Vec<AttemptSummary> =
        history.of_task(id).map(|view| view.summary(running)).collect();
    attempts.reverse();
    let card = match (task, stones.last(), attempts.first()) {
        (Some(task), ..) => card(task, &lookup),
        (None, Some(stone), _) => buried_card(stone),
        (None, None, Some(attempt)) => empty(id, attempt.started.name.clone(), TaskStateName::Gone),
        (None, None, None) => return None,
    };
    let mut card = TaskEffort::of(history).put(card);
    if open_task(history, running) == Some(id) {
        card.state = TaskStateName::Running;
    }
    let waits = |t: &&Task| t.deps.iter().any(|d| d.as_str() == id);
    Some(TaskPage {
        card,
        task: task.cloned(),
        dependents: plan.tasks.iter().filter(waits).map(|t| t.id.to_string()).collect(),
        past: stones
            .iter()
            .map(|s| TaskEvent { kind: s.kind, reason: s.reason.clone(), at: s.at.clone() })
            .collect(),
        attempts,
    })
}
