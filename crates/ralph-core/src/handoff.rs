//! The handoff: the structured memory that an attempt leaves for the next one.
//!
//! The types are the schema: [`schema`] is generated from them and given to backends that take one,
//! and [`crate::answer`] reads answers into them.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answer::{AnswerSchema, schema_of};
use crate::plan::Id;
use crate::text::{clip, one_line};
use crate::word_enum::word_enum;

/// Files that the text of a synthetic handoff names.
const NAMED: usize = 50;

/// Longest summary that is made of prose, in characters.
const SUMMARY: usize = 200;

/// Minimum length of a useful `freeform` text, in characters.
pub const MIN_FREEFORM: usize = 50;

/// Report of an agent at the end of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Handoff {
    /// The task and whether it is complete.
    pub task_completed: CompletedTask,
    /// Differences between the work and the plan.
    pub deviations: Vec<Deviation>,
    /// Bugs found during the attempt.
    pub bugs_encountered: Vec<Bug>,
    /// Design decisions made during the attempt.
    pub architectural_notes: Vec<String>,
    /// Work that is not finished.
    pub unfinished_business: Vec<UnfinishedItem>,
    /// Advice for the next attempt.
    pub recommendations: Vec<String>,
    /// Files that were created, modified or deleted.
    pub files_touched: Vec<TouchedFile>,
    /// Changes of the plan that the agent proposes, at most three.
    pub plan_amendments: Vec<PlanAmendment>,
    /// Tests written during the attempt.
    pub tests_added: Vec<AddedTests>,
    /// Limits and requirements discovered during the attempt.
    pub constraints_discovered: Vec<Constraint>,
    /// Summary of the attempt in one line.
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
    /// Confidence of the agent in its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence_level: Option<Confidence>,
    /// Why nothing had to be changed, when that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_change_needed: Option<String>,
    /// Made by ralph because the agent left none. No agent is asked for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    pub synthetic: bool,
    /// Why the work of the attempt did not land, when it did not. No agent is asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub discarded: Option<String>,
}

impl Handoff {
    /// Whether a prompt for this task may tell it: its work landed, or the agent itself tells of an
    /// earlier attempt at the same task.
    pub fn is_worth_telling(&self, task: &Id) -> bool {
        let own = !self.synthetic && self.task_completed.task_id == task.as_str();
        self.discarded.is_none() || own
    }
}

/// The task and whether it is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompletedTask {
    /// Id of the task.
    pub task_id: String,
    /// Summary of the completed work, in one line.
    pub summary: String,
    /// True only when every acceptance criterion is met.
    pub fully_complete: bool,
}

/// Difference between the work and the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deviation {
    /// Approach that the plan describes.
    pub planned: String,
    /// Approach that the agent took.
    pub actual: String,
    /// Reason for the difference.
    pub reason: String,
}

/// Bug found during the attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bug {
    /// Description of the bug.
    pub description: String,
    /// Action that the agent took about the bug.
    pub resolution: String,
    /// True when the action fixed the bug.
    pub resolved: bool,
}

/// Work that is not finished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnfinishedItem {
    /// Description of the work.
    pub item: String,
    /// Reason why the work is not finished.
    pub reason: String,
    /// Urgency of the work, such as `high`.
    pub priority: String,
}

/// File created, modified or deleted during the attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TouchedFile {
    /// Path of the file.
    pub path: String,
    /// One of `created`, `modified` and `deleted`.
    pub action: String,
}

/// A change of the plan that the agent proposes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanAmendment {
    /// One of `add`, `modify` and `remove`.
    pub action: String,
    /// The task concerned, for `modify` and `remove`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Fields of the new task, for `add`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub task: Option<LooseFields>,
    /// The fields that change, for `modify`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub changes: Option<LooseFields>,
    /// The task that a new one comes after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Reason for the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Fields of a task as an agent wrote them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LooseFields {
    // Any JSON: agents use the field names of all plan formats, and one bad field must cost this
    // amendment and not the handoff. `plan::amend` reads them.
    fields: Value,
}

impl LooseFields {
    /// The fields, where it is an object at all.
    pub fn as_object(&self) -> Option<&Map<String, Value>> {
        self.fields.as_object()
    }
}

/// Tests added to one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddedTests {
    /// Path of the test file.
    pub file: String,
    /// Names of the new tests.
    pub test_names: Vec<String>,
}

/// Limit or requirement discovered during the attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Constraint {
    /// Description of the limit or requirement.
    pub constraint: String,
    /// Consequence for this task or for later ones.
    pub impact: String,
    /// Way around the limit, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workaround: Option<String>,
}

/// Whether a person has to decide something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HumanReview {
    /// True when a person has to decide something.
    pub needed: bool,
    /// Question for the person, with the reason.
    pub reason: String,
}

word_enum! {
    /// Confidence of an agent in its work.
    Confidence {
        /// The agent is very sure.
        High = "high",
        /// The agent is fairly sure.
        Medium = "medium",
        /// The agent is not sure.
        Low = "low",
    }
}

/// A handoff whose story is long enough to be kept: what is missing is made from what changed.
pub fn with_enough_words(handoff: Handoff, task: &Id, changed: Vec<TouchedFile>) -> Handoff {
    if handoff.freeform.trim().chars().count() >= MIN_FREEFORM {
        return handoff;
    }
    let made = synthetic(task, changed, "the agent's own story is too short");
    let freeform = format!("{}\n\n{}", handoff.freeform.trim(), made.freeform);
    Handoff { freeform: freeform.trim_start().to_owned(), ..handoff }
}

/// The handoff of an attempt that left none: what changed, and nothing about why. It claims nothing
/// and says that ralph made it.
pub fn synthetic(task: &Id, changed: Vec<TouchedFile>, why: &str) -> Handoff {
    let what = match changed.len() {
        0 => "no file was changed".to_owned(),
        1 => "1 file was changed".to_owned(),
        n => format!("{n} files were changed"),
    };
    let summary = format!("synthetic handoff: {what}");
    let because = if why.is_empty() { String::new() } else { format!(" ({why})") };
    let named: Vec<String> =
        changed.iter().take(NAMED).map(|f| format!("- {} {}", f.action, f.path)).collect();
    let more = match changed.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!("\n- and {n} more"),
    };
    let freeform = format!(
        "This handoff is synthetic: the agent left none that could be read{because}, so ralph made \
         it from what changed in the working directory. It says nothing about why.\n\n{}{more}",
        named.join("\n")
    );
    Handoff {
        task_completed: CompletedTask {
            task_id: task.to_string(),
            summary: summary.clone(),
            fully_complete: false,
        },
        deviations: Vec::new(),
        bugs_encountered: Vec::new(),
        architectural_notes: Vec::new(),
        unfinished_business: Vec::new(),
        recommendations: Vec::new(),
        files_touched: changed,
        plan_amendments: Vec::new(),
        tests_added: Vec::new(),
        constraints_discovered: Vec::new(),
        summary,
        freeform: freeform.trim_end().to_owned(),
        request_research: Vec::new(),
        request_human_review: None,
        confidence_level: None,
        no_change_needed: None,
        synthetic: true,
        discarded: None,
    }
}

/// The handoff of an attempt that ended with a claim and prose, without fields: the prose is its story.
pub fn told_in_prose(task: &Id, changed: Vec<TouchedFile>, prose: &str) -> Handoff {
    let made = synthetic(task, changed, "its answer has only a few words");
    let prose = prose.trim();
    let freeform = format!("{prose}\n\n{}", made.freeform);
    if prose.chars().count() < MIN_FREEFORM {
        return Handoff { freeform: freeform.trim_start().to_owned(), ..made };
    }
    let summary = clip(&one_line(prose), SUMMARY);
    Handoff {
        task_completed: CompletedTask { summary: summary.clone(), ..made.task_completed },
        summary,
        freeform: prose.to_owned(),
        synthetic: false,
        ..made
    }
}

/// The JSON Schema of a handoff. Made once: every prompt shows it, and making it takes a while.
pub fn schema() -> &'static AnswerSchema {
    static SCHEMA: LazyLock<AnswerSchema> = LazyLock::new(schema_of::<Handoff>);
    &SCHEMA
}
