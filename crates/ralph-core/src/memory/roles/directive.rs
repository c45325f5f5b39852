//! Answers of the roles other than the coding agent. Their JSON schemas come from these types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::word_enum::word_enum;

/// Decision of the context agent after it has prepared a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrepDirective {
    /// Next step: run the coding agent, skip the task, ask a person, or do research.
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

/// Next step before an attempt.
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
    /// Whether the work goes round in circles.
    pub is_stuck: bool,
    /// Evidence: the iterations, or the failure that repeats.
    #[serde(default)]
    pub evidence: String,
    /// Action that would end the repetition.
    #[serde(default)]
    pub suggested_action: String,
}

/// Advice of the context agent after an attempt.
///
/// The advice is logged, and the next preparation shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostDirective {
    /// Advised next step.
    pub action: PostAction,
    /// Why, in a line or two.
    pub reason: String,
    /// A failure that happens again and again, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_pattern: Option<FailurePattern>,
    /// Changes that the plan needs, if the action is `modify_plan`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan_suggestions: Vec<String>,
}

word_enum! {
    /// Advised next step after an attempt.
    PostAction {
        /// Continue as planned.
        Proceed = "proceed",
        /// The task should be left out.
        SkipTask = "skip_task",
        /// Change the plan.
        ModifyPlan = "modify_plan",
        /// A person should look at it.
        RequestHumanReview = "request_human_review",
        /// Allow more attempts at the task.
        IncreaseRetries = "increase_retries",
    }
}

/// A failure that happens again and again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailurePattern {
    /// Description of the repeated failure.
    pub pattern: String,
    /// Evidence: iterations and messages.
    pub evidence: String,
}

/// Report of the indexer about its changes. Only the files themselves are trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IndexerReport {
    /// Summary of the changes to the index, on one line.
    pub summary: String,
    /// Ids of the new entries.
    #[serde(default)]
    pub added: Vec<String>,
    /// Ids that were superseded or retired.
    #[serde(default)]
    pub superseded: Vec<String>,
}

/// Result of a reviewing pass. It is advice and blocks nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PassReview {
    /// Overall result as one word.
    pub verdict: ReviewVerdict,
    /// The whole in a line or two.
    pub summary: String,
    /// Findings that a person or an agent should look at.
    #[serde(default)]
    pub findings: Vec<ReviewFinding>,
}

/// Overall result of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    /// Nothing is wrong with the work.
    Approve,
    /// Somebody should look at the findings.
    Concerns,
}

/// One thing that a review found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewFinding {
    /// Severity of the finding.
    pub severity: ReviewSeverity,
    /// In which file; empty when in none.
    #[serde(default)]
    pub file: String,
    /// Description of the problem.
    pub description: String,
    /// Suggested fix.
    #[serde(default)]
    pub suggestion: String,
}

/// Severity of a finding in a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReviewSeverity {
    /// The problem will cause harm.
    High,
    /// The problem may cause harm.
    Medium,
    /// The code works, but could be better.
    Low,
}
