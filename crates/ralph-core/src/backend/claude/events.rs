//! Events out of the parts of a line.

use serde_json::{Map, Value};

use crate::backend::heard::{MOST_TEXT, is_true, number, real, text};
use crate::backend::{BackendEvent, ToolStatus, wire};

/// The objects of a list, or of nothing.
pub(super) fn objects(list: Option<&Value>) -> impl Iterator<Item = &Map<String, Value>> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

pub(super) fn owned(object: &Map<String, Value>, key: &str) -> String {
    text(object, key).unwrap_or_default().to_owned()
}

/// Whether a block holds what a tool gave back.
pub(super) fn is_tool_result(block: &Map<String, Value>) -> bool {
    text(block, "type").is_some_and(|kind| kind.ends_with("tool_result"))
}

pub(super) fn tool_result(block: &Map<String, Value>) -> BackendEvent {
    let said = match block.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(part)) => part_text(part),
        list => objects(list).map(part_text).collect::<Vec<_>>().join("\n"),
    };
    BackendEvent::ToolResult {
        id: owned(block, "tool_use_id"),
        status: if is_true(block, "is_error") { ToolStatus::Failed } else { ToolStatus::Ok },
        text: wire::head(said, MOST_TEXT),
    }
}

fn part_text(part: &Map<String, Value>) -> String {
    let kind = || format!("[{}]", text(part, "type").unwrap_or("something"));
    text(part, "text").map_or_else(kind, str::to_owned)
}

/// The program tries a call of its model again.
pub(super) fn retry(line: &Map<String, Value>) -> BackendEvent {
    let mut reason = text(line, "error").unwrap_or("unknown").to_owned();
    if let Some(status) = number(line, "error_status") {
        reason.push_str(&format!(" ({status})"));
    }
    BackendEvent::Retry {
        attempt: number(line, "attempt").unwrap_or(0),
        of: number(line, "max_retries"),
        delay_ms: real(line, "retry_delay_ms").map(|delay| delay as u64),
        reason,
    }
}

/// The window of the main agent's model; its name may carry a variant (`name[1m]`) on either side.
pub(super) fn window(models: &Map<String, Value>, main: Option<&str>) -> Option<u64> {
    let plain = |name: &str| name.split('[').next().unwrap_or_default().to_owned();
    let is_main = |name: &str| main.is_some_and(|main| plain(name) == plain(main));
    let exact = main.and_then(|main| models.get(main));
    let alike = || models.iter().find(|(name, _)| is_main(name)).map(|(_, model)| model);
    let only = || models.values().next().filter(|_| models.len() == 1);
    exact.or_else(alike).or_else(only)?.get("contextWindow")?.as_u64()
}
