//! Payloads of records that tell something and decide nothing.

use crate::agent_role::AgentRole;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arrival_record::TakenOverFile;

/// Remark for people, in one sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remark {
    /// Text of the remark.
    pub text: String,
}

impl Remark {
    /// Create a remark with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

/// Remark about a task, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRemark {
    /// Id of the task.
    #[serde(rename = "task_id")]
    pub task: String,
    /// Text of the remark.
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
    /// Question for the person.
    pub reason: String,
}

/// A spec whose work is one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpecLanding {
    /// The spec; `None` for tasks without one.
    pub spec: Option<String>,
    /// The commit, unless there was nothing to commit.
    pub commit: Option<String>,
    /// Subject of the commit.
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
pub struct SpecFailure {
    /// Name of the spec.
    pub spec: String,
    /// Reason for the failure.
    pub why: String,
    /// The stash entry or the ref that keeps its work.
    pub kept: Option<String>,
}

/// Answer of a pass about an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PassAnswer {
    /// Name of the pass.
    pub pass: String,
    /// Iteration of the attempt.
    pub iteration: u32,
    /// The file with the whole answer, relative to the root.
    pub file: String,
    /// Answer in one line.
    pub summary: String,
}

/// A pass without a usable answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PassFailure {
    /// Name of the pass.
    pub pass: String,
    /// Reason for the failure.
    pub why: String,
}

/// Files that an agent changed although it may only look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestoredTree {
    /// What the agent was asked for.
    pub role: AgentRole,
    /// Paths of the changed files.
    pub paths: Vec<String>,
}
