//! Gemini generateContent.

use serde_json::{Value, json};

use super::{Trouble, data, pieces};
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

pub(super) fn frames(answer: &Answer) -> Vec<String> {
    let mut parts: Vec<Value> = Vec::new();
    for (index, part) in answer.parts.iter().enumerate() {
        match part {
            Part::Text(text) => parts.extend(pieces(text).map(|text| json!({"text": text}))),
            other => parts.push(json_part(answer, index, other)),
        }
    }
    let last = parts.len().saturating_sub(1);
    let frame = |(index, part): (usize, Value)| {
        let mut value = body(answer, vec![part]);
        if index != last {
            value["candidates"][0]["finishReason"] = Value::Null;
        }
        data(&value)
    };
    parts.into_iter().enumerate().map(frame).collect()
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
    let mut error = json!({"code": trouble.status(), "message": message, "status": status});
    if let Trouble::UsageLimit(_) = trouble {
        // The quota of the day: the program gives up at once instead of trying for minutes. There
        // is no place for the time of the reset.
        error["details"] = json!([{
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{
                "quotaMetric": "generativelanguage.googleapis.com/generate_requests",
                "quotaId": "GenerateRequestsPerDayPerProjectPerModel",
            }],
        }]);
    }
    json!({"error": error})
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
