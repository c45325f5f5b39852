//! The recovery of an attempt that a crash interrupted: one pure function.
//!
//! Git outranks the journal, the journal outranks the ledger. A landing that git knows is finished,
//! even when a failure was journalled after it. A candidate that was submitted is judged again, and no
//! backend is paid for it twice; everything else is discarded. A commit with the attempt's trailer
//! means nothing before ralph wrote down that it is about to land: agents commit too, and they know
//! the attempt's id.

use super::attempts::OpenAttempt;
use super::judge::{AttemptFailure, FailureKind, of_end};
use super::record::{BackendEnd, FailIntent, LandIntent};
use crate::backend::BackendOutcome;

/// Whether the work of an attempt can still be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateState {
    /// In the index of its lane, or under a ref.
    Kept,
    /// Nowhere, or it was never submitted.
    Lost,
}

/// The facts about an open attempt that git has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptFacts {
    /// The commit that carries the attempt's trailer.
    pub landed: Option<String>,
    /// Whether its work can be judged.
    pub candidate: CandidateState,
}

/// The way to bring an open attempt to its end.
#[derive(Clone, Debug, PartialEq)]
pub enum AttemptRecovery {
    /// The work has landed, but the ledger does not say so yet. Bring the ledger up to date.
    Finish {
        commit: String,
        /// Record that ralph wrote before it landed the commit.
        intent: Box<LandIntent>,
    },
    /// The candidate is there: judge it, with the outcome that the journal has.
    Judge,
    /// Discard the work, and journal this failure.
    RollBack(FailIntent),
}

/// Decide about an open attempt. Its processes are gone already.
pub fn recover(open: &OpenAttempt, facts: &AttemptFacts) -> AttemptRecovery {
    if let (Some(commit), Some(intent)) = (&facts.landed, &open.intent) {
        return AttemptRecovery::Finish { commit: commit.clone(), intent: intent.clone() };
    }
    if let Some(intent) = &open.failure {
        return AttemptRecovery::RollBack((**intent).clone());
    }
    match (&open.ended, &open.intent, facts.candidate) {
        (Some(_), _, CandidateState::Kept) => AttemptRecovery::Judge,
        (Some(end), None, CandidateState::Lost) => {
            AttemptRecovery::RollBack(without_work(open, end))
        }
        (Some(_), Some(_), CandidateState::Lost) | (None, _, _) => {
            AttemptRecovery::RollBack(interrupted(open))
        }
    }
}

/// The backend had ended, and its work is lost: only its end can be judged.
fn without_work(open: &OpenAttempt, end: &BackendEnd) -> FailIntent {
    match (&end.outcome, of_end(&end.outcome)) {
        (BackendOutcome::Success, _) => interrupted(open),
        (_, Some(failure)) => intent(open, failure),
        (outcome, None) => {
            intent(open, AttemptFailure::new(FailureKind::Interrupted, outcome.to_string()))
        }
    }
}

fn interrupted(open: &OpenAttempt) -> FailIntent {
    intent(open, AttemptFailure::interrupted(open.crashes, "ralph was ended in the middle of it"))
}

fn intent(open: &OpenAttempt, failure: AttemptFailure) -> FailIntent {
    let counts = failure.kind.counts();
    FailIntent {
        attempt: open.started.attempt.clone(),
        retries: open.started.retries.saturating_add(u32::from(counts)),
        failure,
    }
}

#[cfg(test)]
#[path = "recover_tests.rs"]
mod tests;
