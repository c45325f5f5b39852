//! Failures in words for the agent of the next attempt: the cause, and advice.

use crate::cycle::FailureKind;

impl FailureKind {
    pub(super) fn happened(self) -> &'static str {
        match self {
            Self::Timeout => "it ran out of time and was ended",
            Self::Idle => "it fell silent and was ended",
            Self::ContextLimit => "its context was full",
            Self::MaxTurns => "it used all its turns",
            Self::NoChange => "it changed no file",
            Self::Backend => "the program crashed",
            Self::BadOutput => {
                "its answer did not say in a readable way whether the task is complete"
            }
            _ => "it was rejected",
        }
    }

    /// Return advice for the next attempt.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::Timeout | Self::MaxTurns => {
                "Take the shortest way: no long-running commands, no work beyond the task."
            }
            Self::Idle => "Start nothing that waits for input or never ends.",
            Self::ContextLimit => "Read only the files and the parts of them that you need.",
            Self::NoChange => {
                "Change what the task asks for. If nothing has to be changed, answer with a handoff \
                 whose `no_change_needed` says why."
            }
            Self::Backend => "Work in small steps, so that less is lost.",
            Self::BadOutput => "End your answer exactly as the first lines of this prompt say.",
            _ => "Mend what was found wanting.",
        }
    }
}
