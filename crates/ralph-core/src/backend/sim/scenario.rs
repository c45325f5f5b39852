//! Values of a scenario, as read from its file.

use std::time::Duration;

use serde_json::{Map, Value};

use super::fault::Fault;
use super::line::SimVerdict;
use crate::backend::LimitStatus;
use crate::word_enum::word_enum;

/// Tokens that the context holds unless the scenario says otherwise.
pub(super) const WINDOW: u64 = 200_000;

/// Behaviour of the sim: its rules, its context size and its random faults.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// In order; the first that fits a prompt is followed.
    pub rules: Vec<ScenarioRule>,
    /// Context size in tokens.
    pub window: u64,
    pub chaos: ChaosSettings,
}

/// Faults that strike by chance: the same ones whenever seed, task and attempt are the same.
#[derive(Clone, Debug, PartialEq)]
pub struct ChaosSettings {
    /// Seed of the random faults. Without a seed, no fault strikes.
    pub seed: Option<u64>,
    /// The last attempt on a task that a fault may strike, so that the work ends some time.
    pub attempts: u64,
    /// Rate of each fault, as a part of 1. The sum is at most 1.
    pub rates: Vec<(Fault, f64)>,
}

/// Rule of a scenario: the prompts that it fits, and the steps to perform.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScenarioRule {
    /// Ids, one of which is the task's; none means any.
    pub task: Vec<String>,
    /// Texts that are all in the prompt.
    pub when: Vec<String>,
    /// Texts of which none is in the prompt.
    pub unless: Vec<String>,
    /// Attempts on the same task to which the rule applies.
    pub attempt: AttemptRange,
    pub steps: Vec<ScenarioStep>,
    /// Print this many lines, then no more, for ever.
    pub silent_after: Option<u64>,
    pub sigterm: SigtermReaction,
    /// Whether faults by chance may strike here.
    pub chance: ChanceFaults,
}

/// Attempts to which a rule applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttemptRange {
    #[default]
    Any,
    /// Only the attempt with this number, counted from 1.
    Exactly(u64),
    /// This one and all later ones.
    From(u64),
}

impl AttemptRange {
    /// Whether the attempt with this number, from 1, is meant.
    pub fn contains(self, attempt: u64) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(number) => attempt == number,
            Self::From(first) => attempt >= first,
        }
    }
}

/// Reaction of the sim to SIGTERM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SigtermReaction {
    /// SIGTERM ends the sim.
    #[default]
    Obeyed,
    /// Nothing; nor do SIGINT and SIGHUP.
    Ignored,
}

/// Whether faults by chance may strike a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChanceFaults {
    #[default]
    Faults,
    /// Faults do not strike the rule.
    Calm,
}

/// One thing that the sim does. `{task}` and `{attempt}` in texts are filled in.
#[derive(Clone, Debug, PartialEq)]
pub enum ScenarioStep {
    /// Print this text as a message of the answer.
    Say(String),
    /// Print this text as reasoning.
    Think(String),
    /// Change a file or run a command, as a tool call.
    Act(ToolAction),
    /// Begin to write a file and get only half way: no result is printed.
    Half {
        path: String,
        /// The whole text that was meant.
        text: String,
    },
    /// Print tokens of one message: input, cached, output.
    Usage(u64, u64, u64),
    /// Print the dollars spent so far in the run.
    Cost(f64),
    /// Print how full the context is, once for each percentage.
    Context(Vec<u64>),
    /// Print a compaction from one percentage to another.
    Compact(u64, u64),
    /// Print that a compaction failed for this reason.
    CompactionFails(String),
    /// Print that the model is asked again.
    Retry(String),
    /// Print a limit that resets in this time.
    Limit(LimitStatus, Option<Duration>),
    /// Print that a tool was denied.
    Denied(String, Option<String>),
    Sleep(Duration),
    /// Wait until this file exists.
    Hold(String),
    /// Wait forever.
    Hang,
    /// Finish with this text or this data.
    Answer(SimAnswer),
    /// Finish with a claim about the task.
    Claim(ClaimStep),
    /// Finish with an error.
    Fail(SimFailure),
    /// Exit with this code without reporting the end.
    Exit(i32),
    /// End the sim by this signal.
    Signal(SimSignal),
    /// Start a process and leave it behind.
    Spawn(SimSpawn),
    /// Print something that is no line of the protocol.
    Garbage(GarbageOutput),
    /// Print this line as it is.
    Raw(String),
    /// Print many lines, or lines for ever.
    Flood(Option<u64>),
    /// Print one line with this many bytes of text.
    Giant(u64),
    Stderr(String),
    Fault(Fault),
}

/// A tool at work. A path may hold bytes as `\xff`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolAction {
    /// Create or replace a file.
    Write {
        path: String,
        text: String,
        /// Permission bits of the file.
        mode: Option<u32>,
    },
    /// Add to the end of a file.
    Append { path: String, text: String },
    /// Replace the first place where a text stands.
    Patch {
        path: String,
        /// Text to replace.
        find: String,
        /// Replacement text.
        with: String,
    },
    /// Remove a file, or a directory and all in it.
    Delete { path: String },
    /// Run a command with `sh -c`.
    Shell { command: String },
}

/// Last answer of a run, as text or as data.
#[derive(Clone, Debug, PartialEq)]
pub enum SimAnswer {
    Text(String),
    /// Data: structured where a schema was given, JSON in the text otherwise.
    Data(Value),
}

word_enum! {
    /// Claim of the sim about its task.
    SimClaim {
        Done = "done",
        Blocked = "blocked",
        /// A part of it is done.
        NotComplete = "not_complete",
        None = "none",
    }
}

word_enum! {
    /// Form in which the sim writes a claim.
    ClaimForm {
        /// Structured where a schema was given, a marker otherwise.
        Auto = "auto",
        /// Marker in the text: `<TASK_DONE>` or `<TASK_BLOCKED>`.
        Marker = "marker",
        /// A handoff in a fence in the text.
        Json = "json",
        /// A handoff as the structured answer, schema or not.
        Structured = "structured",
    }
}

/// Claim about the task, together with its handoff.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimStep {
    pub claim: SimClaim,
    /// Why it is blocked or not complete.
    pub why: Option<String>,
    pub form: ClaimForm,
    /// Fields of the handoff that differ from what the sim would say.
    pub handoff: Map<String, Value>,
}

impl ClaimStep {
    /// Create a claim with default values for all other fields.
    pub fn plain(claim: SimClaim) -> Self {
        Self { claim, why: None, form: ClaimForm::Auto, handoff: Map::new() }
    }
}

/// A run that ends with an error of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct SimFailure {
    pub verdict: SimVerdict,
    /// Error message. `None` uses the usual message for the verdict.
    pub message: Option<String>,
    /// HTTP status of the model. `None` uses the usual status for the verdict.
    pub status: Option<u16>,
    /// When a limit is lifted, from now.
    pub resets_in: Option<Duration>,
}

impl SimFailure {
    /// Create a failure with default values for all other fields.
    pub fn plain(verdict: SimVerdict) -> Self {
        Self { verdict, message: None, status: None, resets_in: None }
    }
}

word_enum! {
    /// Signals that the sim sends to itself.
    SimSignal {
        Kill = "kill",
        Abort = "abort",
        Segv = "segv",
        Term = "term",
    }
}

word_enum! {
    /// Way in which a process escapes from the sim.
    EscapeMethod {
        /// The process is an ordinary child. The sim does not wait for it.
        Child = "child",
        /// The process ignores SIGHUP.
        Nohup = "nohup",
        /// The process has a session of its own.
        Setsid = "setsid",
        /// The process has a session of its own, and its parent is gone.
        DoubleFork = "double_fork",
    }
}

/// Destination of the output of a started process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnStdout {
    /// The output goes nowhere.
    Closed,
    /// The process keeps the sim's own pipes open.
    Held,
}

/// Process that the sim starts and leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimSpawn {
    pub escape: EscapeMethod,
    /// Command to run with `sh -c`.
    pub command: String,
    pub stdout: SpawnStdout,
}

word_enum! {
    /// Output that is not valid in the sim's protocol.
    GarbageOutput {
        /// A line that is not UTF-8.
        Utf8 = "utf8",
        /// A line with the first half of an event.
        HalfJson = "half_json",
        /// The first half of an event, without an end of line.
        Cut = "cut",
        /// A line of JSON that is no event.
        Json = "json",
        /// Zero bytes and control characters.
        Binary = "binary",
    }
}
