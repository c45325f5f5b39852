//! New tasks: fresh ids for temporary keys, nothing that is there already, a cap.

use std::collections::BTreeSet;

use super::bench::{WorkingPlan, short, unique};
use crate::construct::answer::{NewTask, SUBTASKS};
use crate::construct::check::{DependencyLink, DependencyLinks};
use crate::construct::similar::WordSet;
use crate::plan::{Id, LookedUpTask, Plan, PlanLookup, Task, TaskState};
use crate::prompt::markdown::one_line;
use crate::text::clip;

/// Characters of a name, of notes, of a criterion.
const NAME: usize = 200;
const NOTES: usize = 20_000;
const CRITERION: usize = 1_000;
const CRITERIA: usize = 30;

/// Existing work that new tasks are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DuplicateScope {
    /// Work that is open or claimed: what was accepted may be needed again.
    Unverified,
    /// All work there ever was, given up and left out work excepted.
    All,
}

/// Settings for the creation of new tasks.
pub(super) struct TaskCreation<'m> {
    /// Spec, priority, parent, origin, phase and first dependencies of each.
    pub(super) like: &'m Task,
    /// A task that they take the place of.
    pub(super) instead_of: Option<&'m Id>,
    /// Existing work that must not be created again.
    pub(super) against: DuplicateScope,
    /// Maximum number of tasks to create.
    pub(super) most: usize,
}

impl WorkingPlan<'_> {
    /// Add tasks. The ids are those of the tasks that now stand for the ones asked for, made or found.
    pub(super) fn mint(&mut self, tasks: &[NewTask], how: &TaskCreation<'_>) -> Vec<Id> {
        let links = DependencyLinks::new(tasks, &self.plan);
        let mut known = rivals(&self.plan, how);
        known.extend(self.added.iter().map(named));
        let mut ids: Vec<Option<Id>> = Vec::with_capacity(tasks.len());
        let mut made: Vec<usize> = Vec::new();
        for (at, task) in tasks.iter().enumerate() {
            let words = WordSet::new(&task.name);
            let found = known.iter().find(|(_, other)| other.similar(&words));
            if let Some(id) = found.map(|(id, _)| id.clone()) {
                self.note(match how.instead_of == Some(&id) {
                    true => format!("“{}” is no smaller than {id}", short(&task.name)),
                    false => format!("“{}” is there already: {id}", short(&task.name)),
                });
                ids.push(Some(id));
            } else if one_line(&task.name).is_empty() || made.len() >= how.most {
                ids.push(None);
            } else {
                let id = self.task_id(how.like.spec.as_deref());
                known.push((id.clone(), words));
                ids.push(Some(id));
                made.push(at);
            }
        }
        match ids.iter().filter(|id| id.is_none()).count() {
            0 => {}
            n => self.note(format!("{n} more new tasks were left out: enough for now")),
        }
        for at in made {
            if let (Some(task), Some(Some(id))) = (tasks.get(at), ids.get(at)) {
                let deps = self.deps(task, id, &links, &ids, how);
                let new = Task { id: id.clone(), deps, ..describe(task, how.like) };
                self.came.created.push(id.clone());
                self.added.push(new);
            }
        }
        let replaced = |id: &Id| how.instead_of != Some(id);
        unique(ids.into_iter().flatten().filter(replaced).collect())
    }

    fn deps(
        &mut self,
        task: &NewTask,
        id: &Id,
        links: &DependencyLinks,
        ids: &[Option<Id>],
        how: &TaskCreation<'_>,
    ) -> Vec<Id> {
        let mut deps = how.like.deps.clone();
        let waiting = waiting_for(&self.plan, how.instead_of);
        for dep in &task.deps {
            let found = match links.find(dep) {
                Some(DependencyLink::New(at)) => ids.get(*at).cloned().flatten(),
                Some(DependencyLink::Old(old)) => Some(old.clone()),
                None => None,
            };
            let dead = |id: &Id| match PlanLookup::new(&self.plan).fate(id) {
                LookedUpTask::Failed | LookedUpTask::Skipped => true,
                LookedUpTask::Live(task) => {
                    matches!(task.state, TaskState::Failed(_) | TaskState::Skipped)
                }
                LookedUpTask::Accepted | LookedUpTask::Unknown => false,
            };
            match found {
                Some(found) if found == *id || how.instead_of == Some(&found) => {}
                Some(found) if waiting.contains(&found) => {
                    self.note(format!("{id} does not wait for {found}, which waits for it"));
                }
                Some(found) if !dead(&found) => deps.push(found),
                _ => self.note(format!("{id} does not wait for {}, which is gone", short(dep))),
            }
        }
        unique(deps)
    }
}

/// Whether at least two of the parts of a killed task are new work. What is the task itself, or
/// stands in the plan already, would leave the rest of the task undone.
pub fn check_new_parts(plan: &Plan, task: &Task, parts: &[NewTask]) -> Result<(), String> {
    let how = TaskCreation {
        like: task,
        instead_of: Some(&task.id),
        against: DuplicateScope::Unverified,
        most: 0,
    };
    let mut known = rivals(plan, &how);
    let (mut new, mut old) = (0, Vec::new());
    for part in parts {
        let words = WordSet::new(&part.name);
        match known.iter().find(|(_, other)| other.similar(&words)).map(|(id, _)| id.clone()) {
            Some(id) => old.push(format!("“{}” is {id}", short(&part.name))),
            None => {
                new += 1;
                known.push((Id::new(part.key.trim()), words));
            }
        }
    }
    match new >= *SUBTASKS.start() {
        true => Ok(()),
        false => Err(format!("fewer than two parts are new: {}", old.join("; "))),
    }
}

fn named(task: &Task) -> (Id, WordSet) {
    (task.id.clone(), WordSet::new(&task.name))
}

/// The tasks of the plan that new ones may not repeat.
fn rivals(plan: &Plan, how: &TaskCreation<'_>) -> Vec<(Id, WordSet)> {
    let live = |task: &&Task| match task.state {
        TaskState::Accepted => how.against == DuplicateScope::All,
        TaskState::Failed(_) | TaskState::Skipped => false,
        _ => true,
    };
    let same = |task: &&Task| match (&how.like.spec, &task.spec) {
        (Some(a), Some(b)) => a == b,
        _ => plan.in_scope(task.spec.as_deref()),
    };
    let buried = match how.against {
        DuplicateScope::All => plan.all_tasks(),
        DuplicateScope::Unverified => Vec::new(),
    };
    // In a plan of several specs, a record without one may be any spec's.
    let whose = |task: &&Task| task.spec.is_some() || plan.specs.len() <= 1;
    let buried = buried.iter().filter(|t| plan.task(&t.id).is_none()).filter(whose);
    // What waits for the task that is replaced cannot stand for a part of it: it would wait for
    // itself.
    let waiting = waiting_for(plan, how.instead_of);
    let free = |task: &&Task| !waiting.contains(&task.id);
    let tasks = plan.tasks.iter().chain(buried);
    tasks.filter(free).filter(live).filter(same).map(named).collect()
}

/// Tasks that wait for this one, directly or not.
pub(super) fn waiting_for(plan: &Plan, id: Option<&Id>) -> BTreeSet<Id> {
    let mut waiting = BTreeSet::new();
    let mut open: Vec<&Id> = id.into_iter().collect();
    while let Some(next) = open.pop() {
        for task in plan.tasks.iter().filter(|task| task.deps.contains(next)) {
            if waiting.insert(task.id.clone()) {
                open.push(&task.id);
            }
        }
    }
    waiting
}

/// A task as it is written down.
fn describe(task: &NewTask, like: &Task) -> Task {
    let text = |text: &str, most: usize| {
        let text = text.trim();
        (!text.is_empty()).then(|| clip(text, most))
    };
    let accept = task.accept.iter().map(|c| clip(&one_line(c), CRITERION));
    let notes = [text(&task.notes, NOTES), like.notes.clone()];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    Task {
        name: clip(&one_line(&task.name), NAME),
        spec: like.spec.clone(),
        notes: (!notes.is_empty()).then(|| notes.join("\n\n")),
        accept: accept.filter(|c| !c.is_empty()).take(CRITERIA).collect(),
        priority: like.priority.or(task.priority),
        auto_priority: like.auto_priority,
        parent: like.parent.clone(),
        created_from: like.created_from.clone(),
        phase: text(&one_line(&task.phase), NAME).or_else(|| like.phase.clone()),
        ..Task::default()
    }
}
