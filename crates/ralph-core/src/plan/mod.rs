//! The plan: what is to be done, what was done, and the pure decisions about it.
//!
//! # Theory of operation
//!
//! [`Plan`] is what a file says. [`stage()`], [`next_task`] and [`prioritize()`] are functions of it
//! and of nothing else, so two terminals that ask get the same answer. The verbs ([`verbs`], [`add`],
//! [`amend()`]) turn a wish into [`Edit`]s or into a [`Refusal`]; a codec turns edits into text.

pub mod add;
mod amend;
mod edit;
mod graph;
mod index;
mod input;
mod lookup;
mod model;
mod prioritize;
mod select;
mod stage;
mod validate;
pub mod verbs;

#[cfg(test)]
mod plan_tests;

pub use amend::{Amender, AmendmentOutcome, MAX_AMENDMENTS, amend};
pub use edit::{Edit, Retirement};
pub use graph::cycles;
pub use input::{InputError, TaskInput, read_tasks};
pub use lookup::{Fate, Lookup, Trust};
pub use model::{
    Gate, Id, Issue, Kill, KillReason, Plan, PlanConfig, Priority, SpecAccepted, SpecEntry, State,
    Task, TaskStateName, Tombstone, TombstoneKind,
};
pub use prioritize::{Counts, Prioritized, Size, is_explicit, prioritize, size};
pub use select::{Obstacle, next_task, obstacle, obstacles, runnable};
pub use stage::{Item, Stage, next, stage};
pub use validate::{Finding, Severity, duplicate_ids, vague, validate};
pub use verbs::{Refusal, TaskVerb};
