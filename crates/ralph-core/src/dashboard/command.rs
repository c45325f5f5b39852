//! Commands that a dashboard may send to a loop, with typed and checked fields.
//!
//! The command queue is tolerant, because people may write it by hand. Requests of programs are
//! checked strictly instead: a wrong request is an error, and nothing is guessed or cut off.

use std::collections::BTreeMap;

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema, json_schema};
use serde::Deserialize;

use crate::control::{
    CheckedSetting, CommandEffect, LoopActivity, LoopCommand, SETTINGS, effect, promise,
};
use crate::cycle::History;
use crate::plan::Id;

/// Longest note, in characters: as much as a prompt is given.
const LONGEST_NOTE: usize = 4_000;

/// Most digits of a delay: a day has 86,400 seconds.
const LONGEST_DELAY: usize = 5;

/// A command for the loop, as a request carries it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "kebab-case")]
pub enum CommandRequest {
    /// Start nothing new until the loop is resumed.
    Pause,
    /// Continue after a pause.
    Resume,
    /// Leave a task out.
    SkipTask(TaskChoice),
    /// Add a note to the next prompt.
    InjectNote {
        /// Text of the note, at most 4000 characters.
        #[schemars(length(max = 4000), regex(pattern = r"\S"))]
        note: String,
    },
    /// End the loop after the attempt that runs.
    Stop,
    /// End the attempt that runs, now.
    KillAttempt,
    /// Allow new attempts at a task.
    RetryTask(TaskChoice),
}

/// The task that a command is about.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct TaskChoice {
    /// Id of the task.
    #[schemars(regex(
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*[^\x00-\x1f\x7f-\x9f\s][^\x00-\x1f\x7f-\x9f]*$"
    ))]
    pub task_id: String,
}

/// Settings by either of their names.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SettingsRequest(pub BTreeMap<String, SettingValue>);

/// Value of a setting, as text or as a number.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// A word, or a number as text.
    Text(String),
    /// Number, such as `2.5`.
    Number(f64),
}

impl JsonSchema for SettingsRequest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SettingsRequest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let both = |(variable, key)| [(key, value_schema(key)), (variable, value_schema(key))];
        let properties: BTreeMap<&str, Schema> = SETTINGS.into_iter().flat_map(both).collect();
        json_schema!({
            "type": "object", "minProperties": 1, "additionalProperties": false,
            "properties": properties,
        })
    }
}

fn value_schema(key: &str) -> Schema {
    match key {
        "gate_strategy" => json_schema!({ "enum": ["strict", "lenient", "tests_only"] }),
        "mode" => {
            json_schema!({ "enum": ["handoff-only", "handoff-plus-index", "agent-orchestrated"] })
        }
        "min_delay" => json_schema!({ "oneOf": [
            { "type": "integer", "minimum": 0, "maximum": 99999 },
            { "type": "string", "pattern": "^[0-9]{1,5}(ms|s|m|h)?$" },
        ]}),
        "max_turns" => json_schema!({ "type": "integer", "minimum": 1, "maximum": u32::MAX }),
        _ => json_schema!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
    }
}

impl TryFrom<CommandRequest> for LoopCommand {
    type Error = String;

    fn try_from(request: CommandRequest) -> Result<Self, String> {
        Ok(match request {
            CommandRequest::Pause => Self::Pause,
            CommandRequest::Resume => Self::Resume,
            CommandRequest::Stop => Self::Stop,
            CommandRequest::KillAttempt => Self::KillAttempt,
            CommandRequest::SkipTask(task) => Self::Skip(task.id()?),
            CommandRequest::RetryTask(task) => Self::Retry(task.id()?),
            CommandRequest::InjectNote { note } => match note.trim() {
                "" => return Err("`note` is empty".to_owned()),
                note if note.chars().count() > LONGEST_NOTE => {
                    return Err(format!("`note` is longer than {LONGEST_NOTE} characters"));
                }
                note => Self::Note(note.to_owned()),
            },
        })
    }
}

impl TaskChoice {
    fn id(&self) -> Result<Id, String> {
        match self.task_id.trim() {
            "" => Err("`task_id` is empty".to_owned()),
            id if id.contains(char::is_control) => Err("that is no id of a task".to_owned()),
            id => Ok(Id::new(id)),
        }
    }
}

/// A setting by either of its names, with the value that it shall have.
pub fn setting(name: &str, value: &SettingValue) -> Result<CheckedSetting, String> {
    let text = match value {
        SettingValue::Text(text) => text.clone(),
        // 2 and 2.0 are the same number to JSON.
        SettingValue::Number(number) => number.to_string(),
    };
    let setting = CheckedSetting::new(name, &text)?;
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

/// Return the current activity of the loop, as far as its journal shows it.
pub fn doing(history: &History) -> LoopActivity<'_> {
    match (&history.open, &history.consulting) {
        (Some(open), _) => LoopActivity::Attempt(&open.started.task),
        (None, Some(_)) => LoopActivity::Asking,
        (None, None) => LoopActivity::Nothing,
    }
}

/// Describe the effect of a command in words. `doing` is `None` if no loop runs.
pub fn outlook(command: &LoopCommand, doing: Option<LoopActivity<'_>>) -> String {
    let Some(doing) = doing else {
        return match (command, effect(command, LoopActivity::Starting)) {
            (_, CommandEffect::Nothing(_)) => "no loop runs, so there is nothing to end".to_owned(),
            (LoopCommand::Pause, _) => "no loop runs; the next one begins paused".to_owned(),
            (LoopCommand::Resume, _) => "no loop runs; the next one does not pause".to_owned(),
            (LoopCommand::Note(_), _) => {
                "no loop runs; the next one has it in its first prompt".into()
            }
            _ => "no loop runs; the next one begins with it".to_owned(),
        };
    };
    promise(command, doing)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(body: &Value) -> Result<LoopCommand, String> {
        let request: CommandRequest =
            serde_json::from_value(body.clone()).map_err(|e| e.to_string())?;
        request.try_into()
    }

    #[test]
    fn the_bodies_of_seed_tools_are_taken_as_they_are() {
        for (body, wanted) in [
            (json!({"command": "pause"}), LoopCommand::Pause),
            (
                json!({"command": "inject-note", "note": "Check auth module"}),
                LoopCommand::Note("Check auth module".into()),
            ),
            (
                json!({"command": "skip-task", "task_id": "T-005"}),
                LoopCommand::Skip(Id::new("T-005")),
            ),
            (
                json!({"command": "retry-task", "task_id": "T-5"}),
                LoopCommand::Retry(Id::new("T-5")),
            ),
            (json!({"command": "kill-attempt"}), LoopCommand::KillAttempt),
        ] {
            assert_eq!(check(&body), Ok(wanted), "{body}");
        }
    }

    #[test]
    fn what_is_not_listed_or_of_another_kind_is_refused() {
        for body in [
            json!({}),
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
        let key = |name: &str, value: Value| {
            let value: SettingValue = serde_json::from_value(value).unwrap();
            setting(name, &value).map(|s| (s.key, s.value))
        };
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
        assert!(outlook(&LoopCommand::Stop, None).contains("nothing to end"));
        assert!(outlook(&LoopCommand::Pause, None).contains("begins paused"));
        assert!(
            outlook(&LoopCommand::Pause, Some(LoopActivity::Attempt("t")))
                .contains("attempt that runs")
        );
    }
}
