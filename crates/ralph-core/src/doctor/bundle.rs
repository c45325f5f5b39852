//! Content of a bug report: the actions and settings of ralph, without the user's work.
//!
//! Journal records are reduced to an allowlist of fields, because they also contain gate output,
//! tasks and answers. Settings keep their structure. Every value below `env` or `headers` is hidden,
//! even if it does not look like a secret.

use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item};

use crate::dashboard::redact::{HIDDEN, Redactor};
use crate::text::clip;

/// Fields of a record that say what ralph did.
pub(super) const FIELDS: [&str; 40] = [
    "at",
    "record",
    "run",
    "command",
    "plan",
    "mode",
    "counted",
    "spent",
    "form",
    "status",
    "exit_code",
    "message",
    "remaining",
    "attempt",
    "iteration",
    "task_id",
    "retry",
    "retries",
    "backend",
    "model",
    "outcome",
    "cost_usd",
    "tokens",
    "changed_files",
    "duration_ms",
    "passed",
    "checks",
    "name",
    "preexisting",
    "standing",
    "ruling",
    "commit",
    "salvage",
    "failure",
    "kind",
    "until",
    "reason",
    "id",
    "role",
    "stage",
];

/// Maximum length of a field's text, in characters. Longer text is cut.
const LONGEST: usize = 200;

/// Tables whose values may all be secrets.
const PRIVATE: [&str; 2] = ["env", "headers"];

/// One section of the bug report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleSection {
    pub title: String,
    /// Text of the section, with all secrets hidden.
    pub text: String,
}

impl BundleSection {
    /// A part whose text is not redacted yet.
    pub fn new(title: impl Into<String>, text: &str, redactor: &Redactor) -> Self {
        Self { title: title.into(), text: redactor.hide(text) }
    }
}

/// Everything as one file that can be read before it is sent.
pub fn text(head: &str, sections: &[BundleSection]) -> String {
    let mut out = format!("{}\n", head.trim_end());
    for BundleSection { title, text } in sections {
        out.push_str(&format!("\n===== {title} =====\n{}\n", text.trim_end()));
    }
    out
}

/// A record of the journal as far as it may leave; `None` for a line that is no record.
pub fn record(line: &str, redactor: &Redactor) -> Option<String> {
    let Value::Object(fields) = serde_json::from_str(line).ok()? else { return None };
    let mut kept = allowed(fields, 0);
    // A task's name is what somebody wants, a gate's name is what was run.
    kept.remove("name");
    let mut value = Value::Object(kept);
    redactor.hide_json(&mut value);
    Some(value.to_string())
}

fn allowed(fields: Map<String, Value>, depth: u32) -> Map<String, Value> {
    let keep = |(name, value): (String, Value)| {
        let value = match value {
            Value::String(text) => clip(text.lines().next().unwrap_or_default(), LONGEST).into(),
            Value::Object(_) | Value::Array(_) if depth > 2 => return None,
            Value::Object(fields) => Value::Object(allowed(fields, depth + 1)),
            Value::Array(items) => items
                .into_iter()
                .filter_map(|item| match item {
                    Value::Object(fields) => Some(Value::Object(allowed(fields, depth + 1))),
                    Value::Number(_) => Some(item),
                    _ => None,
                })
                .collect(),
            other => other,
        };
        FIELDS.contains(&name.as_str()).then_some((name, value))
    };
    fields.into_iter().filter_map(keep).collect()
}

/// A configuration file as far as it may leave. One that cannot be parsed is not shown at all.
pub fn settings(text: &str, redactor: &Redactor) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else {
        return "(it cannot be parsed, so it is left out)".to_owned();
    };
    hide_private(document.as_item_mut());
    redactor.hide(&document.to_string())
}

/// Hide every value below a private table, and lists of tables within a line, which may hold one.
fn hide_private(root: &mut Item) {
    let mut open = vec![(root, false)];
    while let Some((item, private)) = open.pop() {
        let of_tables = item.as_array().is_some_and(|a| a.iter().any(|v| v.is_inline_table()));
        let is_leaf = !item.is_table_like() && !item.is_array_of_tables();
        if is_leaf {
            if private || of_tables {
                *item = toml_edit::value(HIDDEN);
            }
            continue;
        }
        let below = |key: &str| private || PRIVATE.contains(&key);
        match item {
            Item::ArrayOfTables(tables) => {
                for (key, value) in tables.iter_mut().flat_map(|table| table.iter_mut()) {
                    let private = below(key.get());
                    open.push((value, private));
                }
            }
            table => {
                for (key, value) in table.as_table_like_mut().into_iter().flat_map(|t| t.iter_mut())
                {
                    let private = below(key.get());
                    open.push((value, private));
                }
            }
        }
    }
}

/// The values of variables that hold secrets by their name, as patterns of a [`Redactor`].
pub fn secrets<'v>(variables: impl Iterator<Item = (&'v str, &'v str)>) -> Vec<String> {
    const ENDS: [&str; 8] =
        ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS", "WEBHOOK", "_URL"];
    let is_secret = |name: &str| {
        let name = name.to_ascii_uppercase();
        ENDS.iter().any(|end| name.ends_with(end))
    };
    let forms = variables.filter(|(name, _)| is_secret(name)).flat_map(|(_, value)| forms(value));
    // A `*` stands for anything in a pattern, so what is between two of them is hidden.
    let parts = forms.flat_map(|form| form.split('*').map(str::to_owned).collect::<Vec<_>>());
    let mut parts: Vec<String> = parts.filter(|part| part.len() >= SHORTEST_SECRET).collect();
    parts.dedup();
    parts
}

/// Shortest text that is taken for a secret, in bytes.
const SHORTEST_SECRET: usize = 8;

/// The forms in which programs print a secret: line by line, and as a JSON string.
fn forms(value: &str) -> Vec<String> {
    let escaped = serde_json::Value::from(value).to_string();
    let lines = value.lines().map(str::to_owned);
    lines.chain([escaped.trim_matches('"').to_owned()]).collect()
}
