//! OpenAI Responses, as far as codex uses it.

use serde_json::{Value, json};

use super::{Trouble, event, pieces};
use crate::answer::{Answer, Part};
use crate::conversation::{Conversation, Entry, Tool, ToolInput, list_of, text_of};
use crate::scenario::Usage;

pub(super) fn read(body: &Value) -> Conversation {
    let mut talk = Conversation { model: text_of(body, "model").into(), ..Default::default() };
    talk.add_user(text_of(body, "input"));
    for item in list_of(body, "input") {
        match text_of(item, "type") {
            "function_call_output" | "custom_tool_call_output" => {
                talk.entries.push(Entry::ToolResult);
            }
            // An item without a type is a message, too.
            "message" | "" => match text_of(item, "role") {
                "assistant" => talk.entries.push(Entry::Model),
                "user" => {
                    talk.add_user(text_of(item, "content"));
                    list_of(item, "content").iter().for_each(|c| talk.add_user(text_of(c, "text")));
                }
                _ => {}
            },
            "additional_tools" => talk.tools.extend(tools(item)),
            _ => talk.entries.push(Entry::Model),
        }
    }
    talk.tools.extend(tools(body));
    talk
}

/// The tools in a value; some models get theirs in groups.
fn tools(value: &Value) -> Vec<Tool> {
    let all = list_of(value, "tools").iter();
    all.flat_map(|tool| match text_of(tool, "type") {
        "namespace" => list_of(tool, "tools"),
        _ => std::slice::from_ref(tool),
    })
    .map(|tool| Tool {
        name: text_of(tool, "name").into(),
        input: match text_of(tool, "type") {
            "custom" => ToolInput::Free,
            _ => ToolInput::Json,
        },
    })
    .collect()
}

pub(super) fn frames(answer: &Answer) -> Vec<String> {
    let mut sequence = 0;
    let mut frame = |kind: &str, mut value: Value| {
        value["type"] = json!(kind);
        value["sequence_number"] = json!(sequence);
        sequence += 1;
        event(kind, &value)
    };
    let mut start = whole(answer);
    start["status"] = json!("in_progress");
    start["output"] = json!([]);
    start["usage"] = Value::Null;
    let mut frames = vec![
        frame("response.created", json!({"response": start})),
        frame("response.in_progress", json!({"response": start})),
    ];
    for (index, part) in answer.parts.iter().enumerate() {
        let done = item(answer, index, part);
        let id = done["id"].clone();
        let mut added = done.clone();
        added["status"] = json!("in_progress");
        if let Part::Text(_) = part {
            added["content"] = json!([]);
        }
        frames.push(frame(
            "response.output_item.added",
            json!({"output_index": index, "item": added}),
        ));
        if let Part::Text(text) = part {
            for piece in pieces(text) {
                frames.push(frame(
                    "response.output_text.delta",
                    json!({"item_id": id, "output_index": index, "content_index": 0, "delta": piece}),
                ));
            }
        }
        frames
            .push(frame("response.output_item.done", json!({"output_index": index, "item": done})));
    }
    frames.push(frame("response.completed", json!({"response": whole(answer)})));
    frames
}

pub(super) fn whole(answer: &Answer) -> Value {
    let output: Vec<Value> =
        answer.parts.iter().enumerate().map(|(i, part)| item(answer, i, part)).collect();
    json!({
        "id": answer.id("resp_", 0),
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": answer.model,
        "output": output,
        "usage": usage(&answer.usage),
    })
}

/// The event with which a response fails after its stream has begun.
pub(super) fn failed(code: &str, message: &str) -> String {
    let error = json!({"code": code, "message": message});
    let response =
        json!({"id": "resp_failed", "object": "response", "status": "failed", "error": error});
    event("response.failed", &json!({"type": "response.failed", "response": response}))
}

pub(super) fn refusal(trouble: Trouble) -> (Vec<(String, String)>, Value) {
    let error = match trouble {
        Trouble::Unauthorized => json!({
            "message": "Incorrect API key provided.",
            "type": "invalid_request_error", "param": null, "code": "invalid_api_key",
        }),
        Trouble::TooLong => json!({
            "message": "Your input exceeds the context window of this model.",
            "type": "invalid_request_error", "param": "input", "code": "context_length_exceeded",
        }),
        Trouble::UsageLimit(resets_at) => json!({
            "message": "The usage limit has been reached",
            "type": "usage_limit_reached", "plan_type": "plus", "resets_at": resets_at,
        }),
        Trouble::Status(429) => json!({
            "message": "Rate limit reached for requests",
            "type": "requests", "param": null, "code": "rate_limit_exceeded",
        }),
        Trouble::Status(status) => json!({
            "message": format!("the scenario says {status}"),
            "type": "server_error", "param": null, "code": null,
        }),
    };
    (Vec::new(), json!({"error": error}))
}

fn item(answer: &Answer, index: usize, part: &Part) -> Value {
    match part {
        Part::Thinking(text) => json!({
            "type": "reasoning",
            "id": answer.id("rs_", index),
            "summary": [{"type": "summary_text", "text": text}],
        }),
        Part::Text(text) => json!({
            "type": "message",
            "id": answer.id("msg_", index),
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Part::Call(call) if call.kind == ToolInput::Free => json!({
            "type": "custom_tool_call",
            "id": answer.id("ctc_", index),
            "call_id": answer.id("call_", index),
            "status": "completed",
            "name": call.name,
            "input": call.input,
        }),
        Part::Call(call) => json!({
            "type": "function_call",
            "id": answer.id("fc_", index),
            "call_id": answer.id("call_", index),
            "status": "completed",
            "name": call.name,
            "arguments": call.input.to_string(),
        }),
    }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.all_input(),
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.all_input() + usage.output,
    })
}
