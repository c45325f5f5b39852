//! Anthropic Messages.

use serde_json::{Value, json};

use super::{Trouble, event, pieces};
use crate::answer::{Answer, Part};
use crate::conversation::{Conversation, Entry, Tool, ToolInput, list_of, text_of};
use crate::scenario::Usage;

pub(super) fn read(body: &Value) -> Conversation {
    let mut talk = Conversation { model: text_of(body, "model").into(), ..Default::default() };
    for message in list_of(body, "messages") {
        match text_of(message, "role") {
            "user" => {}
            "assistant" => {
                talk.entries.push(Entry::Model);
                continue;
            }
            // claude puts system messages between the others.
            _ => continue,
        }
        talk.add_user(text_of(message, "content"));
        for block in list_of(message, "content") {
            match text_of(block, "type") {
                "tool_result" => talk.entries.push(Entry::ToolResult),
                _ => talk.add_user(text_of(block, "text")),
            }
        }
    }
    let tools = list_of(body, "tools").iter();
    talk.tools = tools
        .map(|tool| Tool { name: text_of(tool, "name").into(), input: ToolInput::Json })
        .collect();
    talk
}

pub(super) fn frames(answer: &Answer) -> Vec<String> {
    let mut start = message(answer);
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut frames =
        vec![event("message_start", &json!({"type": "message_start", "message": start}))];
    for (index, part) in answer.parts.iter().enumerate() {
        let mut empty = block(answer, index, part);
        let deltas: Vec<Value> = match part {
            Part::Thinking(text) => {
                empty["thinking"] = json!("");
                let words = |t| json!({"type": "thinking_delta", "thinking": t});
                let signed = json!({"type": "signature_delta", "signature": "c2lnbmVk"});
                pieces(text).map(words).into_iter().chain([signed]).collect()
            }
            Part::Text(text) => {
                empty["text"] = json!("");
                pieces(text).map(|t| json!({"type": "text_delta", "text": t})).into()
            }
            Part::Call(call) => {
                empty["input"] = json!({});
                let input = call.input.to_string();
                pieces(&input)
                    .map(|t| json!({"type": "input_json_delta", "partial_json": t}))
                    .into()
            }
        };
        let at = |name: &str, member: &str, value: Value| {
            event(name, &json!({"type": name, "index": index, member: value}))
        };
        frames.push(at("content_block_start", "content_block", empty));
        let deltas = deltas.into_iter().map(|delta| at("content_block_delta", "delta", delta));
        frames.extend(deltas);
        let stop = json!({"type": "content_block_stop", "index": index});
        frames.push(event("content_block_stop", &stop));
    }
    let delta = json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(answer), "stop_sequence": null},
        "usage": usage(&answer.usage),
    });
    frames.push(event("message_delta", &delta));
    frames.push(event("message_stop", &json!({"type": "message_stop"})));
    frames
}

pub(super) fn whole(answer: &Answer) -> Value {
    message(answer)
}

pub(super) fn refusal(trouble: Trouble) -> (Vec<(String, String)>, Value) {
    let (kind, message) = match trouble {
        Trouble::Unauthorized => ("authentication_error", "invalid x-api-key".to_owned()),
        Trouble::TooLong => (
            "invalid_request_error",
            "prompt is too long: 1200000 tokens > 1000000 maximum".to_owned(),
        ),
        Trouble::UsageLimit(_) => {
            ("rate_limit_error", "This request would exceed your account's rate limit.".to_owned())
        }
        Trouble::Status(429) => ("rate_limit_error", "Number of requests exceeded.".to_owned()),
        Trouble::Status(529) => ("overloaded_error", "Overloaded".to_owned()),
        Trouble::Status(status) => ("api_error", format!("the scenario says {status}")),
    };
    let headers = match trouble {
        Trouble::UsageLimit(at) => unified(at),
        _ => Vec::new(),
    };
    (headers, json!({"type": "error", "error": {"type": kind, "message": message}}))
}

/// The headers with which a subscription says that its limit is reached.
fn unified(resets_at: i64) -> Vec<(String, String)> {
    let reset = resets_at.to_string();
    [
        ("status", "rejected"),
        ("reset", &reset),
        ("representative-claim", "five_hour"),
        ("5h-status", "rejected"),
        ("5h-reset", &reset),
        ("5h-utilization", "1.0"),
        ("overage-status", "rejected"),
    ]
    .map(|(name, value)| (format!("anthropic-ratelimit-unified-{name}"), value.to_owned()))
    .into()
}

fn message(answer: &Answer) -> Value {
    let content: Vec<Value> =
        answer.parts.iter().enumerate().map(|(i, part)| block(answer, i, part)).collect();
    json!({
        "id": answer.id("msg_", 0),
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop_reason(answer),
        "stop_sequence": null,
        "usage": usage(&answer.usage),
    })
}

fn block(answer: &Answer, index: usize, part: &Part) -> Value {
    match part {
        Part::Thinking(text) => {
            json!({"type": "thinking", "thinking": text, "signature": ""})
        }
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Call(call) => json!({
            "type": "tool_use",
            "id": answer.id("toolu_", index),
            "name": call.name,
            "input": call.input,
        }),
    }
}

fn stop_reason(answer: &Answer) -> &'static str {
    if answer.has_calls() { "tool_use" } else { "end_turn" }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    })
}
