//! What an agent is asked to do, in one word for the journal, the logs and people.

use std::fmt;

use crate::config::StageName;
use crate::memory::index::{JSON_FILE, MARKDOWN_FILE};
use crate::memory::roles::PREPARED_PROMPT;
use crate::word_enum::word_enum;

word_enum! {
    /// The task of one agent.
    #[derive(Default)]
    AgentRole {
        /// Write code: an attempt.
        #[default]
        Build = "build",
        /// Turn a spec into tasks.
        Plan = "plan",
        /// Turn an issue into tasks.
        Investigate = "investigate",
        /// Compare work with its task and spec.
        Verify = "verify",
        /// Split killed work into smaller tasks.
        Decompose = "decompose",
        /// Update the knowledge index, in mode `handoff-plus-index`.
        Index = "index",
        /// Prepare the prompt of an attempt, in mode `agent-orchestrated`.
        Prepare = "prepare",
        /// Update the knowledge index after an attempt, in mode `agent-orchestrated`.
        PutAway = "put-away",
        /// Look at the result of an attempt.
        Pass = "pass",
    }
}

impl AgentRole {
    /// The stage whose settings it has.
    pub fn stage(self) -> StageName {
        match self {
            Self::Build => StageName::Build,
            Self::Plan => StageName::Plan,
            Self::Investigate => StageName::Investigate,
            Self::Verify => StageName::Verify,
            Self::Decompose => StageName::Decompose,
            Self::Index => StageName::Index,
            Self::Prepare | Self::PutAway => StageName::Context,
            Self::Pass => StageName::Review,
        }
    }

    /// The subject of a sentence about what it did.
    pub fn actor(self) -> &'static str {
        if self == Self::Build { "the backend" } else { self.as_str() }
    }

    /// Files of the ledger that it may change.
    pub fn may_write(self) -> &'static [&'static str] {
        match self {
            Self::Index | Self::PutAway => &[MARKDOWN_FILE, JSON_FILE],
            Self::Prepare => &[PREPARED_PROMPT],
            _ => &[],
        }
    }
}

impl fmt::Display for AgentRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
