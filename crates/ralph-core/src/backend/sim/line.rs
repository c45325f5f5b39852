//! The protocol of `ralph __sim`: one JSON object a line, the word in `event` says which.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::backend::{CompactionTrigger, Context, Event, Money, RateLimit, ToolStatus, Usage};
use crate::word_enum::word_enum;

/// One line of output. Each is one [`Event`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Started {
        /// The session, new or continued.
        session: String,
        /// The model that was asked for.
        model: String,
    },
    /// A whole message.
    Text {
        /// Its words.
        text: String,
    },
    /// Reasoning.
    Thinking {
        /// Its words.
        text: String,
    },
    /// A tool begins.
    ToolCall {
        /// Pairs the call with its result.
        id: String,
        /// `write`, `append`, `edit`, `delete` or `shell`.
        name: String,
        /// What it was given.
        input: Value,
    },
    /// A tool ends.
    ToolResult {
        /// Of which call.
        id: String,
        /// How it ended.
        status: ToolStatus,
        /// What it said.
        text: String,
    },
    /// Tokens of one message; the sum of all is the run's.
    Usage(Usage),
    /// Dollars so far in this run.
    Cost {
        /// How many.
        usd: f64,
    },
    /// How full the context is.
    Context(Context),
    /// A limit of the account.
    RateLimit(RateLimit),
    /// A call to the model is tried again.
    Retry {
        /// Which try.
        attempt: u64,
        /// Of how many.
        of: Option<u64>,
        /// How long it waits first.
        delay_ms: Option<u64>,
        /// Why.
        reason: String,
    },
    /// The context was compacted.
    Compacted {
        /// Who asked.
        trigger: CompactionTrigger,
        /// Tokens before.
        before: u64,
        /// Tokens after.
        after: u64,
    },
    /// The context could not be compacted.
    CompactionFailed {
        /// Why.
        reason: String,
    },
    /// A tool was not allowed.
    Denied {
        /// Which.
        tool: String,
        /// What it wanted.
        reason: Option<String>,
    },
    /// The last line of a run that was not cut short.
    Finished(Finished),
}

/// How a run ended, in the program's own words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The verdict.
    pub result: Verdict,
    /// Turns taken.
    pub turns: u64,
    /// The HTTP status of a model that refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The answer as data, when a schema was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
}

word_enum! {
    /// The verdict of a run.
    Verdict {
        /// All is well.
        Success = "success",
        /// No turns left.
        MaxTurns = "max_turns",
        /// No room left.
        ContextLimit = "context_limit",
        /// No money left.
        Budget = "budget",
        /// The account's limit.
        RateLimit = "rate_limit",
        /// No credentials.
        NotLoggedIn = "not_logged_in",
        /// The model failed.
        ApiError = "api_error",
    }
}

impl Line {
    /// The line with its end, as it is printed.
    pub fn render(&self) -> String {
        // A line is plain data, for which serialising cannot fail.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// What one printed line says; `None` when it is not of this protocol.
    pub fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// The event that it is.
    pub fn into_event(self) -> Event {
        match self {
            Self::Started { session, model } => {
                Event::Started { session: Some(session), model: Some(model) }
            }
            Self::Text { text } => Event::Text(text),
            Self::Thinking { text } => Event::Thinking(text),
            Self::ToolCall { id, name, input } => Event::ToolCall { id, name, input },
            Self::ToolResult { id, status, text } => Event::ToolResult { id, status, text },
            Self::Usage(usage) => Event::Usage(usage),
            Self::Cost { usd } => Event::Cost(Money(usd)),
            Self::Context(context) => Event::Context(context),
            Self::RateLimit(limit) => Event::RateLimit(limit),
            Self::Retry { attempt, of, delay_ms, reason } => {
                Event::Retry { attempt, of, delay_ms, reason }
            }
            Self::Compacted { trigger, before, after } => {
                Event::Compacted { trigger, before: Some(before), after: Some(after) }
            }
            Self::CompactionFailed { reason } => Event::CompactionFailed(reason),
            Self::Denied { tool, reason } => Event::Denied { tool, reason },
            Self::Finished(_) => Event::Finished,
        }
    }
}
