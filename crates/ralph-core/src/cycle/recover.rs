//! What is done about an attempt that a crash interrupted: one pure function.
//!
//! Git outranks the journal, the journal outranks the ledger. A landing that git knows is finished,
//! even when a rollback was begun after it; a landing that was about to happen happens now; a result
//! that was saved is judged again, and brought back first when the tree stood at the base for a look
//! at its gates; everything else goes back to how it was. A commit with the
//! attempt's trailer means nothing before ralph wrote down that it is about to land: agents commit
//! too, and they know the attempt's id.

use super::attempts::{OpenAttempt, Phase};
use super::judge::{Failure, FailureKind, of_end};
use super::record::{BackendEnd, FailIntent, LandIntent};
use crate::backend::Outcome;

/// What the working tree is like now, the ledger left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeIs {
    /// As it was before the attempt.
    Base,
    /// As the backend left it.
    Result,
    /// Something else: a half-finished change, or somebody worked on it.
    Other,
    /// Not as the backend left it, but that is kept: it was put aside to see what the gates say about
    /// the base.
    Aside,
}

/// What git says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The commit that carries the attempt's trailer.
    pub landed: Option<String>,
    /// The commits since the checkpoint are not there any more.
    pub rewritten: bool,
    /// What the tree is like.
    pub tree: TreeIs,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Recovery {
    /// It has landed: make the ledger say so.
    Finish {
        /// The commit.
        commit: String,
        /// What was landed, and how.
        intent: Box<LandIntent>,
    },
    /// The result is there and was judged: land it now.
    Land(Box<LandIntent>),
    /// The result is there: judge it, with the outcome that the journal has.
    Judge,
    /// The result was put aside: bring it back, then judge it.
    BringBack,
    /// Go back to the base, and say this.
    RollBack(FailIntent),
    /// Somebody rewrote history meanwhile: nothing is safe to decide.
    Ask {
        /// What was found and what to do.
        message: String,
    },
}

/// Decide about an open attempt. Its processes are gone already.
pub fn recover(open: &OpenAttempt, facts: &Facts) -> Recovery {
    if let (Some(commit), Some(intent)) = (&facts.landed, &open.intent) {
        return Recovery::Finish { commit: commit.clone(), intent: intent.clone() };
    }
    match &open.phase {
        Phase::Running => Recovery::RollBack(interrupted(open)),
        Phase::Ended(end) => after_backend(open, end, facts),
        Phase::Landing(_) if facts.rewritten => Recovery::Ask {
            message: format!(
                "the commits since iteration {} began are no longer on this branch, and its work may \
                 have been among them",
                open.started.iteration
            ),
        },
        Phase::Landing(intent) if result_is_there(open, facts) => Recovery::Land(intent.clone()),
        Phase::Landing(_) if facts.tree == TreeIs::Aside => Recovery::BringBack,
        Phase::Landing(_) => Recovery::RollBack(interrupted(open)),
        Phase::RollingBack(intent) => Recovery::RollBack((**intent).clone()),
    }
}

/// The backend had ended, and nothing was decided. Without its work only its end can be judged.
fn after_backend(open: &OpenAttempt, end: &BackendEnd, facts: &Facts) -> Recovery {
    if result_is_there(open, facts) {
        return Recovery::Judge;
    }
    if facts.tree == TreeIs::Aside {
        return Recovery::BringBack;
    }
    let failure = match (&end.outcome, of_end(&end.outcome)) {
        (Outcome::Success, _) => return Recovery::RollBack(interrupted(open)),
        (_, Some(failure)) => failure,
        (outcome, None) => Failure::new(FailureKind::Interrupted, outcome.to_string()),
    };
    Recovery::RollBack(intent(open, failure))
}

/// Whether the tree holds what the backend left. A backend that changed nothing left the base.
fn result_is_there(open: &OpenAttempt, facts: &Facts) -> bool {
    let unchanged = open.ended.as_ref().is_some_and(|end| end.changed == 0);
    match facts.tree {
        TreeIs::Result => true,
        TreeIs::Base => unchanged,
        TreeIs::Other | TreeIs::Aside => false,
    }
}

fn interrupted(open: &OpenAttempt) -> FailIntent {
    intent(open, Failure::interrupted(open.crashes, "ralph was ended in the middle of it"))
}

fn intent(open: &OpenAttempt, failure: Failure) -> FailIntent {
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
