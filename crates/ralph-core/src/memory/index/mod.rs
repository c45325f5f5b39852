//! The knowledge index: what is worth remembering beyond the last handoff, in two files.
//!
//! # Theory of operation
//!
//! `knowledge-index.md` is what prompts hold and people read; `knowledge-index.json` is the history,
//! to which entries are only ever added. An agent writes both, so nothing here trusts them: reading
//! never fails on the markdown and names the line of damaged JSON, and [`verify`](fn@verify) compares
//! what was there with what is there now. Ralph itself writes neither file, so it cannot lose what it
//! does not understand.
//!
//! Whether an entry is in force is derived and never stored: it is, unless another one supersedes it.
//! So an entry is superseded or retired by *adding* one, and no earlier line has to change.
//!
//! ```text
//! before, after --verify--> fine, or violations in words for the agent that wrote it
//! files --knowledge--> items with their status (active, superseded, retired) --search--> hits
//! ```

mod category;
mod knowledge;
mod markdown;
mod records;
mod verify;
mod verify_ids;

pub use category::KnowledgeCategory;
pub use knowledge::{Knowledge, KnowledgeItem, KnowledgeStatus, knowledge};
pub use markdown::{MarkdownEntry, MarkdownIndex};
pub use records::{IndexRecord, RecordStanding, records};
pub use verify::{IndexCheck, IndexViolation, RULES, verify};

/// Path of the index for prompts and people, relative to the project.
pub const MARKDOWN_FILE: &str = ".ralph/knowledge-index.md";
/// Path of the index's history, relative to the project.
pub const JSON_FILE: &str = ".ralph/knowledge-index.json";

/// The texts of the two files; `None` where there is no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexFiles<'t> {
    /// Text of `knowledge-index.md`.
    pub markdown: Option<&'t str>,
    /// Text of `knowledge-index.json`.
    pub json: Option<&'t str>,
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod read_tests;
#[cfg(test)]
mod verify_tests;
