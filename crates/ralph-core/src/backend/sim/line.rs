//! The protocol of `ralph __sim`: one JSON object a line, the word in `event` says which.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::backend::{
    BackendEvent, CompactionTrigger, ContextFill, RateLimit, RunCost, TokenUsage, ToolStatus,
};
use crate::word_enum::word_enum;

/// One line of output. Each is one [`BackendEvent`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum SimLine {
    /// First line of each run.
    Started {
        session: String,
        /// The model that was asked for.
        model: String,
    },
    /// A complete message of the answer.
    Text {
        text: String,
    },
    Thinking {
        text: String,
    },
    ToolCall {
        /// Pairs the call with its result.
        id: String,
        /// `write`, `append`, `edit`, `delete` or `shell`.
        name: String,
        input: Value,
    },
    ToolResult {
        /// Id of the tool call.
        id: String,
        status: ToolStatus,
        text: String,
    },
    /// Tokens of one message; the sum of all is the run's.
    Usage(TokenUsage),
    /// Dollars so far in this run.
    Cost {
        usd: f64,
    },
    Context(ContextFill),
    RateLimit(RateLimit),
    /// A call to the model is tried again.
    Retry {
        /// Number of the retry, counted from 1.
        attempt: u64,
        /// Maximum number of retries.
        of: Option<u64>,
        delay_ms: Option<u64>,
        reason: String,
    },
    Compacted {
        trigger: CompactionTrigger,
        /// Tokens in the context before the compaction.
        before: u64,
        /// Tokens in the context after the compaction.
        after: u64,
    },
    /// The context could not be compacted.
    CompactionFailed {
        reason: String,
    },
    Denied {
        tool: String,
        /// Target of the denied call, or the reason from the scenario.
        reason: Option<String>,
    },
    /// The last line of a run that was not cut short.
    Finished(SimFinish),
}

/// End of a run, as the sim reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimFinish {
    pub result: SimVerdict,
    pub turns: u64,
    /// The HTTP status of a model that refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Error message, if the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The answer as data, when a schema was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
}

word_enum! {
    /// Verdict of the sim about its own run.
    SimVerdict {
        Success = "success",
        MaxTurns = "max_turns",
        ContextLimit = "context_limit",
        Budget = "budget",
        RateLimit = "rate_limit",
        NotLoggedIn = "not_logged_in",
        ApiError = "api_error",
    }
}

impl SimLine {
    /// The line with its end, as it is printed.
    pub fn render(&self) -> String {
        // A line is plain data, for which serialising cannot fail.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Parse one printed line. Return `None` if it is not part of this protocol.
    pub fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Convert the line into the event that it stands for.
    pub fn into_event(self) -> BackendEvent {
        match self {
            Self::Started { session, model } => {
                BackendEvent::Started { session: Some(session), model: Some(model) }
            }
            Self::Text { text } => BackendEvent::Text(text),
            Self::Thinking { text } => BackendEvent::Thinking(text),
            Self::ToolCall { id, name, input } => BackendEvent::ToolCall { id, name, input },
            Self::ToolResult { id, status, text } => BackendEvent::ToolResult { id, status, text },
            Self::Usage(usage) => BackendEvent::Usage(usage),
            Self::Cost { usd } => BackendEvent::Cost(RunCost(usd)),
            Self::Context(context) => BackendEvent::Context(context),
            Self::RateLimit(limit) => BackendEvent::RateLimit(limit),
            Self::Retry { attempt, of, delay_ms, reason } => {
                BackendEvent::Retry { attempt, of, delay_ms, reason }
            }
            Self::Compacted { trigger, before, after } => {
                BackendEvent::Compacted { trigger, before: Some(before), after: Some(after) }
            }
            Self::CompactionFailed { reason } => BackendEvent::CompactionFailed(reason),
            Self::Denied { tool, reason } => BackendEvent::Denied { tool, reason },
            Self::Finished(_) => BackendEvent::Finished,
        }
    }
}
