//! Options of the sim process, and the operations that it performs.

use std::time::Duration;

use super::line::SimLine;
use super::scenario::{SigtermReaction, SimSignal, SimSpawn, ToolAction};
use crate::backend::LimitStatus;

/// Options from the command line of the sim.
#[derive(Clone, Debug, PartialEq)]
pub struct SimInvocation {
    pub model: String,
    /// Id of the session to continue.
    pub resume: Option<String>,
    /// Whether the answer must be data.
    pub shape: AnswerShape,
    pub access: SimAccess,
    pub max_turns: Option<u64>,
    /// Maximum cost of the run in dollars.
    pub budget: Option<f64>,
}

/// Whether a schema was given for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerShape {
    /// No schema was given. The answer is free text.
    Free,
    /// A schema was given. The answer must be data.
    Structured,
}

/// Permission of the sim to change files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimAccess {
    Write,
    /// Tool calls are denied.
    ReadOnly,
}

/// One thing that the process does.
#[derive(Clone, Debug, PartialEq)]
pub enum SimOperation {
    /// Print a line of the protocol.
    Line(SimLine),
    /// Print these bytes as they are.
    Bytes(Vec<u8>),
    Stderr(String),
    /// Use a tool, and print its result under this id.
    Tool(String, ToolAction),
    /// Write the first half of this text to this path.
    Half(String, String),
    /// Print a limit that resets in this time.
    Limit(LimitStatus, Option<Duration>),
    Spawn(SimSpawn),
    Sleep(Duration),
    /// Wait until this file exists.
    Hold(String),
    /// Wait forever.
    Hang,
    /// Print text events, this many or for ever.
    Flood(Option<u64>),
    /// Print one text event of this many bytes.
    Giant(u64),
    /// End the sim by this signal.
    Signal(SimSignal),
    Exit(i32),
}

/// Operations and settings of one whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct SimPerformance {
    pub ops: Vec<SimOperation>,
    /// Number of lines after which the run prints nothing more. `None` means no limit.
    pub silent_after: Option<u64>,
    pub sigterm: SigtermReaction,
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
