//! Records of the journal: one record a line, intents before a change and facts after it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arrival_record::{
    ArrivalIntent, ArrivedCommits, CommitReplay, LedgerCommit, SettledCommits, TakenCommits,
    TakenOverFile, TipStart, UnarrivedCommits,
};
use super::candidate::{AttemptBase, Candidate};
use super::judge::{AttemptFailure, Proof};
use super::payload::{
    PassAnswer, PassFailure, Remark, RestoredTree, ReviewRequest, SpecFailure, SpecLanding,
    TaskRemark,
};
use super::run_record::{RunEnd, RunStart};
use super::staged::{ConstructStart, IterationStart, StageEnd, StageStart, UnverifiedItem};
use crate::agent_role::AgentRole;
use crate::backend::BackendOutcome;
use crate::construct::ConstructSummary;
use crate::control::OperatorCommand;
use crate::gate::GateVerdict;
use crate::memory::IndexTrigger;
use crate::memory::roles::directive::{PostDirective, StuckDetection};
use crate::plan::{AmendmentOutcome, Task};
use crate::prompt::PromptSize;
use crate::view::TaskTally;

/// The number of the journal's form. It grows when an older ralph would misread what is written.
pub const JOURNAL_FORM: u32 = 3;

/// One line of the journal: a record and its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Time of the record, RFC 3339.
    pub at: String,
    /// Record of a fact or an intent.
    #[serde(flatten)]
    pub record: JournalRecord,
}

/// Something that happened or is about to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum JournalRecord {
    /// A loop began.
    RunStarted(RunStart),
    /// A loop ended.
    RunEnded(RunEnd),
    /// Intent: a backend is about to run.
    AttemptStarted {
        /// Attempt that begins.
        #[serde(flatten)]
        started: AttemptStart,
        /// Commit that the attempt starts from.
        base: AttemptBase,
    },
    /// The backend has ended and what it left behind is saved.
    BackendEnded {
        /// End of the backend's run.
        #[serde(flatten)]
        end: BackendEnd,
        /// Changes made by the backend.
        candidate: Candidate,
    },
    /// A gate begins.
    GateStarted(GateStart),
    /// A gate has ended. A gate that was ended from outside has no such record.
    GateEnded(GateEnd),
    /// The gates have run and given a verdict.
    Judged(GateVerdict),
    /// Intent: the work is about to be put where it belongs.
    LandIntent(LandIntent),
    /// The work is where it belongs.
    Landed(LandedAttempt),
    /// Intent: the work is about to be rolled back.
    FailIntent(FailIntent),
    /// The tree is as it was before the attempt.
    RolledBack(DiscardedAttempt),
    /// The tip of a run starts at a commit.
    TipStarted(TipStart),
    /// Ledger files were committed on the tip, without an attempt.
    LedgerCommitted(LedgerCommit),
    /// Intent: landed commits are about to arrive in home.
    ArrivalIntent(ArrivalIntent),
    /// Landed commits are on the branch.
    Arrived(ArrivedCommits),
    /// Landed commits did not arrive.
    NotArrived(UnarrivedCommits),
    /// Intent: the tip is about to move to replayed commits.
    ReplayIntent(CommitReplay),
    /// The waiting commits are on top of the person's commits.
    Replayed(CommitReplay),
    /// The branch had the waiting commits already.
    Taken(TakenCommits),
    /// A person decided about waiting commits.
    Settled(SettledCommits),
    /// Nothing can be done before a point in time.
    Waiting(UsageWait),
    /// The wait for a usage limit is over.
    Waited,
    /// A command of the operator was carried out; its id is not carried out again.
    Command(OperatorCommand),
    /// A command that could not be read or carried out.
    CommandRefused(Remark),
    /// Intent: agents are about to be asked that may change nothing of the project.
    Consulting(ConsultationStart),
    /// An agent of a consultation begins.
    Asked(ConsultedAgentStart),
    /// An agent of a consultation has ended.
    Answered(ConsultedAgentEnd),
    /// All of them have, and the tree is as it was.
    Consulted {
        /// Id of the consultation.
        id: String,
    },
    /// The context agent wants to find out more before a task is tried.
    Researched(TaskRemark),
    /// The context agent left a task out.
    TaskSkipped(TaskRemark),
    /// The context agent asks for a person before a task is tried.
    ReviewRequested(ReviewRequest),
    /// The context agent says that the work goes round in circles.
    StuckDetected(StuckDetection),
    /// The context agent gave advice after an attempt.
    Advised(PostDirective),
    /// The knowledge index is about to be brought up to date.
    IndexDue(IndexTrigger),
    /// An update of the knowledge index was undone.
    IndexUndone {
        /// Problems of the update, one line each.
        why: Vec<String>,
    },
    /// The knowledge index contains all handoffs so far.
    Indexed {
        /// The last iteration that is in it.
        iteration: u32,
    },
    /// Construct began to work on a spec.
    ConstructStarted(ConstructStart),
    /// An iteration of construct began.
    IterationStarted(IterationStart),
    /// Intent: a stage of construct is about to begin.
    StageStarted(StageStart),
    /// A stage of construct has ended.
    StageEnded(StageEnd),
    /// No verifier gave a usable verdict: a person has to look.
    NotVerified(UnverifiedItem),
    /// `ralph construct` has ended.
    ConstructEnded(ConstructSummary),
    /// The work of a spec became one commit.
    SpecLanded(SpecLanding),
    /// ralph gave up on a spec.
    SpecFailed(SpecFailure),
    /// `ralph agent` reports a step.
    AgentStep(Remark),
    /// The command of `[lane] setup` is about to run.
    LaneSetup(Remark),
    /// An agent changed the plan, or wanted to.
    Amended(AmendmentRecord),
    /// Sections of a prompt were left out to fit its budget.
    PromptTruncated(PromptSize),
    /// A context is filling up, or ralph did something about it.
    ContextNoted(Remark),
    /// A pass has looked at an attempt.
    PassEnded(PassAnswer),
    /// A pass crashed, took too long or gave no usable answer.
    PassFailed(PassFailure),
    /// An agent changed a file of ralph's own, and it is as before.
    LedgerRestored(Remark),
    /// An agent that may only look changed files, and they are as before.
    TreeRestored(RestoredTree),
    /// Work that an earlier run had left unfinished was completed.
    Recovered(Remark),
    /// Something that a person should know and that stops nothing.
    Warned(Remark),
}

/// A wait for a usage limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageWait {
    /// The attempt that met the limit; empty when an agent that was asked something did.
    pub attempt: String,
    /// When it is lifted, seconds since 1970.
    pub until: i64,
    /// Name of the backend.
    pub backend: String,
    /// Message of the backend.
    pub reason: String,
}

/// Landing of an attempt that has happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandedAttempt {
    /// Id of the attempt.
    pub attempt: String,
    /// The commit, unless nothing was committed.
    pub commit: Option<String>,
    /// Remarks for people, for example about the backend's own commits or files that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Number of tasks by state, after the rollback.
    #[serde(default)]
    pub tasks: TaskTally,
    /// The commit is on the ref of its spec, not on the tip.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_spec: bool,
    /// The paths of the repository that the commit touches; an arrival reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Files of home whose bytes the commit contains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_over: Vec<TakenOverFile>,
}

/// Rollback of an attempt that has happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardedAttempt {
    /// Id of the attempt.
    pub attempt: String,
    /// The ref that keeps its work.
    pub salvage: Option<String>,
    /// Next state of the task.
    #[serde(default)]
    pub then: RetryDecision,
    /// Number of tasks by state, after the rollback.
    #[serde(default)]
    pub tasks: TaskTally,
}

/// Next state of a task after an attempt that did not land.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryDecision {
    /// The task is tried again, with this many attempts left.
    Retry(u32),
    /// The task is broken down into smaller tasks.
    Decompose,
    /// ralph gives up on the task, or the task is blocked.
    GiveUp,
    /// The task is as before, because nothing was counted.
    #[default]
    Unchanged,
}

/// An agent changed the plan, or wanted to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmendmentRecord {
    /// Id of the attempt.
    pub attempt: String,
    /// Number of the attempt.
    pub iteration: u32,
    /// The task that it worked on.
    #[serde(rename = "task_id")]
    pub task: String,
    /// Outcome of each change.
    #[serde(rename = "amendments")]
    pub outcomes: Vec<AmendmentOutcome>,
}

/// Tree that a gate runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "GateTree")]
pub enum GateTree {
    /// The tree that the backend left.
    #[default]
    Result,
    /// The tree that the attempt started from.
    Base,
    /// A commit that no attempt has left: replayed or merged.
    Alone,
}

/// Start of a run of one gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateStart {
    /// Id of the attempt.
    pub attempt: String,
    /// Name of the gate.
    pub gate: String,
    /// Tree that the gate runs on.
    pub on: GateTree,
}

/// End of a run of one gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateEnd {
    /// Start of the same gate run.
    #[serde(flatten)]
    pub start: GateStart,
    /// True when the gate was green.
    pub passed: bool,
    /// Duration of the gate run in milliseconds.
    #[serde(rename = "duration_ms")]
    pub took_ms: u64,
}

/// A backend is about to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptStart {
    /// The attempt's id, unique for ever.
    pub attempt: String,
    /// Id of the run that the consultation belongs to.
    pub run: String,
    /// Number of the attempt. It is used again only after a usage limit.
    pub iteration: u32,
    /// Id of the task.
    #[serde(rename = "task_id")]
    pub task: String,
    /// Name of the task, for people.
    pub name: String,
    /// Failed attempts on this task before.
    #[serde(rename = "retry")]
    pub retries: u32,
    /// Maximum number of retries of this task.
    #[serde(default)]
    pub max_retries: u32,
    /// Name of the backend.
    pub backend: String,
    /// Model that was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The stage log, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Number of tasks by state.
    #[serde(default)]
    pub tasks: TaskTally,
}

/// End of the backend's run in an attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackendEnd {
    /// Id of the attempt.
    pub attempt: String,
    /// Outcome of the run.
    #[serde(flatten)]
    pub outcome: BackendOutcome,
    /// Cost in dollars. Absent when it is not known.
    #[serde(default, rename = "cost_usd", skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Tokens in and out, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<(u64, u64)>,
    /// Id of the backend's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Claim of the agent about its task.
    pub claim: crate::claim::Claim,
    /// Decision that a person has to make, although the task is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// One line about what was done.
    #[serde(default)]
    pub summary: String,
    /// Account of the agent: its approach and the result, on one line. Empty when there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub story: String,
    /// Number of paths that the backend changed, without the ledger.
    #[serde(rename = "changed_files")]
    pub changed: usize,
    /// Whether its answer could be read as a handoff (deletes the old failure context).
    #[serde(default)]
    pub handoff: Option<String>,
    /// Size of the handoff in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub handoff_bytes: u64,
    /// Duration of the run in milliseconds.
    #[serde(default, rename = "duration_ms")]
    pub took_ms: u64,
}

impl BackendEnd {
    /// Return the account of the agent, or the summary if there is none.
    pub fn account(&self) -> &str {
        if self.story.is_empty() { &self.summary } else { &self.story }
    }

    /// Whether the agent said something that could be read: a claim or a handoff.
    pub fn has_answer(&self) -> bool {
        self.handoff.is_some() || self.claim != crate::claim::Claim::None
    }
}

/// Agents are about to be asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConsultationStart {
    /// The consultation's id, unique for ever.
    pub id: String,
    /// Id of the run that the consultation belongs to.
    pub run: String,
    /// What they are asked for: index, prepare, verify …
    pub role: AgentRole,
    /// The iteration that it belongs to.
    pub iteration: u32,
}

/// One agent of a consultation begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConsultedAgentStart {
    /// Id of the consultation.
    pub id: String,
    /// What the agent is asked for.
    pub role: AgentRole,
    /// Subject of the question. Empty when it is clear.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub item: String,
    /// Name of the backend.
    pub backend: String,
    /// Log of the agent, relative to the root.
    pub log: String,
}

/// One agent of a consultation has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConsultedAgentEnd {
    /// Id of the consultation.
    pub id: String,
    /// What it was asked for.
    pub role: AgentRole,
    /// Subject of the question. Empty when it is clear.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub item: String,
    /// Name of the backend.
    pub backend: String,
    /// Model that was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Outcome of the agent's run.
    #[serde(flatten)]
    pub outcome: BackendOutcome,
    /// Result in words: a verdict, the reason why the answer is unusable, or the outcome.
    pub answer: String,
    /// Whether the answer can be used.
    pub usable: bool,
    /// Cost in dollars. Absent when it is not known.
    #[serde(default, rename = "cost_usd", skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Tokens in and out, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<(u64, u64)>,
    /// Log of the agent, relative to the root.
    pub log: String,
    /// Duration of the run in milliseconds.
    #[serde(default, rename = "duration_ms")]
    pub took_ms: u64,
}

/// Check whether a number is zero. serde passes it by reference.
fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

/// State in which a landed attempt leaves its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LandingExtent {
    /// The task is finished.
    Complete,
    /// A part of it is done; the task stays pending.
    Partial,
}

/// The work is about to be put where it belongs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LandIntent {
    /// Id of the attempt.
    pub attempt: String,
    /// State in which the task is left.
    pub landing: LandingExtent,
    /// Degree to which the result is proven.
    pub proof: Proof,
    /// Summary in one line, for the commit.
    pub summary: String,
    /// Account of the agent for Recent Attempts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub story: String,
    /// The task as it was, to go back to when the commit is refused.
    pub task: Task,
}

/// The work is about to be rolled back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailIntent {
    /// Id of the attempt.
    pub attempt: String,
    /// Reason for the failure.
    pub failure: AttemptFailure,
    /// Retries of the task after this attempt.
    pub retries: u32,
}
