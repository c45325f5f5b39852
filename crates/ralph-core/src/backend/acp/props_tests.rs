//! What holds whatever an agent says, in whatever order.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::talk_tests::{options, request};
use super::*;
use crate::backend::{BackendEvent, BackendExit, BackendOutcome, RunUsage};

/// Lines of an agent that does everything right, with ids that fit the client's.
fn good() -> Vec<Value> {
    let update = |update: Value| {
        json!({"jsonrpc": "2.0", "method": "session/update",
            "params": {"sessionId": "s1", "update": update}})
    };
    let text = json!({"type": "text", "text": "done"});
    vec![
        json!({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1,
            "agentCapabilities": {"loadSession": true}, "agentInfo": {"name": "codex", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "s1",
            "modes": {"currentModeId": "a", "availableModes": [{"id": "yolo", "name": "y"}]}}}),
        json!({"jsonrpc": "2.0", "id": 3, "result": {}}),
        update(json!({"sessionUpdate": "agent_message_chunk", "content": text})),
        update(json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t",
            "rawInput": {"x": 1}})),
        json!({"jsonrpc": "2.0", "id": "q", "method": "session/request_permission",
            "params": {"sessionId": "s1", "toolCall": {"toolCallId": "c", "kind": "edit"},
                "options": [{"optionId": "y", "name": "y", "kind": "allow_once"}]}}),
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c",
            "status": "completed", "rawOutput": {"output": "o"}})),
        update(json!({"sessionUpdate": "usage_update", "used": 5, "size": 10,
            "cost": {"amount": 0.5, "currency": "USD"}})),
        json!({"jsonrpc": "2.0", "id": 4, "result": {"stopReason": "end_turn"}}),
    ]
}

/// More lines that may come at any time.
fn odd() -> Vec<Value> {
    vec![
        json!({"jsonrpc": "2.0", "id": 4, "error": {"code": -32603, "message": "no"}}),
        json!({"jsonrpc": "2.0", "id": "4", "result": {"stopReason": "refusal"}}),
        json!({"jsonrpc": "2.0", "id": 77, "result": {"stopReason": "end_turn"}}),
        json!({"jsonrpc": "2.0", "id": 5, "method": "fs/read_text_file", "params": null}),
        json!({"jsonrpc": "2.0", "id": "r", "method": "session/request_permission", "params": {}}),
        json!({"jsonrpc": "2.0", "id": null, "method": "nothing"}),
        json!({"jsonrpc": "2.0", "method": "session/update", "params": [1]}),
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1",
            "update": {"sessionUpdate": "usage_update", "used": -1, "size": 1e300}}}),
        json!({"id": 1.5, "result": true, "error": null}),
        json!([]),
        json!("text"),
        json!(null),
    ]
}

/// A value of a JSON document, for any member.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((member(), inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Names that the protocol knows, mostly.
fn member() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "_meta",
            "amount",
            "availableModes",
            "code",
            "configOptions",
            "content",
            "cost",
            "currency",
            "currentModeId",
            "data",
            "error",
            "id",
            "inputTokens",
            "kind",
            "message",
            "messageId",
            "method",
            "modes",
            "models",
            "options",
            "outputTokens",
            "params",
            "protocolVersion",
            "quota",
            "rawInput",
            "rawOutput",
            "result",
            "sessionId",
            "sessionUpdate",
            "size",
            "status",
            "stopReason",
            "text",
            "title",
            "toolCall",
            "toolCallId",
            "totalTokens",
            "type",
            "update",
            "usage",
            "used",
        ])
        .prop_map(str::to_owned),
        "[a-z]{1,5}",
    ]
}

/// Replaces the `n`th value inside a message.
fn change(message: &Value, n: usize, with: &Value) -> Value {
    let pointers = pointers(message);
    let mut message = message.clone();
    if let Some(place) = message.pointer_mut(&pointers[n % pointers.len()]) {
        place.clone_from(with);
    }
    message
}

fn pointers(message: &Value) -> Vec<String> {
    let (mut found, mut next) = (Vec::new(), vec![(String::new(), message)]);
    while let Some((pointer, value)) = next.pop() {
        match value {
            Value::Object(object) => {
                next.extend(object.iter().map(|(name, v)| (format!("{pointer}/{name}"), v)));
            }
            Value::Array(list) => {
                next.extend(list.iter().enumerate().map(|(n, v)| (format!("{pointer}/{n}"), v)));
            }
            _ => {}
        }
        found.push(pointer);
    }
    found
}

/// The lines that the client wrote, each of which must be a message.
fn sent(client: &mut AcpClient) -> Vec<Value> {
    let out = client.outgoing();
    assert!(out.is_empty() || out.ends_with(b"\n"));
    let lines = out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// Says all lines; checks what must hold after each; gives the outcome.
fn talk(lines: &[Vec<u8>], permissions: BackendPermissions) -> (BackendOutcome, Vec<BackendEvent>) {
    let mut request = request("p");
    request.permissions = permissions;
    let mut client = AcpClient::new(&request, &options());
    let mut events = Vec::new();
    let mut open = sent(&mut client);
    for line in lines {
        let finished = client.is_finished();
        client.line(line, &mut events);
        let now = sent(&mut client);
        assert!(!finished || now.is_empty(), "spoke after the end");
        open.extend(now);
        assert_eq!(client.wants_input(), !client.is_finished());
        let RunUsage { cost, .. } = client.spent();
        assert!(cost.is_none_or(|cost| cost >= 0.0), "a cost below nothing");
    }
    let mut ids: Vec<_> = open.iter().filter(|m| m.get("method").is_some()).collect();
    ids.dedup_by_key(|message| message["id"].clone());
    assert_eq!(ids.len(), open.iter().filter(|m| m.get("method").is_some()).count());
    (client.outcome(&BackendExit::code(0), ""), events)
}

fn bytes(message: &Value) -> Vec<u8> {
    message.to_string().into_bytes()
}

fn any_permissions() -> impl Strategy<Value = BackendPermissions> {
    prop::sample::select(vec![
        BackendPermissions::Bypass,
        BackendPermissions::Default,
        BackendPermissions::ReadOnly,
    ])
}

#[test]
fn the_good_agent_is_a_success_and_only_with_its_last_word() {
    let lines: Vec<_> = good().iter().map(bytes).collect();
    assert_eq!(talk(&lines, BackendPermissions::Bypass).0, BackendOutcome::Success);
    for until in 0..lines.len() {
        let (outcome, _) = talk(&lines[..until], BackendPermissions::Bypass);
        assert_ne!(outcome, BackendOutcome::Success, "after {until} lines");
    }
    let last = lines.len() - 1;
    for cut in 0..lines[last].len() {
        let mut cut_lines = lines.clone();
        cut_lines[last].truncate(cut);
        let (outcome, _) = talk(&cut_lines, BackendPermissions::Bypass);
        assert_ne!(outcome, BackendOutcome::Success, "in the last line at {cut}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_or_succeed(
        lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..8),
        permissions in any_permissions(),
    ) {
        let (outcome, events) = talk(&lines, permissions);
        prop_assert_ne!(outcome, BackendOutcome::Success);
        let said = lines.iter().filter(|line| !line.trim_ascii().is_empty()).count();
        prop_assert!(events.len() >= said, "something was dropped");
    }

    #[test]
    fn no_json_makes_it_panic_or_succeed(
        values in prop::collection::vec(anything(), 0..6), permissions in any_permissions(),
    ) {
        let lines: Vec<_> = values.iter().map(bytes).collect();
        prop_assert_ne!(talk(&lines, permissions).0, BackendOutcome::Success);
    }

    #[test]
    fn messages_in_any_order_never_panic_and_never_succeed_without_the_end(
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        permissions in any_permissions(),
    ) {
        let all: Vec<_> = good().into_iter().chain(odd()).collect();
        let end = good().last().cloned().unwrap_or_default();
        let said: Vec<_> = order.iter().map(|index| index.get(&all).clone()).collect();
        let lines: Vec<_> = said.iter().map(bytes).collect();
        let (outcome, _) = talk(&lines, permissions);
        prop_assert!(outcome != BackendOutcome::Success || said.contains(&end));
    }

    #[test]
    fn a_good_dialogue_with_a_changed_value_never_panics(
        line in any::<prop::sample::Index>(), place in any::<usize>(), value in anything(),
        permissions in any_permissions(),
    ) {
        let mut messages = good();
        let line = line.index(messages.len());
        messages[line] = change(&messages[line], place, &value);
        let lines: Vec<_> = messages.iter().map(bytes).collect();
        let (outcome, events) = talk(&lines, permissions);
        prop_assert!(!events.is_empty());
        if line + 1 == messages.len() {
            let still = messages[line]["id"] == 4 || messages[line]["id"] == "4";
            let end = messages[line]["result"]["stopReason"] == "end_turn";
            prop_assert!(outcome != BackendOutcome::Success || (still && end));
        }
    }

    #[test]
    fn every_question_gets_one_answer_with_its_own_id(
        number in any::<i64>(), text in "\\PC{0,9}", which in any::<bool>(),
        method in "[a-z/_]{1,12}", permissions in any_permissions(),
    ) {
        let mut request = request("p");
        request.permissions = permissions;
        let mut client = AcpClient::new(&request, &options());
        let mut events = Vec::new();
        client.outgoing();
        let id = if which { json!(number) } else { json!(text) };
        client.line(&bytes(&json!({"id": id, "method": method, "params": {}})), &mut events);
        let sent = sent(&mut client);
        prop_assert_eq!(sent.len(), 1);
        prop_assert_eq!(&sent[0]["id"], &id);
        prop_assert_eq!(&sent[0]["error"]["code"], &json!(-32601));
        prop_assert!(client.wants_input());
    }
}
