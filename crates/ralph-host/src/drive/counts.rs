//! Counters of a loop, for tests and benchmarks.
//!
//! With `RALPH_COUNT=FILE` in its environment, a loop writes two numbers into that file when it ends:
//! the processes that it started, and the times that it waited for the disk.

use std::path::Path;

use serde_json::json;

use crate::proc::JobRunner;
use crate::store::{put_view, syncs};

/// The variable that names the file.
const COUNT_VARIABLE: &str = "RALPH_COUNT";

/// Write the numbers down, where they are asked for.
pub(super) fn write(runner: &JobRunner) {
    let Some(file) = std::env::var_os(COUNT_VARIABLE).filter(|file| !file.is_empty()) else {
        return;
    };
    let counts = json!({ "processes": runner.started(), "syncs": syncs() });
    // Whoever asked sees that there is no file.
    let _unwritten = put_view(Path::new(&file), format!("{counts}\n").as_bytes());
}
