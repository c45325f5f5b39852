//! Forgiving readers: null for nothing, one text for a list, a gap as a plain text.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::gap::Gap;
use crate::plan::Priority;

/// A text; null is an empty one, and a list of texts is its lines.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text),
        Value::Null => Ok(String::new()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Array(items) => Ok(strings::<D::Error>(items)?.join("\n")),
        _ => Err(D::Error::custom("expected a text")),
    }
}

/// A list of texts, or one text.
pub(super) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(vec![text]),
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => strings(items),
        _ => Err(D::Error::custom("expected a list of texts")),
    }
}

fn strings<E: Error>(items: Vec<Value>) -> Result<Vec<String>, E> {
    let text = |item: Value| match item {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(E::custom("expected a list of texts")),
    };
    items.into_iter().map(text).collect()
}

/// A priority; what is none says nothing.
pub(super) fn priority<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Priority>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value.as_str().and_then(|word| Priority::from_word(&word.trim().to_lowercase())))
}

/// A list of gaps, each an object or a text. Empty ones are none.
pub(super) fn gaps<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Gap>, D::Error> {
    let items = match Value::deserialize(deserializer)? {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        other => vec![other],
    };
    let mut gaps = Vec::with_capacity(items.len());
    for item in items {
        let gap = match item {
            Value::String(text) => Gap::of_text(&text),
            object => serde_json::from_value(object).map_err(D::Error::custom)?,
        };
        if !gap.description.trim().is_empty() {
            gaps.push(gap);
        }
    }
    Ok(gaps)
}
