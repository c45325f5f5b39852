//! The circuit breaker: when going on would only burn money.
//!
//! # Theory of operation
//!
//! Progress is a landing, a changed tree, or gates that are red in another way. The same failure three
//! times in a row on more than one task is no bad luck with a task: something is wrong for all of them.
//! Five failed attempts in a row that changed no file are no work. Either trips it; a landing, or a task
//! that is blocked for a reason, sets it back.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attempts::{AttemptState, AttemptView};
use super::judge::AttemptFailure;

/// Equal failures in a row that trip it.
const SAME: usize = 3;
/// Attempts in a row without a changed file that trip it.
const BARREN: usize = 5;

/// Looks at the attempts of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct CircuitBreaker;

/// Reason why the circuit breaker tripped, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BreakerTrip {
    /// Reason in one line.
    pub reason: String,
    /// Evidence, one line for each attempt.
    pub evidence: Vec<String>,
}

impl CircuitBreaker {
    /// Whether the loop should end, given its attempts, oldest first.
    pub fn look<'a>(
        attempts: impl DoubleEndedIterator<Item = &'a AttemptView>,
    ) -> Option<BreakerTrip> {
        let failed: Vec<&AttemptView> = attempts
            .rev()
            .filter(|a| a.fate != AttemptState::Limited)
            .take_while(|a| failure(a).is_some_and(|f| f.kind.counts()))
            .collect();
        let newest = failure(failed.first()?)?;
        let alike = |a: &&&AttemptView| {
            failure(a).is_some_and(|f| f.fingerprint == newest.fingerprint)
                && !newest.fingerprint.is_empty()
        };
        let same = failed.iter().take_while(alike).count();
        let barren = failed.iter().take_while(|a| changed(a) == 0).count();
        // One task that fails again and again is a failed task, and has its own limit.
        let (reason, count) = if same >= SAME && tasks(&failed[..same]) > 1 {
            (format!("the same failure {same} times in a row"), same)
        } else if barren >= BARREN && tasks(&failed[..barren]) > 1 {
            (format!("{barren} attempts in a row changed no file"), barren)
        } else {
            return None;
        };
        let evidence = failed[..count].iter().rev().filter_map(|a| line(a)).collect();
        Some(BreakerTrip { reason, evidence })
    }
}

fn failure(attempt: &AttemptView) -> Option<&AttemptFailure> {
    match &attempt.fate {
        AttemptState::Failed { failure, .. } => Some(failure),
        _ => None,
    }
}

fn changed(attempt: &AttemptView) -> usize {
    attempt.backend.as_ref().map_or(0, |end| end.changed)
}

fn tasks(attempts: &[&AttemptView]) -> usize {
    attempts.iter().map(|a| &a.started.task).collect::<BTreeSet<_>>().len()
}

fn line(attempt: &AttemptView) -> Option<String> {
    let started = &attempt.started;
    let message = &failure(attempt)?.message;
    Some(format!("iteration {}, {}: {message}", started.iteration, started.task))
}

#[cfg(test)]
#[path = "breaker_tests.rs"]
mod tests;
