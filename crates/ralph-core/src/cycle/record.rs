//! What the journal holds: one record a line, intents before something changes and facts after it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arrival_record::{
    ArrivalIntent, ArrivedCommits, CommitReplay, LedgerCommit, NotArrived, SettledCommits,
    TakenCommits, TakenOverFile, TipStart,
};
use super::candidate::{AttemptBase, Candidate};
use super::judge::{Failure, Proof};
use super::payload::{
    PassAnswer, PassFailure, Remark, ReviewRequest, SpecFailed, SpecLanded, TaskRemark,
    TreeRestored,
};
use super::run_record::{RunEnd, RunStart};
use super::staged::{ConstructStart, IterationStart, NotVerified, StageEnd, StageStart};
use crate::agent_role::AgentRole;
use crate::backend::Outcome;
use crate::construct::Summary;
use crate::control::OperatorCommand;
use crate::gate::GateVerdict;
use crate::memory::Trigger;
use crate::memory::roles::directive::{PostDirective, StuckDetection};
use crate::plan::{AmendmentOutcome, Task};
use crate::prompt::PromptSize;
use crate::view::Tally;

/// The number of the journal's form. It grows when an older ralph would misread what is written.
pub const JOURNAL_FORM: u32 = 3;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When, RFC 3339.
    pub at: String,
    /// What.
    #[serde(flatten)]
    pub record: Record,
}

/// Something that happened or is about to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A loop began.
    RunStarted(RunStart),
    /// A loop ended.
    RunEnded(RunEnd),
    /// Intent: a backend is about to run.
    AttemptStarted {
        /// The attempt.
        #[serde(flatten)]
        started: Started,
        /// The commit before it.
        base: AttemptBase,
    },
    /// The backend has ended and what it left behind is saved.
    BackendEnded {
        /// How it ended.
        #[serde(flatten)]
        end: BackendEnd,
        /// What it changed.
        candidate: Candidate,
    },
    /// A gate begins.
    GateStarted(GateStart),
    /// It has ended; one that was ended from outside has no such record.
    GateEnded(GateEnd),
    /// The gates were run.
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
    NotArrived(NotArrived),
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
    /// The wait is over.
    Waited,
    /// A command of the operator was carried out; its id is not carried out again.
    Command(OperatorCommand),
    /// A command that could not be read or carried out.
    CommandRefused(Remark),
    /// Intent: agents are about to be asked that may change nothing of the project.
    Consulting(Consulting),
    /// One of them begins.
    Asked(Asked),
    /// One of them has ended.
    Answered(Answered),
    /// All of them have, and the tree is as it was.
    Consulted {
        /// Which consultation.
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
    /// What the context agent advises after an attempt.
    Advised(PostDirective),
    /// The knowledge index is about to be brought up to date.
    IndexDue(Trigger),
    /// An update of the knowledge index was undone.
    IndexUndone {
        /// What was wrong with it, a line each.
        why: Vec<String>,
    },
    /// What was handed over so far is in the knowledge index.
    Indexed {
        /// The last iteration that is in it.
        iteration: u32,
    },
    /// A spec is being constructed.
    ConstructStarted(ConstructStart),
    /// An iteration of construct began.
    IterationStarted(IterationStart),
    /// Intent: a stage of construct is about to begin.
    StageStarted(StageStart),
    /// It has ended.
    StageEnded(StageEnd),
    /// No verifier gave a usable verdict: a person has to look.
    NotVerified(NotVerified),
    /// `ralph construct` has ended.
    ConstructEnded(Summary),
    /// A spec is one commit.
    SpecLanded(SpecLanded),
    /// A spec was given up.
    SpecFailed(SpecFailed),
    /// A step of `ralph agent`.
    AgentStep(Remark),
    /// The command of `[lane] setup` is about to run.
    LaneSetup(Remark),
    /// An agent changed the plan, or wanted to.
    Amended(PlanAmended),
    /// Sections of a prompt were left out to fit its budget.
    PromptTruncated(PromptSize),
    /// How full a context is, or what was done about it.
    ContextNoted(Remark),
    /// A pass has looked at an attempt.
    PassEnded(PassAnswer),
    /// A pass crashed, took too long or gave no usable answer.
    PassFailed(PassFailure),
    /// An agent changed a file of ralph's own, and it is as before.
    LedgerRestored(Remark),
    /// An agent that may only look changed files, and they are as before.
    TreeRestored(TreeRestored),
    /// What an earlier run left was brought to its end.
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
    /// The backend.
    pub backend: String,
    /// What the backend said.
    pub reason: String,
}

/// A landing that has happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandedAttempt {
    /// The attempt.
    pub attempt: String,
    /// The commit, unless nothing was committed.
    pub commit: Option<String>,
    /// What a person should know: commits of the backend's own, files that were left out …
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// How the tasks stand afterwards.
    #[serde(default)]
    pub tasks: Tally,
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

/// A roll-back that has happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardedAttempt {
    /// The attempt.
    pub attempt: String,
    /// The ref that keeps its work.
    pub salvage: Option<String>,
    /// What becomes of the task.
    #[serde(default)]
    pub then: AfterFailure,
    /// How the tasks stand afterwards.
    #[serde(default)]
    pub tasks: Tally,
}

/// What becomes of a task after an attempt that did not land.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AfterFailure {
    /// It is tried again, with so many attempts left.
    Retry(u32),
    /// It is broken down into smaller tasks.
    Decompose,
    /// It is given up, or blocked.
    GiveUp,
    /// It is as before: nothing was counted.
    #[default]
    Unchanged,
}

/// An agent changed the plan, or wanted to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanAmended {
    /// Which attempt.
    pub attempt: String,
    /// Its number.
    pub iteration: u32,
    /// The task that it worked on.
    #[serde(rename = "task_id")]
    pub task: String,
    /// Each change.
    #[serde(rename = "amendments")]
    pub outcomes: Vec<AmendmentOutcome>,
}

/// Which tree a gate looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "GateTree")]
pub enum On {
    /// What the backend left.
    #[default]
    Result,
    /// What it started from.
    Base,
    /// A commit that no attempt has left: replayed or merged.
    Alone,
}

/// A gate begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateStart {
    /// Which attempt.
    pub attempt: String,
    /// Its name.
    pub gate: String,
    /// What it looks at.
    pub on: On,
}

/// A gate has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateEnd {
    /// Which one.
    #[serde(flatten)]
    pub start: GateStart,
    /// Whether it was green.
    pub passed: bool,
    /// How long it took.
    #[serde(rename = "duration_ms")]
    pub took_ms: u64,
}

/// A backend is about to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Started {
    /// The attempt's id, unique for ever.
    pub attempt: String,
    /// The run it belongs to.
    pub run: String,
    /// Its number, which is never used again.
    pub iteration: u32,
    /// The task.
    #[serde(rename = "task_id")]
    pub task: String,
    /// The task's name, for people.
    pub name: String,
    /// Failed attempts on this task before.
    #[serde(rename = "retry")]
    pub retries: u32,
    /// Most retries of this task.
    #[serde(default)]
    pub max_retries: u32,
    /// The backend's name.
    pub backend: String,
    /// The model asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The stage log, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// How the tasks stand.
    #[serde(default)]
    pub tasks: Tally,
}

/// How the backend's run went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackendEnd {
    /// Which attempt.
    pub attempt: String,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Dollars; absent when nobody knows.
    #[serde(default, rename = "cost_usd", skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Tokens in and out, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<(u64, u64)>,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What it claims.
    pub claim: crate::claim::Claim,
    /// What a person has to decide, although the task is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// One line about what was done.
    #[serde(default)]
    pub summary: String,
    /// What the agent says that it tried and what came of it, on one line; empty when it said nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub story: String,
    /// How many paths it changed, the ledger left out.
    #[serde(rename = "changed_files")]
    pub changed: usize,
    /// Whether its answer could be read as a handoff (deletes the old failure context).
    #[serde(default)]
    pub handoff: Option<String>,
    /// How long the handoff is, in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub handoff_bytes: u64,
    /// How long it took, in milliseconds.
    #[serde(default, rename = "duration_ms")]
    pub took_ms: u64,
}

impl BackendEnd {
    /// What was tried: in the agent's own words, else the summary.
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
pub struct Consulting {
    /// The consultation's id, unique for ever.
    pub id: String,
    /// The run it belongs to.
    pub run: String,
    /// What they are asked for: index, prepare, verify …
    pub role: AgentRole,
    /// The iteration that it belongs to.
    pub iteration: u32,
}

/// One agent of a consultation begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// The consultation's id.
    pub id: String,
    /// What the agent is asked for.
    pub role: AgentRole,
    /// What it is asked about; empty when that is clear.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub item: String,
    /// The backend's name.
    pub backend: String,
    /// Its log, relative to the root.
    pub log: String,
}

/// One agent of a consultation has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// Which consultation.
    pub id: String,
    /// What it was asked for.
    pub role: AgentRole,
    /// What it was asked about; empty when that is clear.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub item: String,
    /// The backend's name.
    pub backend: String,
    /// The model asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The outcome of its run.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What came of it, in words: a verdict, why the answer is unusable, or the outcome.
    pub answer: String,
    /// Whether the answer can be used.
    pub usable: bool,
    /// Dollars; absent when nobody knows.
    #[serde(default, rename = "cost_usd", skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Tokens in and out, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<(u64, u64)>,
    /// Its log, relative to the root.
    pub log: String,
    /// How long it took, in milliseconds.
    #[serde(default, rename = "duration_ms")]
    pub took_ms: u64,
}

/// serde asks with a reference.
fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

/// How a landed attempt leaves its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Landing {
    /// Finished.
    Complete,
    /// A part of it is done; the task stays pending.
    Partial,
}

/// The work is about to be put where it belongs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LandIntent {
    /// Which attempt.
    pub attempt: String,
    /// How the task is left.
    pub landing: Landing,
    /// How far the result is proven.
    pub proof: Proof,
    /// One line for the commit.
    pub summary: String,
    /// What the agent says that it tried, for Recent Attempts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub story: String,
    /// The task as it was, to go back to when the commit is refused.
    pub task: Task,
}

/// The work is about to be rolled back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailIntent {
    /// Which attempt.
    pub attempt: String,
    /// Why.
    pub failure: Failure,
    /// The task's retries afterwards.
    pub retries: u32,
}
