//! What a run of claude has used.
//!
//! While it runs, only the tokens that its main agent read are known: an event carries the output
//! tokens of the moment its message began. The `result` has the rest, once per turn.

use super::line::Line;
use crate::backend::{Session, Spent};

/// The sums of one run.
#[derive(Debug)]
pub(super) struct Account {
    before: Spent,
    /// So far, as far as it was told.
    pub(super) spent: Spent,
    done: Option<Spent>,
}

impl Account {
    pub(super) fn new(session: &Session<'_>) -> Self {
        Self { before: session.before(), spent: Spent::default(), done: None }
    }

    /// A call of the model, told while it runs.
    pub(super) fn message(&mut self, input: u64, cached: Option<u64>) {
        if self.done.is_none() {
            self.spent.input = sum([self.spent.input, Some(input)]);
            self.spent.cached = sum([self.spent.cached, cached]);
        }
    }

    /// Adds what this result says to that of earlier turns. `total_cost_usd` is the whole session's
    /// and `usage` leaves compactions out, so the program's own difference comes first.
    pub(super) fn result(&mut self, line: &Line<'_>) {
        let earlier = self.done.unwrap_or_default();
        let mut now = Spent { turns: line.num_turns.whole(), ..Spent::default() };
        let since = line.model_usage_since_last_result.0.iter().flatten();
        let mut is_told = false;
        for model in since.filter_map(|(_, model)| model.0.as_ref()) {
            is_told = true;
            let cached = model.cache_read_input_tokens.whole();
            let created = model.cache_creation_input_tokens.whole();
            now.input = sum([now.input, model.input_tokens.whole(), cached, created]);
            now.cached = sum([now.cached, cached]);
            now.output = sum([now.output, model.output_tokens.whole()]);
            now.cost = plus(now.cost, model.cost.real());
        }
        if !is_told && let Some(usage) = &line.usage.0 {
            let cached = usage.cache_read_input_tokens.whole();
            let created = usage.cache_creation_input_tokens.whole();
            now.input = sum([usage.input_tokens.whole(), cached, created]);
            now.cached = cached;
            now.output = usage.output_tokens.whole();
        }
        let cost = match now.cost {
            Some(cost) => plus(earlier.cost, Some(cost)),
            None => {
                let total = Spent { cost: line.total_cost_usd.real(), ..Spent::default() };
                total.since(self.before).cost
            }
        };
        self.spent = Spent { cost, ..earlier.plus(now) };
        self.done = Some(self.spent);
    }
}

/// Adds what is known; nothing known is not 0.
pub(super) fn sum<const N: usize>(parts: [Option<u64>; N]) -> Option<u64> {
    parts.into_iter().flatten().reduce(u64::saturating_add)
}

fn plus(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    [a, b].into_iter().flatten().reduce(|a, b| a + b)
}
