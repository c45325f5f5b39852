//! The plan: what is to be done, what was done, and the pure decisions about it.
//!
//! # Theory of operation
//!
//! [`Plan`] is what a file says. [`stage()`], [`next_task`] and [`prioritize()`] are functions of it
//! and of nothing else, so two terminals that ask get the same answer. The verbs ([`verbs`], [`add`],
//! [`amend()`]) turn a wish into [`PlanEdit`]s or into a [`VerbRefusal`]; a codec turns edits into text.

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

pub use amend::{AmendmentAuthor, AmendmentOutcome, MAX_AMENDMENTS, amend};
pub use edit::{PlanEdit, Retirement};
pub use graph::cycles;
pub use input::{TaskInput, TaskInputError, read_tasks};
pub use lookup::{DependencyTrust, LookedUpTask, PlanLookup};
pub use model::{
    AcceptedSpec, Id, Issue, KillReason, KilledRun, Plan, PlanConfig, PlanGate, Priority,
    SpecEntry, Task, TaskState, TaskStateName, Tombstone, TombstoneKind,
};
pub use prioritize::{PriorityCounts, PriorityUpdate, TaskSize, is_explicit, prioritize, size};
pub use select::{Obstacle, next_task, obstacle, obstacles, runnable};
pub use stage::{Stage, StageItem, next, stage};
pub use validate::{PlanFinding, PlanSeverity, duplicate_ids, vague, validate};
pub use verbs::{TaskVerb, VerbRefusal};
