//! What is done about an attempt that a crash interrupted: one pure function.
//!
//! Git outranks the journal, the journal outranks the ledger. A landing that git knows is finished,
//! whatever the journal says; a landing that was about to happen happens now; a result that was saved
//! is judged again; everything else goes back to how it was.

use super::history::{OpenAttempt, Phase};
use super::judge::{Failure, FailureKind};
use super::record::{FailIntent, LandIntent};

/// What the working tree is like now, the ledger left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeIs {
    /// As it was before the attempt.
    Base,
    /// As the backend left it.
    Result,
    /// Something else: a half-finished change, or somebody worked on it.
    Other,
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
    },
    /// The result is there and was judged: land it now.
    Land(LandIntent),
    /// The result is there: judge it.
    Judge,
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
    let attempt = &open.started.attempt;
    if let Some(commit) = &facts.landed {
        return Recovery::Finish { commit: commit.clone() };
    }
    if facts.rewritten && matches!(open.phase, Phase::Landing(_)) {
        return Recovery::Ask {
            message: format!(
                "the commits since iteration {} began are no longer on this branch, and its work may \
                 have been among them",
                open.started.iteration
            ),
        };
    }
    let interrupted = || FailIntent {
        attempt: attempt.clone(),
        failure: Failure::new(FailureKind::Interrupted, "ralph was ended in the middle of it"),
        context: String::new(),
        retries: open.started.retries,
    };
    match &open.phase {
        Phase::Running => Recovery::RollBack(interrupted()),
        Phase::Ended(_) if facts.tree == TreeIs::Result => Recovery::Judge,
        Phase::Ended(_) => Recovery::RollBack(interrupted()),
        Phase::Landing(intent) if facts.tree == TreeIs::Result => {
            Recovery::Land((**intent).clone())
        }
        Phase::Landing(_) => Recovery::RollBack(interrupted()),
        Phase::RollingBack(intent) => Recovery::RollBack((**intent).clone()),
    }
}

#[cfg(test)]
#[path = "recover_tests.rs"]
mod tests;
