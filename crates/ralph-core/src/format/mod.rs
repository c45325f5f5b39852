//! Four plan formats behind one trait, each read and written natively.
//!
//! # Theory of operation
//!
//! The file's text is the truth. [`PlanCodec::parse`] makes a [`Plan`] of it, strictly: whatever is
//! damaged is an error with its line, never dropped. [`PlanCodec::edit`] works out byte splices for a
//! batch of edits, so that unknown fields, comments, order, indentation and line ends survive; a
//! text without edits is returned byte for byte. Nobody keeps a second representation that could
//! drift: after an edit the new text is parsed again, before it reaches the disk.

pub mod deluxe;
mod detect;
pub mod implementation;
pub mod jsonl;
mod members;
mod numbering;
pub mod progress;

use std::fmt;

pub use detect::detect;

use crate::plan::{Id, Plan, PlanEdit};
use crate::word_enum::word_enum;

word_enum! {
    /// Format of a plan file.
    PlanFormat {
        /// ralph's own: one JSON record a line.
        Jsonl = "jsonl",
        /// plan.json of Ralph Deluxe.
        Deluxe = "deluxe",
        /// progress.md, a markdown file with task lists.
        Progress = "progress",
        /// implementation.json: specs with tasks in them.
        Implementation = "implementation",
    }
}

impl PlanFormat {
    /// The usual file name, which is also how messages call the format.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Jsonl => "plan.jsonl",
            Self::Deluxe => "plan.json",
            Self::Progress => "progress.md",
            Self::Implementation => "implementation.json",
        }
    }

    /// The format that a file of this name should have, if the name says so.
    pub fn from_file_name(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        match name.rsplit_once('.')?.1 {
            "jsonl" => Some(Self::Jsonl),
            "md" => Some(Self::Progress),
            "json" if name.contains("implementation") => Some(Self::Implementation),
            "json" => Some(Self::Deluxe),
            _ => None,
        }
    }

    /// Whether accepted, failed and skipped tasks leave the file and a record stays behind.
    pub fn buries_tasks(self) -> bool {
        self == Self::Jsonl
    }

    /// Whether the format knows the difference between claimed and verified.
    pub fn knows_claims(self) -> bool {
        self == Self::Jsonl
    }
}

impl fmt::Display for PlanFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.file_name())
    }
}

/// A plan file that cannot be read: where and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// Line number, from 1.
    pub line: usize,
    /// Column in characters, from 1, where one is known.
    pub column: Option<usize>,
    pub message: String,
}

impl ParseError {
    /// Create an error for a line. `line` counts from 1.
    pub fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, column: None, message: message.into() }
    }

    /// An error at a byte of the file's text.
    pub fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let pos = crate::text::position(text, offset);
        Self { line: pos.line, column: Some(pos.column), message: message.into() }
    }
}

/// A change that this format or this file cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The old text does not parse.
    #[error(transparent)]
    Parse(#[from] ParseError),
    #[error("no task or issue {0}")]
    Unknown(Id),
    /// Several live records have this id, so nobody can say which one is meant.
    #[error("{id} stands on line {} and on line {}: give one of them another id", lines.0, lines.1)]
    Ambiguous {
        id: Id,
        /// The lines of the first two.
        lines: (usize, usize),
    },
    /// A new record has the id of one that is there.
    #[error("the id {0} is taken")]
    Taken(Id),
    /// The format has no place for this.
    #[error("{format} cannot hold {what}")]
    Unsupported {
        format: PlanFormat,
        /// Thing that the format cannot store, as a noun phrase.
        what: String,
    },
    /// Two edits of one batch want the same bytes: a mistake in ralph, not in the file.
    #[error(transparent)]
    Overlap(#[from] crate::text::SpliceOverlap),
}

/// One plan format: text to plan, and edits to text.
pub trait PlanCodec {
    /// Read the text. Anything damaged is an error.
    fn parse(&self, text: &str) -> Result<Plan, ParseError>;

    /// The same for whoever knows what the text said before a change: `plan` is what `old` says.
    fn parse_after(&self, _plan: &Plan, _old: &str, new: &str) -> Result<Plan, ParseError> {
        self.parse(new)
    }

    /// The text with `edits` made, every other byte as it was.
    fn edit(&self, text: &str, edits: &[PlanEdit]) -> Result<String, EditError>;

    /// The same for whoever has parsed the text already: `plan` is what it says.
    fn edit_parsed(
        &self,
        _plan: &Plan,
        text: &str,
        edits: &[PlanEdit],
    ) -> Result<String, EditError> {
        self.edit(text, edits)
    }

    /// The text of a new plan without tasks.
    fn empty(&self, title: &str, now: &str) -> String;

    /// An id for a new task, in the style of this format. `taken` says whether an id is in use,
    /// `random` gives a new four-character base-36 word at each call.
    fn fresh_id(
        &self,
        plan: &Plan,
        spec: Option<&str>,
        taken: &dyn Fn(&Id) -> bool,
        random: &mut dyn FnMut() -> String,
    ) -> Id;
}

/// Return the codec of a format.
pub fn codec(format: PlanFormat) -> &'static dyn PlanCodec {
    match format {
        PlanFormat::Jsonl => &jsonl::JsonlCodec,
        PlanFormat::Deluxe => &deluxe::DeluxeCodec,
        PlanFormat::Progress => &progress::ProgressCodec,
        PlanFormat::Implementation => &implementation::ImplementationCodec,
    }
}
#[cfg(test)]
mod data_props_tests;
