//! Gemini generateContent.

use serde_json::{Value, json};

use super::{Trouble, data};
use crate::answer::{Answer, Part};
use crate::conversation::{Conversation, Entry, Tool, ToolInput, list_of, text_of};

pub(super) fn read(path: &str, body: &Value) -> Conversation {
    let name = path.rsplit('/').next().unwrap_or_default();
    let model = name.split(':').next().unwrap_or_default();
    let mut talk = Conversation { model: model.into(), ..Default::default() };
    for content in list_of(body, "contents") {
        if text_of(content, "role") == "model" {
            talk.entries.push(Entry::Model);
            continue;
        }
        for part in list_of(content, "parts") {
            if part.get("functionResponse").is_some() {
                talk.entries.push(Entry::ToolResult);
            } else {
                talk.add_user(text_of(part, "text"));
            }
        }
    }
    let groups = list_of(body, "tools").iter();
    talk.tools = groups
        .flat_map(|group| list_of(group, "functionDeclarations"))
        .map(|tool| Tool { name: text_of(tool, "name").into(), input: ToolInput::Json })
        .collect();
    talk
}

/// One event per part: this protocol does not stream inside a part.
pub(super) fn frames(answer: &Answer) -> Vec<String> {
    let last = answer.parts.len().saturating_sub(1);
    let mut frames: Vec<String> = Vec::new();
    for (index, part) in answer.parts.iter().enumerate() {
        let mut value = body(answer, vec![json_part(answer, index, part)]);
        if index != last
            && let Some(candidate) =
                value.pointer_mut("/candidates/0").and_then(Value::as_object_mut)
        {
            candidate.remove("finishReason");
        }
        frames.push(data(&value));
    }
    frames
}

pub(super) fn whole(answer: &Answer) -> Value {
    let parts = answer.parts.iter().enumerate();
    body(answer, parts.map(|(index, part)| json_part(answer, index, part)).collect())
}

pub(super) fn refusal(trouble: Trouble) -> Value {
    let (status, message) = match trouble {
        Trouble::Unauthorized => ("UNAUTHENTICATED", "API key not valid.".to_owned()),
        Trouble::TooLong => (
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
                .to_owned(),
        ),
        Trouble::UsageLimit(_) | Trouble::Status(429) => (
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details."
                .to_owned(),
        ),
        Trouble::Status(status) => ("UNAVAILABLE", format!("the scenario says {status}")),
    };
    json!({"error": {"code": trouble.status(), "message": message, "status": status}})
}

fn body(answer: &Answer, parts: Vec<Value>) -> Value {
    let usage = &answer.usage;
    json!({
        "candidates": [{
            "content": {"role": "model", "parts": parts},
            "finishReason": "STOP",
            "index": 0,
        }],
        "usageMetadata": {
            "promptTokenCount": usage.all_input(),
            "cachedContentTokenCount": usage.cache_read,
            "candidatesTokenCount": usage.output,
            "totalTokenCount": usage.all_input() + usage.output,
        },
        "modelVersion": answer.model,
        "responseId": answer.id("resp-", 0),
    })
}

fn json_part(answer: &Answer, index: usize, part: &Part) -> Value {
    match part {
        Part::Thinking(text) => json!({"text": text, "thought": true}),
        Part::Text(text) => json!({"text": text}),
        Part::Call(call) => json!({"functionCall": {
            "id": answer.id("call-", index), "name": call.name, "args": call.input,
        }}),
    }
}
