//! What the other roles answer. The types are the schemas.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::word_enum::word_enum;

/// What the context agent wants after it has prepared a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrepDirective {
    /// What to do next.
    pub action: PrepAction,
    /// Why, in a line or two.
    pub reason: String,
    /// Whether the work goes round in circles.
    #[serde(default)]
    pub stuck_detection: StuckDetection,
    /// Topics that were looked up, or that need to be, when the action is `research`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub research_topics: Vec<String>,
}

/// What to do before an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrepAction {
    /// The prompt is ready: run the coding agent.
    Proceed,
    /// The task should be left out.
    Skip,
    /// A person has to decide something first.
    RequestHumanReview,
    /// More has to be found out: come back in the next iteration.
    Research,
}

/// Whether the work goes round in circles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StuckDetection {
    /// Whether it does.
    pub is_stuck: bool,
    /// What shows it: which iterations, which repeated failure.
    #[serde(default)]
    pub evidence: String,
    /// What would break the circle.
    #[serde(default)]
    pub suggested_action: String,
}

/// What the context agent advises after an attempt. It is logged and shown to the next preparation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostDirective {
    /// The advice.
    pub action: PostAction,
    /// Why, in a line or two.
    pub reason: String,
    /// A failure that happens again and again, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_pattern: Option<FailurePattern>,
    /// How the plan should change, when the action is `modify_plan`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan_suggestions: Vec<String>,
}

word_enum! {
    /// What should happen after an attempt.
    PostAction {
        /// Go on as planned.
        Proceed = "proceed",
        /// The task should be left out.
        SkipTask = "skip_task",
        /// The plan needs to change.
        ModifyPlan = "modify_plan",
        /// A person should look at it.
        RequestHumanReview = "request_human_review",
        /// The task needs more attempts.
        IncreaseRetries = "increase_retries",
    }
}

/// A failure that happens again and again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailurePattern {
    /// What happens.
    pub pattern: String,
    /// What shows it: iterations, messages.
    pub evidence: String,
}

/// What the indexer says it did. The files are what counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IndexerReport {
    /// What changed in the index, in a line.
    pub summary: String,
    /// Ids of new entries.
    #[serde(default)]
    pub added: Vec<String>,
    /// Ids that were superseded or retired.
    #[serde(default)]
    pub superseded: Vec<String>,
}

/// What a reviewing pass found. It is advice: nothing waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// The whole in one word.
    pub verdict: ReviewVerdict,
    /// The whole in a line or two.
    pub summary: String,
    /// What should be looked at.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// A review in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    /// Nothing stands against it.
    Approve,
    /// It should be looked at.
    Concerns,
}

/// One thing that a review found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// In which file; empty when in none.
    #[serde(default)]
    pub file: String,
    /// What is wrong.
    pub description: String,
    /// How to mend it.
    #[serde(default)]
    pub suggestion: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It will hurt.
    High,
    /// It may hurt.
    Medium,
    /// It could be better.
    Low,
}
