//! Plan items to members, and members to records.

use serde_json::{Map, Value};

use crate::plan::{Id, Issue, KilledRun, Task, TaskState};

/// A member of a record; `None` is not written.
pub(super) type RecordMember = (&'static str, Option<Value>);

/// The members of a record in the order in which they are written.
pub(super) type RecordMembers = Vec<RecordMember>;

/// The members that together say where a task stands.
pub(super) const STATE_KEYS: [&str; 4] = ["s", "blocked", "kill_reason", "kill_log"];

/// The members of a live task. `Running` is only known while ralph runs, so it is written as
/// pending, and so are the states that a live task cannot have.
pub(super) fn task(task: &Task) -> RecordMembers {
    let (s, blocked, kill) = match &task.state {
        TaskState::Done => ("d", None, None),
        TaskState::Blocked(reason) => ("p", Some(reason.as_str().into()), None),
        TaskState::Killed(kill) => ("p", None, Some(kill)),
        TaskState::Pending | TaskState::Running => ("p", None, None),
        TaskState::Accepted | TaskState::Failed(_) | TaskState::Skipped => ("p", None, None),
    };
    vec![
        ("t", Some("task".into())),
        ("id", Some(task.id.as_str().into())),
        ("spec", text(task.spec.as_ref())),
        ("name", Some(task.name.as_str().into())),
        ("s", Some(s.into())),
        ("notes", text(task.notes.as_ref())),
        ("accept", one_or_more(&task.accept)),
        ("deps", list(task.deps.iter().map(Id::as_str))),
        ("priority", task.priority.map(|p| p.as_str().into())),
        ("auto_priority", task.auto_priority.map(|p| p.as_str().into())),
        ("parent", id(task.parent.as_ref())),
        ("created_from", id(task.created_from.as_ref())),
        ("retry_count", (task.retries > 0).then(|| task.retries.into())),
        ("max_retries", task.max_retries.map(Value::from)),
        ("max_turns", task.max_turns.map(Value::from)),
        ("timeout_ms", task.timeout_ms.map(Value::from)),
        ("skills", list(task.skills.iter().map(String::as_str))),
        ("libraries", list(task.libraries.iter().map(String::as_str))),
        ("needs_docs", task.needs_docs.then(|| true.into())),
        ("phase", text(task.phase.as_ref())),
        ("done_at", text(task.done_at.as_ref())),
        ("reject", text(task.reject.as_ref())),
        ("blocked", blocked),
        ("kill_reason", kill.map(|k| k.reason.as_str().into())),
        ("kill_log", kill_log(kill)),
    ]
}

/// Return the members of an issue's record.
pub(super) fn issue(issue: &Issue) -> RecordMembers {
    vec![
        ("t", Some("issue".into())),
        ("id", Some(issue.id.as_str().into())),
        ("spec", text(issue.spec.as_ref())),
        ("desc", Some(issue.desc.as_str().into())),
        ("priority", issue.priority.map(|p| p.as_str().into())),
        ("created_from", id(issue.created_from.as_ref())),
        ("kill_reason", issue.kill.as_ref().map(|k| k.reason.as_str().into())),
        ("kill_log", kill_log(issue.kill.as_ref())),
    ]
}

/// The start of a tombstone: what happened to which task.
pub(super) fn tombstone(kind: &str, task: &Task) -> RecordMembers {
    vec![
        ("t", Some(kind.into())),
        ("id", Some(task.id.as_str().into())),
        ("name", Some(task.name.as_str().into())),
    ]
}

/// Members as a compact record without its line end.
pub(super) fn record(members: RecordMembers) -> String {
    let present = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(present.collect::<Map<_, _>>()).to_string()
}

/// The same with a task in it, byte for byte as it stood in the file.
pub(super) fn record_with_task(members: RecordMembers, task: &str) -> String {
    let mut record = record(members);
    record.pop();
    format!("{record},\"task\":{task}}}")
}

pub(super) fn text(text: Option<&String>) -> Option<Value> {
    text.map(|t| t.as_str().into())
}

fn id(id: Option<&Id>) -> Option<Value> {
    id.map(|i| i.as_str().into())
}

fn list<'a>(items: impl ExactSizeIterator<Item = &'a str>) -> Option<Value> {
    (items.len() > 0).then(|| items.map(Value::from).collect())
}

fn one_or_more(items: &[String]) -> Option<Value> {
    match items {
        [one] if !one.is_empty() => Some(one.as_str().into()),
        several => list(several.iter().map(String::as_str)),
    }
}

fn kill_log(kill: Option<&KilledRun>) -> Option<Value> {
    text(kill?.log.as_ref())
}
