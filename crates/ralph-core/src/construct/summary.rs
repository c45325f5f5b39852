//! Summary of a construct, as a value and as lines for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::machine::ConstructEnd;
use crate::cycle::{ConstructState, LoopEnd, StageEnd, StageKind, StageResult};
use crate::plan::Id;
use crate::words::{dollars, elapsed};

/// Ids of a list that are named.
const NAMED: usize = 6;

/// A construct from its first iteration to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConstructSummary {
    /// Name of the spec.
    pub spec: String,
    /// End of the construct.
    #[serde(flatten)]
    pub end: LoopEnd,
    /// Reason for the end, in words.
    pub reason: String,
    /// Stages of all iterations, in order.
    pub stages: Vec<StageEnd>,
    /// Results of all stages together.
    pub total: StageResult,
    /// Duration of all stages together, in milliseconds.
    #[serde(rename = "duration_ms")]
    pub took_ms: u64,
    /// Known cost of all stages in dollars. `None` when no cost is known.
    #[serde(rename = "cost_usd")]
    pub cost: Option<f64>,
    /// Work that is left, with the reasons, one line each.
    pub left: Vec<String>,
}

impl ConstructSummary {
    /// The summary of the last construct.
    pub fn of(staged: &ConstructState, end: &ConstructEnd) -> Self {
        let stages: Vec<StageEnd> =
            staged.laps.iter().flat_map(|lap| lap.stages.iter().cloned()).collect();
        let mut total = StageResult::default();
        stages.iter().for_each(|s| total.extend(&s.came));
        total.notes.clear();
        Self {
            spec: staged.spec.clone(),
            end: end.end.clone(),
            reason: end.reason(),
            took_ms: stages.iter().map(|s| s.took_ms).sum(),
            cost: stages.iter().filter_map(|s| s.cost).reduce(|a, b| a + b),
            stages,
            total,
            left: end.left.clone(),
        }
    }

    /// Format the summary as lines for people.
    pub fn lines(&self) -> Vec<String> {
        let rows: Vec<SummaryRow> = self.stages.iter().map(SummaryRow::of).collect();
        let width = |of: fn(&SummaryRow) -> &str| {
            rows.iter().map(|row| of(row).chars().count()).max().unwrap_or(0)
        };
        let (words, time) = (width(|row| &row.words), width(|row| &row.took));
        let mut lines = Vec::new();
        let mut iteration = None;
        for (row, stage) in rows.iter().zip(&self.stages) {
            if iteration.replace(stage.iteration) != Some(stage.iteration) {
                lines.push(match stage.iteration {
                    0 => "Before the first iteration".to_owned(),
                    n => format!("Iteration {n}"),
                });
            }
            let SummaryRow { stage, words: said, took, cost, notes } = row;
            let line = format!("  {stage:<11}  {said:<words$}  {took:>time$}  {cost}");
            lines.push(line.trim_end().to_owned());
            lines.extend(notes.iter().map(|note| format!("  {:<11}  {note}", "")));
        }
        if !self.stages.is_empty() {
            let cost = self.cost.map_or_else(String::new, |cost| format!(", {}", dollars(cost)));
            let (all, took) = (totals(&self.total), took(self.took_ms));
            lines.push(format!("{}: {all} ({took}{cost})", self.spec));
        }
        if !self.left.is_empty() {
            lines.push(format!("{} left:", self.left.len()));
            lines.extend(self.left.iter().map(|left| format!("  {left}")));
        }
        lines
    }
}

/// Format the results of all stages as one line.
fn totals(came: &StageResult) -> String {
    let parts = [
        (came.built.len(), "built"),
        (came.accepted.len(), "accepted"),
        (came.rejected.len(), "rejected"),
        (came.created.len() + came.raised.len(), "new"),
        (came.killed.len(), "killed"),
        (came.blocked.len(), "blocked"),
        (came.failed.len(), "given up"),
    ];
    let said: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if said.is_empty() { "nothing moved".to_owned() } else { said.join(", ") }
}

struct SummaryRow {
    stage: String,
    words: String,
    took: String,
    cost: String,
    notes: Vec<String>,
}

impl SummaryRow {
    fn of(end: &StageEnd) -> Self {
        Self {
            stage: end.stage.as_str().to_lowercase(),
            words: stage_words(end),
            took: took(end.took_ms),
            cost: end.cost.map_or_else(String::new, dollars),
            notes: end.came.notes.clone(),
        }
    }
}

/// Format the results of a stage as one line.
pub fn stage_words(end: &StageEnd) -> String {
    let came = &end.came;
    let new = match end.stage {
        StageKind::Decompose => "into",
        _ => "new",
    };
    let parts = [
        (&came.resolved, "resolved"),
        (&came.built, "done"),
        (&came.split, "broken down"),
        (&came.accepted, "accepted"),
        (&came.rejected, "rejected"),
        (&came.unverified, "not verified"),
        (&came.killed, "killed"),
        (&came.blocked, "blocked"),
        (&came.failed, "failed"),
    ];
    let mut said: Vec<String> = parts
        .iter()
        .filter(|(ids, _)| !ids.is_empty())
        .map(|(ids, word)| format!("{} {word}", list(ids)))
        .collect();
    let fresh: Vec<Id> = came.created.iter().chain(&came.raised).cloned().collect();
    if !fresh.is_empty() {
        said.push(format!("{new} {}", list(&fresh)));
    }
    if came.spec_accepted {
        said.push("spec accepted".to_owned());
    }
    if said.is_empty() { "nothing".to_owned() } else { said.join(" · ") }
}

fn list(ids: &[Id]) -> String {
    let named: Vec<&str> = ids.iter().take(NAMED).map(Id::as_str).collect();
    match ids.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn took(millis: u64) -> String {
    elapsed((millis + 500) / 1000)
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
