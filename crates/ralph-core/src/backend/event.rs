//! What a backend says while it runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::word_enum::word_enum;

/// Tokens of one message or of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens read, those from a cache included.
    pub input: u64,
    /// Of these, tokens from a cache.
    pub cached: u64,
    /// Tokens written.
    pub output: u64,
}

/// An amount in dollars, for this run alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Money(pub f64);

/// How full the context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Context {
    /// Tokens in it.
    pub used: u64,
    /// Tokens it can hold, once that is known.
    pub window: Option<u64>,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// As asked.
    Ok,
    /// With an error.
    Failed,
}

word_enum! {
    /// How near the limit is.
    LimitStatus {
        /// Nearly used up.
        Warning = "warning",
        /// Used up: nothing more until the reset.
        Rejected = "rejected",
    }
}

/// A usage limit of the account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateLimit {
    /// How near.
    pub status: LimitStatus,
    /// When it is lifted, in seconds since 1970.
    pub resets_at: Option<i64>,
    /// Which limit, in the program's word (`five_hour`).
    pub kind: Option<String>,
}

/// Who started a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactionTrigger {
    /// The program itself.
    Auto,
    /// Somebody asked for it.
    Manual,
}

/// One thing a backend said.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Event {
    /// The session began.
    Started {
        /// Its id.
        session: Option<String>,
        /// The model in use.
        model: Option<String>,
    },
    /// Words of the answer. Pieces of one message come one after the other.
    Text(String),
    /// Words of its reasoning.
    Thinking(String),
    /// It began to use a tool.
    ToolCall {
        /// Pairs the call with its result.
        id: String,
        /// The tool's name.
        name: String,
        /// What it was given.
        input: Value,
    },
    /// A tool came back.
    ToolResult {
        /// Of which call.
        id: String,
        /// How it ended.
        status: ToolStatus,
        /// What it said.
        text: String,
    },
    /// Tokens of this run so far, as far as they are final.
    Usage(Usage),
    /// Dollars so far in this run.
    Cost(Money),
    /// How full the context is.
    Context(Context),
    /// A limit of the account.
    RateLimit(RateLimit),
    /// The program tries a call to its model again by itself.
    Retry {
        /// Which try.
        attempt: u64,
        /// Of how many, where that is known.
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
        before: Option<u64>,
        /// Tokens after.
        after: Option<u64>,
    },
    /// A compaction did not work.
    CompactionFailed(String),
    /// It was not allowed to use a tool.
    Denied {
        /// Which tool.
        tool: String,
        /// What it wanted, where the program says so.
        reason: Option<String>,
    },
    /// The program says that it is finished.
    Finished,
    /// Something this version of ralph does not know, kept as it came.
    Unknown(String),
}
