//! What a face may tell a loop: the commands of the control plane, with fields of the right kind.
//!
//! The queue of commands forgives what a hand may have written. A program that asks is better told at
//! once that it asked for the wrong thing, so nothing is guessed here and nothing is cut.

use serde_json::Value;

use crate::control::{Command, Doing, Effect, SETTINGS, Setting, effect, promise};
use crate::cycle::History;
use crate::plan::Id;

/// Longest note, in characters: as much as a prompt is given.
const LONGEST_NOTE: usize = 4_000;

/// Most digits of a delay: a day has 86,400 seconds.
const LONGEST_DELAY: usize = 5;

/// The commands that there are.
const WORDS: [&str; 8] = [
    "pause",
    "resume",
    "skip-task",
    "inject-note",
    "stop",
    "kill-attempt",
    "retry-task",
    "set-setting",
];

/// The command that the body of a request asks for.
pub fn check(body: &Value) -> Result<Command, String> {
    let Some(word) = body["command"].as_str() else {
        return Err("`command` is missing: it says what to do, for example \"pause\"".to_owned());
    };
    let text = |field: &str| {
        let text = body[field].as_str().map(str::trim).unwrap_or_default();
        if text.is_empty() { Err(format!("`{word}` needs `{field}`, a text")) } else { Ok(text) }
    };
    let task = || match text("task_id")? {
        id if id.contains(char::is_control) => Err("that is no id of a task".to_owned()),
        id => Ok(Id::new(id)),
    };
    Ok(match word {
        "pause" => Command::Pause,
        "resume" => Command::Resume,
        "skip-task" => Command::Skip(task()?),
        "inject-note" => match text("note")? {
            note if note.chars().count() > LONGEST_NOTE => {
                return Err(format!("`note` is longer than {LONGEST_NOTE} characters"));
            }
            note => Command::Note(note.to_owned()),
        },
        "stop" => Command::Stop,
        "kill-attempt" => Command::KillAttempt,
        "retry-task" => Command::Retry(task()?),
        "set-setting" => {
            text("key")?;
            Command::Set(setting(body["key"].as_str().unwrap_or_default(), &body["value"])?)
        }
        _ => {
            let known = WORDS.join(", ");
            return Err(format!("there is no command of that name; there are {known}"));
        }
    })
}

/// A setting by either of its names, with the value that it shall have.
pub fn setting(name: &str, value: &Value) -> Result<Setting, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        // 2 and 2.0 are the same number to JSON.
        Value::Number(number) => match number.as_f64().filter(|n| n.fract() == 0.0) {
            Some(whole) if number.is_f64() => format!("{whole:.0}"),
            _ => number.to_string(),
        },
        _ => return Err("a setting needs a word or a number".to_owned()),
    };
    let setting = Setting::new(name, &text)?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if setting.key == "min_delay" && digits > LONGEST_DELAY {
        return Err("`min_delay` has at most 5 digits and a unit: ms, s, m or h".to_owned());
    }
    Ok(setting)
}

/// The keys of `ralph.toml` that a face may change.
pub fn writable() -> impl Iterator<Item = &'static str> {
    SETTINGS.into_iter().map(|(_, key)| key)
}

/// What the loop does, as far as its journal tells.
pub fn doing(history: &History) -> Doing<'_> {
    match (&history.open, &history.consulting) {
        (Some(open), _) => Doing::Attempt(&open.started.task),
        (None, Some(_)) => Doing::Asking,
        (None, None) => Doing::Nothing,
    }
}

/// What comes of a command, in words: of one to a loop that does this, or to none.
pub fn outlook(command: &Command, doing: Option<Doing<'_>>) -> String {
    let Some(doing) = doing else {
        return match (command, effect(command, Doing::Starting)) {
            (_, Effect::Nothing(_)) => "no loop runs, so there is nothing to end".to_owned(),
            (Command::Pause, _) => "no loop runs; the next one begins paused".to_owned(),
            (Command::Resume, _) => "no loop runs; the next one does not pause".to_owned(),
            (Command::Note(_), _) => "no loop runs; the next one has it in its first prompt".into(),
            _ => "no loop runs; the next one begins with it".to_owned(),
        };
    };
    promise(command, doing)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_bodies_of_seed_tools_are_taken_as_they_are() {
        for (body, wanted) in [
            (json!({"command": "pause"}), Command::Pause),
            (
                json!({"command": "inject-note", "note": "Check auth module"}),
                Command::Note("Check auth module".into()),
            ),
            (json!({"command": "skip-task", "task_id": "T-005"}), Command::Skip(Id::new("T-005"))),
        ] {
            assert_eq!(check(&body), Ok(wanted), "{body}");
        }
    }

    #[test]
    fn every_command_that_is_told_of_is_known() {
        for word in WORDS {
            let body = json!({
                "command": word, "task_id": "t", "note": "n", "key": "mode", "value": "handoff-only",
            });
            assert_eq!(check(&body).map(|command| command.word()), Ok(word));
        }
    }

    #[test]
    fn what_is_not_listed_or_of_another_kind_is_refused() {
        for body in [
            json!({}),
            json!([]),
            json!("pause"),
            json!({"command": "rm"}),
            json!({"command": 7}),
            json!({"command": "PAUSE"}),
            json!({"command": "inject-note"}),
            json!({"command": "inject-note", "note": 7}),
            json!({"command": "inject-note", "note": "  "}),
            json!({"command": "inject-note", "note": "x".repeat(LONGEST_NOTE + 1)}),
            json!({"command": "skip-task", "task_id": "a\nb"}),
            json!({"command": "skip-task", "task_id": true}),
            json!({"command": "set-setting", "key": "backend", "value": "claude"}),
            json!({"command": "set-setting", "key": "mode", "value": null}),
        ] {
            assert!(check(&body).is_err(), "{body}");
        }
    }

    #[test]
    fn both_names_of_a_setting_lead_to_its_key_and_no_other_key_can_be_set() {
        let key = |name: &str, value: Value| setting(name, &value).map(|s| (s.key, s.value));
        assert_eq!(
            key("RALPH_VALIDATION_STRATEGY", json!("strict")),
            key("gate_strategy", json!("strict"))
        );
        assert_eq!(key("min_delay", json!(30)), Ok(("min_delay", "30s".to_owned())));
        for name in
            ["gates", "backend", "backends.x.command", "redact", "RALPH_VALIDATION_COMMANDS"]
        {
            assert!(key(name, json!("x")).is_err(), "{name}");
        }
        for value in ["", "a b", "$(id)", "a\nb", "\"", "é", "a=b", "1.5", "x;y"] {
            assert!(key("mode", json!(value)).is_err(), "{value:?}");
        }
        for key in writable() {
            assert!(crate::config::find_key(key).is_ok(), "{key}");
        }
    }

    #[test]
    fn without_a_loop_a_command_says_what_it_waits_for() {
        assert!(outlook(&Command::Stop, None).contains("nothing to end"));
        assert!(outlook(&Command::Pause, None).contains("begins paused"));
        assert!(outlook(&Command::Pause, Some(Doing::Attempt("t"))).contains("attempt that runs"));
    }
}
