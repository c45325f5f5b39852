//! Memory: what is written down about work, and what of it reaches the next attempt.
//!
//! # Theory of operation
//!
//! *Logs* for people and programs are text in, text out: each function takes the file as it is and
//! gives it back with one more thing in it; told the same thing twice, it changes nothing, so that a
//! recovery may repeat it.
//!
//! *Knowledge* outlives a handoff. [`trigger`](fn@trigger) says when it is time to bring the index
//! ([`index`]) up to date, [`levels`] makes handoffs small enough for that, and [`roles`] asks an agent
//! to do it: the prompts, the answers' types, and what each role may touch. What the agent wrote is
//! kept only when [`index::verify`](fn@index::verify) finds nothing wrong with it.

mod amendment_log;
pub mod index;
pub mod levels;
mod progress_log;
mod progress_table;
pub mod roles;
mod search;
mod spec_log;
mod terms;
mod trigger;

pub use amendment_log::amendment_lines;
pub use progress_log::{ProgressEntry, progress_json};
pub use progress_table::progress_md;
pub use search::{MOST, search, words_of};
pub use spec_log::{CompletedSpec, spec_done};
pub use terms::task_terms;
pub use trigger::{IndexTrigger, TermOverlap, overlap, trigger};

/// One line of what may have been many.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
