//! Events that a backend reports while it runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::word_enum::word_enum;

/// Tokens of one message or of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    /// Tokens read, those from a cache included.
    pub input: u64,
    /// Of these, tokens from a cache.
    pub cached: u64,
    /// Tokens written by the model.
    pub output: u64,
}

/// An amount in dollars, for this run alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunCost(pub f64);

/// Fill level of the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextFill {
    /// Tokens in the context now.
    pub used: u64,
    /// Tokens it can hold, once that is known.
    pub window: Option<u64>,
}

/// Result of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The call succeeded.
    Ok,
    /// The call returned an error.
    Failed,
}

word_enum! {
    /// State of a usage limit.
    LimitStatus {
        /// The limit is nearly used up.
        Warning = "warning",
        /// Used up: nothing more until the reset.
        Rejected = "rejected",
    }
}

/// A usage limit of the account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateLimit {
    /// State of the limit.
    pub status: LimitStatus,
    /// When it is lifted, in seconds since 1970.
    pub resets_at: Option<i64>,
    /// Name of the limit in the program's own words, such as `five_hour`.
    pub kind: Option<String>,
}

/// Initiator of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactionTrigger {
    /// The program started the compaction by itself.
    Auto,
    /// The compaction was requested.
    Manual,
}

/// One event of a backend run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum BackendEvent {
    /// The session began.
    Started {
        /// Id of the session, if the program reports one.
        session: Option<String>,
        /// Model in use, if the program reports it.
        model: Option<String>,
    },
    /// Words of the answer. Pieces of one message come one after the other.
    Text(String),
    /// Piece of the model's reasoning.
    Thinking(String),
    /// A tool call began.
    ToolCall {
        /// Pairs the call with its result.
        id: String,
        /// Name of the tool.
        name: String,
        /// Arguments of the call.
        input: Value,
    },
    /// A tool call ended.
    ToolResult {
        /// Id of the tool call.
        id: String,
        /// Result of the tool call.
        status: ToolStatus,
        /// Output of the tool.
        text: String,
    },
    /// Tokens of this run so far, as far as they are final.
    Usage(TokenUsage),
    /// Dollars so far in this run.
    Cost(RunCost),
    /// The fill level of the context is known or has changed.
    Context(ContextFill),
    /// The program reported the state of a usage limit of the account.
    RateLimit(RateLimit),
    /// The program tries a call to its model again by itself.
    Retry {
        /// Number of this retry.
        attempt: u64,
        /// Of how many, where that is known.
        of: Option<u64>,
        /// Delay before the retry, in milliseconds.
        delay_ms: Option<u64>,
        /// Reason for the retry.
        reason: String,
    },
    /// The context was compacted.
    Compacted {
        /// Initiator of the compaction.
        trigger: CompactionTrigger,
        /// Tokens in the context before the compaction.
        before: Option<u64>,
        /// Tokens in the context after the compaction.
        after: Option<u64>,
    },
    /// A compaction failed for this reason.
    CompactionFailed(String),
    /// The program was not allowed to use a tool.
    Denied {
        /// Name of the tool.
        tool: String,
        /// Message about the denial, if the program gives one.
        reason: Option<String>,
    },
    /// The program says that it is finished.
    Finished,
    /// Something this version of ralph does not know, kept as it came.
    Unknown(String),
}
