//! From any plan format to any other, saying what the target could not hold.
//!
//! Nothing is declared lossy by a table that could be wrong. The new text is read back and compared
//! with the plan. What the old text says beside the plan is found by writing the plan in the old
//! format again: everything that is missing there never reached the plan (`unmodelled`).

mod unmodelled;

use std::collections::{BTreeMap, BTreeSet};

use crate::format::{EditError, PlanFormat, codec};
use crate::plan::{Id, Plan, PlanEdit, Task};
use crate::text::is_commit_id;

/// A plan written in another format, with a list of the losses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertedPlan {
    /// The text of the new file.
    pub text: String,
    /// Values that the target format cannot hold, one line each. Empty when nothing was lost.
    pub lost: Vec<String>,
}

/// Write `plan`, which is what `text` says, in another format. In its own format it stays as it is.
pub fn convert(
    plan: &Plan,
    text: &str,
    to: PlanFormat,
    title: &str,
    now: &str,
) -> Result<ConvertedPlan, EditError> {
    if plan.format == to {
        return Ok(ConvertedPlan { text: text.to_owned(), lost: Vec::new() });
    }
    let mut lost = unmodelled::unmodelled(plan, text, now)?;
    // Only plan.jsonl has these.
    lost.extend(plan.issues.iter().map(|issue| format!("issue {}: {}", issue.id, issue.desc)));
    lost.extend(plan.accepted_specs.iter().map(|s| format!("spec accepted: {}", s.spec)));
    lost.extend(plan.current_spec.iter().map(|spec| format!("current spec: {spec}")));

    let mut tasks = plan.all_tasks();
    if to != PlanFormat::Jsonl {
        tasks.iter_mut().for_each(note_commit);
    }
    let codec = codec(to);
    let empty = codec.empty(plan.title.as_deref().unwrap_or(title), now);
    let text = codec.edit(&empty, &additions(&tasks))?;
    let back = codec.parse(&text)?;
    lost.extend(task_losses(&tasks, &back.all_tasks()));
    if let Some(title) = plan.title.as_ref().filter(|_| plan.title != back.title) {
        lost.push(format!("title: {title}"));
    }
    Ok(ConvertedPlan { text, lost })
}

fn additions(tasks: &[Task]) -> Vec<PlanEdit> {
    tasks.iter().map(|task| PlanEdit::AddTask { task: task.clone(), after: None }).collect()
}

/// Move a commit id out of `done_at`, where all formats but plan.jsonl have a time, into the notes.
fn note_commit(task: &mut Task) {
    if let Some(commit) = task.done_at.take_if(|at| is_commit_id(at)) {
        let notes = task.notes.take().map_or_else(String::new, |notes| format!("{notes}\n\n"));
        task.notes = Some(format!("{notes}done_at: {commit}"));
    }
}

fn task_losses(meant: &[Task], got: &[Task]) -> Vec<String> {
    if meant.len() != got.len() {
        return vec![format!("{} of {} tasks", meant.len().abs_diff(got.len()), meant.len())];
    }
    // Formats may group tasks, so they are matched by id, and by name where ids are not kept.
    let by_id: BTreeMap<&Id, &Task> = got.iter().map(|t| (&t.id, t)).collect();
    let by_name: BTreeMap<&str, &Task> = got.iter().map(|t| (t.name.as_str(), t)).collect();
    let mut lost: BTreeMap<Vec<&'static str>, Vec<&str>> = BTreeMap::new();
    let mut renamed = 0;
    for task in meant {
        let found = by_id.get(&task.id).or_else(|| {
            renamed += 1;
            by_name.get(task.name.as_str())
        });
        let fields = found.map_or_else(|| vec!["the whole task"], |f| differences(task, f));
        if !fields.is_empty() {
            lost.entry(fields).or_default().push(task.id.as_str());
        }
    }
    let mut lines: Vec<String> =
        lost.iter().map(|(fields, ids)| describe_loss(&fields.join(", "), ids)).collect();
    if renamed > 0 {
        lines.push(format!("ids of tasks ({renamed}; the target makes its own)"));
    }
    lines
}

/// `dependencies, priority of t-1, t-2 and 5 more`.
fn describe_loss(fields: &str, owners: &[impl AsRef<str>]) -> String {
    const MOST: usize = 5;
    let named: Vec<&str> = owners.iter().take(MOST).map(AsRef::as_ref).collect();
    let named = named.join(", ");
    match owners.len().saturating_sub(MOST) {
        0 => format!("{fields} of {named}"),
        more => format!("{fields} of {named} and {more} more"),
    }
}

fn differences(meant: &Task, got: &Task) -> Vec<&'static str> {
    // What nobody said cannot get lost: a target may fill in a spec or a phase of its own.
    fn kept<T: PartialEq>(meant: &Option<T>, got: &Option<T>) -> bool {
        meant.is_none() || meant == got
    }
    let ids = |ids: &[Id]| ids.iter().cloned().collect::<BTreeSet<_>>();
    let checks = [
        (meant.name == got.name, "name"),
        (meant.state == got.state, "state"),
        (kept(&meant.spec, &got.spec), "spec"),
        (kept(&meant.notes, &got.notes), "notes"),
        (meant.accept == got.accept, "acceptance criteria"),
        (ids(&meant.deps) == ids(&got.deps), "dependencies"),
        (kept(&meant.priority, &got.priority), "priority"),
        (kept(&meant.auto_priority, &got.auto_priority), "auto_priority"),
        (meant.retries == got.retries, "retry count"),
        (kept(&meant.max_retries, &got.max_retries), "max retries"),
        (kept(&meant.max_turns, &got.max_turns), "max turns"),
        (kept(&meant.timeout_ms, &got.timeout_ms), "timeout"),
        (meant.skills == got.skills, "skills"),
        (meant.libraries == got.libraries, "libraries"),
        (meant.needs_docs == got.needs_docs, "needs_docs"),
        (kept(&meant.parent, &got.parent), "parent"),
        (kept(&meant.created_from, &got.created_from), "created_from"),
        (kept(&meant.done_at, &got.done_at), "done_at"),
        (kept(&meant.reject, &got.reject), "last rejection"),
        (kept(&meant.phase, &got.phase), "phase"),
    ];
    checks.into_iter().filter(|(same, _)| !same).map(|(_, field)| field).collect()
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
