//! The words of DESIGN as types: one model that is the union of four plan formats.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format::PlanFormat;
use crate::word_enum::word_enum;

/// The name of a task or an issue, unique in its plan.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Id(String);

impl Id {
    /// Any text is an id: other tools choose their own.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Return the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

word_enum! {
    /// Priority of a task or an issue. `High` sorts first.
    Priority {
        /// Unblocks others or was asked for.
        High = "high",
        /// Standard work; also the rank of a task without a priority.
        Medium = "medium",
        /// Documentation, clean-up and other work that is nice to have.
        Low = "low",
    }
}

word_enum! {
    /// Why a run of a task was killed.
    KillReason {
        /// The run exceeded the time limit of its stage.
        Timeout = "timeout",
        /// The context was full and could not be compacted.
        ContextLimit = "context_limit",
    }
}

/// A killed run: why, and where its log is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KilledRun {
    /// Reason why the run was killed.
    #[serde(rename = "kill_reason")]
    pub reason: KillReason,
    /// The log of the killed run, relative to the project.
    #[serde(rename = "kill_log", default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// State of a task. In JSON it is a word, with a `reason` if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", content = "reason", rename_all = "snake_case")]
#[schemars(rename = "TaskState")]
pub enum TaskState {
    /// The task still has to be done.
    #[default]
    Pending,
    /// A backend works on it now.
    Running,
    /// Claimed to be done, not verified.
    Done,
    /// The work is verified.
    Accepted,
    /// The run of the task was killed. The task has to be broken down.
    Killed(KilledRun),
    /// Cannot go on, with the reason.
    Blocked(String),
    /// Given up after all retries, with the last reason where one is known.
    Failed(Option<String>),
    /// The task was left out on purpose.
    Skipped,
}

word_enum! {
    /// A [`TaskState`] without its reason.
    TaskStateName {
        /// To be done.
        Pending = "pending",
        /// A backend works on it now.
        Running = "running",
        /// Claimed to be done, not verified.
        Done = "done",
        /// Verified.
        Accepted = "accepted",
        /// Its run was killed.
        Killed = "killed",
        /// Cannot go on.
        Blocked = "blocked",
        /// Given up after all retries.
        Failed = "failed",
        /// Left out on purpose.
        Skipped = "skipped",
        /// Known from attempts alone.
        Gone = "gone",
    }
}

impl TaskState {
    /// The state without its reason.
    pub fn name(&self) -> TaskStateName {
        match self {
            Self::Pending => TaskStateName::Pending,
            Self::Running => TaskStateName::Running,
            Self::Done => TaskStateName::Done,
            Self::Accepted => TaskStateName::Accepted,
            Self::Killed(_) => TaskStateName::Killed,
            Self::Blocked(_) => TaskStateName::Blocked,
            Self::Failed(_) => TaskStateName::Failed,
            Self::Skipped => TaskStateName::Skipped,
        }
    }

    /// The state as one lower-case word.
    pub fn word(&self) -> &'static str {
        self.name().as_str()
    }

    /// Whether the task still has to be worked on (waiting, running, blocked or killed).
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Pending | Self::Running | Self::Killed(_) | Self::Blocked(_))
    }
}

/// The unit of agent work. As JSON it is in the journal and in every answer; plan files have codecs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Task {
    /// Id of the issue, unique in the plan.
    pub id: Id,
    /// One line that says what to do.
    pub name: String,
    /// The spec it belongs to; `None` is the current one. implementation.json: the spec's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// State of the task.
    #[serde(flatten)]
    pub state: TaskState,
    /// Whatever helps to do it. plan.json: the description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Acceptance criteria: conditions that must hold when the task is done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
    /// Tasks that must be accepted first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deps: Vec<Id>,
    /// Priority of the task. `None` ranks as medium.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The priority that ralph computed last. When it equals `priority`, nobody chose that one and
    /// the next prioritisation may change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_priority: Option<Priority>,
    /// Number of failed attempts so far.
    #[serde(rename = "retry_count", skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// Retries allowed for this task alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// Turns a backend may take for this task alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Longest time of one run of this task alone, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Skill files to put into the prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Libraries whose documentation the task needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<String>,
    /// Whether the task needs documentation fetched first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub needs_docs: bool,
    /// The task it was split from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Id>,
    /// Issue that the task came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_from: Option<Id>,
    /// When it was claimed done (implementation.json: completed).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done_at: Option<String>,
    /// Reason for the last rejection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reject: Option<String>,
    /// The heading it stands under (progress.md's phases).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Line in the plan file, from 1; 0 for a task that is not in a file yet.
    #[serde(skip)]
    pub line: usize,
}

/// A question or bug that must be investigated before it is work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Issue {
    /// Id of the issue, unique in the plan.
    pub id: Id,
    /// Description of the question or the problem.
    pub desc: String,
    /// The spec it belongs to; `None` is the current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// Priority of the issue. Tasks that are made from the issue inherit it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Reason and log, if the investigation of the issue was killed.
    #[serde(flatten)]
    pub kill: Option<KilledRun>,
    /// The task whose failure it reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_from: Option<Id>,
    /// Line in the plan file, from 1.
    #[serde(skip)]
    pub line: usize,
}

/// Return whether a number is zero. serde needs a function that takes a reference.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Kind of a record in the history of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TombstoneKind {
    /// Verified and taken out of the plan.
    Accept,
    /// The task was rejected, because its work was not good enough.
    Reject,
    /// The task was skipped or deleted.
    Delete,
}

impl TombstoneKind {
    /// The state in which the task left the plan.
    pub fn state(self) -> TaskStateName {
        match self {
            Self::Accept => TaskStateName::Accepted,
            Self::Reject => TaskStateName::Failed,
            Self::Delete => TaskStateName::Skipped,
        }
    }
}

/// History of a task: it was accepted, rejected or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Kind of event.
    pub kind: TombstoneKind,
    /// Id of the task.
    pub id: Id,
    /// Name of the task, if the record has one.
    pub name: Option<String>,
    /// Spec of the task, if the record has one.
    pub spec: Option<String>,
    /// Reason, if the record has one.
    pub reason: Option<String>,
    /// When it had been claimed done.
    pub done_at: Option<String>,
    /// Time of the event, if the record has one.
    pub at: Option<String>,
    /// The whole task as it was, when it left the plan without being accepted.
    pub task: Option<Box<Task>>,
    /// Line in the plan file, from 1.
    pub line: usize,
}

/// A spec that was found satisfied as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedSpec {
    /// Name of the spec.
    pub spec: String,
    /// Time of the acceptance, if the record has one.
    pub at: Option<String>,
}

/// A spec as a plan file describes it (implementation.json has all of it; others only names).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecEntry {
    /// Name by which tasks refer to the spec.
    pub id: String,
    /// Path of the spec's file.
    pub file: Option<String>,
    /// Name of the spec for people.
    pub name: Option<String>,
    /// Lower comes first; `None` comes last.
    pub priority: Option<i64>,
    /// Text about the spec for prompts.
    pub context: Option<String>,
    /// Criteria of the spec as a whole; a task without its own gets these.
    pub accept: Vec<String>,
    /// The status word in the file.
    pub status: Option<String>,
}

/// A gate that the plan file itself names (implementation.json's `qualityGates`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanGate {
    /// Short name of the gate.
    pub name: String,
    /// Shell command of the gate.
    pub command: String,
    /// Whether a failure fails the attempt; `None` leaves it to the strategy.
    pub required: Option<bool>,
}

/// The settings of plan.jsonl's config record: one layer of the configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanConfig {
    /// Longest time of one stage run.
    pub timeout_ms: Option<u64>,
    /// Maximum number of iterations of construct.
    pub max_iterations: Option<u64>,
    /// Share of the context that is worth a warning.
    pub context_warn: Option<f64>,
    /// Share of the context at which it is compacted.
    pub context_compact: Option<f64>,
    /// Share of the context at which a run is killed.
    pub context_kill: Option<f64>,
    /// Line in the plan file, from 1.
    pub line: usize,
}

/// Everything a plan file says, whatever its format.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The format it was read from.
    pub format: PlanFormat,
    /// For people: the project's or plan's name, where the file has one.
    pub title: Option<String>,
    /// Specs the file describes, in file order.
    pub specs: Vec<SpecEntry>,
    /// The spec being worked on; `None` puts every record in scope.
    pub current_spec: Option<String>,
    /// Live tasks in file order.
    pub tasks: Vec<Task>,
    /// Open issues in file order.
    pub issues: Vec<Issue>,
    /// History in file order (plan.jsonl only).
    pub tombstones: Vec<Tombstone>,
    /// Specs accepted as a whole (plan.jsonl only).
    pub accepted_specs: Vec<AcceptedSpec>,
    /// Gates that the plan file names.
    pub gates: Vec<PlanGate>,
    /// Settings that the plan file contains.
    pub config: PlanConfig,
    /// Types of records that mean nothing to ralph and are kept (plan.jsonl only).
    pub unknown_records: BTreeSet<String>,
    /// progress.md: `RALPH_DONE` stands alone on a line of the Status section.
    pub says_done: bool,
}

impl Plan {
    /// A plan with nothing in it.
    pub fn empty(format: PlanFormat) -> Self {
        Self {
            format,
            title: None,
            specs: Vec::new(),
            current_spec: None,
            tasks: Vec::new(),
            issues: Vec::new(),
            tombstones: Vec::new(),
            accepted_specs: Vec::new(),
            gates: Vec::new(),
            config: PlanConfig::default(),
            unknown_records: BTreeSet::new(),
            says_done: false,
        }
    }

    /// The live task with this id.
    pub fn task(&self, id: &Id) -> Option<&Task> {
        self.tasks.iter().find(|t| t.id == *id)
    }

    /// The open issue with this id.
    pub fn issue(&self, id: &Id) -> Option<&Issue> {
        self.issues.iter().find(|i| i.id == *id)
    }
}
