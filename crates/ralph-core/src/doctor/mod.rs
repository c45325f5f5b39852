//! What `ralph doctor` makes of what it finds: a state, a sentence, and what to do.
//!
//! # Theory of operation
//!
//! ```text
//! host looks --facts--> functions here --[Finding]--> Report --> lines, JSON, exit code
//!                                          |
//!                                          `-- Remedy --> host does it (`--fix`)
//! ```
//!
//! A finding is *ok*, *unknown* (nobody can tell without trying), a *warning* (ralph works, a person
//! should know) or a *problem* (a loop would not start or would go wrong). What is not ok says what to
//! do, as a command wherever there is one. A finding has a [`Remedy`] only when carrying it out loses
//! nothing and decides nothing. [`bundle`] is what a bug report may hold.

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
pub use leftover::{Leftovers, leftovers};
pub use world::{RepositoryFacts, git_version, identity, repository};

use crate::word_enum::word_enum;
use serde_json::{Value, json};

use crate::words::count;

word_enum! {
    /// How something stands, from good to bad.
    State {
        /// As it should be.
        Ok = "ok",
        /// Nobody can tell without trying.
        Unknown = "unknown",
        /// Ralph works, and a person should know.
        Warning = "warning",
        /// A loop would not start, or would go wrong.
        Problem = "problem",
    }
}

word_enum! {
    /// What a finding is about.
    Area {
        /// The program git, and what it knows of the user.
        Git = "git",
        /// The working tree and its repository.
        Repository = "repository",
        /// `ralph.toml` and its layers.
        Settings = "settings",
        /// A program that writes code.
        Backend = "backend",
        /// A command that decides whether work counts.
        Gate = "gate",
        /// The plan file.
        Plan = "plan",
        /// The queue of specs.
        Inbox = "inbox",
        /// The knowledge index.
        Knowledge = "knowledge",
        /// The journal.
        Journal = "journal",
        /// What operators ask of a loop.
        Control = "control",
        /// What an earlier crash left.
        Leftover = "leftover",
        /// The checkouts in which agents work.
        Lanes = "lanes",
        /// Room for files.
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
pub struct Finding {
    /// What it is about.
    pub area: Area,
    /// How it stands.
    pub state: State,
    /// In a sentence.
    pub what: String,
    /// What to do, a command where there is one.
    pub fix: Option<String>,
    /// What `--fix` does about it.
    pub remedy: Option<Remedy>,
}

impl Finding {
    /// All is well.
    pub fn ok(area: Area, what: impl Into<String>) -> Self {
        Self { area, state: State::Ok, what: what.into(), fix: None, remedy: None }
    }

    /// Not so well; what to do about it has to be said.
    pub fn new(area: Area, state: State, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { area, state, what: what.into(), fix: Some(fix.into()), remedy: None }
    }

    /// With something that `--fix` does.
    #[must_use]
    pub fn mended_by(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        json!({
            "state": self.state, "about": self.area, "what": self.what, "fix": self.fix,
            "fixable": self.remedy.is_some(),
        })
    }
}

/// Everything that was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// In the order of looking.
    pub findings: Vec<Finding>,
}

impl Report {
    /// How many findings have this state.
    pub fn count(&self, state: State) -> usize {
        self.findings.iter().filter(|finding| finding.state == state).count()
    }

    /// Whether a loop would not start or would go wrong.
    pub fn has_problem(&self) -> bool {
        self.count(State::Problem) > 0
    }

    /// What `--fix` would do.
    pub fn remedies(&self) -> impl Iterator<Item = &Remedy> {
        self.findings.iter().filter_map(|finding| finding.remedy.as_ref())
    }

    /// All of it in a sentence.
    pub fn summary(&self) -> String {
        let parts: Vec<String> = [(State::Problem, "problem"), (State::Warning, "warning")]
            .into_iter()
            .filter(|(state, _)| self.count(*state) > 0)
            .map(|(state, noun)| count(self.count(state), noun))
            .chain(
                Some(self.count(State::Unknown)).filter(|n| *n > 0).map(|n| format!("{n} unknown")),
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
