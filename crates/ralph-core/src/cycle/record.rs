//! What the journal holds: one record a line, intents before something changes and facts after it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::judge::{Failure, Proof};
use super::staged::{ConstructStart, NotVerified, StageEnd, StageStart};
use crate::backend::Outcome;
use crate::config::{Config, Dollars};
use crate::gate::GateVerdict;
use crate::plan::{AmendmentOutcome, Task};

/// The number of the journal's form. It grows when an older ralph would misread what is written.
pub const JOURNAL_FORM: u32 = 1;

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
    RunEnded {
        /// Its end, as [`super::End::word`] says it.
        end: String,
        /// In words.
        message: String,
        /// Tasks that are left.
        remaining: usize,
    },
    /// Intent: a backend is about to run. What the tree was like is in it.
    AttemptStarted(Started),
    /// The backend has ended and what it left behind is saved.
    BackendEnded(BackendEnd),
    /// A gate begins.
    GateStarted(GateStart),
    /// It has ended; one that was ended from outside has no such record.
    GateEnded(GateEnd),
    /// The gates were run.
    Judged(GateVerdict),
    /// Intent: the work is about to be put where it belongs.
    LandIntent(LandIntent),
    /// The work is where it belongs.
    Landed {
        /// Which attempt.
        attempt: String,
        /// The commit, unless nothing was committed.
        commit: Option<String>,
    },
    /// Intent: the work is about to be rolled back.
    FailIntent(FailIntent),
    /// The tree is as it was before the attempt.
    RolledBack {
        /// Which attempt.
        attempt: String,
        /// The ref that keeps what was removed.
        salvage: Option<String>,
    },
    /// Nothing can be done before a point in time.
    Waiting {
        /// Which attempt met the limit.
        attempt: String,
        /// Until when, seconds since 1970.
        until: i64,
        /// Which backend.
        backend: String,
        /// What it said.
        reason: String,
    },
    /// The wait is over.
    Waited,
    /// A command of the operator was carried out; its id is not carried out again.
    Command {
        /// The id, unique for ever.
        id: String,
        /// What: pause, resume, skip-task …
        command: String,
        /// Its text or task.
        argument: Option<String>,
        /// Why nothing comes of it, when nothing does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ignored: Option<String>,
        /// What a person types to have it all the same, when a backend may be who asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<String>,
    },
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
    Researched {
        /// The task.
        task: String,
    },
    /// What the context agent advises after an attempt.
    Advised {
        /// Its directive.
        advice: Value,
    },
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
    IterationStarted {
        /// Its number.
        n: u32,
    },
    /// Intent: a stage of construct is about to begin.
    StageStarted(StageStart),
    /// It has ended.
    StageEnded(StageEnd),
    /// No verifier gave a usable verdict: a person has to look.
    NotVerified(NotVerified),
    /// An agent changed the plan, or wanted to.
    Amended(PlanAmended),
    /// Something worth telling that decides nothing.
    Noted {
        /// One of the words of the event stream.
        event: String,
        /// In words.
        message: String,
        /// More of it.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        details: Value,
    },
}

/// A loop began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
    /// The run's id; refs and processes carry it.
    pub run: String,
    /// build, construct or agent.
    pub command: String,
    /// The plan file, relative to the root.
    pub plan: String,
    /// The memory mode.
    pub mode: String,
    /// Iterations of earlier runs that count towards the limit (`--resume`).
    #[serde(default)]
    pub counted: u32,
    /// Dollars that were spent before and count towards the same limit.
    #[serde(default)]
    pub spent: f64,
    /// The form of the records that follow, [`JOURNAL_FORM`] of whoever writes them.
    #[serde(default)]
    pub form: u32,
    /// What it may use, options of the command line included. Older runs did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Work that no gate proves may be the end of it.
    #[serde(default)]
    pub allow_unproven: bool,
}

/// What a run may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// Iterations.
    pub max_iterations: u32,
    /// Seconds of one backend run.
    pub timeout_s: u64,
}

impl Budget {
    /// Of `ralph build`, as configured.
    pub fn of_build(config: &Config) -> Self {
        Self {
            max_cost: config.limits.max_cost.map(Dollars::get),
            max_iterations: config.build.max_iterations.get(),
            timeout_s: config.limits.build_timeout().as_secs(),
        }
    }

    /// Of `ralph construct` and `ralph agent`, as configured.
    pub fn of_construct(config: &Config) -> Self {
        Self {
            max_iterations: config.construct.max_iterations.get(),
            timeout_s: config.limits.construct_timeout().as_secs(),
            ..Self::of_build(config)
        }
    }
}

/// An agent changed the plan, or wanted to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanAmended {
    /// Which attempt.
    pub attempt: String,
    /// Its number.
    pub iteration: u32,
    /// The task that it worked on.
    pub task: String,
    /// Each change.
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
    /// The commit, without the user's changes.
    Alone,
}

/// A gate begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateStart {
    /// Which attempt.
    pub attempt: String,
    /// Its name.
    pub gate: String,
    /// What it looks at.
    pub on: On,
}

/// A gate has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateEnd {
    /// Which one.
    #[serde(flatten)]
    pub start: GateStart,
    /// Whether it was green.
    pub passed: bool,
    /// How long it took.
    pub took_ms: u64,
}

/// A backend is about to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The attempt's id, unique for ever.
    pub attempt: String,
    /// The run it belongs to.
    pub run: String,
    /// Its number, which is never used again.
    pub iteration: u32,
    /// The task.
    pub task: String,
    /// The task's name, for people.
    pub name: String,
    /// Failed attempts on this task before.
    pub retries: u32,
    /// The backend's name.
    pub backend: String,
    /// The model asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the tree was like; only the git room reads it.
    pub base: Base,
    /// The stage log, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// A value that the core keeps for the host without looking into it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Base(pub Value);

/// How the backend's run went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackendEnd {
    /// Which attempt.
    pub attempt: String,
    /// The outcome's word.
    pub outcome: String,
    /// The outcome in words.
    pub message: String,
    /// The outcome itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Outcome>,
    /// Dollars; absent when nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Tokens in and out, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<(u64, u64)>,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What it claims.
    pub claimed: super::judge::Claimed,
    /// What a person has to decide, although the task is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// One line about what was done.
    #[serde(default)]
    pub summary: String,
    /// What the agent says that it tried and what came of it, on one line; empty when it said nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub story: String,
    /// What it changed; only the git room reads it.
    pub changes: Base,
    /// How many paths it changed, the ledger left out.
    pub changed: usize,
    /// Whether its answer could be read as a handoff (deletes the old failure context).
    #[serde(default)]
    pub handoff: Option<String>,
    /// How long the handoff is, in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub handoff_bytes: u64,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub took_ms: u64,
}

impl BackendEnd {
    /// What was tried: in the agent's own words, else the summary.
    pub fn account(&self) -> &str {
        if self.story.is_empty() { &self.summary } else { &self.story }
    }

    /// Whether the agent said something that could be read: a claim or a handoff.
    pub fn has_answer(&self) -> bool {
        self.handoff.is_some() || self.claimed != super::judge::Claimed::Nothing
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
    pub role: String,
    /// The iteration that it belongs to.
    pub iteration: u32,
    /// What the tree was like; only the git room reads it.
    pub base: Base,
}

/// One agent of a consultation begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The consultation's id.
    pub id: String,
    /// What the agent is asked for.
    pub role: String,
    /// What it is asked about; empty when that is clear.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub item: String,
    /// The backend's name.
    pub backend: String,
    /// Its log, relative to the root.
    pub log: String,
}

/// One agent of a consultation has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// Which consultation.
    pub id: String,
    /// What it was asked for.
    pub role: String,
    /// What it was asked about; empty when that is clear.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub item: String,
    /// The backend's name.
    pub backend: String,
    /// The model asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The outcome's word; `unusable` when it finished and its answer cannot be used.
    pub outcome: String,
    /// What came of it, in words: a verdict, why the answer is unusable, or the outcome.
    pub message: String,
    /// Dollars; absent when nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Tokens in and out, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<(u64, u64)>,
    /// Its log, relative to the root.
    pub log: String,
    /// How long it took, in milliseconds.
    #[serde(default)]
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
    /// What the retry's prompt says about it.
    #[serde(default)]
    pub context: String,
    /// The task's retries afterwards.
    pub retries: u32,
}
