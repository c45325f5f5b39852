//! How a run ended, in one word and with what to do about it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why ralph itself ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It ran longer than it may.
    Timeout,
    /// It said nothing for too long, with no tool at work.
    Idle,
    /// Somebody asked for it.
    Cancelled,
    /// Its context is full and could not be compacted.
    ContextFull,
    /// The money is used up.
    Budget,
    /// It had finished and did not exit.
    Lingered,
}

/// How the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Ending {
    /// By itself, with this code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It never started: there is no such program.
    NotFound,
}

/// How the process ended, and whether that was our doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// What the operating system said.
    pub ending: Ending,
    /// What ralph did to it first.
    pub stopped: Option<Stop>,
}

impl Exit {
    /// It ended by itself with this code.
    pub fn code(code: i32) -> Self {
        Self { ending: Ending::Code(code), stopped: None }
    }
}

/// The judgement of one run of a backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It finished and says that all is well. Whether the work is good is the gates' question.
    #[default]
    Success,
    /// It took all the turns it had.
    MaxTurns,
    /// Its context was full.
    ContextLimit,
    /// The money for this run was used up.
    Budget,
    /// The account's limit is reached.
    RateLimit {
        /// When it is lifted, in seconds since 1970, where the program said so.
        resets_at: Option<i64>,
        /// What the program said.
        message: String,
    },
    /// It has no credentials, or they were refused.
    NotLoggedIn {
        /// What the program said.
        message: String,
    },
    /// The program is not there.
    NotInstalled,
    /// It was not allowed to do what it had to.
    PermissionDenied {
        /// The tools it was denied.
        tools: Vec<String>,
    },
    /// Its model could not be reached or refused, after the program's own retries.
    ApiError {
        /// The HTTP status, where known.
        status: Option<u16>,
        /// What the program said.
        message: String,
    },
    /// It crashed or gave up.
    Crash {
        /// How the process ended.
        ending: Ending,
        /// The last it said.
        message: String,
    },
    /// It ended without a word.
    NoOutput,
    /// What it said could not be understood.
    Malformed {
        /// Where that began.
        message: String,
    },
    /// It ran longer than it may and was ended.
    Timeout,
    /// It fell silent and was ended.
    Idle,
    /// Somebody asked for its end.
    Cancelled,
}

impl Outcome {
    /// Whether a usage limit ended the run.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::RateLimit { .. })
    }

    /// One stable word, for logs and JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::MaxTurns => "max_turns",
            Self::ContextLimit => "context_limit",
            Self::Budget => "budget",
            Self::RateLimit { .. } => "rate_limit",
            Self::NotLoggedIn { .. } => "not_logged_in",
            Self::NotInstalled => "not_installed",
            Self::PermissionDenied { .. } => "permission_denied",
            Self::ApiError { .. } => "api_error",
            Self::Crash { .. } => "crash",
            Self::NoOutput => "no_output",
            Self::Malformed { .. } => "malformed",
            Self::Timeout => "timeout",
            Self::Idle => "idle",
            Self::Cancelled => "cancelled",
        }
    }

    /// What is worth telling although it does not change the judgement: a program that said that
    /// it had succeeded, and then ended badly.
    pub fn note(&self, exit: &Exit) -> Option<String> {
        match (self, exit.stopped, exit.ending) {
            (Self::Success, None, Ending::Code(code)) if code != 0 => {
                Some(format!("it ended with code {code} after it had finished"))
            }
            (Self::Success, None, Ending::Signal(signal)) => {
                Some(format!("it was killed by signal {signal} after it had finished"))
            }
            _ => None,
        }
    }

    /// What was our own doing is told before what the process did because of it.
    pub fn of_stop(stop: Stop) -> Option<Self> {
        match stop {
            Stop::Timeout => Some(Self::Timeout),
            Stop::Idle => Some(Self::Idle),
            Stop::Cancelled => Some(Self::Cancelled),
            Stop::ContextFull => Some(Self::ContextLimit),
            Stop::Budget => Some(Self::Budget),
            Stop::Lingered => None,
        }
    }

    /// What a person can do about it. `backend` is the program's name.
    pub fn advice(&self, backend: &str) -> Option<String> {
        Some(match self {
            Self::Success => return None,
            Self::MaxTurns => "raise `max_turns`, or make the task smaller".into(),
            Self::ContextLimit => {
                "make the task smaller; `ralph construct` does that by itself".into()
            }
            Self::Budget => "raise `limits.max_cost`, or make the task smaller".into(),
            Self::RateLimit { .. } => {
                "wait for the reset, or set another backend in `fallback_backends`".into()
            }
            Self::NotLoggedIn { .. } => {
                format!("log in: start `{backend}` once by hand and follow what it says")
            }
            Self::NotInstalled => {
                format!(
                    "install {backend}, or say where it is: `[backends.{backend}] program = \"…\"`"
                )
            }
            Self::PermissionDenied { .. } => {
                "set `skip_permissions = true`, or allow these tools in the program's own settings"
                    .into()
            }
            Self::ApiError { .. } => "try again later; the program's own log says more".into(),
            Self::Crash { .. } | Self::NoOutput | Self::Malformed { .. } => {
                format!(
                    "look at the log of the run; `{backend} --version` shows whether it works at all"
                )
            }
            Self::Timeout => "raise `limits.stage_timeout`, or make the task smaller".into(),
            Self::Idle => {
                "raise `limits.idle_timeout` if the program may be silent that long".into()
            }
            Self::Cancelled => return None,
        })
    }
}

/// Whether a text begins with these words, in capitals or not.
fn begins(text: &str, words: &str) -> bool {
    text.get(..words.len()).is_some_and(|start| start.eq_ignore_ascii_case(words))
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => f.write_str("finished"),
            Self::MaxTurns => f.write_str("stopped: it used all its turns"),
            Self::ContextLimit => f.write_str("stopped: its context is full"),
            Self::Budget => f.write_str("stopped: the money for this run is used up"),
            Self::RateLimit { message, .. } => write!(f, "usage limit: {message}"),
            // Most programs say it themselves.
            Self::NotLoggedIn { message } if begins(message, "not logged in") => {
                f.write_str(message)
            }
            Self::NotLoggedIn { message } => write!(f, "not logged in: {message}"),
            Self::NotInstalled => f.write_str("not installed"),
            Self::PermissionDenied { tools } if tools.is_empty() => {
                f.write_str("not allowed to use a tool it asked for")
            }
            Self::PermissionDenied { tools } => {
                write!(f, "not allowed to use {}", tools.join(", "))
            }
            Self::ApiError { status: Some(status), message } => {
                write!(f, "its model answered {status}: {message}")
            }
            Self::ApiError { status: None, message } => write!(f, "its model failed: {message}"),
            Self::Crash { ending: Ending::Signal(signal), message } => {
                write!(f, "killed by signal {signal}: {message}")
            }
            Self::Crash { ending: Ending::Code(code), message } => {
                write!(f, "ended with code {code}: {message}")
            }
            Self::Crash { ending: Ending::NotFound, .. } => f.write_str("not installed"),
            Self::NoOutput => f.write_str("ended without a word"),
            Self::Malformed { message } => write!(f, "its output made no sense: {message}"),
            Self::Timeout => f.write_str("ended by ralph: it took too long"),
            Self::Idle => f.write_str("ended by ralph: it fell silent"),
            Self::Cancelled => f.write_str("ended by ralph, as asked"),
        }
    }
}
