//! A gate, how its command ended, and what it said.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{FailingNames, GateCheck, GateStanding};
use super::excerpt::ExcerptReader;
use super::output::OutputReading;
use crate::config::GateKind;

/// A command that decides whether an attempt counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// A short name that no other gate has.
    pub name: String,
    /// Shell command of the gate.
    pub command: String,
    /// Kind of check, such as test or lint.
    pub kind: GateKind,
    /// Whether its failure counts, under the strategy in use.
    pub need: GateNeed,
    /// Maximum running time of the gate.
    pub timeout: Duration,
}

/// Effect of a gate's failure on the attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateNeed {
    /// A failure fails the attempt.
    #[default]
    Required,
    /// A failure is reported, and the attempt may still land.
    Optional,
}

/// Way in which the command of a gate ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateEnding {
    /// The command ended by itself, with this exit code.
    Code(i32),
    /// This signal ended the command.
    Signal(i32),
    /// The command exceeded its timeout, and ralph ended it.
    TimedOut,
    /// The command could not start, for this reason.
    NotStarted(String),
}

impl Default for GateEnding {
    fn default() -> Self {
        Self::Code(0)
    }
}

impl GateEnding {
    /// Return whether the command succeeded, so that the gate is green.
    pub fn is_success(&self) -> bool {
        *self == Self::Code(0)
    }

    /// The number that a shell would give for it.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Code(code) => *code,
            Self::Signal(signal) => 128_i32.saturating_add(*signal),
            Self::TimedOut => 124,
            Self::NotStarted(_) => 127,
        }
    }

    /// Describe a premature end: a signal, a timeout, or a command that could not start.
    ///
    /// Exit codes above 127 count as well, because shells report signals that way.
    /// `None` for any other end.
    pub fn broken_off(&self) -> Option<String> {
        match self {
            Self::Code(..=127) => None,
            Self::Code(code) if (129..=192).contains(code) => {
                Some(Self::Signal(code - 128).describe())
            }
            Self::Code(code) => Some(format!("ended with exit code {code}")),
            Self::Signal(_) | Self::TimedOut | Self::NotStarted(_) => Some(self.describe()),
        }
    }

    /// Return one word for JSON files.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Code(_) => "exit",
            Self::Signal(_) => "signal",
            Self::TimedOut => "timeout",
            Self::NotStarted(_) => "not_started",
        }
    }

    /// Describe the end of the command for people.
    pub fn describe(&self) -> String {
        match self {
            Self::Code(code) => format!("exit code {code}"),
            Self::Signal(signal) => format!("ended by signal {signal}"),
            Self::TimedOut => "did not end in its time".to_owned(),
            Self::NotStarted(why) => format!("could not start: {why}"),
        }
    }
}

/// Failures in one run of a gate, as far as its output shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateFailures {
    /// Names of the tests that failed.
    pub tests: BTreeSet<String>,
    /// Groups of tests that ran to their end, and single tests that were seen to pass. Only a help
    /// for judging an output in which some tests are missing.
    pub ran: BTreeSet<String>,
    /// Minimum number of tests that passed.
    pub passed: u64,
    /// Minimum number of tests that failed.
    pub failed: u64,
    /// Errors of compilers and linters, each `file: message`, with how often it is there.
    pub errors: BTreeMap<String, u32>,
    /// Warnings of the same kind; they matter to a gate that has nothing worse to say.
    pub warnings: BTreeMap<String, u32>,
    /// The normalised text as a number that is the same in any order of the lines.
    pub text: String,
    /// The numbers in the text that count something, as one number; see [`Self::text`].
    pub counts: String,
    /// The exit code that a shell would give.
    pub exit_code: i32,
    /// A program that the command needs and that is not there.
    pub missing_program: Option<String>,
    /// Why there may be failures that are not in the lists.
    pub partial: Option<String>,
    /// Description of a premature end of the run. The same crash has the same description.
    pub broken_off: Option<String>,
}

/// One run of a gate on one tree: its check as it stands without a look at the base, and what of the
/// output judges need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateRunResult {
    /// The result. A red one is new until a base says otherwise.
    pub check: GateCheck,
    /// Failures that the output shows.
    pub failures: GateFailures,
    /// The output without colours; a long one's beginning and end.
    pub output: String,
    /// The parts of the output that an excerpt can be made from.
    pub excerpts: ExcerptReader,
}

impl GateRunResult {
    /// Put a run together from the gate, its end and its output.
    pub fn new(
        gate: &Gate,
        ending: GateEnding,
        reading: OutputReading,
        log: Option<String>,
        took: Duration,
    ) -> Self {
        let OutputReading { output, excerpts, failures } = reading;
        let check = GateCheck {
            name: gate.name.clone(),
            command: gate.command.clone(),
            kind: gate.kind,
            need: gate.need,
            ending,
            log,
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            ..GateCheck::default()
        };
        let mut run = Self { check, failures, output, excerpts };
        if !run.check.ending.is_success() {
            let new = run.failing().iter().collect();
            run.check.standing = GateStanding::New { new, old: FailingNames::default() };
        }
        run
    }

    /// Whether the shell found nothing to run: such a gate has said nothing about any tree.
    pub fn never_ran(&self) -> bool {
        matches!(self.check.ending, GateEnding::Code(126 | 127) | GateEnding::NotStarted(_))
    }

    /// Whether the gate failed because something that it needs is not there, also behind `make` or a script.
    pub fn cannot_run(&self) -> bool {
        self.never_ran() || self.failures.missing_program.is_some()
    }

    /// All that failed, by the most telling names there are.
    pub fn failing(&self) -> Vec<String> {
        let failures = &self.failures;
        if self.check.ending.is_success() {
            Vec::new()
        } else if !failures.tests.is_empty() {
            failures.tests.iter().cloned().collect()
        } else if !failures.errors.is_empty() {
            failures.errors.keys().cloned().collect()
        } else {
            failures.warnings.keys().cloned().collect()
        }
    }
}
