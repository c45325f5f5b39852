//! OpenAI Chat Completions. Errors are those of the other OpenAI protocol.

use serde_json::{Value, json};

use super::{data, pieces};
use crate::answer::{Answer, Part};
use crate::conversation::{Conversation, Entry, Tool, ToolInput, list_of, text_of};
use crate::scenario::Usage;

pub(super) fn read(body: &Value) -> Conversation {
    let mut talk = Conversation { model: text_of(body, "model").into(), ..Default::default() };
    for message in list_of(body, "messages") {
        match text_of(message, "role") {
            "assistant" => talk.entries.push(Entry::Model),
            "tool" => talk.entries.push(Entry::ToolResult),
            "user" => {
                talk.add_user(text_of(message, "content"));
                list_of(message, "content").iter().for_each(|c| talk.add_user(text_of(c, "text")));
            }
            _ => {}
        }
    }
    let tools = list_of(body, "tools").iter().filter_map(|tool| tool.get("function"));
    talk.tools = tools
        .map(|tool| Tool { name: text_of(tool, "name").into(), input: ToolInput::Json })
        .collect();
    talk
}

pub(super) fn frames(answer: &Answer) -> Vec<String> {
    let chunk = |choices: Value| {
        json!({
            "id": answer.id("chatcmpl-", 0),
            "object": "chat.completion.chunk",
            "created": 0,
            "model": answer.model,
            "choices": choices,
        })
    };
    let delta = |delta: Value, reason: Value| {
        data(&chunk(json!([{"index": 0, "delta": delta, "finish_reason": reason}])))
    };
    let mut frames = vec![delta(json!({"role": "assistant", "content": ""}), Value::Null)];
    let mut calls = 0;
    for (index, part) in answer.parts.iter().enumerate() {
        match part {
            Part::Thinking(text) => {
                frames.push(delta(json!({"reasoning_content": text}), Value::Null));
            }
            Part::Text(text) => frames
                .extend(pieces(text).map(|piece| delta(json!({"content": piece}), Value::Null))),
            Part::Call(_) => {
                let mut call = tool_call(answer, index, part);
                call["index"] = json!(calls);
                calls += 1;
                frames.push(delta(json!({"tool_calls": [call]}), Value::Null));
            }
        }
    }
    frames.push(delta(json!({}), json!(finish_reason(answer))));
    let mut last = chunk(json!([]));
    last["usage"] = usage(&answer.usage);
    frames.push(data(&last));
    frames.push("data: [DONE]\n\n".into());
    frames
}

pub(super) fn whole(answer: &Answer) -> Value {
    let text: String = answer
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let calls: Vec<Value> = answer
        .parts
        .iter()
        .enumerate()
        .filter(|(_, part)| matches!(part, Part::Call(_)))
        .map(|(index, part)| tool_call(answer, index, part))
        .collect();
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({
        "id": answer.id("chatcmpl-", 0),
        "object": "chat.completion",
        "created": 0,
        "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(answer)}],
        "usage": usage(&answer.usage),
    })
}

fn tool_call(answer: &Answer, index: usize, part: &Part) -> Value {
    let Part::Call(call) = part else { return Value::Null };
    json!({
        "id": answer.id("call_", index),
        "type": "function",
        "function": {"name": call.name, "arguments": call.input.to_string()},
    })
}

fn finish_reason(answer: &Answer) -> &'static str {
    if answer.has_calls() { "tool_calls" } else { "stop" }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.all_input(),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens": usage.output,
        "total_tokens": usage.all_input() + usage.output,
    })
}
