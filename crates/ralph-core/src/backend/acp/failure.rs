//! Failures of a turn, read from the errors in the dialogue.

use agent_client_protocol_schema::v1::{Error, ErrorCode};
use serde_json::Value;

use crate::backend::failure::{judge_text, status_in};
use crate::backend::heard::{for_people, of_model};
use crate::backend::{BackendOutcome, ProcessEnding};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum AcpFailure {
    Known(BackendOutcome),
    Program(String),
}

impl AcpFailure {
    /// An answer that is not what the protocol says.
    pub(super) fn malformed(what: &str, answer: &Value) -> Self {
        let message = for_people(&format!("{what} is not as the protocol wants it: {answer}"));
        Self::Known(BackendOutcome::Malformed { message })
    }

    /// As an outcome of a process that ended like this.
    pub(super) fn outcome(&self, ending: ProcessEnding) -> BackendOutcome {
        match self {
            Self::Known(outcome) => outcome.clone(),
            Self::Program(message) => judge_text(message, None)
                .unwrap_or_else(|| BackendOutcome::Crash { ending, message: message.clone() }),
        }
    }
}

/// A failed turn, from what was said about it.
pub(super) fn of_text(text: &str) -> AcpFailure {
    AcpFailure::Known(of_model(&for_people(text), None))
}

/// An error as the answer to a request of ours. `said` is the last the agent wrote, which is often
/// clearer than the error.
pub(super) fn of_error(error: &Error, said: &str) -> AcpFailure {
    let message = for_people(&text(error));
    let code = i32::from(error.code);
    if error.code == ErrorCode::AuthRequired {
        let known = matches!(judge_text(said, None), Some(BackendOutcome::NotLoggedIn { .. }));
        let message = if known { for_people(said) } else { message };
        return AcpFailure::Known(BackendOutcome::NotLoggedIn { message });
    }
    // One agent puts the HTTP status where the code belongs.
    let status = u16::try_from(code).ok().filter(|code| (400..=599).contains(code));
    let whole = match &error.data {
        Some(data) => format!("{message} {data}"),
        None => message.clone(),
    };
    match judge_text(&whole, status) {
        Some(BackendOutcome::RateLimit { resets_at, .. }) => {
            AcpFailure::Known(BackendOutcome::RateLimit { resets_at, message })
        }
        Some(BackendOutcome::NotLoggedIn { .. }) => {
            AcpFailure::Known(BackendOutcome::NotLoggedIn { message })
        }
        Some(outcome) => AcpFailure::Known(outcome),
        None => match error.code {
            ErrorCode::ParseError
            | ErrorCode::InvalidRequest
            | ErrorCode::MethodNotFound
            | ErrorCode::InvalidParams
            | ErrorCode::ResourceNotFound => AcpFailure::Program(message),
            _ => {
                let status = status.or_else(|| status_in(&whole));
                AcpFailure::Known(BackendOutcome::ApiError { status, message })
            }
        },
    }
}

/// The words of an error: its message, which may itself be JSON, and the detail beside it.
fn text(error: &Error) -> String {
    let inner = serde_json::from_str::<Value>(&error.message).ok();
    let inner = inner.as_ref().and_then(|value| value.pointer("/error/message")?.as_str());
    let message = inner.unwrap_or(&error.message);
    let detail = error.data.as_ref().and_then(|data| match data {
        Value::String(text) => Some(text.as_str()),
        _ => ["details", "message", "error"].iter().find_map(|name| data.get(name)?.as_str()),
    });
    match detail {
        Some(detail) if !message.contains(detail) => format!("{message}: {detail}"),
        _ => message.to_owned(),
    }
}
