//! Prioritisation, shared by PLAN and VERIFY: who unblocks whom, how big it is, how critical.

use serde::Serialize;

use super::edit::PlanEdit;
use super::graph::TaskGraph;
use super::model::{Id, Plan, Priority, Task, TaskState};

/// Estimated size of a task, from its text alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskSize {
    Small,
    Medium,
    /// The task is long, or it affects many parts of the project.
    Large,
}

/// Number of tasks with each priority, as `ralph task prioritize` prints them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PriorityCounts {
    /// Number of all tasks that got a priority or kept theirs.
    pub prioritized: usize,
    pub high: usize,
    pub medium: usize,
    pub low: usize,
}

/// The result: what to write and what to say.
#[derive(Clone, Debug, PartialEq)]
pub struct PriorityUpdate {
    /// One update for each task whose priority changes.
    pub edits: Vec<PlanEdit>,
    /// All tasks looked at, in the order in which they will be taken as far as priority and
    /// dependencies decide.
    pub order: Vec<(Id, Priority)>,
    pub counts: PriorityCounts,
}

/// Give every open task of `spec` (or of the plan's scope) a priority. One that somebody chose is
/// kept; one that an earlier prioritisation computed may change.
pub fn prioritize(plan: &Plan, spec: Option<&str>) -> PriorityUpdate {
    let tasks: Vec<&Task> = plan
        .tasks
        .iter()
        .filter(|t| match spec {
            Some(spec) => t.spec.as_deref().or(plan.current_spec.as_deref()) == Some(spec),
            None => plan.in_scope(t.spec.as_deref()),
        })
        .filter(|t| {
            matches!(t.state, TaskState::Pending | TaskState::Running | TaskState::Blocked(_))
        })
        .collect();
    let graph = TaskGraph::new(&tasks);
    let ranks = ranks(&tasks, &graph);
    let mut counts = PriorityCounts { prioritized: tasks.len(), ..PriorityCounts::default() };
    let mut edits = Vec::new();
    for (task, &rank) in tasks.iter().zip(&ranks) {
        match rank {
            Priority::High => counts.high += 1,
            Priority::Medium => counts.medium += 1,
            Priority::Low => counts.low += 1,
        }
        if task.priority != Some(rank) {
            edits.push(PlanEdit::UpdateTask(Task {
                priority: Some(rank),
                auto_priority: Some(rank),
                ..(*task).clone()
            }));
        }
    }
    let above = graph.depth_above();
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&i| (ranks[i], above[i], i));
    let order = order.into_iter().map(|i| (tasks[i].id.clone(), ranks[i])).collect();
    PriorityUpdate { edits, order, counts }
}

/// Whether a person or an agent chose this task's priority.
pub fn is_explicit(task: &Task) -> bool {
    task.priority.is_some() && task.priority != task.auto_priority
}

fn ranks(tasks: &[&Task], graph: &TaskGraph) -> Vec<Priority> {
    let below = graph.depth_below();
    let above = graph.depth_above();
    let longest = (0..tasks.len()).map(|i| above[i] + below[i]).max().unwrap_or(0);
    let most_dependants = graph.needed_by.lengths().max().unwrap_or(0);
    let mut ranks: Vec<Priority> = (0..tasks.len())
        .map(|i| {
            let task = tasks[i];
            if let (true, Some(chosen)) = (is_explicit(task), task.priority) {
                return chosen;
            }
            let unblocks = graph.needed_by[i].len();
            let quick_win = unblocks >= 2 && size(task) == TaskSize::Small;
            let widest = unblocks >= 2 && unblocks == most_dependants;
            // A chain of two is just an order; from three on the longest one decides the end.
            let critical = longest >= 2 && unblocks > 0 && above[i] + below[i] == longest;
            if quick_win || widest || critical {
                Priority::High
            } else if unblocks == 0 && is_nice_to_have(task) {
                Priority::Low
            } else {
                Priority::Medium
            }
        })
        .collect();
    lift_what_explicit_high_needs(tasks, graph, &mut ranks);
    ranks
}

/// Give high priority to tasks on which a task with an explicit high priority depends.
fn lift_what_explicit_high_needs(tasks: &[&Task], graph: &TaskGraph, ranks: &mut [Priority]) {
    let mut wanted: Vec<bool> =
        tasks.iter().map(|t| is_explicit(t) && t.priority == Some(Priority::High)).collect();
    for &i in graph.order.iter().rev() {
        if graph.needed_by[i].iter().any(|&d| wanted[d]) {
            wanted[i] = true;
            if !is_explicit(tasks[i]) {
                ranks[i] = Priority::High;
            }
        }
    }
}

/// Estimate the size of a task from its name, notes and criteria.
pub fn size(task: &Task) -> TaskSize {
    const FAR_REACHING: [&str; 12] = [
        "refactor",
        "rewrite",
        "migrate",
        "migration",
        "redesign",
        "overhaul",
        "architecture",
        "integrate",
        "integration",
        "end-to-end",
        "system",
        "framework",
    ];
    let words = |text: &str| text.split_whitespace().count();
    let name: Vec<String> = terms(&task.name);
    let notes = task.notes.as_deref().unwrap_or_default();
    let length = words(&task.name) + words(notes) / 2 + task.accept.len() * 3;
    let far = name.iter().any(|w| FAR_REACHING.contains(&w.as_str()));
    match length {
        0..=14 if !far => TaskSize::Small,
        0..=44 if !(far && length > 20) => TaskSize::Medium,
        _ => TaskSize::Large,
    }
}

/// Documentation, clean-up and what calls itself optional.
fn is_nice_to_have(task: &Task) -> bool {
    const WORDS: [&str; 18] = [
        "doc",
        "docs",
        "document",
        "documentation",
        "readme",
        "changelog",
        "comment",
        "comments",
        "cleanup",
        "clean-up",
        "tidy",
        "polish",
        "cosmetic",
        "typo",
        "typos",
        "optional",
        "nice-to-have",
        "docstrings",
    ];
    const PHRASES: [&str; 3] = ["clean up", "nice to have", "code style"];
    let name = task.name.to_lowercase();
    terms(&task.name).iter().any(|w| WORDS.contains(&w.as_str()))
        || PHRASES.iter().any(|p| name.contains(p))
}

fn terms(text: &str) -> Vec<String> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '-'))
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .collect()
}
