//! The plan: what is to be done, what was done, and the pure decisions about it.

mod edit;
mod model;

pub use edit::{Edit, Retirement};
pub use model::{
    Gate, Id, Issue, Kill, KillReason, Plan, PlanConfig, Priority, SpecAccepted, SpecEntry, State,
    Task, Tombstone, TombstoneKind,
};
