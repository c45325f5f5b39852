//! PLAN: the tasks of a spec, in whatever format the plan is.

use std::collections::BTreeSet;

use super::bench::{WorkingPlan, short};
use super::mint::{DuplicateScope, TaskCreation};
use super::{AppliedChange, EditContext};
use crate::construct::answer::PlanAnswer;
use crate::construct::check::MOST_TASKS;
use crate::format::implementation::{self, SpecDescription};
use crate::format::{EditError, PlanFormat, codec};
use crate::plan::{Id, Plan, PlanEdit, Retirement, Task, TaskState};
use crate::text::clip;

/// Author to write into implementation.json.
const AUTHOR: &str = "plan-mode";

/// Characters of what a plan says about a spec.
const CONTEXT: usize = 4_000;

/// Criteria of a spec as a whole.
const CRITERIA: usize = 50;

/// Treatment of the tasks that a spec already has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingTasks {
    /// Existing tasks stay. A new task that says the same is not added.
    Merge,
    /// Those that are not done go away; nothing of another spec does.
    Replace,
}

/// Target of a new plan: the format, the spec and the title of its file.
#[derive(Clone, Copy, Debug)]
pub struct PlanTarget<'a> {
    /// The format of the plan file.
    pub format: PlanFormat,
    /// The spec; `None` for free text in a plan without specs.
    pub spec: Option<&'a str>,
    /// The spec's file, relative to the project.
    pub file: Option<&'a str>,
    pub existing: ExistingTasks,
    /// The title of a file that does not exist yet.
    pub title: &'a str,
}

/// Put a plan into the file. An empty `text` is a file that does not exist yet.
pub fn planned(
    text: &str,
    target: &PlanTarget<'_>,
    answer: &PlanAnswer,
    pen: EditContext<'_>,
) -> Result<AppliedChange, EditError> {
    let fresh = text.trim().is_empty().then(|| codec(target.format).empty(target.title, pen.at));
    let mut bench = WorkingPlan::new(target.format, fresh.as_deref().unwrap_or(text), pen)?;
    let mine = |plan: &Plan, task: &Task| is_of(plan, task, target.spec);
    if target.existing == ExistingTasks::Replace {
        replace(&mut bench, mine)?;
    }
    if let (PlanFormat::Jsonl, Some(spec)) = (target.format, target.spec)
        && bench.plan.current_spec.as_deref() != Some(spec)
    {
        bench.edit(PlanEdit::UseSpec(spec.to_owned()));
        bench.commit()?;
    }
    let like = Task {
        spec: tag(&bench.plan, target.spec),
        phase: bench.plan.tasks.last().and_then(|last| last.phase.clone()),
        ..Task::default()
    };
    let how = TaskCreation {
        like: &like,
        instead_of: None,
        against: DuplicateScope::All,
        most: MOST_TASKS,
    };
    bench.mint(&answer.tasks, &how);
    if answer.tasks.is_empty() {
        bench.note(format!("nothing to do, the planner says: {}", short(&answer.reason)));
    }
    bench.commit()?;
    bench.prioritize(mine)?;
    if target.format == PlanFormat::Implementation {
        let about = SpecDescription {
            file: target.file,
            context: &clip(&answer.context, CONTEXT),
            accept: &answer.accept.iter().take(CRITERIA).cloned().collect::<Vec<_>>(),
        };
        bench.rewrite(|text, at| {
            let text = implementation::describe(text, target.spec.unwrap_or_default(), &about)?;
            implementation::stamp(&text, at, AUTHOR)
        })?;
    }
    let mut applied = bench.finish()?;
    if target.format == PlanFormat::Progress {
        applied.came.created = names_of_progress(fresh.as_deref().unwrap_or(text), &applied.text)?;
    }
    Ok(applied)
}

/// Return the spec to write into the tasks.
/// plan.json names specs only where its tasks already do. progress.md has no place for them.
fn tag(plan: &Plan, spec: Option<&str>) -> Option<String> {
    let tagged = match plan.format {
        PlanFormat::Jsonl | PlanFormat::Implementation => true,
        PlanFormat::Deluxe => plan.tasks.iter().any(|task| task.spec.is_some()),
        PlanFormat::Progress => false,
    };
    let spec = spec.filter(|_| tagged)?;
    let entry = plan.specs.iter().find(|entry| is_spec(entry, spec));
    Some(entry.map_or_else(|| spec.to_owned(), |entry| entry.id.clone()))
}

fn is_spec(entry: &crate::plan::SpecEntry, spec: &str) -> bool {
    entry.id == spec || entry.file.as_deref().is_some_and(|file| stem(file) == stem(spec))
}

/// `ralph/specs/a/x.md` and `a/x` are the same spec.
fn stem(path: &str) -> &str {
    let path = path.trim_start_matches("./");
    let path = path.strip_prefix("ralph/").unwrap_or(path);
    let path = path.strip_prefix("specs/").unwrap_or(path);
    path.strip_suffix(".md").unwrap_or(path)
}

/// Whether a task belongs to the spec that is planned.
fn is_of(plan: &Plan, task: &Task, spec: Option<&str>) -> bool {
    match (&task.spec, spec) {
        (Some(own), Some(spec)) => {
            own == spec || plan.specs.iter().any(|e| e.id == *own && is_spec(e, spec))
        }
        (Some(_), None) => plan.in_scope(task.spec.as_deref()),
        // A record without a spec belongs to the current one.
        (None, Some(spec)) => plan.current_spec.as_deref().is_none_or(|current| current == spec),
        (None, None) => true,
    }
}

/// Take out what is not done, except what tasks of other specs need.
fn replace(
    bench: &mut WorkingPlan<'_>,
    mine: impl Fn(&Plan, &Task) -> bool,
) -> Result<(), EditError> {
    let plan = &bench.plan;
    let done = |task: &Task| matches!(task.state, TaskState::Done | TaskState::Accepted);
    let mut going: BTreeSet<Id> =
        plan.tasks.iter().filter(|t| mine(plan, t) && !done(t)).map(|t| t.id.clone()).collect();
    loop {
        let staying = plan.tasks.iter().filter(|t| !going.contains(&t.id) && !done(t));
        let needed: Vec<Id> =
            staying.flat_map(|t| &t.deps).filter(|d| going.contains(*d)).cloned().collect();
        if needed.is_empty() {
            break;
        }
        going.retain(|id| !needed.contains(id));
    }
    let kept: Vec<Id> = plan
        .tasks
        .iter()
        .filter(|t| mine(plan, t) && !done(t) && !going.contains(&t.id))
        .map(|t| t.id.clone())
        .collect();
    for id in kept {
        bench.note(format!("{id} stays: a task of another spec needs it"));
    }
    let (at, reason) = (bench.pen.at.to_owned(), Some("replaced by a new plan".to_owned()));
    for id in going {
        let (at, reason) = (at.clone(), reason.clone());
        bench.edit(PlanEdit::Retire { id, how: Retirement::Deleted, reason, at });
    }
    bench.commit()
}

/// Find the ids of the new tasks in progress.md, because that format makes its own ids.
fn names_of_progress(before: &str, after: &str) -> Result<Vec<Id>, EditError> {
    let codec = codec(PlanFormat::Progress);
    let old = codec.parse(before)?;
    let new = codec.parse(after)?;
    Ok(new.tasks.into_iter().map(|t| t.id).filter(|id| old.task(id).is_none()).collect())
}
