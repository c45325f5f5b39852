//! Checks of `ralph doctor`. Each check turns facts into a finding: a state, a sentence and a fix.
//!
//! # Theory of operation
//!
//! ```text
//! host looks --facts--> functions here --[Finding]--> Report --> lines, JSON, exit code
//!                                          |
//!                                          `-- Remedy --> host does it (`--fix`)
//! ```
//!
//! A finding is *ok*, *unknown* (the answer needs a trial run), a *warning* (ralph works, but a person
//! should know) or a *problem* (a loop would not start or would go wrong). Every finding that is not
//! ok says what to do, as a command if there is one. A finding has a [`Remedy`] only if the remedy loses
//! no data and makes no decision for the user. [`bundle`] builds the content of a bug report.

pub mod bundle;
mod compare;
mod judge;
mod leftover;
mod world;

pub use compare::{ComparedGate, compared, lane_trouble, missing_in_home};
pub use judge::{
    commands, disk, gate, gate_before_setup, interrupted, is_old, lanes, last_line, no_gates,
    orphaned_lanes, plan, violations, waiting,
};
pub use leftover::{RunLeftovers, leftovers};
pub use world::{RepositoryFacts, git_version, identity, repository};

use crate::word_enum::word_enum;
use serde_json::{Value, json};

use crate::words::count;

word_enum! {
    /// State of a finding, from best to worst.
    FindingState {
        Ok = "ok",
        /// The state cannot be known without a trial run.
        Unknown = "unknown",
        /// Ralph works, and a person should know.
        Warning = "warning",
        /// A loop would not start, or would go wrong.
        Problem = "problem",
    }
}

word_enum! {
    /// Subject of a finding.
    FindingArea {
        /// The program git, and what it knows of the user.
        Git = "git",
        /// The working tree and its repository.
        Repository = "repository",
        /// `ralph.toml` and its layers.
        Settings = "settings",
        Backend = "backend",
        /// A command that decides whether work counts.
        Gate = "gate",
        Plan = "plan",
        /// Queue of specs.
        Inbox = "inbox",
        /// Knowledge index.
        Knowledge = "knowledge",
        Journal = "journal",
        /// Queue of commands from operators to a loop.
        Control = "control",
        /// Processes, files and refs that an earlier crash left.
        Leftover = "leftover",
        /// The checkouts in which agents work.
        Lanes = "lanes",
        /// Free disk space.
        Disk = "disk",
    }
}

/// Something that can be mended without losing or deciding anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Remove locks that a killed ralph left in the git directory.
    GitLocks,
    /// End processes of runs that are over.
    Processes,
    /// Cut the torn last line of the journal off.
    TornJournal,
    /// Move the torn last line of a file of records beside it.
    TornRecords(String),
    /// Let anybody change the inbox again.
    HeldInbox,
    /// Remove unfinished temporary files and private directories.
    Remains(Vec<String>),
    /// Take commands out of the queue that no loop waits for.
    OldCommands,
    /// Move a queue that cannot be read away.
    DamagedCommands,
    /// Give up what was kept for longer than configured.
    OldSalvage,
    /// Delete lanes of repositories that are gone.
    OrphanedLanes,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorFinding {
    pub area: FindingArea,
    pub state: FindingState,
    /// Finding as a sentence.
    pub what: String,
    /// Advice, as a command if there is one. `None` if the state is OK.
    pub fix: Option<String>,
    /// Action that `--fix` carries out. `None` if `--fix` can do nothing.
    pub remedy: Option<Remedy>,
}

impl DoctorFinding {
    /// Create a finding with the state OK.
    pub fn ok(area: FindingArea, what: impl Into<String>) -> Self {
        Self { area, state: FindingState::Ok, what: what.into(), fix: None, remedy: None }
    }

    /// Not so well; what to do about it has to be said.
    pub fn new(
        area: FindingArea,
        state: FindingState,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { area, state, what: what.into(), fix: Some(fix.into()), remedy: None }
    }

    /// Add an action that `--fix` can carry out.
    #[must_use]
    pub fn mended_by(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// Return the finding as JSON, for `ralph doctor --json`.
    pub fn to_json(&self) -> Value {
        json!({
            "state": self.state, "about": self.area, "what": self.what, "fix": self.fix,
            "fixable": self.remedy.is_some(),
        })
    }
}

/// Report with all findings of `ralph doctor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DoctorReport {
    /// Findings in the order of the checks.
    pub findings: Vec<DoctorFinding>,
}

impl DoctorReport {
    /// Return the number of findings with this state.
    pub fn count(&self, state: FindingState) -> usize {
        self.findings.iter().filter(|finding| finding.state == state).count()
    }

    /// Whether a loop would not start or would go wrong.
    pub fn has_problem(&self) -> bool {
        self.count(FindingState::Problem) > 0
    }

    /// Return the actions that `--fix` would carry out.
    pub fn remedies(&self) -> impl Iterator<Item = &Remedy> {
        self.findings.iter().filter_map(|finding| finding.remedy.as_ref())
    }

    /// All of it in a sentence.
    pub fn summary(&self) -> String {
        let parts: Vec<String> =
            [(FindingState::Problem, "problem"), (FindingState::Warning, "warning")]
                .into_iter()
                .filter(|(state, _)| self.count(*state) > 0)
                .map(|(state, noun)| count(self.count(state), noun))
                .chain(
                    Some(self.count(FindingState::Unknown))
                        .filter(|n| *n > 0)
                        .map(|n| format!("{n} unknown")),
                )
                .collect();
        let mut text = match parts.is_empty() {
            true => "Nothing is wrong.".to_owned(),
            false => format!("{}.", parts.join(", ")),
        };
        match self.remedies().count() {
            0 => {}
            1 => text.push_str(" `ralph doctor --fix` mends one of them."),
            n => text.push_str(&format!(" `ralph doctor --fix` mends {n} of them.")),
        }
        text
    }
}

#[cfg(test)]
#[path = "doctor_tests.rs"]
mod tests;
