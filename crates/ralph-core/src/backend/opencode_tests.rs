//! What is special about opencode; the common promises are in `conformance_tests`.

use serde_json::json;

use super::*;
use crate::backend::conformance_tests::{read, request};
use crate::backend::{BackendExit, RunUsage, SessionStart};

const EDIT: &str = include_str!("../../tests/fixtures/opencode/edit.jsonl");
const TOO_LONG: &str = include_str!("../../tests/fixtures/opencode/too-long.jsonl");
const UNPRICED: &str = include_str!("../../tests/fixtures/opencode/unpriced.jsonl");
const BROKEN: &str = include_str!("../../tests/fixtures/opencode/broken-steps.jsonl");

#[test]
fn a_new_run_allows_everything_and_configures_nothing() {
    let run = OpenCodeDriver.invocation(&request());
    assert_eq!(run.args, ["run", "--format", "json", "--auto"]);
    assert_eq!(run.env, [("OPENCODE_DISABLE_AUTOUPDATE".to_owned(), "1".to_owned())]);
    assert_eq!(run.stdin, "write a greeting");
}

#[test]
fn everything_a_request_can_say_is_passed_on() {
    let mcp = json!({ "mcpServers": {
        "near": { "command": "ralph", "args": ["mcp"], "env": { "A": "b" } },
        "far": { "url": "https://far.example", "headers": { "X-Key": "k" } },
    } });
    let run = OpenCodeDriver.invocation(&BackendRequest {
        system: Some("be brief"),
        model: Some("lab/large"),
        permissions: BackendPermissions::ReadOnly,
        mcp: Some(&mcp),
        session: SessionStart::Resume { id: "ses_1", before: RunUsage::default() },
        ..request()
    });
    assert_eq!(
        run.args,
        ["run", "--format", "json", "--auto", "-m", "lab/large", "--session", "ses_1"]
    );
    let (name, config) = &run.env[1];
    assert_eq!(name, "OPENCODE_CONFIG_CONTENT");
    assert_eq!(
        serde_json::from_str::<Value>(config).unwrap(),
        json!({
            "permission": { "edit": "deny", "bash": "deny" },
            "instructions": ["/run/scratch/instructions.md"],
            "mcp": {
                "near": {
                    "type": "local", "command": ["ralph", "mcp"], "environment": { "A": "b" },
                    "enabled": true,
                },
                "far": {
                    "type": "remote", "url": "https://far.example", "headers": { "X-Key": "k" },
                    "enabled": true,
                },
            },
        })
    );
    let text = "be brief".to_owned();
    assert_eq!(run.files, [ScratchFile { path: "/run/scratch/instructions.md".into(), text }]);
}

#[test]
fn without_bypass_nothing_is_allowed_that_its_settings_do_not_allow() {
    let run = OpenCodeDriver
        .invocation(&BackendRequest { permissions: BackendPermissions::Default, ..request() });
    assert_eq!(run.args, ["run", "--format", "json"]);
    assert_eq!(run.env.len(), 1);
}

#[test]
fn steps_add_up() {
    let (reader, events) = read(&OpenCodeDriver, &request(), EDIT.as_bytes());
    let spent = reader.spent();
    assert_eq!((spent.input, spent.cached, spent.output), (Some(3600), Some(600), Some(150)));
    assert_eq!(spent.turns, Some(3));
    let costs: Vec<f64> = events
        .iter()
        .filter_map(|event| match event {
            BackendEvent::Cost(RunCost(cost)) => Some((cost * 1000.0).round()),
            _ => None,
        })
        .collect();
    assert_eq!(costs, [4.0, 8.0, 12.0], "dollars so far, not of the step");
}

#[test]
fn a_step_without_a_price_makes_the_cost_unknown() {
    let (reader, _) = read(&OpenCodeDriver, &request(), UNPRICED.as_bytes());
    assert_eq!(reader.spent().cost, None);
    assert_eq!(reader.spent().input, Some(2400));
}

#[test]
fn zeros_of_a_broken_step_are_no_count() {
    let (reader, events) = read(&OpenCodeDriver, &request(), BROKEN.as_bytes());
    assert_eq!(reader.spent(), RunUsage { turns: Some(2), ..RunUsage::default() });
    assert!(
        !events.iter().any(|event| matches!(event, BackendEvent::Usage(_) | BackendEvent::Cost(_)))
    );
}

#[test]
fn a_compaction_is_told_and_its_words_are_not_the_answer() {
    let (reader, events) = read(&OpenCodeDriver, &request(), TOO_LONG.as_bytes());
    let trigger = CompactionTrigger::Auto;
    assert!(events.contains(&BackendEvent::Compacted { trigger, before: None, after: None }));
    assert_eq!(reader.answer(), "going on");
}

#[test]
fn a_step_that_stopped_is_not_yet_the_end() {
    let (reader, _) = read(&OpenCodeDriver, &request(), EDIT.as_bytes());
    assert!(!reader.is_finished());
    let again = r#"{"type":"step_start","sessionID":"s","part":{}}"#;
    let (mut reader, _) = read(&OpenCodeDriver, &request(), format!("{EDIT}{again}").as_bytes());
    assert_eq!(reader.outcome(&BackendExit::code(0), "").word(), "crash");
}

#[test]
fn texts_of_one_message_are_one_answer() {
    let said = |message: &str, text: &str| {
        format!(
            r#"{{"type":"text","sessionID":"s","part":{{"messageID":"{message}","text":"{text}"}}}}"#
        )
    };
    let stream = [said("m1", "old"), said("m2", "one"), said("m2", "two")].join("\n");
    let (reader, _) = read(&OpenCodeDriver, &request(), stream.as_bytes());
    assert_eq!(reader.answer(), "one\ntwo");
}

#[test]
fn an_error_that_is_nobodys_is_a_crash_with_its_words() {
    let line = r#"{"type":"error","sessionID":"s","error":{"name":"UnknownError","data":{"message":"see the log"}}}"#;
    let aborted = r#"{"type":"error","sessionID":"s","error":{"name":"MessageAbortedError","data":{"message":"aborted"}}}"#;
    let (mut reader, _) =
        read(&OpenCodeDriver, &request(), format!("{line}\n{aborted}").as_bytes());
    let outcome = reader.outcome(&BackendExit::code(1), "");
    assert_eq!(outcome.to_string(), "ended with code 1: see the log");
}
