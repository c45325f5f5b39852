//! `.ralph/control/commands.json`: commands on their way to the loop.

use ralph_host::store::{Kind, Store};
use serde_json::{Map, Value, json};

use crate::error::Refusal;

/// The file, relative to the project.
const FILE: &str = ".ralph/control/commands.json";

/// Add a command that was checked to `pending`, with an id that is unique for ever.
pub(crate) fn append(
    root: &std::path::Path,
    store: &Store,
    mut command: Map<String, Value>,
    id: &str,
    at: &str,
) -> Result<(), Refusal> {
    command.insert("id".to_owned(), json!(id));
    command.insert("at".to_owned(), json!(at));
    let path = root.join(FILE);
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)
            .map_err(|e| Refusal::new(500, format!("cannot make .ralph/control: {e}")))?;
    }
    store.update(&path, Kind::Document, |bytes| {
        let mut file: Value = match bytes {
            Some(bytes) if !bytes.trim_ascii().is_empty() => serde_json::from_slice(bytes)
                .map_err(|e| {
                    Refusal::new(500, format!("{FILE} is damaged, nothing was changed: {e}"))
                })?,
            _ => json!({ "pending": [] }),
        };
        let Some(fields) = file.as_object_mut() else {
            return Err(Refusal::new(500, format!("{FILE} is no object, nothing was changed")));
        };
        let pending = fields.entry("pending").or_insert_with(|| json!([]));
        let Some(pending) = pending.as_array_mut() else {
            return Err(Refusal::new(500, format!("{FILE}: `pending` is no array")));
        };
        pending.push(Value::Object(command));
        let text = serde_json::to_string_pretty(&file).unwrap_or_default() + "\n";
        Ok((text, ()))
    })?;
    Ok(())
}
