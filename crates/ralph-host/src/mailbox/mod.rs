//! The mailbox of a backend: ralph's commands and tools in its lane ask the loop over a Unix socket.
//!
//! # Theory of operation
//!
//! ```text
//! command in the lane --one JSON line--> socket thread --channel--> the loop's main thread
//!                     <--one JSON line--              <--channel-- (guards, ledger)
//! ```
//!
//! A command that finds [`MAILBOX_VARIABLE`] never opens the ledger. Each attempt and each consultation has
//! a socket of its own, so the loop knows who speaks whatever the environment of the speaker says. All
//! sockets of a place are in one private directory with a short name: a socket's path has a limited
//! length. The directory goes with the run; what a killed run left goes when the next one
//! starts. The socket ends with the processes of its attempt, and a command that comes later is refused.

mod ask;
mod directory;
mod socket;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use ask::{MailboxError, ask};
pub use directory::MailboxDirectory;
pub use socket::{MailboxSocket, PendingRequest};

/// The variable that names the socket.
pub const MAILBOX_VARIABLE: &str = "RALPH_MAILBOX";

/// Longest request that is accepted, in bytes.
const LONGEST_REQUEST: usize = 4 * 1024 * 1024;

/// Longest answer that a caller reads, in bytes.
const LONGEST_ANSWER: u64 = 64 * 1024 * 1024;

/// Longest input of a command, in bytes.
pub const LONGEST_INPUT: u64 = 1024 * 1024;

/// Bytes of a socket's path on every system, with the zero at its end.
const LONGEST_PATH: usize = 104;

/// Time for a caller to say what it wants.
const REQUEST_TIME: Duration = Duration::from_secs(5);

/// Time for the loop to answer.
const ANSWER_TIME: Duration = Duration::from_secs(60);

/// Callers that are served at the same time; others wait.
const MOST_CALLERS: usize = 8;

/// Command or tool that a caller asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailboxCall {
    /// A command, as it was typed.
    Command {
        /// Arguments without the program's name.
        args: Vec<String>,
        /// Text for standard input; `None` when the command does not read it.
        input: Option<String>,
    },
    Tool {
        name: String,
        arguments: Value,
    },
}

/// Request of a caller to the loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailboxRequest {
    /// The root of the project that the caller is in, where it is in one.
    pub project: Option<PathBuf>,
    pub call: MailboxCall,
}

/// Answer of the loop to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailboxAnswer {
    /// Command that has run, with its output.
    Done { stdout: String, stderr: String, code: u8 },
    /// The request is not carried out, and why.
    Refused(String),
    /// The caller is in a project that is none of this loop's business: it may go on alone.
    Elsewhere,
}

/// Find the socket that this process has to ask, if it runs inside an attempt.
pub fn socket_of_attempt(attempt: Option<OsString>) -> Option<PathBuf> {
    attempt.filter(|attempt| !attempt.is_empty())?;
    std::env::var_os(MAILBOX_VARIABLE).filter(|socket| !socket.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
#[path = "mailbox_tests.rs"]
mod tests;
