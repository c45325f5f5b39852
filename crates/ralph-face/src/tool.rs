//! Descriptions of a backend's actions, in one line each.

use ralph_core::backend::{BackendEvent, LimitStatus, ToolStatus};
use ralph_core::text::clip;
use serde_json::Value;

use crate::line::{ScreenLine, ScreenStyle};
use crate::text::last_line;
use crate::words::{dollars, tokens};

/// The fields of a tool's input that say most, best first.
const TELLING: [&str; 10] = [
    "file_path",
    "path",
    "filePath",
    "notebook_path",
    "command",
    "cmd",
    "pattern",
    "query",
    "url",
    "description",
];

/// Most characters of a tool's input that are shown.
const LONGEST: usize = 200;

/// A tool call in a few words: `Edit src/lib.rs`. Paths below `root` are shown without it.
pub fn tool_words(name: &str, input: &Value, root: Option<&str>) -> String {
    let Some(what) = telling(input) else { return name.to_owned() };
    let what = match root {
        Some(root) if !root.is_empty() => what.replace(&format!("{root}/"), ""),
        _ => what,
    };
    let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
    if what == name { what } else { format!("{name} {}", clip(&what, LONGEST)) }
}

fn telling(input: &Value) -> Option<String> {
    let words = |value: &Value| match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(items) => {
            let parts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            (!parts.is_empty()).then(|| parts.join(" "))
        }
        _ => None,
    };
    let changes = input["changes"].as_array().into_iter().flatten();
    let changed: Vec<&str> = changes.filter_map(|change| change["path"].as_str()).collect();
    match input {
        _ if !changed.is_empty() => Some(changed.join(", ")),
        Value::Object(fields) => TELLING
            .iter()
            .find_map(|key| words(fields.get(*key)?))
            .or_else(|| fields.values().find_map(words)),
        other => words(other),
    }
}

/// One event of a backend as a line, for `ralph show --events`; `None` when it says nothing to a person.
pub fn event_line(event: &BackendEvent, root: Option<&str>) -> Option<ScreenLine> {
    let line = |style, label: &str, text: &str| {
        Some(ScreenLine::of(style, format!("{label:<9}")).hang_here().add(ScreenStyle::Plain, text))
    };
    match event {
        BackendEvent::Started { model, .. } => line(ScreenStyle::Faint, "start", model.as_deref()?),
        BackendEvent::Text(text) if text.trim().is_empty() => None,
        BackendEvent::Text(text) => line(ScreenStyle::Strong, "says", text.trim()),
        BackendEvent::Thinking(text) if text.trim().is_empty() => None,
        BackendEvent::Thinking(text) => line(ScreenStyle::Faint, "thinks", text.trim()),
        BackendEvent::ToolCall { name, input, .. } => {
            line(ScreenStyle::Plain, "tool", &tool_words(name, input, root))
        }
        BackendEvent::ToolResult { status: ToolStatus::Ok, .. } => None,
        BackendEvent::ToolResult { status: ToolStatus::Failed, text, .. } => {
            line(ScreenStyle::Bad, "", &format!("failed: {}", clip(last_line(text), LONGEST)))
        }
        BackendEvent::Usage(usage) => {
            let text = format!("{} tokens in, {} out", tokens(usage.input), tokens(usage.output));
            line(ScreenStyle::Faint, "usage", &text)
        }
        BackendEvent::Cost(money) => line(ScreenStyle::Faint, "cost", &dollars(money.0)),
        BackendEvent::Context(_) | BackendEvent::Finished => None,
        BackendEvent::RateLimit(limit) => {
            let text = match limit.status {
                LimitStatus::Warning => "the usage limit is near",
                LimitStatus::Rejected => "the usage limit is reached",
            };
            line(ScreenStyle::Caution, "limit", text)
        }
        BackendEvent::Retry { attempt, reason, .. } => {
            line(ScreenStyle::Caution, "retry", &format!("its model, try {attempt}: {reason}"))
        }
        BackendEvent::Compacted { before, after, .. } => {
            line(ScreenStyle::Caution, "compact", &compacted(*before, *after))
        }
        BackendEvent::CompactionFailed(why) => {
            line(ScreenStyle::Bad, "compact", &format!("failed: {why}"))
        }
        BackendEvent::Denied { tool, reason } => {
            let reason = reason.as_deref().map(|r| format!(": {r}")).unwrap_or_default();
            line(ScreenStyle::Bad, "denied", &format!("{tool}{reason}"))
        }
        BackendEvent::Unknown(text) => line(ScreenStyle::Faint, "other", &clip(text, LONGEST)),
    }
}

/// Say by how much a compaction made the context smaller, as far as known.
pub(crate) fn compacted(before: Option<u64>, after: Option<u64>) -> String {
    match (before, after) {
        (Some(before), Some(after)) => {
            format!("the context went from {} to {} tokens", tokens(before), tokens(after))
        }
        _ => "the context was compacted".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_call_is_told_by_its_most_telling_field() {
        let root = Some("/p");
        for (name, input, words) in [
            ("Edit", json!({"old_string": "a", "file_path": "/p/src/lib.rs"}), "Edit src/lib.rs"),
            ("Bash", json!({"command": "cd /p/x &&\n  make", "timeout": 5}), "Bash cd x && make"),
            ("exec", json!({"command": ["bash", "-lc", "ls"]}), "exec bash -lc ls"),
            ("TodoWrite", json!({"todos": []}), "TodoWrite"),
            ("odd", json!("text"), "odd text"),
            ("odd", Value::Null, "odd"),
        ] {
            assert_eq!(tool_words(name, &input, root), words);
        }
    }
}
