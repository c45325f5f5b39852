//! Types of the answers that construct's agents give.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gap::{Gap, GapKind};
use super::loose;
use crate::plan::Priority;

/// Answer of PLAN: the tasks for a spec.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanAnswer {
    /// The tasks, each small enough for one session; none when the spec is satisfied already.
    pub tasks: Vec<NewTask>,
    /// Only when there are no tasks: what shows that the spec is satisfied already. A verifier then
    /// decides whether it is.
    #[serde(default, deserialize_with = "loose::text")]
    pub reason: String,
    /// Open questions and assumptions of the plan, in a line or two.
    #[serde(default, deserialize_with = "loose::text")]
    pub summary: String,
    /// Facts about the spec for every agent that works on its tasks, in a few sentences:
    /// its purpose, the tools to use, the places to look.
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
    /// Help for the work: files, decisions, traps.
    #[serde(default, alias = "description", alias = "details", deserialize_with = "loose::text")]
    pub notes: String,
    /// Criteria that one can see or run when the task is done.
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

/// Answer of INVESTIGATE about an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Investigation {
    /// Id of the issue.
    #[serde(default, alias = "id", deserialize_with = "loose::text")]
    pub issue_id: String,
    /// Whether there is something to do.
    pub outcome: InvestigationOutcome,
    /// Findings of the investigation, or the reason why the issue is out of scope.
    #[serde(default, deserialize_with = "loose::text")]
    pub reason: String,
    /// Tasks that resolve the issue.
    #[serde(default)]
    pub tasks: Vec<NewTask>,
}

/// Result of an investigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InvestigationOutcome {
    /// The issue needs work.
    Tasks,
    /// The spec does not ask for it, or nothing has to be done.
    #[serde(alias = "out-of-scope", alias = "out of scope")]
    OutOfScope,
}

/// Verdict of a verifier about a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskVerdict {
    /// Id of the task.
    pub task_id: String,
    /// Verdict in one word.
    pub verdict: VerdictWord,
    /// Why, with what was looked at or run.
    #[serde(default, deserialize_with = "loose::text")]
    pub reason: String,
    /// Gaps found by the verifier, in this task or beside it.
    #[serde(default, deserialize_with = "loose::gaps")]
    pub gaps: Vec<Gap>,
}

impl TaskVerdict {
    /// Why the task is rejected, if it is: a task that is incomplete is never accepted.
    pub fn rejection(&self) -> Option<&str> {
        let unfinished = self.gaps.iter().find(|gap| gap.kind == GapKind::Incomplete);
        match self.verdict {
            VerdictWord::Reject => Some(self.reason.as_str()),
            VerdictWord::Accept => unfinished.map(|gap| gap.description.as_str()),
        }
    }
}

/// Verdict about a task in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VerdictWord {
    /// The task meets its criteria.
    #[serde(alias = "ACCEPT", alias = "Accept", alias = "accepted")]
    Accept,
    /// The task does not meet its criteria.
    #[serde(alias = "REJECT", alias = "Reject", alias = "rejected")]
    Reject,
}

/// Verdict of a verifier about the spec as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpecVerdict {
    /// True when every requirement of the spec is met.
    pub satisfied: bool,
    /// Why, with what was looked at or run.
    #[serde(default, deserialize_with = "loose::text")]
    pub reason: String,
    /// Gaps found by the verifier.
    #[serde(default, deserialize_with = "loose::gaps")]
    pub gaps: Vec<Gap>,
}

impl SpecVerdict {
    /// Whether nothing is missing or wrong.
    pub fn is_accepted(&self) -> bool {
        self.satisfied && self.gaps.is_empty()
    }
}

/// Answer of DECOMPOSE about killed work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decomposition {
    /// Smaller tasks, each for one session.
    #[serde(default, alias = "subtasks")]
    pub tasks: Vec<NewTask>,
    /// Narrower issues, when it was an issue that was killed.
    #[serde(default)]
    pub issues: Vec<NewIssue>,
    /// Point at which the killed run got stuck.
    #[serde(default, deserialize_with = "loose::text")]
    pub reason: String,
}

/// An issue that does not exist yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewIssue {
    /// Question, or description of the problem.
    #[serde(alias = "description", alias = "name", alias = "title")]
    pub desc: String,
}
