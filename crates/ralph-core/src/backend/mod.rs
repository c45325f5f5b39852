//! Backends: coding-agent programs, behind one pure translator each.
//!
//! # Theory of operation
//!
//! A [`BackendDriver`] says how to start its program for a [`BackendRequest`] ([`Invocation`]: arguments,
//! environment, standard input, files) and gives a [`BackendReader`] that turns each line of output into
//! typed [`BackendEvent`]s. When the process is gone, the reader judges the [`BackendExit`] together with all it
//! has read: an [`BackendOutcome`]. An exit code of 0 alone never means success. Nothing here starts a
//! process: the host's one runner does that for all of them, so that timeouts, logs, and the end of
//! every descendant are the same whatever the program is.
//!
//! ```text
//! Request --invocation--> Invocation --(host runs it)--> lines --reader--> Events
//!                                                          exit --reader--> Outcome
//! ```
//!
//! Most programs read a prompt and then only talk. With those that hold a dialogue ([`acp`]) the
//! reader also says what to write back ([`BackendReader::outgoing`]).

pub mod acp;
mod claude;
mod codex;
mod codex_args;
mod command;
mod event;
pub mod failure;
mod gemini;
mod heard;
mod mcp;
mod opencode;
mod outcome;
mod price;
mod request;
mod reset;
pub mod sim;
mod strict;
mod wire;

#[cfg(test)]
mod conformance_tests;

/// Most bytes of an answer that are kept at least: its end, where markers and JSON stand.
pub const MOST_ANSWER: usize = 1 << 20;

use crate::config::BackendKind;

pub use claude::ClaudeDriver;
pub use codex::CodexDriver;
pub use command::CommandDriver;
pub use event::{
    BackendEvent, CompactionTrigger, ContextFill, LimitStatus, RateLimit, RunCost, TokenUsage,
    ToolStatus,
};
pub use gemini::GeminiDriver;
pub use mcp::{McpServers, OWN_SERVER};
pub use opencode::OpenCodeDriver;
pub use outcome::{BackendExit, BackendOutcome, ProcessEnding, StopCause};
pub use price::{CostReporting, cost, may_start};
pub use request::{
    BackendPermissions, BackendRequest, Invocation, RunUsage, ScratchFile, SessionStart,
};
pub use reset::reset_on_the_clock;

/// Features that a backend program has by itself. ralph provides the rest around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackendFeatures {
    /// Takes a JSON Schema for its answer.
    pub schema: bool,
    /// Can continue an earlier session.
    pub resume: bool,
    /// Reports what it cost, in dollars.
    pub cost: bool,
    /// Reports how full its context is.
    pub context: bool,
    /// Takes a configuration of MCP servers.
    pub mcp: bool,
    /// Takes instructions beside the prompt; to others they are given at its beginning.
    pub system: bool,
    /// Stops by itself after a number of turns.
    pub max_turns: bool,
    /// Stops by itself at a budget.
    pub budget: bool,
    /// Can be told to compact its context without a person: [`SessionStart::Compact`].
    pub compaction: bool,
}

/// One backend program as a pure translator.
pub trait BackendDriver: Send + Sync {
    /// The name in `ralph.toml` and on the command line.
    fn name(&self) -> &str;

    /// The program that is looked for on the PATH.
    fn program(&self) -> &str {
        self.name()
    }

    /// Return the features of the program.
    fn supports(&self) -> BackendFeatures;

    /// Build the command line, environment and input for this request.
    fn invocation(&self, request: &BackendRequest<'_>) -> Invocation;

    /// A reader for one run of this request.
    fn reader(&self, request: &BackendRequest<'_>) -> Box<dyn BackendReader>;
}

/// The driver of a kind that has one without any configuration.
pub fn driver(kind: BackendKind) -> Option<&'static dyn BackendDriver> {
    match kind {
        BackendKind::Claude => Some(&ClaudeDriver),
        BackendKind::Codex => Some(&CodexDriver),
        BackendKind::Gemini => Some(&GeminiDriver),
        BackendKind::Opencode => Some(&OpenCodeDriver),
        BackendKind::Sim => Some(&sim::SimDriver),
        BackendKind::Acp | BackendKind::Command => None,
    }
}

/// The prompt for a program that takes no instructions beside it: they go first, marked as such.
pub fn system_in_prompt(system: Option<&str>, prompt: &str) -> String {
    match system {
        None => prompt.to_owned(),
        Some(system) => format!(
            "=== INSTRUCTIONS FOR THE WHOLE RUN ===\n{}\n=== END OF INSTRUCTIONS ===\n\n{prompt}",
            system.trim_end()
        ),
    }
}

/// A prompt that no program takes for one of its own commands: those begin with a slash.
pub(crate) fn as_words(prompt: String) -> String {
    match prompt.trim_start().starts_with('/') {
        true => format!("What follows is the request itself, word for word:\n\n{prompt}"),
        false => prompt,
    }
}

/// A command of the program itself with what it is about.
pub(crate) fn slash(command: &str, about: &str) -> String {
    format!("{command} {}", about.trim()).trim_end().to_owned()
}

/// Turns one run's output into events and, at the end, into an outcome.
pub trait BackendReader: Send {
    /// One line of standard output without its end. What it does not understand becomes
    /// [`BackendEvent::Unknown`]; nothing is dropped and nothing panics.
    fn line(&mut self, line: &[u8], events: &mut Vec<BackendEvent>);

    /// Whether the program has said that it is finished, so that it may be ended if it lingers.
    fn is_finished(&self) -> bool;

    /// The judgement, once the process is gone. `stderr` is the end of its standard error.
    fn outcome(&mut self, exit: &BackendExit, stderr: &str) -> BackendOutcome;

    /// The text of the last answer, for markers and JSON in prose.
    fn answer(&self) -> &str;

    /// The structured answer, when a schema was asked for and the program gave one.
    fn structured(&self) -> Option<&serde_json::Value> {
        None
    }

    /// The session's id, once it is known.
    fn session(&self) -> Option<&str>;

    /// Return the tokens, turns and dollars used so far.
    fn spent(&self) -> RunUsage;

    /// Return the bytes to write to standard input now.
    /// The host asks at the start, after the text of the invocation, and then after each line of
    /// output. Only a program with a dialogue needs such bytes.
    fn outgoing(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Whether standard input must stay open for more. It is closed as soon as this is false and
    /// all is written.
    fn wants_input(&self) -> bool {
        false
    }

    /// Asks the program in its own protocol to stop, through [`BackendReader::outgoing`]; whoever calls
    /// this still ends the process after the usual grace. Most programs know no such request.
    fn cancel(&mut self) {}
}
