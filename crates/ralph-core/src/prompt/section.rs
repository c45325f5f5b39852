//! The seven sections of a prompt: their headers, their order, and which goes first when room is short.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Section of the prompt for the coding agent.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PromptSection {
    /// Task to work on, with its criteria.
    CurrentTask,
    /// Why the last attempt failed; only on a retry.
    FailureContext,
    /// Constraints and decisions of the last handoff.
    RetrievedMemory,
    /// Handoff of the last attempt.
    PreviousHandoff,
    /// The knowledge index; only in mode `handoff-plus-index`.
    RetrievedProjectMemory,
    /// Conventions that the task asks for.
    Skills,
    /// Form of the agent's answer.
    OutputInstructions,
}

impl PromptSection {
    /// All of them in the order in which they stand in a prompt.
    pub const ALL: [Self; 7] = [
        Self::CurrentTask,
        Self::FailureContext,
        Self::RetrievedMemory,
        Self::PreviousHandoff,
        Self::RetrievedProjectMemory,
        Self::Skills,
        Self::OutputInstructions,
    ];

    /// The ones that may be left out whole, the first to go first.
    pub const DISPENSABLE: [Self; 6] = [
        Self::Skills,
        Self::OutputInstructions,
        Self::PreviousHandoff,
        Self::RetrievedProjectMemory,
        Self::RetrievedMemory,
        Self::FailureContext,
    ];

    /// Return the title of the section.
    pub fn title(self) -> &'static str {
        match self {
            Self::CurrentTask => "Current Task",
            Self::FailureContext => "Failure Context",
            Self::RetrievedMemory => "Retrieved Memory",
            Self::PreviousHandoff => "Previous Handoff",
            Self::RetrievedProjectMemory => "Retrieved Project Memory",
            Self::Skills => "Skills",
            Self::OutputInstructions => "Output Instructions",
        }
    }

    /// Return the header line of the section.
    pub fn header(self) -> String {
        format!("## {}", self.title())
    }
}
