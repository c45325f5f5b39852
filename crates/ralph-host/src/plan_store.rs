//! The one reader of plan files, for commands, loops and the dashboard: what one of them cannot read, none of
//! them takes for an empty plan.

use std::path::Path;

use ralph_core::format::{self, ParseError, PlanFormat};
use ralph_core::plan::Plan;

use crate::FileError;
use crate::store::{self, LedgerFileKind};

/// A plan file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct PlanError {
    /// The file, with the line where one is known.
    pub place: String,
    pub message: String,
    pub hint: Option<String>,
}

impl PlanError {
    /// Create the error for a damaged line of the plan.
    pub fn damaged(shown: &str, error: &ParseError) -> Self {
        let column = error.column.map(|column| format!(":{column}")).unwrap_or_default();
        Self {
            place: format!("{shown}:{}{column}", error.line),
            message: error.message.clone(),
            hint: Some("nothing was changed; mend that line and try again".to_owned()),
        }
    }

    fn unreadable(shown: &str, error: &FileError) -> Self {
        Self { place: shown.to_owned(), message: error.to_string(), hint: error.hint() }
    }
}

/// The text of a ledger file; `shown` is the file as people call it.
pub fn decode<'b>(shown: &str, bytes: &'b [u8]) -> Result<&'b str, PlanError> {
    std::str::from_utf8(bytes).map_err(|e| {
        let line = bytes[..e.valid_up_to()].iter().filter(|&&b| b == b'\n').count() + 1;
        PlanError {
            place: format!("{shown}:{line}"),
            message: "this is not UTF-8 text".to_owned(),
            hint: Some("nothing was changed; restore the file from git or a backup".to_owned()),
        }
    })
}

/// The format of a plan, from its name and its text.
pub fn detect(path: &Path, shown: &str, text: &str) -> Result<PlanFormat, PlanError> {
    format::detect(&path.to_string_lossy(), text).map_err(|e| PlanError::damaged(shown, &e))
}

/// Parse the text of a plan in the format that `path` and the text indicate.
pub fn parse(path: &Path, shown: &str, text: &str) -> Result<Plan, PlanError> {
    let codec = format::codec(detect(path, shown, text)?);
    codec.parse(text).map_err(|e| PlanError::damaged(shown, &e))
}

/// The text of a ledger file, without an unfinished last record. Nothing is changed; `None`: there is
/// no such file.
pub fn peek(path: &Path, shown: &str) -> Result<Option<String>, PlanError> {
    let bytes = store::read(path).map_err(|e| PlanError::unreadable(shown, &e))?;
    let Some(bytes) = bytes else { return Ok(None) };
    let whole = match LedgerFileKind::of(path) {
        LedgerFileKind::Records(torn_tail) => torn_tail(&bytes).and_then(|at| bytes.get(..at)),
        LedgerFileKind::Document => None,
    };
    Ok(Some(decode(shown, whole.unwrap_or(&bytes))?.to_owned()))
}
