//! Content of a plan file beside its plan: unknown members and records, sections of prose.
//!
//! The plan is written again in the format of the file. A member or a line of the file that is not
//! in that text was never part of the plan, so no other format can get it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{additions, describe_loss};
use crate::format::{EditError, ParseError, PlanFormat, codec};
use crate::json;
use crate::lines;
use crate::plan::{Plan, PlanEdit};

/// Members that say when and by whom a file was written.
const STAMPS: [&str; 3] = ["version", "updatedAt", "updatedBy"];

/// Members that a plan holds and that no file needs when they are false or 0.
const SWITCHES: [&str; 5] = ["needs_docs", "needsDocs", "retry_count", "retryCount", "skipped"];

/// Every part of `text` that is not in `plan`, one line each.
pub(super) fn unmodelled(plan: &Plan, text: &str, now: &str) -> Result<Vec<String>, EditError> {
    let codec = codec(plan.format);
    let mut edits = additions(&plan.all_tasks());
    if plan.format == PlanFormat::Jsonl {
        edits.extend(plan.issues.iter().cloned().map(PlanEdit::AddIssue));
        edits.extend(plan.current_spec.iter().cloned().map(PlanEdit::UseSpec));
        edits.extend(plan.accepted_specs.iter().map(|accepted| PlanEdit::AcceptSpec {
            spec: accepted.spec.clone(),
            at: accepted.at.clone().unwrap_or_default(),
        }));
    }
    let title = plan.title.as_deref().unwrap_or_default();
    let again = codec.edit(&codec.empty(title, now), &edits)?;
    match plan.format {
        PlanFormat::Progress => Ok(missing_lines(text, &again)),
        format => Ok(missing_members(records(format, text)?, records(format, &again)?)),
    }
}

/// An object of a file, and how messages call it.
type NamedRecord = (String, Map<String, Value>);

fn records(format: PlanFormat, text: &str) -> Result<Vec<NamedRecord>, ParseError> {
    let value = |line: usize, raw: &str| {
        serde_json::from_str::<Value>(raw).map_err(|e| ParseError::new(line, e.to_string()))
    };
    if format == PlanFormat::Jsonl {
        let named = lines::records(text).map(|record| {
            let record = record?;
            let members = members(value(record.line.number, record.node.raw(text))?);
            let owner = ["id", "spec"].iter().find_map(|key| members.get(*key)?.as_str());
            let name = match (record.kind.as_ref(), owner) {
                ("task", Some(id)) => id.to_owned(),
                (kind, Some(owner)) => format!("the {kind} record of {owner}"),
                (kind, None) => format!("the {kind} record"),
            };
            Ok((name, members))
        });
        return named.collect();
    }
    let root = json::parse_file(text).map_err(|e| e.in_text(text))?;
    let mut root = members(value(1, root.raw(text))?);
    let mut found = Vec::new();
    for spec in take_items(&mut root, "specs") {
        let mut spec = members(spec);
        found.extend(take_items(&mut spec, "tasks").into_iter().map(named_by_id));
        let (id, spec) = named_by_id(Value::Object(spec));
        found.push((format!("spec {id}"), spec));
    }
    found.extend(take_items(&mut root, "tasks").into_iter().map(named_by_id));
    root.retain(|key, _| !STAMPS.contains(&key.as_str()));
    found.push(("the plan".to_owned(), root));
    Ok(found)
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn take_items(object: &mut Map<String, Value>, key: &str) -> Vec<Value> {
    match object.remove(key) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn named_by_id(value: Value) -> NamedRecord {
    let members = members(value);
    let id = members.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    (id, members)
}

fn missing_members(source: Vec<NamedRecord>, mut again: Vec<NamedRecord>) -> Vec<String> {
    let mut lost: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut whole = Vec::new();
    for (name, members) in source {
        let Some(at) = again.iter().position(|(other, _)| *other == name) else {
            whole.push(name);
            continue;
        };
        let (_, known) = again.swap_remove(at);
        for (key, value) in members {
            if says_something(&key, &value) && known.get(&key).map(single) != Some(single(&value)) {
                lost.entry(format!("`{key}`")).or_default().push(name.clone());
            }
        }
    }
    let mut lines: Vec<String> =
        lost.iter().map(|(key, names)| describe_loss(key, names)).collect();
    lines.extend(whole);
    for line in &mut lines {
        if line.starts_with("`qualityGates`") || line == "the config record" {
            line.push_str(" (put it into ralph.toml)");
        }
    }
    lines
}

fn says_something(key: &str, value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(false) => !SWITCHES.contains(&key),
        Value::Number(number) => number.as_i64() != Some(0) || !SWITCHES.contains(&key),
        Value::Bool(true) => true,
    }
}

/// The value of a list of one, which some formats write without the list.
fn single(value: &Value) -> &Value {
    match value {
        Value::Array(items) if items.len() == 1 => &items[0],
        value => value,
    }
}

/// The sections of a progress file with their lines that are not in `again`.
fn missing_lines(text: &str, again: &str) -> Vec<String> {
    let kept: BTreeSet<String> = again.lines().map(line_key).collect();
    let mut place = "the text above the first section".to_owned();
    let mut lost: Vec<(String, Vec<&str>)> = Vec::new();
    let mut titled = false;
    for line in text.trim_start_matches('\u{feff}').lines() {
        if line.starts_with("# ") && !titled {
            titled = true;
            continue;
        }
        if let Some(heading) = line.strip_prefix("## ") {
            place = format!("section `{}`", heading.trim());
        }
        let key = line_key(line);
        if key.is_empty() || kept.contains(&key) {
            continue;
        }
        if lost.last().is_none_or(|(name, _)| *name != place) {
            lost.push((place.clone(), Vec::new()));
        }
        if let Some((_, lines)) = lost.last_mut().filter(|_| !line.starts_with("## ")) {
            lines.push(line.trim());
        }
    }
    let tell = |(place, lines): &(String, Vec<&str>)| match &lines[..] {
        [] => place.clone(),
        [line] => format!("{place}: {line}"),
        [first, rest @ ..] => format!("{place}: {first} (and {} more lines)", rest.len()),
    };
    lost.iter().map(tell).collect()
}

/// A line without its bullet; of a heading only the words matter.
fn line_key(line: &str) -> String {
    let line = line.trim();
    if line.starts_with('#') {
        let level = line.chars().take_while(|c| *c == '#').count();
        let words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        return format!("{level} {}", words.collect::<Vec<_>>().join(" ").to_lowercase());
    }
    let line = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.trim_start_matches(['.', ')', '-', '*', '+', ' ']).replacen("[X]", "[x]", 1)
}
