//! The fields of an answer in a few lines, made from its JSON Schema so that the two cannot differ.

use minijinja::context;
use minijinja::value::Value as Fields;
use schemars::JsonSchema;
use serde_json::Value;

use crate::answer::schema_of;

pub(super) fn fields_of<T: JsonSchema>() -> Fields {
    fields_in(schema_of::<T>().as_value())
}

/// The fields of an answer with this schema, in order: `name`, `shape` (as in
/// `[{planned, actual, reason}]`), `about` and `required`.
pub(super) fn fields_in(schema: &Value) -> Fields {
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name))
    };
    let field = |(name, property): (&String, &Value)| {
        context! {
            name,
            shape => shape(property, schema),
            about => property["description"].as_str().unwrap_or_default(),
            required => required(name),
        }
    };
    schema["properties"].as_object().into_iter().flatten().map(field).collect()
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

/// Follow the `$ref` of a property in its schema. For an `anyOf`, take the first alternative.
fn resolve<'s>(property: &'s Value, schema: &'s Value) -> &'s Value {
    let choice = property["anyOf"].as_array().and_then(|all| all.first()).unwrap_or(property);
    let name = choice["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
    name.map_or(choice, |name| &schema["$defs"][name])
}
