//! JSON Schemas in the narrow form that OpenAI's models are held to, and the way back.
//!
//! Codex passes a schema on as *strict*, and the provider refuses any other: each object lists its
//! members, requires all of them and allows no more; a few keywords exist; nothing is of any shape.
//! So [`strict`] makes optional members nullable, drops what only narrows a value (ralph checks the
//! answer itself), and asks for JSON *text* where the schema allows anything. [`loosen`] undoes that
//! in the answer: an optional null goes away, and such a text becomes what it says.

use serde_json::{Map, Value, json};

/// Said to the model where it must write JSON as text.
const AS_TEXT: &str = "as JSON text";

/// The strict form of a schema; `None` when the whole answer cannot be put that way.
pub(super) fn strict(schema: &Value) -> Option<Value> {
    let root = schema.as_object()?;
    let mut out = object(root)?;
    if let Some(defs) = root.get("$defs").and_then(Value::as_object) {
        let defs = defs.iter().map(|(name, schema)| (name.clone(), narrow(schema)));
        out.insert("$defs".to_owned(), Value::Object(defs.collect()));
    }
    Some(Value::Object(out))
}

/// The strict form of any schema within.
fn narrow(schema: &Value) -> Value {
    let Some(schema) = schema.as_object() else { return as_text(None) };
    let mut out = Map::new();
    if let Some(reference) = schema.get("$ref") {
        // Nothing may stand beside a reference.
        return json!({ "$ref": reference });
    }
    let choices = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
    if let Some(choices) = choices {
        let choices = choices.iter().map(narrow).collect();
        out.insert("anyOf".to_owned(), Value::Array(choices));
    } else if let Some(object) = object(schema) {
        out = object;
    } else if let Some(items) = schema.get("items") {
        out.insert("type".to_owned(), json!("array"));
        out.insert("items".to_owned(), narrow(items));
    } else if is_plain(schema) {
        for key in ["type", "enum", "const"] {
            out.extend(schema.get(key).map(|value| (key.to_owned(), value.clone())));
        }
    } else {
        return as_text(schema.get("description"));
    }
    describe(&mut out, schema.get("description"));
    Value::Object(out)
}

/// The strict form of an object whose members are listed.
fn object(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let properties = schema.get("properties").and_then(Value::as_object)?;
    let members = properties.iter().map(|(name, member)| {
        let narrow = narrow(member);
        let member = match requires(schema, name) {
            true => narrow,
            false => json!({ "anyOf": [narrow, { "type": "null" }] }),
        };
        (name.clone(), member)
    });
    let mut out = Map::new();
    out.insert("type".to_owned(), json!("object"));
    out.insert("properties".to_owned(), Value::Object(members.collect()));
    out.insert("required".to_owned(), properties.keys().cloned().collect());
    out.insert("additionalProperties".to_owned(), json!(false));
    Some(out)
}

fn requires(schema: &Map<String, Value>, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

/// Whether a schema is of strings, numbers, booleans and null alone.
fn is_plain(schema: &Map<String, Value>) -> bool {
    let plain = |word: &Value| {
        matches!(word.as_str(), Some("string" | "number" | "integer" | "boolean" | "null"))
    };
    match schema.get("type") {
        Some(Value::Array(words)) => words.iter().all(plain),
        Some(word) => plain(word),
        None => schema.contains_key("enum") || schema.contains_key("const"),
    }
}

fn as_text(description: Option<&Value>) -> Value {
    let description = match description.and_then(Value::as_str) {
        Some(description) => format!("{description} ({AS_TEXT})"),
        None => AS_TEXT.to_owned(),
    };
    json!({ "type": "string", "description": description })
}

fn describe(schema: &mut Map<String, Value>, description: Option<&Value>) {
    schema.extend(description.map(|text| ("description".to_owned(), text.clone())));
}

/// Turns an answer to the strict form of `schema` into one to `schema` itself.
pub(super) fn loosen(answer: &mut Value, schema: &Value) {
    within(answer, schema, schema);
}

/// As deep as the answer, which the JSON parser keeps within bounds.
fn within(answer: &mut Value, schema: &Value, root: &Value) {
    let Some(schema) = resolved(schema, root) else { return };
    let Some(object) = schema.as_object() else {
        return parse_text(answer);
    };
    let choices = object.get("anyOf").or_else(|| object.get("oneOf")).and_then(Value::as_array);
    if let Some(choices) = choices {
        let mut others = choices.iter().filter(|choice| choice.get("type") != Some(&json!("null")));
        if let (Some(only), None) = (others.next(), others.next())
            && !answer.is_null()
        {
            within(answer, only, root);
        }
        return;
    }
    if let Some(properties) = object.get("properties").and_then(Value::as_object) {
        let Some(members) = answer.as_object_mut() else { return };
        members.retain(|name, member| !member.is_null() || requires(object, name));
        for (name, member) in members {
            if let Some(schema) = properties.get(name) {
                within(member, schema, root);
            }
        }
    } else if let Some(items) = object.get("items") {
        for item in answer.as_array_mut().into_iter().flatten() {
            within(item, items, root);
        }
    } else if !is_plain(object) {
        parse_text(answer);
    }
}

/// Follow the `$ref` of a schema. A chain of references may have at most eight steps.
fn resolved<'s>(schema: &'s Value, root: &'s Value) -> Option<&'s Value> {
    let mut schema = schema;
    for _ in 0..8 {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
            return Some(schema);
        };
        schema = root.pointer(reference.strip_prefix('#')?)?;
    }
    None
}

fn parse_text(answer: &mut Value) {
    if let Some(parsed) = answer.as_str().and_then(|text| serde_json::from_str(text).ok()) {
        *answer = parsed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Value {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Report",
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 5, "description": "Which." },
                "level": { "anyOf": [{ "$ref": "#/$defs/Level" }, { "type": "null" }] },
                "count": { "type": ["integer", "null"], "format": "uint32", "minimum": 0 },
                "parts": { "type": "array", "items": { "$ref": "#/$defs/Part" }, "default": [] },
                "extra": { "description": "Anything." },
                "free": true,
                "map": { "type": "object", "additionalProperties": { "type": "string" } },
            },
            "required": ["name", "parts"],
            "$defs": {
                "Level": { "type": "string", "enum": ["high", "low"] },
                "Part": {
                    "type": "object",
                    "properties": { "path": { "type": "string" }, "note": { "type": "string" } },
                    "required": ["path"],
                },
            },
        })
    }

    #[test]
    fn every_member_is_required_and_optional_ones_may_be_null() {
        let none = json!({ "type": "null" });
        let text = |d: &str| json!({ "type": "string", "description": d });
        assert_eq!(
            strict(&task()).unwrap(),
            json!({
                "type": "object",
                "properties": {
                    "name": { "type": "string", "description": "Which." },
                    "level": { "anyOf": [{ "anyOf": [{ "$ref": "#/$defs/Level" }, none] }, none] },
                    "count": { "anyOf": [{ "type": ["integer", "null"] }, none] },
                    "parts": { "type": "array", "items": { "$ref": "#/$defs/Part" } },
                    "extra": { "anyOf": [text("Anything. (as JSON text)"), none] },
                    "free": { "anyOf": [text("as JSON text"), none] },
                    "map": { "anyOf": [text("as JSON text"), none] },
                },
                "required": ["name", "level", "count", "parts", "extra", "free", "map"],
                "additionalProperties": false,
                "$defs": {
                    "Level": { "type": "string", "enum": ["high", "low"] },
                    "Part": {
                        "type": "object",
                        "properties": {
                            "path": { "type": "string" },
                            "note": { "anyOf": [{ "type": "string" }, none] },
                        },
                        "required": ["path", "note"],
                        "additionalProperties": false,
                    },
                },
            })
        );
    }

    #[test]
    fn what_is_no_object_with_members_has_no_strict_form() {
        for schema in
            [json!(true), json!({}), json!({ "type": "object" }), json!({ "type": "array" })]
        {
            assert_eq!(strict(&schema), None, "{schema}");
        }
    }

    #[test]
    fn an_answer_to_the_strict_form_becomes_one_to_the_schema() {
        let mut answer = json!({
            "name": "\"quoted\"",
            "level": null,
            "count": 3,
            "parts": [{ "path": "a", "note": null }, { "path": "b", "note": "null" }],
            "extra": "{\"a\": [1]}",
            "free": "not json",
            "map": "{\"k\":\"v\"}",
        });
        loosen(&mut answer, &task());
        assert_eq!(
            answer,
            json!({
                "name": "\"quoted\"",
                "count": 3,
                "parts": [{ "path": "a" }, { "path": "b", "note": "null" }],
                "extra": { "a": [1] },
                "free": "not json",
                "map": { "k": "v" },
            })
        );
    }

    #[test]
    fn references_in_a_circle_end() {
        let schema = json!({
            "type": "object",
            "properties": { "a": { "$ref": "#/$defs/A" } },
            "$defs": { "A": { "$ref": "#/$defs/A" } },
        });
        let mut answer = json!({ "a": "1" });
        loosen(&mut answer, &schema);
        assert_eq!(answer, json!({ "a": "1" }));
    }

    #[test]
    fn a_handoff_can_be_asked_for_and_read_back() {
        let schema = crate::handoff::schema().as_value();
        let strict = strict(schema).unwrap();
        let mut left = vec![&strict];
        while let Some(part) = left.pop() {
            if let Some(properties) = part.get("properties").and_then(Value::as_object) {
                let names: Value = properties.keys().cloned().collect();
                assert_eq!(
                    (&part["required"], &part["additionalProperties"]),
                    (&names, &json!(false))
                );
            }
            left.extend(part.as_object().into_iter().flatten().map(|(_, part)| part));
            left.extend(part.as_array().into_iter().flatten());
        }
        let amendment = json!({
            "action": "add", "task_id": null, "task": "{\"name\":\"more\"}", "changes": null,
            "after": null, "reason": "needed",
        });
        let mut answer = json!({
            "task_completed": { "task_id": "t-1", "summary": "did it", "fully_complete": true },
            "deviations": [], "bugs_encountered": [], "architectural_notes": [],
            "unfinished_business": [], "recommendations": [], "files_touched": [],
            "plan_amendments": [amendment], "tests_added": [], "constraints_discovered": [],
            "summary": "did it", "freeform": "x".repeat(60), "request_research": null,
            "request_human_review": null, "confidence_level": "high", "no_change_needed": null,
        });
        loosen(&mut answer, schema);
        let handoff: crate::handoff::Handoff = serde_json::from_value(answer).unwrap();
        let task = handoff.plan_amendments[0].task.as_ref().and_then(|task| task.as_object());
        assert_eq!(task.map(|task| &task["name"]), Some(&json!("more")));
        assert_eq!(handoff.request_research, Vec::<String>::new());
    }
}
