//! A gate, how its command ended, and what it said.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::GateKind;

/// A command that decides whether an attempt counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// A short name that no other gate has.
    pub name: String,
    /// The shell command.
    pub command: String,
    /// What it checks.
    pub kind: GateKind,
    /// Whether its failure counts, under the strategy in use.
    pub need: Need,
    /// Longest time it may take.
    pub timeout: Duration,
}

/// What a failure of a gate means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The attempt fails.
    Required,
    /// It is shown.
    Optional,
}

/// How the command of a gate ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// By itself, with this code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It took too long and was ended.
    TimedOut,
    /// It never started, for this reason.
    NotStarted(String),
}

impl Ending {
    /// Whether the gate is green.
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

    /// One word for files.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Code(_) => "exit",
            Self::Signal(_) => "signal",
            Self::TimedOut => "timeout",
            Self::NotStarted(_) => "not_started",
        }
    }

    /// What happened, for people.
    pub fn describe(&self) -> String {
        match self {
            Self::Code(code) => format!("exit code {code}"),
            Self::Signal(signal) => format!("ended by signal {signal}"),
            Self::TimedOut => "did not end in its time".to_owned(),
            Self::NotStarted(why) => format!("could not start: {why}"),
        }
    }
}

/// What failed in one run of a gate, as far as its output says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// Names of tests that failed.
    pub tests: BTreeSet<String>,
    /// Groups of tests that ran to their end, and single tests that were seen to pass. Only a help
    /// for judging an output in which some tests are missing.
    pub ran: BTreeSet<String>,
    /// Errors of compilers and linters, each `file: message`, with how often it is there.
    pub errors: BTreeMap<String, u32>,
    /// Warnings of the same kind; they matter to a gate that has nothing worse to say.
    pub warnings: BTreeMap<String, u32>,
    /// The normalised text as a number that is the same in any order of the lines.
    pub text: String,
    /// Why there may be failures that are not in the lists.
    pub partial: Option<String>,
    /// How the command was ended when it did not end by itself.
    pub broken_off: Option<Ending>,
}

/// One gate, run once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The gate's name.
    pub name: String,
    /// Its command.
    pub command: String,
    /// What it checks.
    pub kind: GateKind,
    /// Whether its failure counts.
    pub need: Need,
    /// How it ended.
    pub ending: Ending,
    /// What failed.
    pub failures: Failures,
    /// What it wrote, without colours; a long output's beginning and end.
    pub output: String,
    /// The part of its output that a prompt shows.
    pub excerpt: String,
    /// The file with all that it wrote.
    pub log: Option<String>,
    /// How long it took.
    pub took: Duration,
}

impl Check {
    /// Whether the gate is green.
    pub fn is_green(&self) -> bool {
        self.ending.is_success()
    }

    /// Whether the shell found nothing to run: such a gate has said nothing about any tree.
    pub fn never_ran(&self) -> bool {
        matches!(self.ending, Ending::Code(126 | 127) | Ending::NotStarted(_))
    }

    /// What failed, by the most telling names there are, for people.
    pub fn failing(&self) -> Vec<String> {
        let failures = &self.failures;
        if self.is_green() {
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
