//! Sums of what backend runs cost. A run of unknown cost is counted, never taken for free.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cycle::{AttemptState, AttemptView, History};
use crate::words::{count, dollars};

/// Known dollars, and how many runs have an unknown cost.
///
/// Prints as `$0.24`, `$0.24 and 5 runs of unknown cost`, or `unknown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "CostFields", from = "CostFields")]
pub struct CostSum {
    /// Sum of all known costs in dollars.
    pub usd: f64,
    /// Backend runs whose cost is not known.
    pub unknown_runs: usize,
}

/// The fields of a sum as JSON, with its sentence.
#[derive(Serialize, Deserialize, JsonSchema)]
struct CostFields {
    /// Sum of all known costs in dollars.
    cost_usd: f64,
    /// Backend runs whose cost is not known.
    cost_unknown: usize,
    #[serde(default)]
    cost_words: String,
}

impl From<CostFields> for CostSum {
    fn from(fields: CostFields) -> Self {
        Self { usd: fields.cost_usd, unknown_runs: fields.cost_unknown }
    }
}

impl From<CostSum> for CostFields {
    fn from(sum: CostSum) -> Self {
        Self { cost_usd: sum.usd, cost_unknown: sum.unknown_runs, cost_words: sum.to_string() }
    }
}

impl CostSum {
    /// The cost of the last run, with what it continued.
    pub fn of_last_run(history: &History) -> Self {
        let began = history.run_at.as_deref().unwrap_or_default();
        let unknown_runs = match history.cost_unknown {
            true => unknown_since(history, |at| at >= began).max(1),
            false => 0,
        };
        Self { usd: history.cost, unknown_runs }
    }

    /// The cost of all runs in the journal.
    pub fn of_all_runs(history: &History) -> Self {
        Self { usd: history.total_cost, unknown_runs: unknown_since(history, |_| true) }
    }

    /// Add the cost of one backend run.
    pub fn add(&mut self, cost: Option<f64>) {
        match cost {
            Some(usd) => self.usd += usd,
            None => self.unknown_runs += 1,
        }
    }

    /// Add the cost of an attempt.
    pub fn add_attempt(&mut self, view: &AttemptView) {
        match &view.backend {
            Some(end) => self.add(end.cost),
            None if is_lost(view) => self.add(None),
            None => {}
        }
    }

    /// Subtract a part from the sum. The result is never below zero.
    #[must_use]
    pub fn without(self, part: Self) -> Self {
        let usd = ((self.usd - part.usd) * 1e6).round() / 1e6;
        let unknown_runs = self.unknown_runs.saturating_sub(part.unknown_runs);
        Self { usd: usd.max(0.0), unknown_runs }
    }

    /// Whether nothing but unknown costs were added.
    pub fn is_unknown(&self) -> bool {
        self.usd <= 0.0 && self.unknown_runs > 0
    }

    /// The sum beside the most that may be spent.
    pub fn with_limit(&self, limit: Option<f64>) -> String {
        match limit {
            None => self.to_string(),
            Some(limit) if self.unknown_runs == 0 => format!("{self} of {}", dollars(limit)),
            Some(limit) => format!("{self}, limit {}", dollars(limit)),
        }
    }

    /// The sum in a list of other facts, where a bare `unknown` would say nothing.
    pub fn in_list(&self) -> String {
        if self.is_unknown() { "cost unknown".to_owned() } else { self.to_string() }
    }
}

impl fmt::Display for CostSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unknown_runs {
            0 => f.write_str(&dollars(self.usd)),
            _ if self.is_unknown() => f.write_str("unknown"),
            n => write!(f, "{} and {} of unknown cost", dollars(self.usd), count(n, "run")),
        }
    }
}

/// Whether an attempt is over and nobody recorded how its backend ended, as after a kill.
fn is_lost(view: &AttemptView) -> bool {
    view.backend.is_none() && view.fate != AttemptState::Open
}

fn unknown_since(history: &History, is_wanted: impl Fn(&str) -> bool) -> usize {
    let spent = history.spending.iter();
    spent.filter(|spent| spent.cost.is_none() && is_wanted(&spent.at)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_cost_is_neither_zero_nor_left_out() {
        for (usd, unknown_runs, words) in [
            (0.0, 0, "$0.00"),
            (0.24, 0, "$0.24"),
            (0.24, 1, "$0.24 and 1 run of unknown cost"),
            (0.24, 5, "$0.24 and 5 runs of unknown cost"),
            (0.0, 5, "unknown"),
        ] {
            assert_eq!(CostSum { usd, unknown_runs }.to_string(), words);
        }
        let unknown = CostSum { usd: 0.0, unknown_runs: 1 };
        assert_eq!(unknown.in_list(), "cost unknown");
        assert_eq!(unknown.with_limit(Some(5.0)), "unknown, limit $5.00");
        let known = CostSum { usd: 0.24, unknown_runs: 0 };
        assert_eq!(known.with_limit(Some(5.0)), "$0.24 of $5.00");
    }
}
