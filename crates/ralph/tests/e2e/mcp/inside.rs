//! An agent inside an attempt: what it may say with a tool, and what becomes of it.

use ralph_testkit::TestProject;
use serde_json::{Value, json};

use super::{answers, call_with, calls, handoff, result};
use crate::stage::{stage, steps};

const WORK: &str = "{ write = \"{task}.txt\", text = \"work\\n\" },";

/// A backend that makes these calls and then does `more`.
fn calling(wanted: &[(&str, Value)], more: &str) -> TestProject {
    let speak = "{ run = \"$BIN mcp < \\\"$HOME/calls\\\" > \\\"$HOME/said\\\"\" },";
    let p = stage(&steps(&format!("{WORK} {speak} {more}")));
    p.write(p.home().join("calls"), calls(wanted));
    p
}

/// What the calls gave back.
fn said(p: &TestProject) -> Vec<Result<Value, String>> {
    answers(&p.read(p.home().join("said"))).iter().map(result).collect()
}

#[test]
fn a_task_claimed_with_the_tool_lands_when_the_gates_are_green() {
    let p = calling(&[("task_list", json!({})), ("task_done", json!({}))], "");
    p.run(["build", "--once"]).ok();
    let said = said(&p);
    assert_eq!(said[0].as_ref().unwrap()["current"], "t-aaaa");
    assert_eq!(said[1].as_ref().unwrap()["claim"], "done");
    p.run(["log"]).ok().stdout_has("t-aaaa  accepted");
}

#[test]
fn a_claim_with_the_tool_proves_nothing() {
    let bad = "{ write = \"bad.txt\", text = \"x\" },";
    let p = calling(&[("task_done", json!({ "id": "t-aaaa" }))], bad);
    p.run(["build", "--once"]).fails(3);
    assert!(!p.exists("bad.txt"));
    p.run(["show", "last"]).ok().stdout_has("gates failed");
}

#[test]
fn a_task_blocked_with_the_tool_is_blocked_with_its_reason() {
    let wanted = [
        ("task_block", json!({ "reason": "needs a key" })),
        ("task_block", json!({ "reason": " " })),
    ];
    let p = calling(&wanted, "{ claim = \"done\" },");
    p.run(["build"]).fails(3);
    assert!(said(&p)[1].as_ref().unwrap_err().contains("without a reason"));
    p.run(["task", "list"]).ok().stdout_has("needs a key");
}

#[test]
fn nobody_speaks_about_another_task_and_nobody_adds_more_than_a_few() {
    let p = calling(
        &[
            ("task_done", json!({ "id": "t-bbbb" })),
            ("task_block", json!({ "id": "t-bbbb", "reason": "no" })),
            ("handoff_write", handoff("t-bbbb", "did another")),
            ("task_add", json!({ "name": "Third" })),
            ("issue_add", json!({ "description": "is it slow?" })),
            ("task_add", json!({ "name": "Fourth", "deps": ["nonesuch"] })),
            ("task_add", json!({ "name": "Fourth" })),
            ("task_add", json!({ "name": "Fifth" })),
        ],
        "{ claim = \"done\" },",
    );
    let run = p.run(["build", "--once"]).ok();
    assert!(!run.stderr.contains("undone"), "{}", run.stderr);
    let said = said(&p);
    for refused in &said[..3] {
        assert!(refused.as_ref().unwrap_err().contains("t-aaaa"), "{refused:?}");
    }
    assert!(said[3].is_ok() && said[4].is_ok() && said[6].is_ok(), "{said:?}");
    assert!(said[5].is_err(), "what was not added does not count");
    assert!(said[7].as_ref().unwrap_err().contains("one attempt may add 3"), "{:?}", said[7]);
    p.run(["task", "list"]).ok().stdout_has("Third").stdout_has("Fourth").stdout_lacks("Fifth");
    p.run(["issue", "list"]).ok().stdout_has("is it slow?");
    p.run(["task", "show", "t-bbbb"]).ok().stdout_has("pending");
}

#[test]
fn a_handoff_written_with_the_tool_wins_over_the_answer_and_the_last_one_counts() {
    let short = json!({ "freeform": "too short" });
    let mut poor = handoff("t-aaaa", "poor");
    poor["freeform"] = short["freeform"].clone();
    let mut huge = handoff("t-aaaa", "huge");
    huge["freeform"] = json!("x".repeat(300 << 10));
    let p = calling(
        &[
            ("handoff_write", handoff("t-aaaa", "the first one")),
            ("handoff_write", handoff("t-aaaa", "the last one")),
            ("handoff_write", poor),
            ("handoff_write", huge),
            ("handoff_write", short),
        ],
        // The answer says that the task is not complete.
        "{ claim = \"not_complete\", why = \"half of it\" },",
    );
    p.run(["build", "--once"]).ok();
    let said = said(&p);
    assert!(said[0].is_ok() && said[1].is_ok(), "{said:?}");
    assert!(said[2].as_ref().unwrap_err().contains("needs at least 50"), "{:?}", said[2]);
    assert!(said[3].as_ref().unwrap_err().contains("takes at most"), "{:?}", said[3]);
    assert!(said[4].as_ref().unwrap_err().contains("missing field"), "{:?}", said[4]);
    let kept: Value = serde_json::from_str(&p.read(".ralph/handoffs/handoff-001.json")).unwrap();
    assert_eq!(kept["summary"], "the last one");
    p.run(["log"]).ok().stdout_has("t-aaaa  accepted");
    let commit = p.git(["log", "-1", "--format=%s"]).ok().stdout;
    assert!(commit.contains("the last one"), "{commit}");
}

#[test]
fn a_handoff_of_one_attempt_is_not_that_of_the_next() {
    let p = calling(&[("handoff_write", handoff("t-aaaa", "only once"))], "");
    p.run(["build", "--once"]).ok();
    p.write(p.home().join("scenario.toml"), steps(&format!("{WORK} {{ claim = \"done\" }},")));
    p.run(["build", "--once"]).ok();
    assert!(!p.read(".ralph/handoffs/handoff-002.json").contains("only once"));
}

/// A claude that keeps its MCP configuration and finishes the task.
const CLAUDE: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = --mcp-config ] && config=$2; shift; done
case $config in
'{'*) printf '%s' "$config" >"$HOME/mcp.json" ;;
*) cat "$config" >"$HOME/mcp.json" ;;
esac
cat >/dev/null
echo work >work.txt
printf '%s\n' '{"type":"system","subtype":"init","session_id":"s-1","model":"m"}'
printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"It is there.\n<TASK_DONE>","session_id":"s-1","total_cost_usd":0.01,"usage":{"input_tokens":1,"output_tokens":1}}'
"#;

fn claude(settings: &str) -> (TestProject, Value) {
    let p = stage("");
    p.write(p.home().join("claude"), CLAUDE);
    p.mode(p.home().join("claude"), 0o755);
    let program = p.home().join("claude");
    let more = format!("[backends.claude]\nprogram = {program:?}\n");
    p.write("ralph.toml", format!("{settings}\n{more}"));
    p.write("servers.json", r#"{"mcpServers": {"docs": {"command": "docs-mcp"}}}"#);
    p.git(["add", "-A"]).ok();
    p.git(["commit", "-q", "-m", "settings"]).ok();
    p.run(["build", "--once", "--backend", "claude"]).ok();
    let config = serde_json::from_str(&p.read(p.home().join("mcp.json"))).unwrap();
    (p, config)
}

#[test]
fn a_coding_agent_has_no_tools_unless_they_are_asked_for() {
    assert_eq!(claude("").1, json!({ "mcpServers": {} }));
    let docs = json!({ "mcpServers": { "docs": { "command": "docs-mcp" } } });
    assert_eq!(claude("[stages.build]\nmcp_config = \"servers.json\"").1, docs);
}

#[test]
fn with_mcp_tools_an_agent_is_given_a_server_that_knows_its_attempt_wherever_it_starts() {
    let (p, config) = claude("mcp_tools = true\n[stages.build]\nmcp_config = \"servers.json\"");
    assert_eq!(config["mcpServers"]["docs"]["command"], "docs-mcp", "{config:#}");
    let ralph = &config["mcpServers"]["ralph"];
    assert_eq!(ralph["command"], env!("CARGO_BIN_EXE_ralph"), "{config:#}");
    let args = ralph["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
    let mut server = p.command(args).dir(p.home());
    for (name, value) in ralph["env"].as_object().unwrap() {
        server = server.env(name, value.as_str().unwrap());
    }
    assert!(ralph["env"]["RALPH_MAILBOX"].as_str().is_some_and(|path| !path.is_empty()));
    let all =
        call_with(server, &[("task_show", json!({ "id": "t-bbbb" })), ("task_done", json!({}))]);
    for over in all {
        let words = over.unwrap_err();
        assert!(words.contains("the loop that started this attempt cannot be reached"), "{words}");
    }
}

#[test]
fn a_server_that_is_started_outside_of_the_lane_speaks_for_its_attempt() {
    let speak = "{ run = \"cd $HOME && $BIN mcp < calls > said\" },";
    let p = stage(&steps(&format!("{WORK} {speak}")));
    let wanted = [("task_show", json!({ "id": "t-bbbb" })), ("task_done", json!({}))];
    p.write(p.home().join("calls"), calls(&wanted));
    p.run(["build", "--once"]).ok();
    let said = said(&p);
    assert_eq!(said[0].as_ref().unwrap()["name"], "Second");
    assert_eq!(said[1].as_ref().unwrap()["claim"], "done");
    p.run(["log"]).ok().stdout_has("t-aaaa  accepted");
}

#[test]
fn a_configured_server_with_ralphs_name_is_an_error_before_anything_runs() {
    let p = stage("");
    p.write("servers.json", r#"{"mcpServers": {"ralph": {"command": "mine"}}}"#);
    p.write(
        "ralph.toml",
        "backend = \"sim\"\nmcp_tools = true\n[stages.build]\nmcp_config = \"servers.json\"\n",
    );
    let run = p.run(["build", "--dry-run"]).fails(1);
    run.stderr_has("a server called `ralph`").stderr_has("mcp_tools = false");
}
