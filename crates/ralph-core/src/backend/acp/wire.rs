//! JSON-RPC, one message or batch per line.

use agent_client_protocol_schema::rpc::{JsonRpcMessage, Notification};
use agent_client_protocol_schema::v1::{Error, Request, RequestId};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Message received from the agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AcpMessage {
    /// A request of the agent, which waits for an answer.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The answer to our request with this number.
    Response {
        id: u64,
        result: Result<Value, Error>,
    },
    Other(Value),
}

/// The messages of one line; `None` when it is not JSON.
pub(super) fn read(line: &[u8]) -> Option<Vec<AcpMessage>> {
    // A tool's output may have put bytes into a string that are not UTF-8.
    let value = serde_json::from_slice(line)
        .or_else(|_| serde_json::from_str(&String::from_utf8_lossy(line)));
    match value.ok()? {
        Value::Array(batch) if !batch.is_empty() => Some(batch.into_iter().map(message).collect()),
        value => Some(vec![message(value)]),
    }
}

fn message(value: Value) -> AcpMessage {
    let Value::Object(mut object) = value else {
        return AcpMessage::Other(value);
    };
    if let Some(Value::String(method)) = object.get_mut("method") {
        let method = std::mem::take(method);
        let params = object.remove("params").unwrap_or_default();
        return match object.remove("id") {
            Some(id @ (Value::Number(_) | Value::String(_))) => {
                AcpMessage::Request { id, method, params }
            }
            _ => AcpMessage::Notification { method, params },
        };
    }
    match (our_id(&object), result(&mut object)) {
        (Some(id), Some(result)) => AcpMessage::Response { id, result },
        _ => AcpMessage::Other(Value::Object(object)),
    }
}

/// The number of our request. Some agents give a number back as a string.
fn our_id(object: &Map<String, Value>) -> Option<u64> {
    match object.get("id")? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn result(object: &mut Map<String, Value>) -> Option<Result<Value, Error>> {
    if let Some(error @ Value::Object(_)) = object.get("error") {
        let internal = || Error::internal_error().data(error.clone());
        return Some(Err(serde_json::from_value(error.clone()).unwrap_or_else(|_| internal())));
    }
    object.remove("result").map(Ok)
}

pub(super) fn request(id: u64, method: &str, params: impl Serialize) -> Vec<u8> {
    let id = RequestId::Number(i64::try_from(id).unwrap_or(i64::MAX));
    line(&JsonRpcMessage::wrap(Request { id, method: method.into(), params: Some(params) }))
}

pub(super) fn notification(method: &str, params: impl Serialize) -> Vec<u8> {
    line(&JsonRpcMessage::wrap(Notification { method: method.into(), params: Some(params) }))
}

/// The answer to a request of the agent, whose id goes back as it came.
pub(super) fn answer(id: &Value, result: Result<impl Serialize, Error>) -> Vec<u8> {
    match result {
        Ok(result) => line(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
        Err(error) => line(&json!({"jsonrpc": "2.0", "id": id, "error": error})),
    }
}

fn line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}
