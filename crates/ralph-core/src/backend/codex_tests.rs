//! What is special about codex; the common promises are in `conformance_tests`.

use serde_json::json;

use super::*;
use crate::backend::conformance_tests::{read, request};
use crate::backend::{
    BackendExit, BackendOutcome, BackendPermissions, ProcessEnding, SessionStart, TokenUsage,
};

const TOOLS: &str = include_str!("../../tests/fixtures/codex/tools.jsonl");
const EDIT: &str = include_str!("../../tests/fixtures/codex/edit.jsonl");

fn args(request: &BackendRequest<'_>) -> Vec<String> {
    CodexDriver.invocation(request).args
}

#[test]
fn a_new_run_reads_the_prompt_from_standard_input() {
    let run = CodexDriver.invocation(&request());
    assert_eq!(
        run.args,
        [
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--disable",
            "plugins",
            "--dangerously-bypass-approvals-and-sandbox",
            "-",
        ]
    );
    assert_eq!(run.stdin, "write a greeting");
    assert!(run.env.is_empty() && run.files.is_empty());
}

#[test]
fn everything_a_request_can_say_is_passed_on() {
    let schema = json!({ "properties": { "a": { "type": "string" } } });
    let mcp = json!({ "mcpServers": {
        "plain": { "command": "ralph", "args": ["mcp", "a \"b\""] },
        "with env": { "command": "server", "args": ["-v"], "env": { "TOKEN": "it's", "no-name": "x" } },
        "far": { "type": "http", "url": "https://far.example", "headers": { "X-Key": "k" } },
        "nonsense": { "neither": true },
    } });
    let run = CodexDriver.invocation(&BackendRequest {
        system: Some("be \"brief\"\nand kind"),
        model: Some("gpt-x"),
        permissions: BackendPermissions::ReadOnly,
        mcp: Some(&mcp),
        schema: Some(&schema),
        session: SessionStart::Resume { id: "01a1-7", before: RunUsage::default() },
        ..request()
    });
    assert_eq!(
        run.args,
        [
            "exec",
            "resume",
            "01a1-7",
            "--json",
            "--skip-git-repo-check",
            "--disable",
            "plugins",
            "-c",
            r#"sandbox_mode="read-only""#,
            "-m",
            "gpt-x",
            "-c",
            r#"developer_instructions="be \"brief\"\nand kind""#,
            "-c",
            r#"mcp_servers.plain.command="ralph""#,
            "-c",
            r#"mcp_servers.plain.args=["mcp", "a \"b\""]"#,
            "-c",
            r#"mcp_servers."with env".command="/bin/sh""#,
            "-c",
            r#"mcp_servers."with env".args=["-c", ". \"$0\" && exec \"$@\"", "/run/scratch/mcp-1.env", "server", "-v"]"#,
            "-c",
            r#"mcp_servers.far.url="https://far.example""#,
            "-c",
            r#"mcp_servers.far.env_http_headers={ "X-Key" = "RALPH_MCP_TOKEN_2_0" }"#,
            "--output-schema",
            "/run/scratch/schema.json",
            "-",
        ]
    );
    assert_eq!(run.env, [("RALPH_MCP_TOKEN_2_0".to_owned(), "k".to_owned())]);
    let files: Vec<(&str, &str)> =
        run.files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    assert_eq!(
        files,
        [
            ("/run/scratch/mcp-1.env", "export TOKEN='it'\\''s'\n"),
            (
                "/run/scratch/schema.json",
                r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"],"additionalProperties":false}"#,
            ),
        ]
    );
}

#[test]
fn without_bypass_it_may_write_in_the_workspace() {
    let args = args(&BackendRequest { permissions: BackendPermissions::Default, ..request() });
    assert!(args.contains(&r#"sandbox_mode="workspace-write""#.to_owned()), "{args:?}");
    assert!(!args.iter().any(|arg| arg.contains("bypass")), "{args:?}");
}

#[test]
fn instructions_too_long_for_an_argument_go_before_the_prompt() {
    let system = "x".repeat(130_000);
    let run = CodexDriver.invocation(&BackendRequest { system: Some(&system), ..request() });
    assert!(!run.args.iter().any(|arg| arg.contains("developer_instructions")));
    assert!(run.stdin.contains(&system) && run.stdin.ends_with("write a greeting"));
}

#[test]
fn a_resumed_session_counts_only_its_own_tokens() {
    let before =
        RunUsage { input: Some(4000), cached: Some(700), output: Some(100), ..RunUsage::default() };
    let request = BackendRequest { session: SessionStart::Resume { id: "x", before }, ..request() };
    let (reader, events) = read(&CodexDriver, &request, EDIT.as_bytes());
    let spent = reader.spent();
    assert_eq!((spent.input, spent.cached, spent.output), (Some(200), Some(0), Some(30)));
    assert!(events.contains(&BackendEvent::Usage(TokenUsage {
        input: 200,
        cached: 0,
        output: 30
    })));
}

#[test]
fn tools_of_every_kind_are_told() {
    let (reader, events) = read(&CodexDriver, &request(), TOOLS.as_bytes());
    let told: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            BackendEvent::ToolCall { name, input, .. } => Some(format!("{name} {input}")),
            BackendEvent::ToolResult { status, text, .. } => Some(format!("{status:?} {text}")),
            _ => None,
        })
        .collect();
    assert_eq!(
        told,
        [
            r#"mcp__ralph__task_done {"id":"t-1"}"#,
            "Ok noted",
            "mcp__ralph__task_add {}",
            "Failed no name",
            r#"command_execution {"command":"false"}"#,
            "Failed ",
        ]
    );
    let unknown = events.iter().filter(|event| matches!(event, BackendEvent::Unknown(_))).count();
    assert_eq!(unknown, 2, "a warning and a to-do list are kept as they came");
    assert_eq!(reader.structured(), None, "nobody asked for JSON");
}

#[test]
fn the_last_message_is_the_structured_answer_if_one_was_asked_for() {
    let schema = json!({ "properties": { "fully_complete": { "type": "boolean" } } });
    let asked = BackendRequest { schema: Some(&schema), ..request() };
    let (reader, _) = read(&CodexDriver, &asked, TOOLS.as_bytes());
    assert_eq!(reader.structured(), Some(&json!({ "fully_complete": true })));
    let (mut reader, _) = read(&CodexDriver, &asked, EDIT.as_bytes());
    assert_eq!(reader.structured(), None, "prose is not");
    assert_eq!(reader.outcome(&BackendExit::code(0), ""), BackendOutcome::Success);
}

#[test]
fn a_retry_is_told_with_its_reason() {
    let line = br#"{"type":"error","message":"Reconnecting... 2/5 (stream closed (early))"}"#;
    let (reader, events) = read(&CodexDriver, &request(), line);
    let reason = "stream closed (early)".to_owned();
    assert_eq!(events, [BackendEvent::Retry { attempt: 2, of: Some(5), delay_ms: None, reason }]);
    assert!(!reader.is_finished());
}

#[test]
fn an_error_without_an_end_is_still_the_reason() {
    let lines = b"{\"type\":\"turn.started\"}\n{\"type\":\"error\",\"message\":\"usage limit\"}";
    let (mut reader, _) = read(&CodexDriver, &request(), lines);
    assert_eq!(reader.outcome(&BackendExit::code(1), "").word(), "rate_limit");
}

#[test]
fn a_session_that_is_gone_is_a_crash_with_its_last_words() {
    let (mut reader, _) = read(&CodexDriver, &request(), b"");
    let stderr = "\u{1b}[31mError: no rollout found for thread id 7\u{1b}[0m\n   at x.rs:1\n";
    let message = "Error: no rollout found for thread id 7".to_owned();
    assert_eq!(
        reader.outcome(&BackendExit::code(1), stderr),
        BackendOutcome::Crash { ending: ProcessEnding::Code(1), message }
    );
}
