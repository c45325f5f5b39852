//! Construct in the journal: iterations, stages, and what came of them.
//!
//! A stage is written down before it begins, with what the tree was like (the stages that only read
//! are undone from that), and when it has ended. [`ConstructState`] is what these records add up to; the
//! number of the iteration is kept for each spec and goes on when the same spec is taken up again.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::Id;

/// A stage as the journal knows it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum StageKind {
    /// Turn a spec into tasks.
    Plan,
    /// Turn issues into tasks.
    Investigate,
    /// Implement tasks.
    Build,
    /// Code is compared with its tasks and the spec.
    Verify,
    /// Split tasks and issues whose run was killed into smaller ones.
    Decompose,
}

impl StageKind {
    /// The word that `ralph query stage` prints.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "PLAN",
            Self::Investigate => "INVESTIGATE",
            Self::Build => "BUILD",
            Self::Verify => "VERIFY",
            Self::Decompose => "DECOMPOSE",
        }
    }
}

impl fmt::Display for StageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Journal record of the start of construct.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConstructStart {
    /// Spec that construct works on.
    pub spec: String,
    /// Iterations of earlier runs that count towards the limit (`--resume`).
    #[serde(default)]
    pub counted: u32,
}

/// Journal record of the start of an iteration of construct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IterationStart {
    /// Number of the iteration.
    pub iteration: u32,
    /// Spec that construct works on.
    pub spec: String,
}

/// Intent: a stage is about to begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageStart {
    /// Stage that ended.
    pub stage: StageKind,
    /// The iteration of construct; 0 is the plan.
    #[serde(default)]
    pub iteration: u32,
    /// This run of it, unique for ever.
    pub id: String,
    /// Task or issue to break down. Present only in the stage DECOMPOSE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Id>,
}

/// A stage has ended, and the plan says what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageEnd {
    /// Stage that ended.
    pub stage: StageKind,
    /// The iteration of construct; 0 is the plan.
    #[serde(default)]
    pub iteration: u32,
    /// Changes that the stage made to the plan.
    #[serde(default)]
    pub came: StageResult,
    /// Number of open tasks and issues after the stage.
    #[serde(default)]
    pub left: usize,
    /// Dollars, as far as known. Runs of backends have told theirs already: this is for people.
    #[serde(default, rename = "cost_usd", skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Duration of the stage, in milliseconds.
    #[serde(default, rename = "duration_ms")]
    pub took_ms: u64,
}

/// Result of a stage: the changes that it made to the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StageResult {
    /// Tasks that a backend claimed to be done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub built: Vec<Id>,
    /// Tasks that were verified and accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<Id>,
    /// Tasks that were found wanting and will be tried again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<Id>,
    /// Tasks that were given up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Id>,
    /// Tasks that the stage created.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub created: Vec<Id>,
    /// Issues that the stage created.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub raised: Vec<Id>,
    /// Issues that were dealt with and removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resolved: Vec<Id>,
    /// Tasks and issues whose run was killed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub killed: Vec<Id>,
    /// Tasks that were blocked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<Id>,
    /// Tasks and issues that were broken down.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub split: Vec<Id>,
    /// Tasks about which no verifier gave a usable word.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<Id>,
    /// Issues about which no investigator gave a usable answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uninvestigated: Vec<Id>,
    /// The spec was found satisfied as a whole.
    #[serde(skip_serializing_if = "is_false")]
    pub spec_accepted: bool,
    /// Issues that were ruled out of scope.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ruled_out: Vec<ScopeRuling>,
    /// Notes about input that was ignored or dropped and about decisions, one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An investigator's decision that the spec does not ask for something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScopeRuling {
    /// Description of the issue.
    pub issue: String,
    /// Why it is out of scope.
    pub reason: String,
}

/// A task, or the spec as a whole, about which no verifier gave a usable verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnverifiedItem {
    /// `None` is the spec as a whole.
    #[serde(default, rename = "task_id", skip_serializing_if = "Option::is_none")]
    pub task: Option<Id>,
    /// Reason why the verifier's last answer could not be used.
    pub why: String,
    /// The verifier's log, relative to the root.
    pub log: String,
}

impl fmt::Display for UnverifiedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.task {
            Some(task) => write!(f, "{task}")?,
            None => write!(f, "the spec as a whole")?,
        }
        write!(f, ": not verified: {} (log: {})", self.why, self.log)
    }
}

/// Return whether a flag is `false`. serde needs a function that takes a reference.
fn is_false(word: &bool) -> bool {
    !*word
}

impl StageResult {
    /// Whether the plan or the code moved. Issues that make room for as many others are a circle:
    /// a verifier raises again what an investigator has ruled out.
    pub fn is_progress(&self) -> bool {
        let moved = [&self.built, &self.accepted, &self.created, &self.split];
        self.spec_accepted
            || moved.iter().any(|ids| !ids.is_empty())
            || self.resolved.len() > self.raised.len()
    }

    /// Take in what came of another stage of the same iteration.
    pub fn extend(&mut self, other: &Self) {
        self.built.extend(other.built.iter().cloned());
        self.accepted.extend(other.accepted.iter().cloned());
        self.rejected.extend(other.rejected.iter().cloned());
        self.failed.extend(other.failed.iter().cloned());
        self.created.extend(other.created.iter().cloned());
        self.raised.extend(other.raised.iter().cloned());
        self.resolved.extend(other.resolved.iter().cloned());
        self.killed.extend(other.killed.iter().cloned());
        self.blocked.extend(other.blocked.iter().cloned());
        self.split.extend(other.split.iter().cloned());
        self.unverified.extend(other.unverified.iter().cloned());
        self.uninvestigated.extend(other.uninvestigated.iter().cloned());
        self.spec_accepted |= other.spec_accepted;
        self.ruled_out.extend(other.ruled_out.iter().cloned());
        self.notes.extend(other.notes.iter().cloned());
    }
}

/// One iteration: its stages in the order in which they ended. Number 0 is before the first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConstructIteration {
    /// Number of the iteration. 0 is the planning before the first iteration.
    pub number: u32,
    /// The stages that ended in it.
    pub stages: Vec<StageEnd>,
}

impl ConstructIteration {
    /// Return the results of all stages of the iteration as one.
    pub fn came(&self) -> StageResult {
        let mut all = StageResult::default();
        self.stages.iter().for_each(|stage| all.extend(&stage.came));
        all
    }

    /// Open tasks and issues after its last stage.
    pub fn left(&self) -> usize {
        self.stages.last().map_or(0, |stage| stage.left)
    }
}

/// State of construct, computed from its journal records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConstructState {
    /// The spec of the last construct; empty before the first.
    pub spec: String,
    /// The number of the current iteration; 0 before the first.
    pub iteration: u32,
    /// Iterations that count towards the limit.
    pub counted: u32,
    /// The iteration of that number has begun in this run of construct.
    pub under_way: bool,
    /// The stage that is under way, or was when a crash came.
    pub open: Option<StageStart>,
    /// Iterations of this run of construct, oldest first.
    pub laps: Vec<ConstructIteration>,
    /// Tasks, and perhaps the spec, that this run of construct could not verify.
    pub unverified: Vec<UnverifiedItem>,
    /// Issues that this run of construct got no usable answer about.
    pub uninvestigated: Vec<Id>,
    /// Every ruling of the spec's investigators, oldest first.
    pub rulings: Vec<ScopeRuling>,
    /// Items that DECOMPOSE has had in this iteration.
    pub decomposed: Vec<Id>,
}

impl ConstructState {
    pub(super) fn started(&mut self, start: &ConstructStart) {
        let same = self.spec == start.spec;
        *self = Self {
            spec: start.spec.clone(),
            iteration: if same { self.iteration } else { 0 },
            counted: start.counted,
            rulings: if same { std::mem::take(&mut self.rulings) } else { Vec::new() },
            ..Self::default()
        };
    }

    pub(super) fn iteration_started(&mut self, number: u32) {
        self.iteration = self.iteration.max(number);
        self.counted = self.counted.saturating_add(1);
        self.under_way = true;
        self.open = None;
        self.decomposed.clear();
        self.laps.push(ConstructIteration { number, stages: Vec::new() });
    }

    pub(super) fn stage_started(&mut self, start: &StageStart) {
        if start.stage == StageKind::Verify {
            self.unverified.retain(|item| item.task.is_some());
        }
        self.open = Some(start.clone());
        self.decomposed.extend(start.item.clone());
    }

    pub(super) fn stage_ended(&mut self, end: &StageEnd) {
        self.open = None;
        let came = &end.came;
        let settled = [&came.built, &came.accepted, &came.rejected, &came.failed];
        self.unverified.retain(|item| {
            item.task.as_ref().is_none_or(|id| !settled.iter().any(|ids| ids.contains(id)))
        });
        self.uninvestigated.extend(came.uninvestigated.iter().cloned());
        self.rulings.extend(came.ruled_out.iter().cloned());
        if self.laps.is_empty() {
            self.laps.push(ConstructIteration::default());
        }
        if let Some(lap) = self.laps.last_mut() {
            lap.stages.push(end.clone());
        }
    }

    /// The last stage that ended in the iteration under way.
    pub fn last_stage(&self) -> Option<&StageEnd> {
        self.under_way.then(|| self.laps.last()?.stages.last()).flatten()
    }
}

#[cfg(test)]
#[path = "staged_tests.rs"]
mod tests;
