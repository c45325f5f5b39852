//! Why tasks that an agent proposes are no good: reasons for people, and for one more question.

use std::collections::BTreeMap;
use std::fmt;

use super::answer::NewTask;
use crate::plan::{Id, Plan, Task, cycles, vague};
use crate::prompt::markdown::one_line;
use crate::text::{clip, nearest};

/// Maximum number of tasks in one answer.
pub const MOST_TASKS: usize = 100;

/// Reasons that are told; more would only tire.
const TOLD: usize = 12;

/// Characters of somebody's words in a reason.
const SHORT: usize = 80;

/// One thing that is wrong with proposed tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskFlaw {
    NoTasks,
    /// The number of tasks is above [`MOST_TASKS`].
    TooMany(usize),
    /// One has no name; counted from 1.
    NoName(usize),
    /// Two tasks have this name.
    SameName(String),
    /// Two tasks have this key.
    SameKey(String),
    /// The task with this name has no criteria.
    NoCriteria(String),
    /// A criterion cannot be checked.
    Vague {
        /// Name of the task.
        name: String,
        criterion: String,
        why: &'static str,
    },
    /// One needs something that does not exist.
    UnknownDependency {
        /// Name of the task.
        name: String,
        /// Dependency as the agent wrote it.
        dep: String,
        /// Most similar known name, if one is near enough.
        near: Option<String>,
    },
    /// These tasks wait for each other.
    Cycle(Vec<String>),
}

impl fmt::Display for TaskFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |text: &str| clip(&one_line(text), SHORT);
        match self {
            Self::NoTasks => f.write_str("there are no tasks"),
            Self::TooMany(n) => write!(f, "{n} tasks are too many; at most {MOST_TASKS}"),
            Self::NoName(n) => write!(f, "task {n} has no name"),
            Self::SameName(name) => write!(f, "two tasks are called “{}”", short(name)),
            Self::SameKey(key) => write!(f, "two tasks have the key `{}`", short(key)),
            Self::NoCriteria(name) => write!(f, "“{}” has no acceptance criteria", short(name)),
            Self::Vague { name, criterion, why } => {
                let (name, criterion) = (short(name), short(criterion));
                write!(f, "“{name}”: the criterion “{criterion}” is vague: {why}")
            }
            Self::UnknownDependency { name, dep, near } => {
                write!(f, "“{}” depends on `{}`, which does not exist", short(name), short(dep))?;
                match near {
                    Some(near) => write!(f, " (did you mean `{near}`?)"),
                    None => Ok(()),
                }
            }
            Self::Cycle(names) => {
                let names: Vec<String> = names.iter().map(|name| short(name)).collect();
                write!(f, "these tasks wait for each other: {}", names.join(" → "))
            }
        }
    }
}

/// The flaws in one text, for the question and for people.
pub fn in_words(flaws: &[TaskFlaw]) -> String {
    let mut told: Vec<String> = flaws.iter().take(TOLD).map(TaskFlaw::to_string).collect();
    if flaws.len() > TOLD {
        told.push(format!("and {} more", flaws.len() - TOLD));
    }
    told.join("; ")
}

/// Find the flaws in tasks that are to be added to `plan`.
pub fn flaws(tasks: &[NewTask], plan: &Plan) -> Vec<TaskFlaw> {
    if tasks.is_empty() {
        return vec![TaskFlaw::NoTasks];
    }
    if tasks.len() > MOST_TASKS {
        return vec![TaskFlaw::TooMany(tasks.len())];
    }
    let mut flaws = names(tasks);
    tasks.iter().for_each(|task| criteria(task, &mut flaws));
    let links = DependencyLinks::new(tasks, plan);
    for task in tasks {
        for dep in task.deps.iter().filter(|dep| links.find(dep).is_none()) {
            let near = nearest(dep.trim(), links.known.keys().map(String::as_str));
            flaws.push(TaskFlaw::UnknownDependency {
                name: task.name.clone(),
                dep: dep.clone(),
                near: near.map(str::to_owned),
            });
        }
    }
    flaws.extend(circles(tasks, &links));
    flaws
}

fn names(tasks: &[NewTask]) -> Vec<TaskFlaw> {
    let mut flaws = Vec::new();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut keys: BTreeMap<&str, usize> = BTreeMap::new();
    for (n, task) in (1..).zip(tasks) {
        let name = one_line(&task.name).to_lowercase();
        if name.is_empty() {
            flaws.push(TaskFlaw::NoName(n));
        } else if names.insert(name, n).is_some() {
            flaws.push(TaskFlaw::SameName(task.name.clone()));
        }
        let key = task.key.trim();
        if !key.is_empty() && keys.insert(key, n).is_some() {
            flaws.push(TaskFlaw::SameKey(key.to_owned()));
        }
    }
    flaws
}

fn criteria(task: &NewTask, flaws: &mut Vec<TaskFlaw>) {
    if task.accept.iter().all(|criterion| criterion.trim().is_empty()) {
        flaws.push(TaskFlaw::NoCriteria(task.name.clone()));
        return;
    }
    for criterion in &task.accept {
        if let Some(why) = vague(criterion) {
            let (name, criterion) = (task.name.clone(), criterion.clone());
            flaws.push(TaskFlaw::Vague { name, criterion, why });
        }
    }
}

/// Meanings of the dependencies of new tasks.
/// A dependency is the key or the name of a new task, or the id or the name of a task in the plan.
#[derive(Debug)]
pub(super) struct DependencyLinks {
    known: BTreeMap<String, DependencyLink>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DependencyLink {
    /// The new task at this place.
    New(usize),
    /// A task of the plan, live or over.
    Old(Id),
}

impl DependencyLinks {
    pub(super) fn new(tasks: &[NewTask], plan: &Plan) -> Self {
        let mut known = BTreeMap::new();
        let mut add = |word: &str, link: DependencyLink| {
            let word = word.trim();
            if !word.is_empty() {
                known.insert(word.to_owned(), link);
            }
        };
        // What comes later outranks: an answer's own keys mean what the answer says.
        for task in &plan.tasks {
            add(&task.name, DependencyLink::Old(task.id.clone()));
        }
        for id in plan.tombstones.iter().map(|t| &t.id).chain(plan.tasks.iter().map(|t| &t.id)) {
            add(id.as_str(), DependencyLink::Old(id.clone()));
        }
        for (at, task) in tasks.iter().enumerate() {
            add(&task.name, DependencyLink::New(at));
        }
        for (at, task) in tasks.iter().enumerate() {
            add(&task.key, DependencyLink::New(at));
        }
        Self { known }
    }

    pub(super) fn find(&self, dep: &str) -> Option<&DependencyLink> {
        self.known.get(dep.trim().trim_matches('`'))
    }
}

/// Circles among the new tasks: nothing in the plan needs them yet.
fn circles(tasks: &[NewTask], links: &DependencyLinks) -> Vec<TaskFlaw> {
    let id = |at: usize| Id::new(at.to_string());
    let nodes: Vec<Task> = tasks
        .iter()
        .enumerate()
        .map(|(at, task)| {
            let deps = task.deps.iter().filter_map(|dep| match links.find(dep)? {
                DependencyLink::New(other) => Some(id(*other)),
                DependencyLink::Old(_) => None,
            });
            Task { id: id(at), name: task.name.clone(), deps: deps.collect(), ..Task::default() }
        })
        .collect();
    let all: Vec<&Task> = nodes.iter().collect();
    let name = |id: &Id| nodes.iter().find(|t| t.id == *id).map(|t| t.name.clone());
    cycles(&all)
        .into_iter()
        .map(|cycle| TaskFlaw::Cycle(cycle.iter().chain(cycle.first()).filter_map(name).collect()))
        .collect()
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
