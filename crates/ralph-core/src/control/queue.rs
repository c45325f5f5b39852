//! The text of `commands.json`, changed without losing what ralph does not know.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::LoopCommand;

/// The member that holds what was not carried out yet.
const PENDING: &str = "pending";

/// A file that is no queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// The text is not JSON.
    #[error("this is not JSON: {0}")]
    Json(String),
    /// The JSON is not a queue.
    #[error("there is no list `pending` in it")]
    Shape,
}

/// One entry of the command queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedCommand {
    /// Unique id of the entry.
    pub id: String,
    /// The command, or why it is none.
    pub read: Result<LoopCommand, String>,
}

/// Queue of commands in `commands.json`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandQueue {
    // Any JSON: anybody may write the file, and what ralph does not know stays in it.
    /// Members of the file that ralph does not know.
    rest: Map<String, Value>,
    // Any JSON: what is no command is told as it stands.
    pending: Vec<Value>,
}

impl CommandQueue {
    /// Read the file. An empty one, and a bare list, are queues too.
    pub fn parse(text: &str) -> Result<Self, QueueError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let value = serde_json::from_str(text).map_err(|e| QueueError::Json(e.to_string()))?;
        match value {
            Value::Array(pending) => Ok(Self { rest: Map::new(), pending }),
            Value::Object(mut rest) => match rest.remove(PENDING) {
                Some(Value::Array(pending)) => Ok(Self { rest, pending }),
                None | Some(Value::Null) => Ok(Self { rest, pending: Vec::new() }),
                Some(_) => Err(QueueError::Shape),
            },
            _ => Err(QueueError::Shape),
        }
    }

    /// Return the text of the file.
    pub fn text(&self) -> String {
        let mut file = Map::new();
        file.insert(PENDING.to_owned(), json!(self.pending));
        file.extend(self.rest.clone());
        serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
    }

    /// Add a command to the end.
    pub fn push(&mut self, command: &LoopCommand, id: &str) {
        self.pending.push(command.to_json(id));
    }

    /// Give an id to each entry that has none, or one that an earlier entry has. Whether there was one.
    pub fn name_all(&mut self, mint: &mut dyn FnMut() -> String) -> bool {
        let (mut taken, mut named) = (BTreeSet::new(), false);
        for entry in &mut self.pending {
            let known = id_of(entry).is_some_and(|id| taken.insert(id));
            if known {
                continue;
            }
            if !entry.is_object() {
                // A bare word is a command, and anything else is told as it stands.
                *entry =
                    json!({ "command": entry.as_str().map_or(entry.to_string(), str::to_owned) });
            }
            let id = mint();
            entry["id"] = json!(id);
            taken.insert(id);
            named = true;
        }
        named
    }

    /// The entries that have an id, oldest first.
    pub fn entries(&self) -> Vec<QueuedCommand> {
        let entry = |value: &Value| {
            Some(QueuedCommand { id: id_of(value)?, read: LoopCommand::read(value) })
        };
        self.pending.iter().filter_map(entry).collect()
    }

    /// Take the entries with these ids out.
    pub fn remove(&mut self, ids: &BTreeSet<String>) {
        self.pending.retain(|entry| id_of(entry).is_none_or(|id| !ids.contains(&id)));
    }
}

fn id_of(entry: &Value) -> Option<String> {
    match entry.get("id")? {
        Value::String(id) if !id.trim().is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}
