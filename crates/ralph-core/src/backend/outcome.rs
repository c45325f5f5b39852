//! Outcome of a run: one word for machines, a sentence and advice for people.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why ralph itself ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// The run exceeded its time limit.
    Timeout,
    /// The program was silent for too long while no tool call was open.
    Idle,
    /// The end of the run was requested.
    Cancelled,
    /// The context is full and could not be compacted.
    ContextFull,
    /// The budget is used up.
    Budget,
    /// The program had finished but did not exit.
    Lingered,
}

/// End of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ProcessEnding {
    /// The process exited with this code.
    Code(i32),
    /// This signal ended the process.
    Signal(i32),
    /// The process never started because the program does not exist.
    NotFound,
}

/// End of a process, with the reason if ralph ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendExit {
    /// End as reported by the operating system.
    pub ending: ProcessEnding,
    /// Reason why ralph ended the process. `None` if it ended by itself.
    pub stopped: Option<StopCause>,
}

impl BackendExit {
    /// Create the exit of a process that ended by itself with this code.
    pub fn code(code: i32) -> Self {
        Self { ending: ProcessEnding::Code(code), stopped: None }
    }
}

/// The judgement of one run of a backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum BackendOutcome {
    /// The program finished and reported success. The gates decide whether the work is good.
    #[default]
    Success,
    /// The program used all its turns.
    MaxTurns,
    /// The context was full.
    ContextLimit,
    /// The money for this run was used up.
    Budget,
    /// The account reached a usage limit.
    RateLimit {
        /// When it is lifted, in seconds since 1970, where the program said so.
        resets_at: Option<i64>,
        /// Message of the program.
        message: String,
    },
    /// Credentials are missing or were refused.
    NotLoggedIn {
        /// Message of the program.
        message: String,
    },
    /// The program is not installed.
    NotInstalled,
    /// The program was not allowed to use a tool that it needed.
    PermissionDenied {
        /// Names of the denied tools. Empty if they are not known.
        tools: Vec<String>,
    },
    /// The model refused or could not be reached, after the program's own retries.
    ApiError {
        /// HTTP status, if known.
        status: Option<u16>,
        /// Message of the program.
        message: String,
    },
    /// The program crashed or gave up.
    Crash {
        /// End of the process.
        ending: ProcessEnding,
        /// Last message of the program, or a sentence that says that there is none.
        message: String,
    },
    /// The program ended without any output.
    NoOutput,
    /// The output could not be understood.
    Malformed {
        /// First output that was not understood, or the problem in words.
        message: String,
    },
    /// ralph ended the run because it exceeded its time limit.
    Timeout,
    /// ralph ended the run because it was silent for too long.
    Idle,
    /// ralph ended the run on request.
    Cancelled,
}

impl BackendOutcome {
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

    /// Return a remark about a program that reported success and then ended badly.
    /// The remark does not change the outcome.
    pub fn note(&self, exit: &BackendExit) -> Option<String> {
        match (self, exit.stopped, exit.ending) {
            (Self::Success, None, ProcessEnding::Code(code)) if code != 0 => {
                Some(format!("it ended with code {code} after it had finished"))
            }
            (Self::Success, None, ProcessEnding::Signal(signal)) => {
                Some(format!("it was killed by signal {signal} after it had finished"))
            }
            _ => None,
        }
    }

    /// Return the outcome of a run that ralph ended.
    /// For a program that had finished and only lingered, return `None`, because its output decides.
    pub fn of_stop(stop: StopCause) -> Option<Self> {
        match stop {
            StopCause::Timeout => Some(Self::Timeout),
            StopCause::Idle => Some(Self::Idle),
            StopCause::Cancelled => Some(Self::Cancelled),
            StopCause::ContextFull => Some(Self::ContextLimit),
            StopCause::Budget => Some(Self::Budget),
            StopCause::Lingered => None,
        }
    }

    /// Return advice for the user. `backend` is the name of the program.
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

impl fmt::Display for BackendOutcome {
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
            Self::Crash { ending: ProcessEnding::Signal(signal), message } => {
                write!(f, "killed by signal {signal}: {message}")
            }
            Self::Crash { ending: ProcessEnding::Code(code), message } => {
                write!(f, "ended with code {code}: {message}")
            }
            Self::Crash { ending: ProcessEnding::NotFound, .. } => f.write_str("not installed"),
            Self::NoOutput => f.write_str("ended without a word"),
            Self::Malformed { message } => write!(f, "its output made no sense: {message}"),
            Self::Timeout => f.write_str("ended by ralph: it took too long"),
            Self::Idle => f.write_str("ended by ralph: it fell silent"),
            Self::Cancelled => f.write_str("ended by ralph, as asked"),
        }
    }
}
