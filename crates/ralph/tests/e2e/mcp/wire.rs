//! The protocol: what is offered, and what a server does with words that are none.

use serde_json::{Value, json};

use super::{answers, call, calls, greeting, request, result};
use crate::stage::stage;

const TOOLS: [&str; 8] = [
    "task_list",
    "task_show",
    "task_add",
    "task_done",
    "task_block",
    "issue_add",
    "knowledge_search",
    "handoff_write",
];

fn listed() -> Vec<Value> {
    let mut lines = greeting();
    lines.push(request(1, "tools/list", &json!({})));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let run = stage("").command(["mcp"]).stdin(text).run().ok().stderr("");
    answers(&run.stdout)[0]["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn every_tool_has_a_description_and_a_schema_that_needs_no_references() {
    let tools = listed();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, TOOLS);
    for tool in &tools {
        let schema = &tool["inputSchema"];
        assert!(tool["description"].as_str().unwrap().len() > 60, "{tool:#}");
        assert_eq!(schema["type"], "object", "{tool:#}");
        assert!(!schema.to_string().contains("$ref"), "{tool:#}");
    }
    let handoff = &tools[7]["inputSchema"];
    assert!(handoff["required"].as_array().unwrap().contains(&json!("freeform")), "{handoff:#}");
    assert!(handoff["properties"].get("synthetic").is_none(), "{handoff:#}");
    let looks = |tool: &Value| tool["annotations"]["readOnlyHint"] == true;
    let only_look: Vec<&str> = tools
        .iter()
        .filter(|tool| looks(tool))
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(only_look, ["task_list", "task_show", "knowledge_search"]);
}

#[test]
fn the_configuration_page_names_every_tool() {
    let page = include_str!("../../../../../docs/configuration.md");
    for tool in TOOLS {
        assert!(page.contains(&format!("`{tool}`")), "{tool}");
    }
}

#[test]
fn the_server_says_who_it_is_and_what_it_is_for() {
    let text: String = greeting().iter().map(|line| format!("{line}\n")).collect();
    let run = stage("").command(["mcp"]).stdin(text).run().ok();
    let hello: Value = serde_json::from_str(run.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(hello["result"]["serverInfo"]["name"], "ralph");
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    assert!(hello["result"]["instructions"].as_str().unwrap().contains("handoff_write"));
}

#[test]
fn a_closed_input_is_the_end_at_any_moment() {
    let p = stage("");
    p.command(["mcp"]).run().ok().stdout("").stderr("");
    p.command(["mcp"]).stdin("{\"jsonrpc\": \"2.0\", \"id\": 0, \"meth").run().ok().stdout("");
    let run = p.command(["mcp"]).stdin(calls(&[("task_list", json!({}))])).run().ok().stderr("");
    assert_eq!(run.stdout.lines().count(), 2, "the answer that was due is given: {}", run.stdout);
}

#[test]
fn what_is_no_message_is_survived() {
    let p = stage("");
    let good = request(7, "tools/call", &json!({ "name": "task_list", "arguments": {} }));
    // Longer than any line that is read.
    let endless = format!("{{\"x\": \"{}\"}}", "y".repeat(17 << 20));
    for bad in
        ["not JSON", "{\"jsonrpc\": \"2.0\"", "[]", "{\"id\": 1}", "\u{0}", "", endless.as_str()]
    {
        let mut text: String = greeting().iter().map(|line| format!("{line}\n")).collect();
        text.push_str(&format!("{bad}\n{good}\n"));
        let run = p.command(["mcp"]).stdin(text).run().ok();
        let last = answers(&run.stdout).pop().unwrap();
        assert_eq!(last["id"], 7, "{}", run.stdout);
        assert_eq!(result(&last).unwrap()["total"], 2);
    }
}

#[test]
fn a_first_message_that_is_no_greeting_is_an_error_for_people() {
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let run = stage("").command(["mcp"]).stdin(format!("{note}\n")).run().fails(1);
    run.stdout("").stderr_has("no `initialize` request").stderr_has("ralph mcp --help");
}

#[test]
fn an_unknown_tool_is_told_the_known_ones() {
    let p = stage("");
    let run = p.command(["mcp"]).stdin(calls(&[("task_delete", json!({}))])).run().ok();
    let answer = &answers(&run.stdout)[0];
    assert_eq!(answer["error"]["code"], -32602, "{answer:#}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("`task_delete`") && message.contains("task_add"), "{message}");
}

#[test]
fn arguments_that_do_not_fit_are_a_refusal_that_says_why() {
    let p = stage("");
    let plan = p.read("ralph/plan.jsonl");
    let long = "x".repeat(300 << 10);
    for (tool, arguments, why) in [
        ("task_show", json!({}), "missing field `id`"),
        ("task_show", json!({ "id": 7 }), "invalid type"),
        ("task_show", json!({ "id": "t-aaab" }), "did you mean t-aaaa?"),
        ("task_list", json!({ "all": true }), "unknown field `all`"),
        ("task_list", json!({ "which": "mine" }), "unknown variant `mine`"),
        ("task_add", json!({ "name": " " }), "a task needs a name"),
        ("task_add", json!({ "name": "a\nb" }), "`name` must be one line"),
        ("task_add", json!({ "name": "a", "deps": ["t-none"] }), "t-none"),
        ("task_add", json!({ "name": "a", "notes": long }), "takes at most 262144"),
        ("issue_add", json!({ "description": "" }), "needs a description"),
        ("knowledge_search", json!({ "query": " " }), "needs a word"),
    ] {
        let refusal = call(&p, &[(tool, arguments)]).remove(0).unwrap_err();
        assert!(refusal.contains(why), "{tool}: {refusal}");
    }
    assert_eq!(p.read("ralph/plan.jsonl"), plan);
}

#[test]
fn a_damaged_plan_is_a_refusal_with_its_line_and_the_server_goes_on() {
    let p = stage("");
    p.write("ralph/plan.jsonl", "{\"t\":\"task\"\nmore\n");
    let all = call(&p, &[("task_list", json!({})), ("knowledge_search", json!({ "query": "x" }))]);
    assert!(all[0].as_ref().unwrap_err().contains("plan.jsonl:1"), "{:?}", all[0]);
    assert_eq!(all[1].as_ref().unwrap()["entries"], json!([]));
}
