//! The first and the last record of a run.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::build::End;
use super::history::History;
use super::recall::AmendmentRow;
use crate::config::{Config, Dollars};
use crate::cost_sum::CostSum;
use crate::needs::Need;
use crate::view::Tally;
use crate::word_enum::word_enum;

word_enum! {
    /// The command that a run carries out.
    #[derive(Default)]
    RunCommand {
        /// Gates have the last word.
        #[default]
        Build = "build",
        /// Verifiers have the last word.
        Construct = "construct",
        /// Only a plan is made.
        Plan = "plan",
        /// One construct after another.
        Agent = "agent",
        /// No attempt runs.
        Land = "land",
    }
}

impl RunCommand {
    /// The command of the last run, or of the one that a person starts first.
    pub fn last(history: &History) -> Self {
        history.run.as_ref().map(|run| run.command).unwrap_or_default()
    }
}

impl fmt::Display for RunCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A loop ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// How.
    #[serde(flatten)]
    pub end: End,
    /// The program's exit code. `ralph agent` has one of its own.
    pub exit_code: u8,
    /// The reason in words.
    pub reason: String,
    /// The command that ended.
    pub command: RunCommand,
    /// Tasks that are left.
    pub remaining: usize,
    /// Attempts of this run that landed.
    pub landed: usize,
    /// Attempts of this run.
    pub attempts: usize,
    /// The cost of the run.
    #[serde(flatten)]
    pub cost: CostSum,
    /// How long the run took.
    #[serde(rename = "duration_ms")]
    pub took_ms: u64,
    /// What needs a person.
    pub needs: Vec<Need>,
    /// Tasks that agents took out of the plan since a run last ended complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<AmendmentRow>,
}

/// A loop began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunStart {
    /// The run's id; refs and processes carry it.
    pub run: String,
    /// The command that was typed.
    pub command: RunCommand,
    /// The plan file, relative to the root.
    pub plan: String,
    /// The memory mode.
    pub mode: String,
    /// Iterations of earlier runs that count towards the limit (`--resume`).
    #[serde(default)]
    pub counted: u32,
    /// Dollars that were spent before and count towards the same limit.
    #[serde(default)]
    pub spent: f64,
    /// The form of the records that follow, [`super::JOURNAL_FORM`] of whoever writes them.
    #[serde(default)]
    pub form: u32,
    /// The backend that writes code.
    #[serde(default)]
    pub backend: String,
    /// The gates, by name.
    #[serde(default)]
    pub gates: Vec<String>,
    /// How the tasks stand.
    #[serde(default)]
    pub tasks: Tally,
    /// What it may use, options of the command line included. Older runs did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Work that no gate proves may be the end of it.
    #[serde(default)]
    pub allow_unproven: bool,
}

/// What a run may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// Dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// Iterations.
    pub max_iterations: u32,
    /// Seconds of one backend run.
    pub timeout_s: u64,
}

impl Budget {
    /// Of `ralph build`, as configured.
    pub fn of_build(config: &Config) -> Self {
        Self {
            max_cost: config.limits.max_cost.map(Dollars::get),
            max_iterations: config.build.max_iterations.get(),
            timeout_s: config.limits.build_timeout().as_secs(),
        }
    }

    /// Of `ralph construct` and `ralph agent`, as configured.
    pub fn of_construct(config: &Config) -> Self {
        Self {
            max_iterations: config.construct.max_iterations.get(),
            timeout_s: config.limits.construct_timeout().as_secs(),
            ..Self::of_build(config)
        }
    }
}
