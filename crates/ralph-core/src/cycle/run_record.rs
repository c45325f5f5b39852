//! The first and the last record of a run.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::build::LoopEnd;
use super::history::History;
use super::recall::AmendmentRow;
use crate::config::{Config, Dollars};
use crate::cost_sum::CostSum;
use crate::needs::Need;
use crate::view::TaskTally;
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

/// Journal record of the end of a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// Result of the run as one word.
    #[serde(flatten)]
    pub end: LoopEnd,
    /// The program's exit code. `ralph agent` has one of its own.
    pub exit_code: u8,
    /// Reason for the end, as a sentence for people.
    pub reason: String,
    /// The command that ended.
    pub command: RunCommand,
    /// Number of tasks that are not done yet.
    pub remaining: usize,
    /// Attempts of this run that landed.
    pub landed: usize,
    /// Number of attempts in this run.
    pub attempts: usize,
    /// Cost of all backend calls of the run.
    #[serde(flatten)]
    pub cost: CostSum,
    /// Duration of the run, in milliseconds.
    #[serde(rename = "duration_ms")]
    pub took_ms: u64,
    /// Things that a person has to do before the work can continue.
    pub needs: Vec<Need>,
    /// Tasks that agents took out of the plan since a run last ended complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<AmendmentRow>,
}

/// Journal record of the start of a loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunStart {
    /// The run's id; refs and processes carry it.
    pub run: String,
    /// The command that was typed.
    pub command: RunCommand,
    /// The plan file, relative to the root.
    pub plan: String,
    /// Memory mode: the memory of earlier attempts that prompts contain.
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
    /// Name of the backend that writes code. Empty in old journals.
    #[serde(default)]
    pub backend: String,
    /// Names of the gates of this run. Empty in old journals.
    #[serde(default)]
    pub gates: Vec<String>,
    /// Number of tasks in each state at the start of the run.
    #[serde(default)]
    pub tasks: TaskTally,
    /// Limits of the run, including those given on the command line. Absent in old journals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<RunBudget>,
    /// Work that no gate proves may be the end of it.
    #[serde(default)]
    pub allow_unproven: bool,
}

/// Limits of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunBudget {
    /// Maximum cost of the run in dollars. No limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// Maximum number of iterations of the run.
    pub max_iterations: u32,
    /// Maximum duration of one backend call, in seconds.
    pub timeout_s: u64,
}

impl RunBudget {
    /// Return the configured limits of `ralph build`.
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
