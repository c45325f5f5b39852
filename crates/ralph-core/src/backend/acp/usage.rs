//! Tokens and dollars, out of four places where agents put them.

use agent_client_protocol_schema::v1::{self as schema, PromptResponse};
use serde_json::Value;

use super::agents::TokenScope;
use crate::backend::{RunUsage, TokenUsage};

/// Tokens as an agent counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct AcpTokenCount {
    total: Option<u64>,
    input: u64,
    output: u64,
    cached_read: Option<u64>,
    cached_write: Option<u64>,
    thought: u64,
}

impl AcpTokenCount {
    /// In ralph's words: input with the cache, output with the thoughts. Some agents count the cache
    /// inside their input and some beside it; the total tells which. The same goes for thoughts.
    fn spent(self) -> RunUsage {
        let cache = self.cached_read.unwrap_or(0).saturating_add(self.cached_write.unwrap_or(0));
        let inside = self.input.saturating_add(self.output);
        let beside = inside.saturating_add(cache);
        let is = |sum: u64| self.total == Some(sum);
        let with_thoughts = |sum: u64| sum.saturating_add(self.thought);
        let (input, output) = if is(inside) {
            (self.input, self.output)
        } else if is(beside) {
            (self.input.saturating_add(cache), self.output)
        } else if is(with_thoughts(inside)) {
            (self.input, with_thoughts(self.output))
        } else if is(with_thoughts(beside)) {
            (self.input.saturating_add(cache), with_thoughts(self.output))
        } else {
            // Nothing adds up: a cache larger than the input cannot be inside it.
            (
                if cache > self.input { self.input.saturating_add(cache) } else { self.input },
                self.output,
            )
        };
        RunUsage {
            input: Some(input),
            cached: self.cached_read,
            output: Some(output),
            ..RunUsage::default()
        }
    }
}

/// The tokens of one prompt, added up from wherever the agent gives them.
#[derive(Debug, Default)]
pub(super) struct PromptMeter {
    /// Usage of the session before this run.
    before: RunUsage,
    /// Added up from the pieces of text that carry a usage.
    pieces: Option<RunUsage>,
    /// From the answer to the prompt.
    answer: Option<RunUsage>,
    /// The first total of dollars, seen before the prompt.
    start: Option<f64>,
    /// Last total in dollars that the agent reported.
    dollars: Option<f64>,
}

impl PromptMeter {
    /// For a session that had used this much before.
    pub(super) fn new(before: RunUsage) -> Self {
        Self { before, ..Self::default() }
    }

    /// A total of dollars from before the prompt, which is where this run begins.
    pub(super) fn dollars_before(&mut self, total: f64) {
        self.start = Some(total);
    }

    pub(super) fn dollars(&mut self, total: f64) {
        self.dollars = Some(total);
    }

    /// The `_meta.usage` of a piece of text: one call to the model. Returns all its tokens.
    pub(super) fn piece(&mut self, usage: &Value) -> Option<u64> {
        let spent = count(usage)?.spent();
        self.pieces = Some(self.pieces.unwrap_or_default().plus(spent));
        spent.tokens().map(|tokens| tokens.input.saturating_add(tokens.output))
    }

    /// Read the usage from the answer to the prompt.
    pub(super) fn answer(&mut self, response: &PromptResponse, tokens: TokenScope) {
        let quota = response.meta.as_ref().and_then(|meta| meta.get("quota"));
        let spent = match &response.usage {
            _ if tokens == TokenScope::LastStep => None,
            // By model it has also the calls that the agent made beside the conversation.
            _ if quota.is_some_and(has_models) => quota.and_then(of_models),
            Some(usage) => Some(of_usage(usage)),
            None => {
                quota.and_then(|quota| count(quota.get("token_count")?)).map(AcpTokenCount::spent)
            }
        };
        self.answer = match tokens {
            TokenScope::Session => spent.map(|spent| grown(spent, self.before)),
            TokenScope::Turn | TokenScope::LastStep => spent,
        };
    }

    /// Return the usage of this run. Unknown numbers are `None`.
    pub(super) fn spent(&self) -> RunUsage {
        let tokens = self.answer.or(self.pieces).unwrap_or_default();
        RunUsage { cost: self.cost(), ..tokens }
    }

    pub(super) fn cost(&self) -> Option<f64> {
        let start = self.start.or(self.before.cost).unwrap_or(0.0);
        // A total cannot shrink: this one counts from the start of the process.
        self.dollars.map(|total| if total < start { total } else { total - start })
    }

    /// The tokens of this run, if they are known.
    pub(super) fn usage(&self) -> Option<TokenUsage> {
        self.spent().tokens()
    }
}

fn of_usage(usage: &schema::Usage) -> RunUsage {
    let count = AcpTokenCount {
        total: Some(usage.total_tokens),
        input: usage.input_tokens,
        output: usage.output_tokens,
        cached_read: usage.cached_read_tokens,
        cached_write: usage.cached_write_tokens,
        thought: usage.thought_tokens.unwrap_or(0),
    };
    count.spent()
}

/// The tokens of `_meta.quota.model_usage`, over all models; all must be there.
fn of_models(quota: &Value) -> Option<RunUsage> {
    let models = quota.get("model_usage")?.as_array()?;
    models.iter().try_fold(RunUsage::default(), |total, model| {
        Some(total.plus(count(model.get("token_count")?)?.spent()))
    })
}

fn has_models(quota: &Value) -> bool {
    quota.get("model_usage").and_then(Value::as_array).is_some_and(|models| !models.is_empty())
}

/// Return the growth of a total since `before`.
/// A total below `before` counts from zero.
fn grown(now: RunUsage, before: RunUsage) -> RunUsage {
    if now.input < before.input || now.output < before.output { now } else { now.since(before) }
}

/// Tokens of a `_meta` member, in either spelling.
fn count(value: &Value) -> Option<AcpTokenCount> {
    let number = |names: [&str; 2]| names.iter().find_map(|name| value.get(name)?.as_u64());
    Some(AcpTokenCount {
        total: number(["totalTokens", "total_tokens"]),
        input: number(["inputTokens", "input_tokens"])?,
        output: number(["outputTokens", "output_tokens"]).unwrap_or(0),
        cached_read: number(["cachedReadTokens", "cachedInputTokens"]),
        cached_write: number(["cachedWriteTokens", "cacheWriteInputTokens"]),
        thought: number(["thoughtTokens", "reasoningOutputTokens"]).unwrap_or(0),
    })
}
