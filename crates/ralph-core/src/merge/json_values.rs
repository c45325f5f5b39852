//! A three-way merge of JSON values, for files in which lines are not enough.

use serde_json::{Map, Value};

/// Merge two documents that came from `base`; an empty `base` counts as nothing. `None`: one cannot be
/// read.
pub(super) fn merge_json(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let base = match base.trim().is_empty() {
        true => Value::Null,
        false => serde_json::from_str(base).ok()?,
    };
    let merged = merge(&base, serde_json::from_str(ours).ok()?, serde_json::from_str(theirs).ok()?);
    Some(serde_json::to_string_pretty(&merged).ok()? + "\n")
}

fn merge(base: &Value, ours: Value, theirs: Value) -> Value {
    match (ours, theirs) {
        (ours, theirs) if theirs == *base || ours == theirs => ours,
        (ours, theirs) if ours == *base => theirs,
        (Value::Array(ours), Value::Array(theirs)) => {
            let old = base.as_array().map(Vec::as_slice).unwrap_or_default();
            let new = ours.into_iter().filter(|item| !old.contains(item) && !theirs.contains(item));
            let new: Vec<Value> = new.collect();
            Value::Array(theirs.into_iter().chain(new).collect())
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            Value::Object(merge_maps(base, ours, theirs))
        }
        (_, theirs) => theirs,
    }
}

fn merge_maps(
    base: &Value,
    mut ours: Map<String, Value>,
    theirs: Map<String, Value>,
) -> Map<String, Value> {
    let mut merged = Map::new();
    for (key, theirs) in theirs {
        let old = base.get(&key);
        match ours.remove(&key) {
            Some(ours) => {
                merged.insert(key, merge(old.unwrap_or(&Value::Null), ours, theirs));
            }
            // Removed by us and unchanged by them.
            None if old == Some(&theirs) => {}
            None => {
                merged.insert(key, theirs);
            }
        }
    }
    // What they removed stays removed, unless it changed.
    merged.extend(ours.into_iter().filter(|(key, ours)| base.get(key) != Some(ours)));
    merged
}
