//! Members of a JSON object that ralph has no field for, as lines that people can read.

use super::LabelledText;
use crate::json::{JsonKind, JsonNode};

/// Return the content of the object `node` in members other than `known`. Skip empty values.
pub(super) fn leftover(text: &str, node: &JsonNode, known: &[&str]) -> Vec<LabelledText> {
    let members = node.members().unwrap_or_default();
    members
        .iter()
        .filter(|member| !known.contains(&member.key.as_str()))
        .filter_map(|member| told(text, &member.key, &member.value))
        .collect()
}

/// One value under a name: `sprint: Q1`, a list on one line, or a line for each value in it.
pub(super) fn told(text: &str, label: &str, node: &JsonNode) -> Option<LabelledText> {
    let found = flat(text, node);
    let (first, rest) = found.split_first()?;
    if rest.is_empty() && first.0.is_empty() {
        return Some(LabelledText::new(label, first.1.clone()));
    }
    let short = |value: &(String, String)| {
        value.0.starts_with('[') && value.0.ends_with(']') && !value.1.contains(['\n', ','])
    };
    let plain_list = node.items().is_some_and(|items| items.iter().all(is_scalar));
    if plain_list && found.iter().all(short) {
        let values: Vec<&str> = found.iter().map(|(_, value)| value.as_str()).collect();
        return Some(LabelledText::new(label, values.join(", ")));
    }
    let lines: Vec<String> = found
        .iter()
        .map(|(path, value)| match path.is_empty() {
            true => value.clone(),
            false => format!("{}: {value}", path.trim_start_matches('.')),
        })
        .collect();
    Some(LabelledText::new(label, lines.join("\n")))
}

/// The text of a value, whatever it is; empty for nothing.
pub(super) fn words(text: &str, node: &JsonNode) -> String {
    told(text, "", node).map(|said| said.text).unwrap_or_default()
}

fn is_scalar(node: &JsonNode) -> bool {
    !matches!(node.kind, JsonKind::Array(_) | JsonKind::Object(_))
}

/// Every value in `node` that says something, in order, with the path to it.
fn flat(text: &str, node: &JsonNode) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), node)];
    while let Some((path, node)) = open.pop() {
        match &node.kind {
            JsonKind::Null => {}
            JsonKind::Bool(_) | JsonKind::Number => found.push((path, node.raw(text).to_owned())),
            JsonKind::String => {
                let value = node.str(text).unwrap_or_default();
                if !value.trim().is_empty() {
                    found.push((path, value.into_owned()));
                }
            }
            JsonKind::Array(items) => {
                let parts = items.iter().enumerate();
                open.extend(parts.rev().map(|(i, item)| (format!("{path}[{}]", i + 1), item)));
            }
            JsonKind::Object(members) => {
                let parts = members.iter().rev();
                open.extend(parts.map(|m| (format!("{path}.{}", m.key), &m.value)));
            }
        }
    }
    found
}
