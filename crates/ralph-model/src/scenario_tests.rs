use super::*;
use crate::conversation::Entry;

const SCENARIO: &str = r#"{"rules": [
    {"when": "SAY IT", "steps": [{"text": "first"}, {"text": "second"}]},
    {"when": "SAY", "has": "loud", "steps": [{"text": "loud"}]},
    {"when": "SAY", "turn": 2, "steps": [{"text": "again"}]},
    {"steps": [{"text": "anything"}]}
]}"#;

fn talk(entries: &[&str]) -> Conversation {
    let mut talk = Conversation::default();
    for entry in entries {
        match *entry {
            "model" => talk.entries.push(Entry::Model),
            "tool" => talk.entries.push(Entry::ToolResult),
            text => talk.add_user(text),
        }
    }
    talk
}

fn says(entries: &[&str]) -> Option<String> {
    let scenario = Scenario::parse(SCENARIO).unwrap();
    let talk = talk(entries);
    scenario.due(&talk)?.step?.text.clone()
}

#[test]
fn the_first_words_pick_the_rule_and_whole_words_count() {
    assert_eq!(says(&["SAY IT now"]).as_deref(), Some("first"));
    assert_eq!(says(&["SAY ITALIC"]).as_deref(), Some("anything"));
    assert_eq!(says(&["SAY it loud"]).as_deref(), Some("loud"));
    assert_eq!(says(&["hello", "model", "SAY"]).as_deref(), Some("again"));
}

#[test]
fn the_step_is_the_number_of_answers_since_the_prompt() {
    assert_eq!(
        says(&["hi", "model", "SAY IT", "model", "model", "tool"]).as_deref(),
        Some("second")
    );
    assert_eq!(says(&["SAY IT", "model", "tool", "model", "tool"]), None);
}

#[test]
fn what_the_program_adds_to_the_users_words_changes_nothing() {
    assert_eq!(
        says(&["<context>SAY</context>", "\"SAY IT\"\n", "<note/>"]).as_deref(),
        Some("first")
    );
    let nudged = ["SAY IT", "model", "Please use the tool."];
    assert_eq!(says(&nudged).as_deref(), Some("second"));
}

#[test]
fn words_of_the_prompt_go_into_the_answer() {
    let scenario = Scenario::parse(r#"{"rules": [{"when": "PUT", "steps": []}]}"#).unwrap();
    let talk = talk(&["PUT a.txt  in place"]);
    let due = scenario.due(&talk).unwrap();
    assert_eq!(due.fill("$1 / $3 / $4 / $*"), "a.txt / place /  / a.txt  in place");
    let filled = due.fill_value(&serde_json::json!({"a": ["$1", 1]}));
    assert_eq!(filled, serde_json::json!({"a": ["a.txt", 1]}));
}

#[test]
fn a_misspelt_key_is_refused_by_name() {
    let error = Scenario::parse(r#"{"rules": [{"when": "X", "steps": [{"txt": "a"}]}]}"#);
    assert!(error.unwrap_err().to_string().contains("txt"));
}
