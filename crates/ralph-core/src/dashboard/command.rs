//! What a face may tell a loop: seed tools' four commands and ours, and nothing else.

use serde_json::{Map, Value, json};

use super::settings;

/// Longest note, in characters.
const LONGEST_NOTE: usize = 4_000;

/// The commands that there are, and the field that each needs beside its name.
pub const COMMANDS: [(&str, Option<&str>); 8] = [
    ("pause", None),
    ("resume", None),
    ("skip-task", Some("task_id")),
    ("inject-note", Some("note")),
    ("stop", None),
    ("kill-attempt", None),
    ("retry-task", Some("task_id")),
    ("set-setting", Some("key")),
];

/// Check the body of a request, and give the record that goes into `commands.json`.
pub fn check(body: &Value) -> Result<Map<String, Value>, String> {
    let Some(word) = body["command"].as_str() else {
        return Err("`command` is missing: it says what to do, for example \"pause\"".to_owned());
    };
    let Some((_, field)) = COMMANDS.iter().find(|(known, _)| *known == word) else {
        let known: Vec<&str> = COMMANDS.iter().map(|(known, _)| *known).collect();
        return Err(format!("there is no command of that name; there are {}", known.join(", ")));
    };
    let mut record = Map::new();
    record.insert("command".to_owned(), json!(word));
    let Some(field) = *field else { return Ok(record) };
    let text = body[field].as_str().map(str::trim).unwrap_or_default();
    if text.is_empty() {
        return Err(format!("`{word}` needs `{field}`, a text"));
    }
    if text.chars().count() > LONGEST_NOTE {
        return Err(format!("`{field}` is longer than {LONGEST_NOTE} characters"));
    }
    if field == "task_id" && text.contains(char::is_control) {
        return Err("that is no id of a task".to_owned());
    }
    record.insert(field.to_owned(), json!(text));
    if word == "set-setting" {
        let (key, value) = settings::check(text, &body["value"])?;
        record.insert("key".to_owned(), json!(key));
        record.insert("value".to_owned(), json!(value));
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bodies_of_seed_tools_are_taken_as_they_are() {
        for body in [
            json!({"command": "pause"}),
            json!({"command": "inject-note", "note": "Check auth module"}),
            json!({"command": "skip-task", "task_id": "T-005"}),
        ] {
            assert_eq!(Value::Object(check(&body).unwrap()), body);
        }
    }

    #[test]
    fn what_is_not_listed_is_refused_and_extra_fields_are_left_out() {
        for body in [
            json!({}),
            json!([]),
            json!({"command": "rm"}),
            json!({"command": 7}),
            json!({"command": "inject-note"}),
            json!({"command": "inject-note", "note": "  "}),
            json!({"command": "inject-note", "note": "x".repeat(LONGEST_NOTE + 1)}),
            json!({"command": "skip-task", "task_id": "a\nb"}),
            json!({"command": "set-setting", "key": "backend", "value": "claude"}),
        ] {
            assert!(check(&body).is_err(), "{body}");
        }
        let record = check(&json!({"command": "stop", "id": "mine", "path": "/etc"})).unwrap();
        assert_eq!(Value::Object(record), json!({"command": "stop"}));
    }
}
