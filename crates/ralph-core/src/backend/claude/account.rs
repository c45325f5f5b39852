//! Usage of a run of claude.
//!
//! During the run, only the tokens that the main agent read are known, because an event carries
//! the output tokens of the moment at which its message began. The `result` event has the rest,
//! once per turn.

use serde_json::{Map, Value};

use crate::backend::heard::{number, object, real};
use crate::backend::{RunUsage, SessionStart};

/// The keys of input, tokens from the cache, tokens into the cache and output: of a call, and of a model.
const OF_CALL: [&str; 4] =
    ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];
const OF_MODEL: [&str; 4] =
    ["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens"];

#[derive(Debug)]
pub(super) struct ClaudeUsageTracker {
    before: RunUsage,
    /// Usage from the results of earlier turns.
    done: Option<RunUsage>,
}

impl ClaudeUsageTracker {
    pub(super) fn new(session: &SessionStart<'_>) -> Self {
        Self { before: session.before(), done: None }
    }

    /// With a call of the model that is told while it runs. What it wrote is not known yet.
    pub(super) fn with_call(&self, spent: RunUsage, call: RunUsage) -> RunUsage {
        match self.done {
            None => spent.plus(RunUsage { output: None, ..call }),
            Some(_) => spent,
        }
    }

    /// Add a result to those of earlier turns and return the sum.
    /// The program's own difference comes first, because `total_cost_usd` counts the whole session
    /// and `usage` leaves compactions out.
    pub(super) fn with_result(&mut self, result: &Map<String, Value>) -> RunUsage {
        let models = object(result, "model_usage_since_last_result").into_iter().flatten();
        let models = models.filter_map(|(_, model)| model.as_object());
        let since = models
            .map(|model| RunUsage { cost: real(model, "costUSD"), ..spent(model, OF_MODEL) })
            .reduce(RunUsage::plus);
        let usage = || object(result, "usage").map(tokens);
        let now = since.or_else(usage).unwrap_or_default();
        let mut all = self.done.unwrap_or_default();
        all = all.plus(RunUsage { turns: number(result, "num_turns"), ..now });
        if now.cost.is_none() {
            let total = RunUsage { cost: real(result, "total_cost_usd"), ..RunUsage::default() };
            all.cost = total.since(self.before).cost;
        }
        self.done = Some(all);
        all
    }
}

/// Tokens of one call of the model, or of all of them.
pub(super) fn tokens(usage: &Map<String, Value>) -> RunUsage {
    spent(usage, OF_CALL)
}

fn spent(usage: &Map<String, Value>, keys: [&str; 4]) -> RunUsage {
    let [input, cached, created, output] = keys.map(|key| number(usage, key));
    let input = [input, cached, created].into_iter().flatten().reduce(u64::saturating_add);
    RunUsage { input, cached, output, ..RunUsage::default() }
}
