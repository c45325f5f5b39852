//! What a scenario says, as values.

use std::time::Duration;

use serde_json::{Map, Value};

use super::fault::Fault;
use super::line::Verdict;
use crate::backend::LimitStatus;
use crate::word_enum::word_enum;

/// Tokens that the context holds unless the scenario says otherwise.
pub(super) const WINDOW: u64 = 200_000;

/// How the sim behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// In order; the first that fits a prompt is followed.
    pub rules: Vec<Rule>,
    /// Tokens that the context holds.
    pub window: u64,
    /// Faults by chance.
    pub chaos: Chaos,
}

/// Faults that strike by chance: the same ones whenever seed, task and attempt are the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Chaos {
    /// Where chance comes from; without one nothing strikes.
    pub seed: Option<u64>,
    /// The last attempt on a task that a fault may strike, so that the work ends some time.
    pub attempts: u64,
    /// How often each fault strikes: parts of 1, which together are at most 1.
    pub rates: Vec<(Fault, f64)>,
}

/// What the sim does for the prompts that fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// Ids, one of which is the task's; none means any.
    pub task: Vec<String>,
    /// Texts that are all in the prompt.
    pub when: Vec<String>,
    /// Texts of which none is in the prompt.
    pub unless: Vec<String>,
    /// Which attempts on the same task.
    pub attempt: Attempts,
    /// What happens.
    pub steps: Vec<Step>,
    /// Print this many lines, then no more, for ever.
    pub silent_after: Option<u64>,
    /// What SIGTERM does.
    pub sigterm: Sigterm,
    /// Whether faults by chance may strike here.
    pub chance: Chance,
}

/// Which attempts a rule is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attempts {
    /// All of them.
    #[default]
    Any,
    /// One of them.
    Exactly(u64),
    /// This one and all later ones.
    From(u64),
}

impl Attempts {
    /// Whether the attempt with this number, from 1, is meant.
    pub fn contains(self, attempt: u64) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(number) => attempt == number,
            Self::From(first) => attempt >= first,
        }
    }
}

/// What SIGTERM does to the sim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sigterm {
    /// It ends it.
    #[default]
    Obeyed,
    /// Nothing; nor do SIGINT and SIGHUP.
    Ignored,
}

/// Whether faults by chance may strike a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Chance {
    /// They may.
    #[default]
    Faults,
    /// They may not.
    Calm,
}

/// One thing that the sim does. `{task}` and `{attempt}` in texts are filled in.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Print a message.
    Say(String),
    /// Print a thought.
    Think(String),
    /// Change a file or run a command, as a tool call.
    Act(Act),
    /// Begin to write a file and get only half way: no result is printed.
    Half {
        /// Which file.
        path: String,
        /// The whole text that was meant.
        text: String,
    },
    /// Print tokens of one message: input, cached, output.
    Usage(u64, u64, u64),
    /// Print the dollars so far.
    Cost(f64),
    /// Print how full the context is, once for each percentage.
    Context(Vec<u64>),
    /// Print a compaction from one percentage to another.
    Compact(u64, u64),
    /// Print that a compaction failed.
    CompactionFails(String),
    /// Print that the model is asked again.
    Retry(String),
    /// Print a limit that resets in this time.
    Limit(LimitStatus, Option<Duration>),
    /// Print that a tool was denied.
    Denied(String, Option<String>),
    /// Wait.
    Sleep(Duration),
    /// Wait until this file exists.
    Hold(String),
    /// Wait for ever.
    Hang,
    /// Finish with this text or this data.
    Answer(Answer),
    /// Finish with a claim about the task.
    Claim(ClaimStep),
    /// Finish with an error.
    Fail(Failure),
    /// End without finishing.
    Exit(i32),
    /// End by a signal.
    Signal(Signal),
    /// Start a process that stays.
    Spawn(Spawn),
    /// Print something that is no line of the protocol.
    Garbage(Garbage),
    /// Print this line as it is.
    Raw(String),
    /// Print many lines, or lines for ever.
    Flood(Option<u64>),
    /// Print one line with this many bytes of text.
    Giant(u64),
    /// Print to standard error.
    Stderr(String),
    /// A fault by its name.
    Fault(Fault),
}

/// A tool at work. A path may hold bytes as `\xff`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Make or replace a file.
    Write {
        /// Which.
        path: String,
        /// Its new text.
        text: String,
        /// Its permission bits.
        mode: Option<u32>,
    },
    /// Add to the end of a file.
    Append {
        /// Which.
        path: String,
        /// What comes.
        text: String,
    },
    /// Replace the first place where a text stands.
    Patch {
        /// Which file.
        path: String,
        /// What goes.
        find: String,
        /// What comes.
        with: String,
    },
    /// Remove a file, or a directory and all in it.
    Delete {
        /// Which.
        path: String,
    },
    /// Run a command with `sh -c`.
    Shell {
        /// What.
        command: String,
    },
}

/// A last answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Words.
    Text(String),
    /// Data: structured where a schema was given, JSON in the text otherwise.
    Data(Value),
}

word_enum! {
    /// What is claimed about the task.
    Claim {
        /// It is done.
        Done = "done",
        /// It cannot be done.
        Blocked = "blocked",
        /// A part of it is done.
        NotComplete = "not_complete",
        /// Nothing is claimed.
        None = "none",
    }
}

word_enum! {
    /// How a claim is written.
    Form {
        /// Structured where a schema was given, a marker otherwise.
        Auto = "auto",
        /// `<TASK_DONE>` in the text.
        Marker = "marker",
        /// A handoff in a fence in the text.
        Json = "json",
        /// A handoff as the structured answer, schema or not.
        Structured = "structured",
    }
}

/// A claim with its handoff.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimStep {
    /// What.
    pub claim: Claim,
    /// Why it is blocked or not complete.
    pub why: Option<String>,
    /// How it is written.
    pub form: Form,
    /// Fields of the handoff that differ from what the sim would say.
    pub handoff: Map<String, Value>,
}

impl ClaimStep {
    /// A claim without anything special.
    pub fn plain(claim: Claim) -> Self {
        Self { claim, why: None, form: Form::Auto, handoff: Map::new() }
    }
}

/// A run that ends with an error of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Which.
    pub verdict: Verdict,
    /// What it says.
    pub message: Option<String>,
    /// HTTP status of the model.
    pub status: Option<u16>,
    /// When a limit is lifted, from now.
    pub resets_in: Option<Duration>,
}

impl Failure {
    /// A failure without anything special.
    pub fn plain(verdict: Verdict) -> Self {
        Self { verdict, message: None, status: None, resets_in: None }
    }
}

word_enum! {
    /// Signals that the sim sends to itself.
    Signal {
        /// SIGKILL.
        Kill = "kill",
        /// SIGABRT.
        Abort = "abort",
        /// SIGSEGV.
        Segv = "segv",
        /// SIGTERM.
        Term = "term",
    }
}

word_enum! {
    /// How a process gets away from the sim.
    Escape {
        /// It does not: an ordinary child that is not waited for.
        Child = "child",
        /// It ignores SIGHUP.
        Nohup = "nohup",
        /// It has a session of its own.
        Setsid = "setsid",
        /// It has a session of its own, and its parent is gone.
        DoubleFork = "double_fork",
    }
}

/// Who gets what a started process prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdout {
    /// Nobody.
    Closed,
    /// It keeps the sim's own pipes open.
    Held,
}

/// A process that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spawn {
    /// How it gets away.
    pub escape: Escape,
    /// What it runs with `sh -c`.
    pub command: String,
    /// Where its output goes.
    pub stdout: Stdout,
}

word_enum! {
    /// Output that makes no sense.
    Garbage {
        /// A line that is not UTF-8.
        Utf8 = "utf8",
        /// A line with the first half of an event.
        HalfJson = "half_json",
        /// The first half of an event, without an end of line.
        Cut = "cut",
        /// JSON, but no event.
        Json = "json",
        /// Zero bytes and control characters.
        Binary = "binary",
    }
}
