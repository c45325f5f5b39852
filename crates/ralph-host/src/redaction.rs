//! Secrets are hidden in what ralph writes about its work: logs, prompts, handoffs, events, the journal.
//!
//! One process works on one project, so its patterns are set once ([`hide_secrets_of`]) and every writer
//! asks here. Before that, and for programs without a configuration, the usual shapes of keys are hidden.

use std::path::Path;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use ralph_core::backend::BackendEvent;
use ralph_core::config::Config;
use ralph_core::cycle::JournalRecord;
use ralph_core::dashboard::redact::{OpenPemKey, Redactor};
use ralph_core::doctor::bundle::secrets;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::FileError;
use crate::store::put_private;

static REDACTOR: LazyLock<RwLock<Arc<Redactor>>> = LazyLock::new(RwLock::default);

/// Fields of a record that are names, not text: recovery must find them as they were.
const NAMES: [&str; 19] = [
    "record",
    "run",
    "attempt",
    "task",
    "task_id",
    "id",
    "plan",
    "base",
    "candidate",
    "log",
    "handoff",
    "session",
    "commit",
    "salvage",
    "command",
    "status",
    "outcome",
    "backend",
    "role",
];

/// Hide the patterns of this configuration, and the values of variables that hold secrets.
pub fn hide_secrets_of(config: &Config) {
    let variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let pairs = variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let patterns: Vec<String> = config.redact.iter().cloned().chain(secrets(pairs)).collect();
    let mut redactor = REDACTOR.write().unwrap_or_else(PoisonError::into_inner);
    *redactor = Arc::new(Redactor::new(&patterns));
}

/// Return the redactor that hides secrets in this process.
pub(crate) fn redactor() -> Arc<Redactor> {
    REDACTOR.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Lines of a log without secrets.
pub(crate) fn hide_lines(bytes: &[u8], redactor: &Redactor, key: &mut OpenPemKey) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let (text, end) = line.split_at(line.len() - usize::from(line.ends_with(b"\n")));
        out.extend_from_slice(&redactor.hide_line(text, key));
        out.extend_from_slice(end);
    }
    out
}

/// Return a journal record with its secrets hidden.
pub(crate) fn hide_record(record: JournalRecord) -> JournalRecord {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(&record) else { return record };
    let redactor = redactor();
    for (_, value) in fields.iter_mut().filter(|(name, _)| !NAMES.contains(&name.as_str())) {
        redactor.hide_json(value);
    }
    serde_json::from_value(Value::Object(fields)).unwrap_or(record)
}

/// A text that an agent gave to a command of ralph, without secrets.
pub fn hide_text(text: &str) -> String {
    redactor().hide(text)
}

/// A value that an agent answered, without secrets.
pub(crate) fn hide_value(mut value: Value) -> Value {
    redactor().hide_json(&mut value);
    value
}

/// Return an event of a backend with its secrets hidden. All events of one run share `key`, so that a
/// key of several lines is recognised.
pub(crate) fn hide_event(event: &BackendEvent, key: &mut OpenPemKey) -> BackendEvent {
    let redactor = redactor();
    let mut hide = |text: &str| {
        String::from_utf8_lossy(&hide_lines(text.as_bytes(), &redactor, key)).into_owned()
    };
    let mut event = event.clone();
    match &mut event {
        BackendEvent::Text(text)
        | BackendEvent::Thinking(text)
        | BackendEvent::ToolResult { text, .. }
        | BackendEvent::Retry { reason: text, .. }
        | BackendEvent::CompactionFailed(text)
        | BackendEvent::Denied { reason: Some(text), .. }
        | BackendEvent::Unknown(text) => *text = hide(text),
        BackendEvent::ToolCall { input, .. } => redactor.hide_json(input),
        _ => {}
    }
    event
}

/// A value of ours without secrets: plans and reports say what a program said last.
pub(crate) fn hide_in<T: Serialize + DeserializeOwned>(value: T) -> T {
    let hidden = serde_json::to_value(&value).map(hide_value);
    hidden.and_then(serde_json::from_value).unwrap_or(value)
}

/// Put a file about the work in place, without secrets and for its owner alone.
pub fn put_log(path: &Path, text: &str) -> Result<(), FileError> {
    put_private(path, redactor().hide_file(text).as_bytes())
}
