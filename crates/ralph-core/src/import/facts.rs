//! Facts of a task, to compare an imported task with the one that a plan stored.

use super::LabelledText;
use crate::plan::{Id, Task, TaskState};

/// Return the facts of `meant` that `got` lacks. `got` is the task as read back from the plan.
pub(super) fn lost(meant: &Task, got: Option<&Task>) -> Vec<LabelledText> {
    let got = got.map(facts).unwrap_or_default();
    facts(meant).into_iter().filter(|fact| !got.contains(fact)).collect()
}

fn facts(task: &Task) -> Vec<LabelledText> {
    let ids = |ids: &[Id]| ids.iter().map(Id::as_str).collect::<Vec<_>>().join(", ");
    let lines: Vec<String> = task.accept.iter().map(|line| format!("- {line}")).collect();
    let number = |n: Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
    let flag = |is_set: bool| if is_set { "true".to_owned() } else { String::new() };
    let why = match &task.state {
        TaskState::Blocked(why) | TaskState::Failed(Some(why)) => why.clone(),
        _ => String::new(),
    };
    let said = [
        ("name", task.name.clone()),
        ("state", task.state.word().to_owned()),
        ("why", why),
        ("notes", task.notes.clone().unwrap_or_default()),
        ("accept", lines.join("\n")),
        ("deps", ids(&task.deps)),
        ("priority", task.priority.map(|p| p.as_str().to_owned()).unwrap_or_default()),
        ("spec", task.spec.clone().unwrap_or_default()),
        ("phase", task.phase.clone().unwrap_or_default()),
        ("done_at", task.done_at.clone().unwrap_or_default()),
        ("reject", task.reject.clone().unwrap_or_default()),
        ("retries", number(Some(u64::from(task.retries)).filter(|n| *n > 0))),
        ("max_retries", number(task.max_retries.map(u64::from))),
        ("max_turns", number(task.max_turns.map(u64::from))),
        ("timeout_ms", number(task.timeout_ms)),
        ("skills", task.skills.join(", ")),
        ("libraries", task.libraries.join(", ")),
        ("needs_docs", flag(task.needs_docs)),
    ];
    said.into_iter()
        .filter(|(_, text)| !text.trim().is_empty())
        .map(|(label, text)| LabelledText::new(label, text))
        .collect()
}
