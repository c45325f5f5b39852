//! A task as this format can write it.

use super::{lines, tasks, unsupported};
use crate::format::EditError;
use crate::plan::{Task, TaskState};

/// Data of a task that goes into the file, in the form in which it will be read back.
pub(super) struct TaskContent {
    pub(super) name: String,
    pub(super) state: TaskState,
    pub(super) notes: Option<String>,
    pub(super) accept: Vec<String>,
    pub(super) phase: Option<String>,
}

impl TaskContent {
    /// Return the data that the file will store for `task`, or an error if the format cannot store it.
    pub(super) fn of(task: &Task) -> Result<Self, EditError> {
        let name = lines::one_line(&task.name);
        if name.is_empty() {
            return Err(unsupported("a task without a name"));
        }
        if tasks::split_blocked(&name).1.is_some() {
            return Err(unsupported("a task whose name ends in the mark [BLOCKED]"));
        }
        let state = match &task.state {
            // A run and its end are not in the file; the task is still to be done.
            TaskState::Pending | TaskState::Running | TaskState::Killed(_) => TaskState::Pending,
            TaskState::Done | TaskState::Accepted => TaskState::Accepted,
            TaskState::Blocked(reason) => TaskState::Blocked(bracketed(reason)),
            TaskState::Failed(reason) => {
                TaskState::Failed(reason.as_deref().map(lines::one_line).filter(|r| !r.is_empty()))
            }
            TaskState::Skipped => TaskState::Skipped,
        };
        let accept = task.accept.iter().map(|a| lines::one_line(a)).filter(|a| !a.is_empty());
        Ok(Self {
            name,
            state,
            notes: task.notes.as_deref().and_then(lines::dedent),
            accept: accept.collect(),
            phase: task.phase.as_deref().map(lines::one_line).filter(|p| !p.is_empty()),
        })
    }

    pub(super) fn line(&self, lead: &str) -> String {
        let tick = if self.state == TaskState::Accepted { 'x' } else { ' ' };
        let mark = match &self.state {
            TaskState::Blocked(reason) => blocked_mark(reason),
            _ => String::new(),
        };
        format!("{lead}[{tick}] {}{mark}", self.name)
    }

    pub(super) fn body(&self, indent: &str) -> Vec<String> {
        let notes = self.notes.as_deref().unwrap_or_default();
        let notes = notes.lines().map(|l| format!("{indent}{l}").trim_end().to_owned());
        notes.chain(criteria(indent, &self.accept)).collect()
    }

    /// A field of `new` that differs from `old` and that the file has no place for.
    pub(super) fn field_without_a_place(&self, new: &Task, old: &Task) -> Option<&'static str> {
        let priority = (new.priority, new.auto_priority) != (old.priority, old.auto_priority);
        [
            (priority, "priorities"),
            (new.deps != old.deps, "dependencies"),
            (new.spec != old.spec, "the spec of a task"),
            (self.phase != old.phase, "a move to another phase"),
            (new.retries != old.retries, "a chosen number of retries"),
            (new.max_retries != old.max_retries, "a task's own retry limit"),
            (new.max_turns != old.max_turns, "a task's own turn limit"),
            (new.timeout_ms != old.timeout_ms, "a task's own time limit"),
            (new.skills != old.skills, "skills"),
            (new.libraries != old.libraries, "libraries"),
            (new.needs_docs != old.needs_docs, "the need for documentation"),
            (new.parent != old.parent, "the parent of a task"),
            (new.created_from != old.created_from, "the origin of a task"),
            (new.done_at != old.done_at, "the time a task was done"),
            (new.reject != old.reject, "a reason for rejection without a rejection"),
        ]
        .into_iter()
        .find_map(|(differs, what)| differs.then_some(what))
    }
}

pub(super) fn criteria(indent: &str, accept: &[String]) -> Vec<String> {
    accept.iter().map(|a| format!("{indent}- Accept: {a}")).collect()
}

/// The mark for a blocked task, with the space before it.
pub(super) fn blocked_mark(reason: &str) -> String {
    let reason = bracketed(reason);
    if reason.is_empty() { " [BLOCKED]".to_owned() } else { format!(" [BLOCKED: {reason}]") }
}

/// A reason that fits between brackets.
fn bracketed(reason: &str) -> String {
    let plain = lines::one_line(reason).replace('[', "(").replace(']', ")");
    plain.trim_start_matches([':', '-', '–', '—', ' ', '\t']).to_owned()
}
