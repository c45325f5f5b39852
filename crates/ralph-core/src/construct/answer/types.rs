//! The answers themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gap::{Gap, GapKind};
use super::loose;
use crate::plan::Priority;

/// What PLAN makes of a spec.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanAnswer {
    /// The tasks, each small enough for one session; none when the spec is satisfied already.
    pub tasks: Vec<NewTask>,
    /// Only when there are no tasks: what shows that the spec is satisfied already. A verifier then
    /// decides whether it is.
    #[serde(default, deserialize_with = "loose::text")]
    pub reason: String,
    /// What the plan leaves open or assumes, in a line or two.
    #[serde(default, deserialize_with = "loose::text")]
    pub summary: String,
    /// What whoever works on any of the tasks should know about the spec, in a few sentences: what it
    /// is for, what to use, where to look.
    #[serde(default, deserialize_with = "loose::text")]
    pub context: String,
    /// What one can see or run when all of the spec is there.
    #[serde(
        default,
        alias = "acceptance_criteria",
        alias = "acceptanceCriteria",
        alias = "criteria",
        deserialize_with = "loose::texts"
    )]
    pub accept: Vec<String>,
}

/// A task that does not exist yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewTask {
    /// A short word by which other tasks of this answer refer to it.
    #[serde(default, alias = "id", deserialize_with = "loose::text")]
    pub key: String,
    /// One line that says what to do.
    #[serde(alias = "title")]
    pub name: String,
    /// What helps to do it: files, decisions, traps.
    #[serde(default, alias = "description", alias = "details", deserialize_with = "loose::text")]
    pub notes: String,
    /// What one can see or run when it is done.
    #[serde(
        default,
        alias = "acceptance_criteria",
        alias = "acceptanceCriteria",
        alias = "criteria",
        deserialize_with = "loose::texts"
    )]
    pub accept: Vec<String>,
    /// Keys of tasks of this answer, or ids of tasks in the plan, that must be done first.
    #[serde(
        default,
        alias = "depends_on",
        alias = "dependsOn",
        alias = "dependencies",
        deserialize_with = "loose::texts"
    )]
    pub deps: Vec<String>,
    /// Only where the spec says how urgent it is.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "loose::priority"
    )]
    pub priority: Option<Priority>,
    /// The phase it belongs to, for plans that have phases.
    #[serde(default, deserialize_with = "loose::text")]
    pub phase: String,
}

/// What INVESTIGATE makes of an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Investigation {
    /// The issue.
    #[serde(default, alias = "id", deserialize_with = "loose::text")]
    pub issue_id: String,
    /// Whether there is something to do.
    pub outcome: Finding,
    /// What was found out, or why it is out of scope.
    #[serde(default, deserialize_with = "loose::text")]
    pub reason: String,
    /// What is to be done about it.
    #[serde(default)]
    pub tasks: Vec<NewTask>,
}

/// What an investigation comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// There is something to do.
    Tasks,
    /// The spec does not ask for it, or nothing has to be done.
    #[serde(alias = "out-of-scope", alias = "out of scope")]
    OutOfScope,
}

/// What a verifier says about a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskVerdict {
    /// The task.
    pub task_id: String,
    /// Whether it meets its criteria.
    pub verdict: Verdict,
    /// Why, with what was looked at or run.
    #[serde(default, deserialize_with = "loose::text")]
    pub reason: String,
    /// What is missing or wrong, in this task or beside it.
    #[serde(default, deserialize_with = "loose::gaps")]
    pub gaps: Vec<Gap>,
}

impl TaskVerdict {
    /// Why the task is rejected, if it is: a task that is incomplete is never accepted.
    pub fn rejection(&self) -> Option<&str> {
        let unfinished = self.gaps.iter().find(|gap| gap.kind == GapKind::Incomplete);
        match self.verdict {
            Verdict::Reject => Some(self.reason.as_str()),
            Verdict::Accept => unfinished.map(|gap| gap.description.as_str()),
        }
    }
}

/// A verdict in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It meets its criteria.
    #[serde(alias = "ACCEPT", alias = "Accept", alias = "accepted")]
    Accept,
    /// It does not.
    #[serde(alias = "REJECT", alias = "Reject", alias = "rejected")]
    Reject,
}

/// What a verifier says about the spec as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpecVerdict {
    /// Whether every requirement is met.
    pub satisfied: bool,
    /// Why, with what was looked at or run.
    #[serde(default, deserialize_with = "loose::text")]
    pub reason: String,
    /// What is missing or wrong.
    #[serde(default, deserialize_with = "loose::gaps")]
    pub gaps: Vec<Gap>,
}

impl SpecVerdict {
    /// Whether nothing is missing or wrong.
    pub fn is_accepted(&self) -> bool {
        self.satisfied && self.gaps.is_empty()
    }
}

/// What DECOMPOSE makes of work that was killed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decomposition {
    /// Smaller tasks, each for one session.
    #[serde(default, alias = "subtasks")]
    pub tasks: Vec<NewTask>,
    /// Narrower issues, when it was an issue that was killed.
    #[serde(default)]
    pub issues: Vec<NewIssue>,
    /// Where the killed run got stuck.
    #[serde(default, deserialize_with = "loose::text")]
    pub reason: String,
}

/// An issue that does not exist yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewIssue {
    /// What is asked or wrong.
    #[serde(alias = "description", alias = "name", alias = "title")]
    pub desc: String,
}
