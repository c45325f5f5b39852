//! Attempts as the journal's records tell them: how far each came and how it ended.

use serde::Serialize;

use super::judge::{Failure, Proof};
use super::record::{BackendEnd, Base, FailIntent, GateStart, LandIntent, Landing, Started};
use crate::gate::GateVerdict;

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Fate {
    /// It has not.
    Open,
    /// Its work is where it belongs.
    Landed {
        /// The commit, unless nothing was committed.
        commit: Option<String>,
        /// How the task was left.
        landing: Landing,
        /// How far it is proven.
        proof: Proof,
    },
    /// It was rolled back.
    Failed {
        /// Why.
        failure: Failure,
        /// The ref that keeps its work.
        salvage: Option<String>,
    },
    /// It met a usage limit and was rolled back, uncounted.
    Limited,
}

/// One attempt as `ralph attempts` shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptView {
    /// How it began.
    pub started: Started,
    /// When.
    pub at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// How the backend ended.
    pub backend: Option<BackendEnd>,
    /// What the gates said.
    pub verdict: Option<GateVerdict>,
    /// How it ended.
    pub fate: Fate,
    /// What the retry's prompt said about it.
    pub context: String,
}

/// How far an attempt that is under way has come.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// A backend may be running.
    Running,
    /// The backend has ended.
    Ended(Box<BackendEnd>),
    /// The work is being landed.
    Landing(Box<LandIntent>),
    /// The work is being rolled back.
    RollingBack(Box<FailIntent>),
}

/// An attempt that is under way, or was when a crash came.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenAttempt {
    /// How it began.
    pub started: Started,
    /// The tree before it.
    pub base: Base,
    /// How the backend ended, once it has.
    pub ended: Option<BackendEnd>,
    /// What the backend changed.
    pub changes: Base,
    /// How far it has come.
    pub phase: Phase,
    /// The landing that was about to happen, also when a refusal turned it into a rollback.
    pub intent: Option<Box<LandIntent>>,
    /// How often a crash had interrupted the task before.
    pub crashes: u32,
}

/// A gate of the last attempt that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateSeen {
    /// Which one.
    pub start: GateStart,
    /// When it began.
    pub at: String,
    /// Whether it was green, once it has ended.
    pub passed: Option<bool>,
}
