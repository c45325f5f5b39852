//! Payloads of records that tell something and decide nothing.

use crate::agent_role::AgentRole;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arrival_record::TakenOverFile;

/// One sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remark {
    /// The sentence.
    pub text: String,
}

impl Remark {
    /// A remark that says this.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

/// A sentence about a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRemark {
    /// The task.
    #[serde(rename = "task_id")]
    pub task: String,
    /// The sentence.
    pub text: String,
}

/// A question of an agent to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewRequest {
    /// The task that it is about.
    #[serde(rename = "task_id")]
    pub task: String,
    /// The attempt that asked, unless the context agent did before one began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
    /// The question.
    pub reason: String,
}

/// A spec whose work is one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpecLanded {
    /// The spec; `None` for tasks without one.
    pub spec: Option<String>,
    /// The commit, unless there was nothing to commit.
    pub commit: Option<String>,
    /// The commit's subject.
    pub subject: String,
    /// The id in the commit's `Ralph-Attempt` trailer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub attempt: String,
    /// The tasks whose work the commit has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// The paths that the commit touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Files of home whose bytes are part of the commit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_over: Vec<TakenOverFile>,
}

/// A spec that was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpecFailed {
    /// The spec.
    pub spec: String,
    /// The reason.
    pub why: String,
    /// The stash entry or the ref that keeps its work.
    pub kept: Option<String>,
}

/// The answer of a pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PassAnswer {
    /// The name of the pass.
    pub pass: String,
    /// The iteration of the attempt.
    pub iteration: u32,
    /// The file with the whole answer, relative to the root.
    pub file: String,
    /// The answer in one line.
    pub summary: String,
}

/// A pass without a usable answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PassFailure {
    /// The name of the pass.
    pub pass: String,
    /// The reason.
    pub why: String,
}

/// Files that an agent changed although it may only look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeRestored {
    /// What the agent was asked for.
    pub role: AgentRole,
    /// The files.
    pub paths: Vec<String>,
}
