//! What is special about gemini; the common promises are in `conformance_tests`.

use super::*;
use crate::backend::conformance_tests::{read, request};
use crate::backend::{BackendExit, BackendOutcome, RunUsage, SessionStart};

#[test]
fn a_new_run_may_do_everything_in_a_folder_it_need_not_trust() {
    let run = GeminiDriver.invocation(&request());
    assert_eq!(run.args, ["--skip-trust", "-o", "stream-json", "--yolo"]);
    assert_eq!(run.env, [("GEMINI_CLI_NO_RELAUNCH".to_owned(), "true".to_owned())]);
    assert_eq!(run.stdin, "write a greeting");
    assert!(run.files.is_empty());
}

#[test]
fn everything_a_request_can_say_is_passed_on() {
    let run = GeminiDriver.invocation(&BackendRequest {
        system: Some("be brief\n"),
        model: Some("gemini-x"),
        permissions: BackendPermissions::ReadOnly,
        session: SessionStart::Resume { id: "0000-1", before: RunUsage::default() },
        ..request()
    });
    assert_eq!(
        run.args,
        [
            "--skip-trust",
            "-o",
            "stream-json",
            "--approval-mode",
            "default",
            "-m",
            "gemini-x",
            "--resume",
            "0000-1",
        ]
    );
    assert_eq!(
        run.stdin,
        "=== INSTRUCTIONS FOR THE WHOLE RUN ===\nbe brief\n=== END OF INSTRUCTIONS ===\n\n\
         write a greeting"
    );
}

#[test]
fn without_bypass_its_own_settings_decide() {
    let run = GeminiDriver
        .invocation(&BackendRequest { permissions: BackendPermissions::Default, ..request() });
    assert_eq!(run.args, ["--skip-trust", "-o", "stream-json"]);
}

#[test]
fn pieces_are_one_answer_until_a_tool_comes_between() {
    let piece = |text: &str| {
        format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#)
    };
    let tool = r#"{"type":"tool_use","tool_name":"ls","tool_id":"ls__call_1","parameters":{}}"#;
    let stream = [piece("one "), piece("two"), tool.to_owned(), piece("three "), piece("four")];
    let (reader, _) = read(&GeminiDriver, &request(), stream.join("\n").as_bytes());
    assert_eq!(reader.answer(), "three four");
}

#[test]
fn an_exit_code_stands_for_a_status() {
    let ended = |code, stderr: &str| {
        read(&GeminiDriver, &request(), b"").0.outcome(&BackendExit::code(code), stderr)
    };
    for (code, status) in [(244, 500), (17, 529), (144, 400), (247, 503), (148, 404)] {
        let expected = BackendOutcome::ApiError { status: Some(status), message: "no luck".into() };
        assert_eq!(ended(code, "no luck\n"), expected);
    }
    for (code, word) in [
        (145, "not_logged_in"),
        (147, "not_logged_in"),
        (41, "not_logged_in"),
        (173, "rate_limit"),
        (157, "context_limit"),
        (53, "max_turns"),
        (55, "permission_denied"),
        (1, "crash"),
        (42, "crash"),
        (0, "no_output"),
    ] {
        assert_eq!(ended(code, "no luck\n").word(), word, "{code}");
    }
}

#[test]
fn missing_credentials_are_told_in_its_own_words() {
    let stderr = "YOLO mode is enabled.\nSet the GEMINI_API_KEY variable.\nThen try again!\n";
    assert_eq!(
        read(&GeminiDriver, &request(), b"").0.outcome(&BackendExit::code(41), stderr),
        BackendOutcome::NotLoggedIn {
            message: "Set the GEMINI_API_KEY variable.\nThen try again!".into()
        }
    );
}

#[test]
fn zeros_of_a_failed_run_are_no_count() {
    let stream = include_str!("../../tests/fixtures/gemini/server-error.jsonl");
    let (reader, events) = read(&GeminiDriver, &request(), stream.as_bytes());
    assert_eq!(reader.spent(), RunUsage::default());
    assert!(!events.iter().any(|event| matches!(event, BackendEvent::Usage(_))));
}

#[test]
fn a_tool_that_is_not_offered_without_bypass_is_a_denial() {
    let result = |tool: &str| {
        let line = format!(
            r#"{{"type":"tool_result","tool_id":"{tool}__{tool}_17_0","status":"error","output":"not found","error":{{"type":"tool_not_registered","message":"not found"}}}}"#
        );
        let done = r#"{"type":"result","status":"success"}"#;
        let (mut reader, _) = read(&GeminiDriver, &request(), format!("{line}\n{done}").as_bytes());
        reader.outcome(&BackendExit::code(0), "")
    };
    assert_eq!(
        result("write_file"),
        BackendOutcome::PermissionDenied { tools: vec!["write_file".to_owned()] }
    );
    assert_eq!(
        result("wriet_file"),
        BackendOutcome::Success,
        "a tool that nobody has is a mistake"
    );
}
