//! progress.md: a markdown file that people and agents read, edited by span and never re-rendered.
//!
//! # Theory of operation
//!
//! pulldown-cmark says where headings, list items and tables are, and what is only code, a comment
//! or a quotation (`outline`); the `doc` is made of those places: sections, phases, tasks,
//! attempts. An edit is a set of splices of the old text, and the result is read again before it is
//! returned: what would be swallowed by an open code block is an error, never a loss.
//!
//! # The file
//!
//! ```text
//! # Progress: <name>
//! ## Status                     RALPH_DONE alone on a line says that all is done
//! ## Analysis
//! ## Tasks
//! - [ ] a task without a phase
//! ### <phase>
//! - [x] an accepted task
//! - [ ] a blocked one [BLOCKED: why]
//!   what is indented below it is its notes
//!   - Accept: a criterion
//! ## Testing Strategy
//! ## Completed This Iteration   - [x] text
//! ## Recent Attempts            ### Iteration N, then - Tried: … - Result: … - Next: …
//! ## Iteration Log              | Iteration | Started | Duration | Tasks Completed | Notes |
//! ```
//!
//! Sections may be missing, repeated, in any order and among unknown ones; case, emphasis and
//! punctuation of their headings do not matter. A section of which there are several is read as a
//! whole where it is a list, and edits go to the last one.
//!
//! - A **task** is a checkbox item of a Tasks section, also when it is nested in items without a
//!   box. What is nested in a task belongs to it: a checkbox there is part of its notes, not a task.
//!   Items in quotations are not tasks; `- [ ]` without any text is not one yet. A box that is
//!   almost one (`[]`, `[-]`, `[x]text`) is an error, so that no task vanishes.
//! - Its **name** is the rest of its line as in the source, its **phase** the nearest heading below
//!   `## Tasks`, its **id** a hash of the name ([`task_id`]). Renaming a task renames it in Recent
//!   Attempts too.
//! - **States** without a mark in the list are entries of Recent Attempts whose `Tried` begins with
//!   the task's id and whose `Result` is one word, or a word, a dash and a reason:
//!
//!   ```text
//!   ### Iteration 4
//!   - Tried: t-4k2j9x — Write the parser
//!   - Result: skipped — the vendor's format is not fixed yet
//!   ```
//!
//!   `skipped` and `failed` hold until a later entry says `retry` or `rejected`, or the box is
//!   ticked. `rejected` counts one retry; `retry` is a fresh start. Entries without an id, or with
//!   other results ("failed to compile"), are history only. The last entry is the newest.

mod add;
mod attempts;
mod doc;
mod edit;
mod ident;
mod lines;
mod outline;
mod record;
mod tasks;
mod view;
mod wanted;

pub use attempts::RecentAttempt;
pub use ident::task_id;
pub use record::{
    add_attempt, last_iteration, log_iteration, set_completed, set_status, trim_attempts,
};
pub use view::{LogRow, ProgressFile, read};

use super::{EditError, ParseError, PlanCodec, PlanFormat};
use crate::plan::{Id, Plan, PlanEdit};
use doc::{ProgressDoc, ProgressSectionKind};

/// Codec for progress.md, a markdown file with task lists.
#[derive(Clone, Copy, Debug)]
pub struct ProgressCodec;

impl PlanCodec for ProgressCodec {
    fn parse(&self, text: &str) -> Result<Plan, ParseError> {
        let doc = ProgressDoc::read(text)?;
        Ok(Plan {
            says_done: view::says_done(&doc),
            title: doc.title,
            tasks: doc.tasks.into_iter().map(|t| t.task).collect(),
            ..Plan::empty(PlanFormat::Progress)
        })
    }

    fn edit(&self, text: &str, edits: &[PlanEdit]) -> Result<String, EditError> {
        edit::edit(text, edits)
    }

    fn empty(&self, title: &str, _now: &str) -> String {
        let mut text = format!("# Progress: {}\n", lines::one_line(title));
        for kind in ProgressSectionKind::ALL {
            text.extend(["\n", &kind.heading(), "\n"]);
            match kind {
                ProgressSectionKind::Status => text.push_str("\nIn Progress\n"),
                ProgressSectionKind::Log => {
                    text.extend(["\n", &record::empty_log().join("\n"), "\n"])
                }
                _ => {}
            }
        }
        text
    }

    /// A placeholder: the id in the file follows from the task's name.
    fn fresh_id(
        &self,
        _plan: &Plan,
        _spec: Option<&str>,
        taken: &dyn Fn(&Id) -> bool,
        random: &mut dyn FnMut() -> String,
    ) -> Id {
        loop {
            let id = Id::new(format!("t-{}", random()));
            if !taken(&id) {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod edit_tests;
#[cfg(test)]
mod parse_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod record_tests;
#[cfg(test)]
mod testing;

/// The format has no place for `what`.
fn unsupported(what: &str) -> EditError {
    EditError::Unsupported { format: PlanFormat::Progress, what: what.to_owned() }
}

/// A change that would not be read back.
fn swallowed() -> EditError {
    unsupported("this text at this place: look for a code block or comment that is left open")
}
