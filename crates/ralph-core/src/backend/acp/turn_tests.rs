//! What an agent reports while the prompt is open.

use serde_json::{Value, json};

use super::talk_tests::{Talk, compact, options, request};
use super::*;
use crate::backend::{
    BackendEvent, BackendOutcome, CompactionTrigger, ContextFill, RunCost, RunUsage, TokenUsage,
    ToolStatus,
};

#[test]
fn a_tool_call_is_one_call_and_one_result_however_it_is_told() {
    let call =
        |input: Value| BackendEvent::ToolCall { id: "c1".into(), name: "Write".into(), input };
    let result = |status, text: &str| BackendEvent::ToolResult {
        id: "c1".into(),
        status,
        text: text.into(),
    };
    // First without its input, then with it, then again and again.
    let mut talk = Talk::with(&request("p"), "claude-agent-acp");
    let meta = json!({"claudeCode": {"toolName": "Write"}});
    talk.update(&json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Preparing",
        "kind": "edit", "rawInput": {}, "status": "pending", "_meta": meta}));
    assert_eq!(talk.known().len(), 1);
    talk.update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1",
        "rawInput": {"file": "a"}, "title": "Write a"}));
    talk.update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "_meta": meta}));
    let done = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed",
        "rawOutput": "made"});
    talk.update(&done).update(&done);
    assert_eq!(talk.known()[1..], [&call(json!({"file": "a"})), &result(ToolStatus::Ok, "made")]);
    // Never begun, only ended.
    let mut talk = Talk::prompted(&request("p"));
    talk.update(
        &json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "failed",
        "title": "Writing to a", "kind": "edit", "locations": [{"path": "/repo/a"}],
        "content": [{"type": "content", "content": {"type": "text", "text": "no space"}}]}),
    );
    let edit = BackendEvent::ToolCall {
        id: "c1".into(),
        name: "edit".into(),
        input: json!({"title": "Writing to a", "path": "/repo/a"}),
    };
    assert_eq!(talk.known()[1..], [&edit, &result(ToolStatus::Failed, "no space")]);
    // A draft whose command follows, and whose output comes in pieces.
    let mut talk = Talk::with(&request("p"), "OpenCode");
    talk.update(&json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "bash",
        "kind": "execute", "status": "pending", "rawInput": {"cwd": "/repo"}}));
    for data in ["one\n", "two\n"] {
        talk.update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1",
            "status": "in_progress", "rawInput": {"command": "ls"},
            "_meta": {"terminal_output_delta": {"data": data}}}));
    }
    talk.update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1",
        "status": "completed"}));
    let execute = BackendEvent::ToolCall {
        id: "c1".into(),
        name: "execute".into(),
        input: json!({"command": "ls"}),
    };
    assert_eq!(talk.known()[1..], [&execute, &result(ToolStatus::Ok, "one\ntwo\n")]);
}

#[test]
fn the_answer_is_the_last_message() {
    let chunk = |id: &str, text: &str| {
        json!({"sessionUpdate": "agent_message_chunk", "messageId": id,
            "content": {"type": "text", "text": text}})
    };
    let mut talk = Talk::prompted(&request("p"));
    talk.update(&chunk("m1", "I look.")).update(&chunk("m2", "It ")).update(&chunk("m2", "works."));
    assert_eq!(talk.client.answer(), "It works.");
    // Without ids a tool call parts two messages.
    let mut talk = Talk::prompted(&request("p"));
    talk.text("I look.").update(&json!({"sessionUpdate": "tool_call", "toolCallId": "c",
        "title": "t", "status": "in_progress"}));
    talk.text("It ").text("works.");
    assert_eq!(talk.client.answer(), "It works.");
    // The notes of the agent itself are not its model's words.
    let mut talk = Talk::with(&request("p"), "Copilot");
    talk.text("Info: trying again").text("It ").text("works.");
    assert_eq!(talk.client.answer(), "It works.");
}

#[test]
fn thoughts_are_told_and_what_is_new_is_kept() {
    let mut talk = Talk::prompted(&request("p"));
    let content = json!({"type": "text", "text": "hm"});
    talk.update(&json!({"sessionUpdate": "agent_thought_chunk", "content": content}));
    assert_eq!(talk.events.last(), Some(&BackendEvent::Thinking("hm".into())));
    let updates = [
        json!({"sessionUpdate": "plan", "entries": []}),
        json!({"sessionUpdate": "of_tomorrow", "x": 1}),
        json!({"sessionUpdate": "agent_message_chunk",
            "content": {"type": "image", "data": "", "mimeType": "image/png"}}),
        json!(3),
    ];
    for update in updates {
        talk.update(&update);
        let Some(BackendEvent::Unknown(raw)) = talk.events.last() else { panic!("{update}") };
        assert!(raw.contains(&update.to_string()));
    }
    // Another session is not ours.
    let params = json!({"sessionId": "s2", "update": {"sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "x"}}});
    talk.say(&json!({"method": "session/update", "params": params}));
    assert!(matches!(talk.events.last(), Some(BackendEvent::Unknown(_))));
    assert_eq!(talk.client.answer(), "");
}

pub(super) fn usage_update(cost: f64) -> Value {
    json!({"sessionUpdate": "usage_update", "used": 1500, "size": 200_000,
        "cost": {"amount": cost, "currency": "USD"}})
}

#[test]
fn context_and_cost_come_with_usage_updates() {
    let mut talk = Talk::with(&request("p"), "claude");
    talk.update(&usage_update(0.25)).update(&usage_update(0.5));
    let context = BackendEvent::Context(ContextFill { used: 1500, window: Some(200_000) });
    let cost = |dollars: f64| BackendEvent::Cost(RunCost(dollars));
    assert_eq!(talk.known()[1..], [&context, &cost(0.25), &context, &cost(0.5)]);
    assert_eq!(talk.client.spent().cost, Some(0.5));
    // Euros are no dollars.
    let mut talk = Talk::with(&request("p"), "claude");
    talk.update(&json!({"sessionUpdate": "usage_update", "used": 1, "size": 0,
        "cost": {"amount": 1.0, "currency": "EUR"}}));
    assert_eq!(talk.client.spent().cost, None);
    assert_eq!(talk.known()[1], &BackendEvent::Context(ContextFill { used: 1, window: None }));
}

#[test]
fn the_cost_of_a_continued_session_is_that_of_this_run() {
    let run = |before: Option<f64>, seen: Option<f64>, then: f64| {
        let mut request = request("p");
        request.session = SessionStart::Resume {
            id: "s1",
            before: RunUsage { cost: before, ..RunUsage::default() },
        };
        let mut talk = Talk::new(&request, &options(), "claude", json!({}));
        talk.answer(&json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}));
        if let Some(seen) = seen {
            talk.update(&usage_update(seen));
        }
        talk.open();
        talk.update(&usage_update(then)).end();
        talk.client.spent().cost
    };
    assert_eq!(run(Some(1.0), None, 1.5), Some(0.5));
    assert_eq!(run(Some(1.0), Some(1.25), 1.5), Some(0.25), "what the agent says is nearer");
    assert_eq!(run(None, None, 1.5), Some(1.5));
    assert_eq!(run(Some(1.0), None, 0.5), Some(0.5), "a total that shrank began anew");
}

#[test]
fn tokens_are_read_wherever_an_agent_puts_them() {
    let usage = |cached: u64, input: u64| {
        json!({"stopReason": "end_turn", "usage": {"totalTokens": 1560, "inputTokens": input,
            "outputTokens": 60, "cachedReadTokens": cached}})
    };
    let spent = |input, cached, output| RunUsage { input, cached, output, ..RunUsage::default() };
    let all = spent(Some(1500), Some(300), Some(60));
    let quota = json!({"input_tokens": 1500, "output_tokens": 60});
    let by_model = json!([{"token_count": {"totalTokens": 100, "inputTokens": 90, "outputTokens": 10}},
        {"token_count": {"totalTokens": 20, "inputTokens": 15, "outputTokens": 5}}]);
    for (agent, result, expected) in [
        ("codex", usage(300, 1200), all),
        ("Copilot", usage(300, 1500), all),
        ("somebody", usage(300, 1200), all),
        ("OpenCode", usage(300, 1200), RunUsage::default()),
        (
            "gemini-cli",
            json!({"stopReason": "end_turn", "_meta": {"quota": {"token_count": quota}}}),
            spent(Some(1500), None, Some(60)),
        ),
        (
            "claude",
            json!({"stopReason": "end_turn", "usage": usage(0, 0)["usage"],
                "_meta": {"quota": {"model_usage": by_model}}}),
            spent(Some(105), None, Some(15)),
        ),
        ("codex", json!({"stopReason": "end_turn", "usage": null}), RunUsage::default()),
        ("codex", json!({"stopReason": "end_turn", "usage": "many"}), RunUsage::default()),
    ] {
        let mut talk = Talk::with(&request("p"), agent);
        talk.prompt_answer(&result);
        assert_eq!(talk.client.spent(), expected, "{agent} {result}");
        let told = talk.events.iter().find_map(|event| match event {
            BackendEvent::Usage(usage) => Some(*usage),
            _ => None,
        });
        let usage = expected.input.map(|input| TokenUsage {
            input,
            cached: expected.cached.unwrap_or(0),
            output: expected.output.unwrap_or(0),
        });
        assert_eq!(told, usage, "{agent}");
        assert_eq!(talk.outcome(), BackendOutcome::Success);
    }
}

#[test]
fn tokens_that_come_with_pieces_of_text_are_added_up() {
    let piece = json!({"sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": ""},
        "_meta": {"usage": {"inputTokens": 100, "outputTokens": 10, "totalTokens": 110,
            "cachedReadTokens": 30}}});
    let model = json!({"modelId": "m", "name": "m", "_meta": {"contextLimit": 1000}});
    let session = json!({"sessionId": "s1",
        "models": {"currentModelId": "m", "availableModels": [model]}});
    let mut talk = Talk::new(&request("p"), &options(), "qwen-code", session);
    talk.open();
    talk.text("a").update(&piece).text("b").update(&piece).end();
    let spent = talk.client.spent();
    assert_eq!((spent.input, spent.cached, spent.output), (Some(200), Some(60), Some(20)));
    assert!(
        talk.events.contains(&BackendEvent::Context(ContextFill { used: 110, window: Some(1000) }))
    );
    assert_eq!(talk.client.answer(), "b");
}

#[test]
fn totals_of_a_whole_session_are_told_as_what_this_run_used() {
    let mut request = request("p");
    let before = RunUsage { input: Some(1000), output: Some(50), ..RunUsage::default() };
    request.session = SessionStart::Resume { id: "s1", before };
    let mut talk = Talk::new(&request, &options(), "Copilot", json!({}));
    talk.open();
    talk.prompt_answer(&json!({"stopReason": "end_turn", "usage": {"totalTokens": 3120,
        "inputTokens": 3000, "outputTokens": 120}}));
    let spent = talk.client.spent();
    assert_eq!((spent.input, spent.output), (Some(2000), Some(70)));
}

#[test]
fn a_compaction_is_told_once_with_its_numbers_where_there_are_any() {
    let begin = json!({"sessionUpdate": "tool_call", "toolCallId": "k",
        "title": "Compact conversation", "kind": "think", "status": "in_progress"});
    let step = |more: Value| {
        let mut step = json!({"sessionUpdate": "tool_call_update", "toolCallId": "k"});
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        step
    };
    let compacted = |trigger, before, after| BackendEvent::Compacted { trigger, before, after };
    // The numbers come after the end.
    let mut talk = Talk::with(&compact("keep it"), "claude");
    talk.update(&begin).update(&step(json!({"status": "completed"})));
    talk.update(&step(json!({"rawOutput": {"trigger": "auto", "preTokens": 9, "postTokens": 3}})));
    talk.end();
    let known = talk.known();
    assert_eq!(known[1], &compacted(CompactionTrigger::Auto, Some(9), Some(3)));
    assert_eq!(known.len(), 3);
    // There are none.
    let mut talk = Talk::with(&compact(""), "codex");
    talk.update(&begin).update(&step(json!({"status": "completed"}))).end();
    assert_eq!(talk.known()[1], &compacted(CompactionTrigger::Manual, None, None));
    // It says nothing at all about it.
    let mut talk = Talk::with(&compact(""), "Copilot");
    talk.end();
    assert_eq!(talk.known()[1], &compacted(CompactionTrigger::Manual, None, None));
    // It went wrong.
    let mut talk = Talk::with(&compact(""), "codex");
    talk.update(&begin).update(&step(json!({"status": "failed", "rawOutput": "too short"}))).end();
    assert_eq!(
        talk.known()[1..],
        [&BackendEvent::CompactionFailed("too short".into()), &BackendEvent::Finished]
    );
    // To an agent without such a command it is a prompt like any other.
    let mut talk = Talk::with(&compact(""), "gemini-cli");
    talk.end();
    assert_eq!(talk.known().len(), 2);
}
