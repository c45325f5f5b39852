//! The agents beside the one that writes code: what each is told, may touch, and answers.
//!
//! # Theory of operation
//!
//! A prompt of a role is its template, which a project may override, and then what the role works on,
//! which no override can lose: a *manifest* of pointers to files (never their contents), the handoffs
//! to be indexed, the rules that will be checked, and why the last update was undone. Its answer has
//! a type, which is also the schema that the backend is given ([`directive`]). What follows from an
//! answer is a pure function of it.
//!
//! Each role may change the files of [`crate::agent_role::AgentRole::may_write`] and no other of the ledger, and sees the MCP
//! servers of its own stage only: the coding agent has none unless somebody configured them.

pub mod directive;
mod indexer;
mod pass;
mod post;
mod prep;

pub use indexer::{IndexerInput, indexer_prompt};
pub use pass::{PassInput, PassPrompt, due, pass_prompt, passes_due};
pub use post::post_prompt;
pub use prep::{
    MOST_RESEARCH, PrepInput, PrepOutcome, after_prep, check_prepared, prep_manifest, prep_prompt,
    required_sections,
};

use minijinja::value::Value;
use prep::{line, pointer, said};
use schemars::JsonSchema;

use crate::plan::Task;
use crate::prompt::markdown::code;
use crate::prompt::{item_values, role_values};
use crate::word_enum::word_enum;

/// Path of the prompt that the context agent prepares, relative to the project.
pub const PREPARED_PROMPT: &str = ".ralph/context/prepared-prompt.md";

word_enum! {
    /// Result of an attempt, as other roles see it.
    AttemptVerdict {
        /// The attempt counts as a success.
        Passed = "passed",
        /// The attempt failed.
        Failed = "failed",
    }
}

/// An attempt that has ended, as far as another role is told of it.
#[derive(Clone, Copy, Debug)]
pub struct EndedAttempt<'a> {
    /// The iteration that has just ended.
    pub iteration: u32,
    /// Task of the attempt.
    pub task: &'a Task,
    /// Result of the attempt.
    pub judged: AttemptVerdict,
    /// Path of the handoff's file, if the attempt left a handoff.
    pub handoff: Option<&'a str>,
    /// Path of the file with the output of the gates.
    pub validation_log: Option<&'a str>,
}

impl EndedAttempt<'_> {
    /// The beginning of a manifest about it.
    fn manifest(&self) -> String {
        let mut out = String::from("# Manifest\n\n");
        let id = code(self.task.id.as_str());
        line(&mut out, "iteration", &self.iteration.to_string());
        line(&mut out, "task", &format!("{id} {}", said(&self.task.name)));
        line(&mut out, "validation", self.judged.as_str());
        pointer(&mut out, "handoff", self.handoff);
        pointer(&mut out, "what the gates said", self.validation_log);
        out
    }
}

/// Return the template values that all roles share, with the fields of the answer `T`.
fn values<T: JsonSchema>(iteration: u32, task: &Task) -> Value {
    role_values::<T>(iteration, item_values(task.id.as_str(), &task.name))
}

#[cfg(test)]
#[path = "roles_tests.rs"]
mod tests;
