//! Tasks as people and agents type them: JSON with any of the four formats' field names.

use serde_json::{Map, Value};

use super::model::{Id, Priority, Task};
use crate::text::nearest;

/// A typed-in task that cannot be taken, in plain words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TaskInputError(pub String);

/// Fields of a task as a person or an agent typed them. Absent fields are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskInput {
    /// An id to keep, or a label that other tasks of the same batch refer to.
    pub id: Option<String>,
    /// One line that says what to do.
    pub name: Option<String>,
    pub spec: Option<String>,
    pub notes: Option<String>,
    /// Acceptance criteria of the task.
    pub accept: Option<Vec<String>>,
    /// Ids, or labels and names of tasks in the same batch.
    pub deps: Option<Vec<String>>,
    /// Priority of the task. `Some(None)` removes the priority.
    pub priority: Option<Option<Priority>>,
    /// The task it was split from.
    pub parent: Option<String>,
    /// Id of the issue that the task came from.
    pub created_from: Option<String>,
    /// Phase of the task (progress.md).
    pub phase: Option<String>,
    pub skills: Option<Vec<String>>,
    pub libraries: Option<Vec<String>>,
    /// Whether an agent must fetch documentation before the task.
    pub needs_docs: Option<bool>,
    /// Maximum number of turns of a backend.
    pub max_turns: Option<u32>,
    /// Longest time of one run, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Maximum number of retries.
    pub max_retries: Option<u32>,
}

/// The names a field goes by. The first is ours.
const FIELDS: [(&str, &[&str]); 16] = [
    ("id", &["id"]),
    ("name", &["name", "title"]),
    ("spec", &["spec"]),
    ("notes", &["notes", "description", "details"]),
    ("accept", &["accept", "acceptance_criteria", "acceptanceCriteria", "criteria"]),
    ("deps", &["deps", "depends_on", "dependsOn", "dependencies"]),
    ("priority", &["priority"]),
    ("parent", &["parent"]),
    ("created_from", &["created_from", "createdFrom"]),
    ("phase", &["phase"]),
    ("skills", &["skills"]),
    ("libraries", &["libraries"]),
    ("needs_docs", &["needs_docs", "needsDocs"]),
    ("max_turns", &["max_turns", "maxTurns"]),
    ("timeout_ms", &["timeout_ms", "timeoutMs"]),
    ("max_retries", &["max_retries", "maxRetries"]),
];

/// Fields that only ralph sets; they may stand in a task copied from elsewhere and say nothing.
const IGNORED: [&str; 5] = ["t", "s", "status", "order", "state"];

impl TaskInput {
    /// Read the text of one JSON object.
    pub fn from_text(text: &str) -> Result<Self, TaskInputError> {
        match read_json(text)? {
            Value::Object(object) => Self::from_object(&object),
            _ => Err(wrong("a task", "a JSON object")),
        }
    }

    /// Read a task from a JSON object. Unknown fields are an error.
    pub fn from_object(object: &Map<String, Value>) -> Result<Self, TaskInputError> {
        let mut input = Self::default();
        let only_description = !object.contains_key("name") && !object.contains_key("title");
        for (key, value) in object {
            if IGNORED.contains(&key.as_str()) {
                continue;
            }
            let field = FIELDS.iter().find(|(_, names)| names.contains(&key.as_str()));
            let field = match field {
                // implementation.json's tasks have a description and no name.
                Some((_, names)) if only_description && names.contains(&"description") => {
                    if key == "description" { "name" } else { "notes" }
                }
                Some((field, _)) => field,
                None => return Err(unknown_field(key)),
            };
            input.take(field, key, value)?;
        }
        Ok(input)
    }

    fn take(&mut self, field: &str, key: &str, value: &Value) -> Result<(), TaskInputError> {
        match field {
            "id" => self.id = Some(one_line(key, text(key, value)?)?),
            "name" => self.name = Some(one_line(key, text(key, value)?)?),
            "spec" => self.spec = Some(one_line(key, text(key, value)?)?),
            "notes" => self.notes = Some(text(key, value)?),
            "accept" => self.accept = Some(texts(key, value)?),
            "deps" => self.deps = Some(texts(key, value)?),
            "priority" => self.priority = Some(priority(value)?),
            "parent" => self.parent = Some(one_line(key, text(key, value)?)?),
            "created_from" => self.created_from = Some(one_line(key, text(key, value)?)?),
            "phase" => self.phase = Some(one_line(key, text(key, value)?)?),
            "skills" => self.skills = Some(texts(key, value)?),
            "libraries" => self.libraries = Some(texts(key, value)?),
            "needs_docs" => {
                self.needs_docs = Some(value.as_bool().ok_or_else(|| wrong(key, "true or false"))?)
            }
            "max_turns" => self.max_turns = Some(number(key, value)?),
            "timeout_ms" => {
                self.timeout_ms = Some(value.as_u64().ok_or_else(|| wrong(key, "a whole number"))?)
            }
            _ => self.max_retries = Some(number(key, value)?),
        }
        Ok(())
    }

    /// Write what was said into a task. Dependencies are resolved by the caller, since they may be
    /// labels; ids of a task never change.
    pub fn apply_to(&self, task: &mut Task) -> Result<(), TaskInputError> {
        if let Some(name) = &self.name {
            if name.trim().is_empty() {
                return Err(TaskInputError("a task needs a name".into()));
            }
            task.name = name.trim().to_owned();
        }
        set(&mut task.spec, &self.spec);
        set(&mut task.notes, &self.notes);
        set(&mut task.phase, &self.phase);
        if let Some(accept) = &self.accept {
            task.accept.clone_from(accept);
        }
        if let Some(priority) = self.priority {
            task.priority = priority;
            task.auto_priority = None;
        }
        if let Some(parent) = &self.parent {
            task.parent = Some(Id::new(parent.as_str()));
        }
        if let Some(issue) = &self.created_from {
            task.created_from = Some(Id::new(issue.as_str()));
        }
        if let Some(skills) = &self.skills {
            task.skills.clone_from(skills);
        }
        if let Some(libraries) = &self.libraries {
            task.libraries.clone_from(libraries);
        }
        task.needs_docs = self.needs_docs.unwrap_or(task.needs_docs);
        task.max_turns = self.max_turns.or(task.max_turns);
        task.timeout_ms = self.timeout_ms.or(task.timeout_ms);
        task.max_retries = self.max_retries.or(task.max_retries);
        Ok(())
    }
}

/// An empty text takes the old value away.
fn set(slot: &mut Option<String>, said: &Option<String>) {
    if let Some(said) = said {
        *slot = (!said.is_empty()).then(|| said.clone());
    }
}

/// Read the argument of `ralph task add`: an object, an array of objects, or a plain name.
pub fn read_tasks(argument: &str) -> Result<Vec<TaskInput>, TaskInputError> {
    let trimmed = argument.trim();
    if trimmed.is_empty() {
        return Err(TaskInputError("a task needs a name".into()));
    }
    if !trimmed.starts_with(['{', '[']) {
        return Ok(vec![TaskInput {
            name: Some(one_line("name", trimmed.to_owned())?),
            ..TaskInput::default()
        }]);
    }
    let items = match read_json(trimmed)? {
        Value::Array(items) => items,
        other => vec![other],
    };
    if items.is_empty() {
        return Err(TaskInputError("the array has no tasks in it".into()));
    }
    let several = items.len() > 1;
    items
        .iter()
        .enumerate()
        .map(|(i, item)| {
            let object = item.as_object().ok_or_else(|| wrong("a task", "a JSON object"));
            object
                .and_then(TaskInput::from_object)
                .and_then(|input| match &input.name {
                    Some(name) if !name.trim().is_empty() => Ok(input),
                    _ => Err(TaskInputError("a task needs a name".into())),
                })
                .map_err(
                    |e| if several { TaskInputError(format!("task {}: {e}", i + 1)) } else { e },
                )
        })
        .collect()
}

/// The strict reader: duplicate keys are a mistake that serde_json would hide.
fn read_json(text: &str) -> Result<Value, TaskInputError> {
    match crate::json::parse(text) {
        Ok(node) => Ok(node.to_value(text)),
        Err(e) => Err(TaskInputError(format!("not valid JSON: {e}"))),
    }
}

fn unknown_field(key: &str) -> TaskInputError {
    let names = FIELDS.iter().flat_map(|(_, names)| names.iter().copied());
    match nearest(key, names) {
        Some(near) => TaskInputError(format!("unknown field `{key}` (did you mean `{near}`?)")),
        None => {
            let known: Vec<&str> = FIELDS.iter().map(|(name, _)| *name).collect();
            TaskInputError(format!("unknown field `{key}`; a task has {}", known.join(", ")))
        }
    }
}

fn wrong(key: &str, expected: &str) -> TaskInputError {
    TaskInputError(format!("`{key}` must be {expected}"))
}

fn text(key: &str, value: &Value) -> Result<String, TaskInputError> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong(key, "a text"))
}

fn one_line(key: &str, text: String) -> Result<String, TaskInputError> {
    if text.contains(['\n', '\r']) {
        return Err(TaskInputError(format!(
            "`{key}` must be one line; longer text goes into `notes`"
        )));
    }
    Ok(text)
}

fn texts(key: &str, value: &Value) -> Result<Vec<String>, TaskInputError> {
    match value {
        Value::String(one) => Ok(vec![one.clone()]),
        Value::Array(items) => items.iter().map(|item| text(key, item)).collect(),
        Value::Null => Ok(Vec::new()),
        _ => Err(wrong(key, "a text or an array of texts")),
    }
}

fn number(key: &str, value: &Value) -> Result<u32, TaskInputError> {
    value.as_u64().and_then(|n| u32::try_from(n).ok()).ok_or_else(|| wrong(key, "a whole number"))
}

fn priority(value: &Value) -> Result<Option<Priority>, TaskInputError> {
    if value.is_null() {
        return Ok(None);
    }
    let word = value.as_str().map(str::to_lowercase).unwrap_or_default();
    Priority::from_word(&word).map(Some).ok_or_else(|| wrong("priority", "high, medium or low"))
}
