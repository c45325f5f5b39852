//! From answers to the new text of the plan, one write a stage.
//!
//! # Theory of operation
//!
//! Each function takes the text of the plan as it is now, not as it was when the agents were asked:
//! people and other programs may have written meanwhile. What an answer is about and is no longer
//! there is ignored and noted. The work is done on a `Bench`: the plan, the changes asked for so
//! far, and the ids that are taken; the codec turns all of it into text at the end of a round, and
//! the text is read again before it is handed out.

mod bench;
mod decompose;
mod investigate;
mod kill;
mod mint;
mod planned;
mod undo;
mod verify;

pub use decompose::{decomposed, depth, give_up};
pub use investigate::{investigated, merge_issues};
pub use kill::{blocked, killed};
pub use mint::check_new_parts;
pub use planned::{ExistingTasks, PlanTarget, planned};
pub use undo::undone;
pub use verify::{MOST_CREATED, Verification, verified};

use crate::cycle::StageResult;

/// When, and chance: what the core does not have.
pub struct EditContext<'a> {
    /// Current time, RFC 3339.
    pub at: &'a str,
    /// Four new characters of base 36 at each call.
    pub random: &'a mut dyn FnMut() -> String,
}

/// Changed text of a plan, with the results of the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedChange {
    pub text: String,
    pub came: StageResult,
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "property_tests.rs"]
mod property_tests;
