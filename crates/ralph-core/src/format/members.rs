//! A task as members of a JSON object, for the two formats that keep tasks in place.
//!
//! Each format names its members in a [`MemberKeys`] table and says how it spells states; reading, the
//! effect of an edit on a task, and the comparison that leaves equal members alone are the same.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::format::EditError;
use crate::json::{JsonError, JsonFields, JsonNode, MemberChange};
use crate::plan::{Id, PlanEdit, Priority, Retirement, Task, TaskState};

/// Names of a task's members in one format. Each format handles states and ids itself.
pub(super) struct MemberKeys {
    pub(super) name: &'static str,
    pub(super) notes: &'static str,
    pub(super) skills: &'static str,
    pub(super) needs_docs: &'static str,
    pub(super) libraries: &'static str,
    pub(super) accept: &'static str,
    pub(super) deps: &'static str,
    pub(super) max_turns: &'static str,
    pub(super) timeout_ms: &'static str,
    pub(super) retries: &'static str,
    pub(super) max_retries: &'static str,
    pub(super) priority: &'static str,
    pub(super) auto_priority: &'static str,
    pub(super) parent: &'static str,
    pub(super) created_from: &'static str,
    pub(super) phase: &'static str,
    pub(super) done_at: &'static str,
    pub(super) reject: &'static str,
}

/// Members with their values in the order of a new task; null stands for "no such member".
pub(super) type MemberValues = Vec<(&'static str, Value)>;

/// Read what `keys` names. State, spec and line are left to the format.
pub(super) fn read(fields: &JsonFields<'_, '_>, keys: &MemberKeys) -> Result<Task, JsonError> {
    let id = |key: &str| fields.string(key).map(|id| id.map(Id::new));
    let rank = |key: &str| fields.word(key, "high, medium or low", Priority::from_word);
    Ok(Task {
        id: Id::new(own_id(fields)?),
        name: fields.required(keys.name)?.into_owned(),
        spec: None,
        state: TaskState::Pending,
        notes: fields.string(keys.notes)?.filter(|notes| !notes.is_empty()),
        accept: fields.strings(keys.accept)?,
        deps: fields.strings(keys.deps)?.into_iter().map(Id::new).collect(),
        priority: rank(keys.priority)?,
        auto_priority: rank(keys.auto_priority)?,
        retries: fields.u32(keys.retries)?.unwrap_or(0),
        max_retries: fields.u32(keys.max_retries)?,
        max_turns: fields.u32(keys.max_turns)?,
        timeout_ms: fields.u64(keys.timeout_ms)?,
        skills: fields.strings(keys.skills)?,
        libraries: fields.strings(keys.libraries)?,
        needs_docs: fields.bool(keys.needs_docs)?.unwrap_or(false),
        parent: id(keys.parent)?,
        created_from: id(keys.created_from)?,
        done_at: fields.string(keys.done_at)?,
        reject: fields.string(keys.reject)?,
        phase: fields.string(keys.phase)?,
        line: 0,
    })
}

/// The `id` of a task or a spec, which must say something.
pub(super) fn own_id(fields: &JsonFields<'_, '_>) -> Result<String, JsonError> {
    let id = fields.required("id")?;
    match fields.get("id") {
        Some(node) if id.trim().is_empty() => fields.wrong("id", node, "a word"),
        _ => Ok(id.into_owned()),
    }
}

/// Return the items of the array at `key`, or `None` if the field is absent.
pub(super) fn items<'n>(
    fields: &JsonFields<'_, 'n>,
    key: &str,
) -> Result<Option<&'n [JsonNode]>, JsonError> {
    match fields.get(key) {
        None => Ok(None),
        Some(node) => match node.items() {
            None => fields.wrong(key, node, "an array"),
            items => Ok(items),
        },
    }
}

/// The members that `keys` names, name and notes first.
pub(super) fn values(task: &Task, keys: &MemberKeys) -> MemberValues {
    let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    let id = |id: &Option<Id>| id.as_ref().map_or(Value::Null, |id| id.as_str().into());
    let rank = |rank: Option<Priority>| rank.map_or(Value::Null, |rank| rank.as_str().into());
    let count = |count: Option<u32>| count.map_or(Value::Null, Value::from);
    vec![
        (keys.name, task.name.as_str().into()),
        (keys.notes, text(&task.notes.clone().filter(|notes| !notes.is_empty()))),
        (keys.skills, task.skills.clone().into()),
        (keys.needs_docs, task.needs_docs.into()),
        (keys.libraries, task.libraries.clone().into()),
        (keys.accept, task.accept.clone().into()),
        (keys.deps, task.deps.iter().map(Id::as_str).collect()),
        (keys.max_turns, count(task.max_turns)),
        (keys.timeout_ms, task.timeout_ms.map_or(Value::Null, Value::from)),
        (keys.retries, task.retries.into()),
        (keys.max_retries, count(task.max_retries)),
        (keys.priority, rank(task.priority)),
        (keys.auto_priority, rank(task.auto_priority)),
        (keys.parent, id(&task.parent)),
        (keys.created_from, id(&task.created_from)),
        (keys.phase, text(&task.phase)),
        (keys.done_at, text(&task.done_at)),
        (keys.reject, text(&task.reject)),
    ]
}

/// Return the changes that turn members with the values `old` into members with the values `new`.
pub(super) fn changes(old: &MemberValues, new: MemberValues) -> Vec<MemberChange> {
    let differs = |&(key, ref value): &(&str, Value)| {
        old.iter().find(|(k, _)| *k == key).is_none_or(|(_, was)| was != value)
    };
    let change = |(key, value): (&'static str, Value)| match value {
        Value::Null => MemberChange::Remove(key.to_owned()),
        value => MemberChange::Set(key.to_owned(), value),
    };
    new.into_iter().filter(differs).map(change).collect()
}

/// A new object of those values that are there.
pub(super) fn object(values: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let there = values.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(there.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}

/// Result of a batch of edits for one task.
#[derive(Clone)]
pub(super) struct TaskEditOutcome {
    /// The task as it is to be; `None` when it goes away.
    pub(super) task: Option<Task>,
    /// Why it was skipped, where that was said: the model has no place for it, the files do.
    pub(super) skip_reason: Option<String>,
}

/// Return the id of the existing task that an edit changes, or `None` for other edits.
pub(super) fn target(edit: &PlanEdit) -> Option<&Id> {
    match edit {
        PlanEdit::UpdateTask(task) => Some(&task.id),
        PlanEdit::Retire { id, .. } | PlanEdit::Reject { id, .. } => Some(id),
        _ => None,
    }
}

/// Return the result of applying `edit` to `task`. The edit must be about this task.
pub(super) fn outcome(task: &Task, edit: &PlanEdit) -> TaskEditOutcome {
    let changed = match edit {
        PlanEdit::UpdateTask(new) => new.clone(),
        PlanEdit::Reject { reason, .. } => Task {
            state: TaskState::Pending,
            retries: task.retries.saturating_add(1),
            reject: Some(reason.clone()),
            done_at: None,
            ..task.clone()
        },
        PlanEdit::Retire { how: Retirement::Deleted, .. } => {
            return TaskEditOutcome { task: None, skip_reason: None };
        }
        PlanEdit::Retire { how: Retirement::Skipped, reason, .. } => {
            let task = Task { state: TaskState::Skipped, ..task.clone() };
            return TaskEditOutcome {
                task: Some(task),
                skip_reason: reason.clone().filter(|r| !r.is_empty()),
            };
        }
        PlanEdit::Retire { how: Retirement::Failed, reason, .. } => {
            Task { state: TaskState::Failed(reason.clone()), ..task.clone() }
        }
        PlanEdit::Retire { how: Retirement::Accepted, at, .. } => {
            // Accepting twice does not move the date of the first time.
            let accepted = task.state == TaskState::Accepted;
            let first = task.done_at.clone().filter(|_| accepted);
            let done_at = Some(first.unwrap_or_else(|| at.clone()));
            Task { state: TaskState::Accepted, done_at, ..task.clone() }
        }
        _ => task.clone(),
    };
    TaskEditOutcome { task: Some(changed), skip_reason: None }
}

/// Return a name for an edit that JSON formats cannot store. `None` means that they can.
pub(super) fn unsupported(edit: &PlanEdit) -> Option<&'static str> {
    match edit {
        PlanEdit::AddIssue(_) | PlanEdit::UpdateIssue(_) | PlanEdit::RemoveIssue(_) => {
            Some("issues")
        }
        PlanEdit::UseSpec(_) => Some("a current spec"),
        PlanEdit::AcceptSpec { .. } => Some("the acceptance of a whole spec"),
        PlanEdit::AddTask { .. }
        | PlanEdit::UpdateTask(_)
        | PlanEdit::Retire { .. }
        | PlanEdit::Reject { .. } => None,
    }
}

/// Places of all ids: the index in the plan for tasks of the file, a `P` for new tasks.
pub(super) struct IdPlaces<'p, P> {
    tasks: &'p [Task],
    first: BTreeMap<&'p Id, usize>,
    again: BTreeMap<&'p Id, usize>,
    new: BTreeMap<&'p Id, P>,
}

/// Task that a new task is placed after.
pub(super) enum TaskAnchor<P> {
    /// A task of the file, by its place in the plan.
    Old(usize),
    /// A task that the same batch adds.
    New(P),
}

impl<'p, P: Copy> IdPlaces<'p, P> {
    pub(super) fn of(tasks: &'p [Task]) -> Self {
        let mut first = BTreeMap::new();
        let mut again = BTreeMap::new();
        for (i, task) in tasks.iter().enumerate() {
            if *first.entry(&task.id).or_insert(i) != i {
                again.entry(&task.id).or_insert(i);
            }
        }
        Self { tasks, first, again, new: BTreeMap::new() }
    }

    /// The one task of the file with this id.
    pub(super) fn find(&self, id: &Id) -> Result<usize, EditError> {
        match (self.first.get(id), self.again.get(id)) {
            (Some(&at), None) => Ok(at),
            (Some(&at), Some(&other)) => {
                let lines = (self.tasks[at].line, self.tasks[other].line);
                Err(EditError::Ambiguous { id: id.clone(), lines })
            }
            (None, _) => Err(EditError::Unknown(id.clone())),
        }
    }

    /// The task that a new one is to follow.
    pub(super) fn anchor(&self, id: &Id) -> Result<TaskAnchor<P>, EditError> {
        match self.new.get(id) {
            Some(&place) => Ok(TaskAnchor::New(place)),
            None => self.find(id).map(TaskAnchor::Old),
        }
    }

    /// A new task, whose id must not be in use.
    pub(super) fn add(&mut self, id: &'p Id, place: P) -> Result<(), EditError> {
        if self.first.contains_key(id) || self.new.insert(id, place).is_some() {
            return Err(EditError::Taken(id.clone()));
        }
        Ok(())
    }
}
