//! New tasks: ids that do not exist yet, and dependencies between them.

use std::collections::{BTreeMap, BTreeSet};

use super::edit::PlanEdit;
use super::graph;
use super::input::TaskInput;
use super::model::{Id, Plan, Task};
use super::verbs::VerbRefusal;
use crate::format::PlanCodec;
use crate::text::nearest;

/// Turn typed-in tasks into edits. A dependency is an id or the exact name of a task; inside the
/// batch also the `id` another task was given, which is kept when it is a proper one and is a mere
/// label otherwise.
pub fn add(
    plan: &Plan,
    codec: &dyn PlanCodec,
    inputs: &[TaskInput],
    random: &mut dyn FnMut() -> String,
) -> Result<Vec<PlanEdit>, VerbRefusal> {
    let ids = choose_ids(plan, codec, inputs, random)?;
    let labels = labels(inputs, &ids);
    let mut tasks = Vec::with_capacity(inputs.len());
    for (input, id) in inputs.iter().zip(&ids) {
        let mut task = Task {
            id: id.clone(),
            spec: plan.current_spec.clone(),
            // Nobody adds to the top of a file that has phases.
            phase: plan.tasks.last().and_then(|last| last.phase.clone()),
            ..Task::default()
        };
        input.apply_to(&mut task).map_err(|e| VerbRefusal::Invalid(e.0))?;
        for dep in input.deps.iter().flatten() {
            task.deps.push(resolve(plan, &labels, dep, &task.name)?);
        }
        tasks.push(task);
    }
    let all: Vec<&Task> = plan.tasks.iter().chain(&tasks).collect();
    if let Some(cycle) = graph::cycles(&all).first() {
        let path: Vec<&str> = cycle.iter().chain(cycle.first()).map(Id::as_str).collect();
        return Err(VerbRefusal::Invalid(format!("dependency cycle: {}", path.join(" → "))));
    }
    Ok(tasks.into_iter().map(|task| PlanEdit::AddTask { task, after: None }).collect())
}

/// Dependencies given for an existing task must exist and must not close a circle.
pub fn change_deps(plan: &Plan, task: &mut Task, deps: &[String]) -> Result<(), VerbRefusal> {
    let found: Result<Vec<Id>, VerbRefusal> =
        deps.iter().map(|dep| resolve(plan, &BTreeMap::new(), dep, &task.name)).collect();
    task.deps = found?;
    let all: Vec<&Task> = plan.tasks.iter().filter(|t| t.id != task.id).chain([&*task]).collect();
    match graph::cycles(&all).first() {
        None => Ok(()),
        Some(cycle) => {
            let path: Vec<&str> = cycle.iter().chain(cycle.first()).map(Id::as_str).collect();
            Err(VerbRefusal::Invalid(format!("dependency cycle: {}", path.join(" → "))))
        }
    }
}

fn choose_ids(
    plan: &Plan,
    codec: &dyn PlanCodec,
    inputs: &[TaskInput],
    random: &mut dyn FnMut() -> String,
) -> Result<Vec<Id>, VerbRefusal> {
    let mut used: BTreeSet<Id> = plan
        .tasks
        .iter()
        .map(|t| &t.id)
        .chain(plan.issues.iter().map(|i| &i.id))
        .chain(plan.tombstones.iter().map(|t| &t.id))
        .cloned()
        .collect();
    let mut ids: Vec<Option<Id>> = Vec::with_capacity(inputs.len());
    // Given ids first, so that no new one takes a name that a later task of the batch brings along.
    for input in inputs {
        let given = input.id.as_deref().filter(|id| is_proper_id(id, plan)).map(Id::new);
        if let Some(id) = &given
            && !used.insert(id.clone())
        {
            return Err(VerbRefusal::Invalid(format!("the id {id} is already in use")));
        }
        ids.push(given);
    }
    let mut chosen = Vec::with_capacity(ids.len());
    for (given, input) in ids.into_iter().zip(inputs) {
        let id = given.unwrap_or_else(|| {
            let spec = input.spec.as_deref().or(plan.current_spec.as_deref());
            codec.fresh_id(plan, spec, &|id| used.contains(id), random)
        });
        used.insert(id.clone());
        chosen.push(id);
    }
    Ok(chosen)
}

/// Ids given by people or other tools are kept: `t-1a2b` in plan.jsonl, anything that looks like
/// one word with a digit elsewhere.
pub fn is_proper_id(id: &str, plan: &Plan) -> bool {
    let word =
        |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if plan.format == crate::format::PlanFormat::Jsonl {
        return match id.split_once('-') {
            Some((kind, rest)) => {
                kind.len() == 1
                    && kind.bytes().all(|b| b.is_ascii_lowercase())
                    && (4..=10).contains(&rest.len())
                    && word(rest)
            }
            None => false,
        };
    }
    id.len() > 1
        && id.bytes().any(|b| b.is_ascii_alphabetic())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn labels<'i>(inputs: &'i [TaskInput], ids: &[Id]) -> BTreeMap<&'i str, Id> {
    let mut labels = BTreeMap::new();
    let by_name = inputs.iter().zip(ids).filter_map(|(i, id)| Some((i.name.as_deref()?, id)));
    let by_label = inputs.iter().zip(ids).filter_map(|(i, id)| Some((i.id.as_deref()?, id)));
    // A label outranks a name that happens to be the same.
    for (label, id) in by_name.chain(by_label) {
        labels.insert(label, id.clone());
    }
    labels
}

fn resolve(
    plan: &Plan,
    labels: &BTreeMap<&str, Id>,
    dep: &str,
    name: &str,
) -> Result<Id, VerbRefusal> {
    if let Some(id) = labels.get(dep) {
        return Ok(id.clone());
    }
    let id = Id::new(dep);
    if plan.task(&id).is_some() || plan.tombstones.iter().any(|t| t.id == id) {
        return Ok(id);
    }
    let mut named = plan.tasks.iter().filter(|t| t.name == dep);
    if let (Some(task), None) = (named.next(), named.next()) {
        return Ok(task.id.clone());
    }
    let known = plan.tasks.iter().map(|t| t.id.as_str()).chain(labels.keys().copied());
    let hint = match nearest(dep, known) {
        Some(near) => format!(" (did you mean {near}?)"),
        None => String::new(),
    };
    Err(VerbRefusal::Invalid(format!("`{name}` depends on {dep}, which does not exist{hint}")))
}
