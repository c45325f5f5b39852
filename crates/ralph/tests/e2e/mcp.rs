//! `ralph mcp`: the tools, as a program that speaks MCP sees them.

mod inside;
mod outside;
mod wire;

use ralph_testkit::{Invocation, Run, TestProject};
use serde_json::{Value, json};

/// What a client says before anything else.
fn greeting() -> Vec<Value> {
    let client = json!({ "name": "test", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    vec![
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ]
}

/// The request with this number.
fn request(id: usize, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A whole conversation: a greeting and these calls, numbered from 1.
fn calls(calls: &[(&str, Value)]) -> String {
    let calls = calls.iter().enumerate().map(|(n, (name, arguments))| {
        request(n + 1, "tools/call", &json!({ "name": name, "arguments": arguments }))
    });
    greeting().into_iter().chain(calls).map(|line| format!("{line}\n")).collect()
}

/// The answers of a server in the order of the calls.
fn answers(stdout: &str) -> Vec<Value> {
    let mut all: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    all.retain(|answer| answer["id"].as_u64().is_some_and(|id| id > 0));
    all.sort_by_key(|answer| answer["id"].as_u64());
    all
}

/// What a call gave back: its value, or the words of the refusal.
fn result(answer: &Value) -> Result<Value, String> {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    match answer["result"]["isError"] == true {
        true => Err(text),
        false => Ok(serde_json::from_str(&text).unwrap()),
    }
}

/// Call tools from outside of any attempt.
fn call(p: &TestProject, wanted: &[(&str, Value)]) -> Vec<Result<Value, String>> {
    call_with(p.command(["mcp"]), wanted)
}

fn call_with(command: Invocation, wanted: &[(&str, Value)]) -> Vec<Result<Value, String>> {
    let run: Run = command.stdin(calls(wanted)).run().ok();
    let answers = answers(&run.stdout);
    assert_eq!(answers.len(), wanted.len(), "{}\n{}", run.stdout, run.stderr);
    answers.iter().map(result).collect()
}

/// A handoff about a task that fits the schema.
fn handoff(task: &str, summary: &str) -> Value {
    json!({
        "task_completed": { "task_id": task, "summary": summary, "fully_complete": true },
        "deviations": [], "bugs_encountered": [], "architectural_notes": [],
        "unfinished_business": [], "recommendations": [], "files_touched": [],
        "plan_amendments": [], "tests_added": [], "constraints_discovered": [],
        "summary": summary,
        "freeform": format!("{summary}: everything that the task asked for is there, and nothing is left."),
    })
}
