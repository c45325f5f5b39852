//! What a loop writes down about its work for people and for later attempts: text in, text out.
//!
//! Each function takes the file as it is and gives it back with one more thing in it; told the same
//! thing twice, it changes nothing, so that a recovery may repeat it.

mod amendment_log;
mod progress_log;
mod progress_table;
mod spec_log;

pub use amendment_log::amendment_lines;
pub use progress_log::{ProgressEntry, progress_json};
pub use progress_table::progress_md;
pub use spec_log::{SpecDone, spec_done};

/// One line of what may have been many.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
