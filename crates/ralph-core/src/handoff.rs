//! The handoff: the structured memory that an attempt leaves for the next one.
//!
//! The types are the schema: [`schema`] is generated from them and given to backends that take one,
//! and [`crate::answer`] reads answers into them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Shortest useful narrative, in characters.
pub const MIN_FREEFORM: usize = 50;

/// What an agent reports at the end of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Handoff {
    /// The task and whether it is complete.
    pub task_completed: TaskCompleted,
    /// Where the work differs from the plan.
    pub deviations: Vec<Deviation>,
    /// Bugs that were met.
    pub bugs_encountered: Vec<Bug>,
    /// Design decisions that were made.
    pub architectural_notes: Vec<String>,
    /// What is not finished.
    pub unfinished_business: Vec<Unfinished>,
    /// Advice for the next attempt.
    pub recommendations: Vec<String>,
    /// Files that were created, modified or deleted.
    pub files_touched: Vec<FileTouched>,
    /// Changes of the plan that the agent proposes, at most three.
    pub plan_amendments: Vec<PlanAmendment>,
    /// Tests that were written.
    pub tests_added: Vec<TestsAdded>,
    /// Limits that were found.
    pub constraints_discovered: Vec<Constraint>,
    /// One line.
    pub summary: String,
    /// The whole story for whoever goes on tomorrow, at least 50 characters.
    #[schemars(length(min = 50))]
    pub freeform: String,
    /// Topics to look up before the next attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_research: Vec<String>,
    /// Whether a person has to decide something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_human_review: Option<HumanReview>,
    /// How sure the agent is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence_level: Option<Confidence>,
    /// Why nothing had to be changed, when that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_change_needed: Option<String>,
}

/// The task and whether it is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskCompleted {
    /// Which task.
    pub task_id: String,
    /// What was done, in one line.
    pub summary: String,
    /// True only when every acceptance criterion is met.
    pub fully_complete: bool,
}

/// Where the work differs from the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deviation {
    /// What was planned.
    pub planned: String,
    /// What was done.
    pub actual: String,
    /// Why.
    pub reason: String,
}

/// A bug that was met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bug {
    /// What is wrong.
    pub description: String,
    /// What was done about it.
    pub resolution: String,
    /// Whether that mended it.
    pub resolved: bool,
}

/// Work that is left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unfinished {
    /// What.
    pub item: String,
    /// Why it is left.
    pub reason: String,
    /// How soon it is needed.
    pub priority: String,
}

/// A file that was touched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileTouched {
    /// Where it is.
    pub path: String,
    /// `created`, `modified` or `deleted`.
    pub action: String,
}

/// A change of the plan that the agent proposes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanAmendment {
    /// `add`, `modify` or `remove`.
    pub action: String,
    /// The task concerned, for `modify` and `remove`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The new task, for `add`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Value>,
    /// The fields that change, for `modify`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Value>,
    /// The task that a new one comes after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Tests of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestsAdded {
    /// The file.
    pub file: String,
    /// Their names.
    pub test_names: Vec<String>,
}

/// A limit that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Constraint {
    /// What cannot be done or must be so.
    pub constraint: String,
    /// What follows from it.
    pub impact: String,
    /// A way around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workaround: Option<String>,
}

/// Whether a person has to decide something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HumanReview {
    /// Whether.
    pub needed: bool,
    /// What.
    pub reason: String,
}

/// How sure an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Very.
    High,
    /// Fairly.
    Medium,
    /// Not.
    Low,
}

/// The JSON Schema of a handoff.
pub fn schema() -> Value {
    schemars::schema_for!(Handoff).to_value()
}
