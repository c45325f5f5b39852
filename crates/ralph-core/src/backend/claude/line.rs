//! One line of claude's `stream-json`, with the fields that ralph uses.
//!
//! One flat type for all kinds of events, because the kind is not always the first key: the line is
//! parsed once, whatever it turns out to be.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::backend::wire::{List, Object, Scalar, Shape};

/// A line, whatever its kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Line<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Scalar<'a>,
    pub(super) subtype: Scalar<'a>,
    pub(super) session_id: Scalar<'a>,

    // assistant, user; in `permission_denied` the message is a string
    pub(super) message: Shape<'a, Message<'a>, Scalar<'a>>,
    pub(super) parent_tool_use_id: Scalar<'a>,
    pub(super) is_api_error_message: Scalar<'a>,
    pub(super) error: Scalar<'a>,

    // system
    pub(super) model: Scalar<'a>,
    pub(super) compact_result: Scalar<'a>,
    pub(super) compact_error: Scalar<'a>,
    pub(super) compact_metadata: Object<Compaction<'a>>,
    pub(super) tool_name: Scalar<'a>,
    pub(super) attempt: Scalar<'a>,
    pub(super) max_retries: Scalar<'a>,
    pub(super) retry_delay_ms: Scalar<'a>,
    pub(super) error_status: Scalar<'a>,

    // rate_limit_event
    pub(super) rate_limit_info: Object<Limit<'a>>,

    // result
    pub(super) is_error: Scalar<'a>,
    pub(super) terminal_reason: Scalar<'a>,
    pub(super) api_error_status: Scalar<'a>,
    pub(super) num_turns: Scalar<'a>,
    pub(super) total_cost_usd: Scalar<'a>,
    pub(super) usage: Object<Tokens<'a>>,
    #[serde(rename = "modelUsage")]
    pub(super) models: Object<BTreeMap<String, Object<Model<'a>>>>,
    pub(super) model_usage_since_last_result: Object<BTreeMap<String, Object<Model<'a>>>>,
    pub(super) permission_denials: List<Object<Denial<'a>>>,
    pub(super) result: Scalar<'a>,
    pub(super) errors: List<Scalar<'a>>,
    pub(super) structured_output: Value,
}

/// What the model or the user side said.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub(super) id: Scalar<'a>,
    pub(super) content: Shape<'a, Block<'a>, Object<Block<'a>>>,
    pub(super) usage: Object<Tokens<'a>>,
}

/// A piece of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Block<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Scalar<'a>,
    pub(super) text: Scalar<'a>,
    pub(super) thinking: Scalar<'a>,
    pub(super) id: Scalar<'a>,
    pub(super) name: Scalar<'a>,
    pub(super) input: Value,
    pub(super) tool_use_id: Scalar<'a>,
    pub(super) is_error: Scalar<'a>,
    pub(super) content: Shape<'a, Part<'a>, Object<Part<'a>>>,
}

/// A piece of what a tool gave back.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Part<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Scalar<'a>,
    pub(super) text: Scalar<'a>,
}

/// Tokens of one call of the model, or of all of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Tokens<'a> {
    pub(super) input_tokens: Scalar<'a>,
    pub(super) cache_read_input_tokens: Scalar<'a>,
    pub(super) cache_creation_input_tokens: Scalar<'a>,
    pub(super) output_tokens: Scalar<'a>,
}

/// What one model was used for.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Model<'a> {
    pub(super) input_tokens: Scalar<'a>,
    pub(super) cache_read_input_tokens: Scalar<'a>,
    pub(super) cache_creation_input_tokens: Scalar<'a>,
    pub(super) output_tokens: Scalar<'a>,
    #[serde(rename = "costUSD")]
    pub(super) cost: Scalar<'a>,
    pub(super) context_window: Scalar<'a>,
}

/// A compaction that worked.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Compaction<'a> {
    pub(super) trigger: Scalar<'a>,
    pub(super) pre_tokens: Scalar<'a>,
    pub(super) post_tokens: Scalar<'a>,
}

/// A limit of the account.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Limit<'a> {
    pub(super) status: Scalar<'a>,
    pub(super) resets_at: Scalar<'a>,
    pub(super) rate_limit_type: Scalar<'a>,
}

/// A tool that was not allowed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Denial<'a> {
    pub(super) tool_name: Scalar<'a>,
}
