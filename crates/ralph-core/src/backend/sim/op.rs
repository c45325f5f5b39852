//! What the process is asked for, and the small things that it does.

use std::time::Duration;

use super::line::Line;
use super::scenario::{Act, Signal, Sigterm, Spawn};
use crate::backend::LimitStatus;

/// What the command line asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// The model.
    pub model: String,
    /// The session to continue.
    pub resume: Option<String>,
    /// Whether the answer must be data.
    pub shape: Shape,
    /// Whether files may be changed.
    pub access: Access,
    /// Most turns.
    pub max_turns: Option<u64>,
    /// Most dollars.
    pub budget: Option<f64>,
}

/// Whether a schema was given for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// No.
    Free,
    /// Yes.
    Structured,
}

/// Whether files may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// They may.
    Write,
    /// They may not: tools are denied.
    ReadOnly,
}

/// One thing that the process does.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Print a line of the protocol.
    Line(Line),
    /// Print bytes.
    Bytes(Vec<u8>),
    /// Print to standard error.
    Stderr(String),
    /// Use a tool, and print its result under this id.
    Tool(String, Act),
    /// Write the first half of this text to this path.
    Half(String, String),
    /// Print a limit that resets in this time.
    Limit(LimitStatus, Option<Duration>),
    /// Start a process.
    Spawn(Spawn),
    /// Wait.
    Sleep(Duration),
    /// Wait until this file exists.
    Hold(String),
    /// Wait for ever.
    Hang,
    /// Print text events, this many or for ever.
    Flood(Option<u64>),
    /// Print one text event of this many bytes.
    Giant(u64),
    /// End by a signal.
    Signal(Signal),
    /// End.
    Exit(i32),
}

/// A whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct Performance {
    /// What to do, in order.
    pub ops: Vec<Op>,
    /// Lines until it falls silent.
    pub silent_after: Option<u64>,
    /// What SIGTERM does.
    pub sigterm: Sigterm,
}

/// The bytes of a path in which `\\xff` stands for a byte, since a file's name need not be text.
pub fn path_bytes(path: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once("\\x") {
        bytes.extend(before.as_bytes());
        match after.get(..2).and_then(hex_byte) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.extend(b"\\x");
                rest = after;
            }
        }
    }
    bytes.extend(rest.as_bytes());
    bytes
}

fn hex_byte(digits: &str) -> Option<u8> {
    // Parsing alone would also take a sign.
    let hex = digits.chars().all(|c| c.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| hex)
}
