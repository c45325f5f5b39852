//! The fields of an answer in a few lines, made from its JSON Schema so that the two cannot differ.

use serde::Serialize;
use serde_json::Value;

use crate::handoff;

#[derive(Debug, Serialize)]
pub(crate) struct Field {
    name: String,
    /// `[{planned, actual, reason}]`
    shape: String,
    about: String,
    required: bool,
}

/// The fields of a handoff, in order.
pub(super) fn of_handoff() -> Vec<Field> {
    of_schema(&handoff::schema())
}

/// The fields of an answer that has this schema, in order.
pub(crate) fn of_schema(schema: &Value) -> Vec<Field> {
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name))
    };
    let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
    let field = |(name, property): (&String, &Value)| Field {
        name: name.clone(),
        shape: shape(property, schema),
        about: property["description"].as_str().unwrap_or_default().to_owned(),
        required: required(name),
    };
    properties.iter().map(field).collect()
}

/// The shape of a property, one level deep: deeper ones do not occur.
fn shape(property: &Value, schema: &Value) -> String {
    if property["type"] == "array" {
        return format!("[{}]", inner(&property["items"], schema));
    }
    inner(property, schema)
}

fn inner(property: &Value, schema: &Value) -> String {
    let resolved = resolve(property, schema);
    if let Some(fields) = resolved["properties"].as_object() {
        let names: Vec<&str> = fields.keys().map(String::as_str).collect();
        return format!("{{{}}}", names.join(", "));
    }
    let words = resolved["enum"].as_array().or_else(|| resolved["oneOf"].as_array());
    if let Some(words) = words {
        let word = |w: &Value| w.as_str().or_else(|| w["const"].as_str()).map(str::to_owned);
        return words.iter().filter_map(word).collect::<Vec<_>>().join(" or ");
    }
    match &resolved["type"] {
        Value::String(word) => word.clone(),
        Value::Array(words) => words.first().and_then(Value::as_str).unwrap_or("any").to_owned(),
        _ => "any".to_owned(),
    }
}

/// What a `$ref` leads to; of a choice, what is not null.
fn resolve<'s>(property: &'s Value, schema: &'s Value) -> &'s Value {
    let choice = property["anyOf"].as_array().and_then(|all| all.first()).unwrap_or(property);
    let name = choice["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
    name.map_or(choice, |name| &schema["$defs"][name])
}
