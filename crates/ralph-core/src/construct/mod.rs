//! Construct: a spec becomes verified work. The pure half of it.
//!
//! # Theory of operation
//!
//! ```text
//! plan + journal --next--> Move --(host asks agents)--> answers --apply--> plan'
//! ```
//!
//! [`next`] looks at the plan and at how far the construct has come, and says which stage is due and
//! on what it works. [`prompts`] has the words for the agents of a stage, [`answer`] reads what they
//! say: a value, or a problem with the question that may mend it. [`check`] knows what a bad plan
//! is. [`apply`] turns answers into the new text of the plan, each stage as one write. [`ConstructSummary`]
//! tells what happened.
//!
//! Nothing here believes an agent further than its answer goes: ids that nobody knows are ignored,
//! what is there already is not made again, done work is never removed, and a spec is accepted only
//! when its verifier says so, has no gap to tell of, and nothing is left in the plan.

pub mod answer;
pub mod apply;
mod built;
pub mod check;
mod machine;
pub mod prompts;
mod similar;
mod summary;

pub use built::built;
pub use machine::{
    ConstructEnd, ConstructLimits, ConstructMove, ConstructProgress, ConstructStep, current_stage,
    left, needs_plan, next,
};
pub use similar::similar;
pub use summary::{ConstructSummary, stage_words};

pub use crate::cycle::StageResult;

/// Maximum number of times that work is broken down again.
/// After that, ralph gives up on the task.
pub const MAX_DEPTH: usize = 3;

#[cfg(test)]
mod example_tests;
#[cfg(test)]
mod testing;
