//! What a loop has taken, for the tests and benchmarks that hold it to its promises.
//!
//! With `RALPH_COUNT=FILE` in its environment, a loop that ends writes the number of the processes
//! that it started and of its waits for the disk into that file.

use std::path::Path;

use serde_json::json;

use crate::proc::Runner;
use crate::store::{put_view, syncs};

/// The variable that names the file.
const COUNT_VARIABLE: &str = "RALPH_COUNT";

/// Write the numbers down, where they are asked for.
pub(super) fn write(runner: &Runner) {
    let Some(file) = std::env::var_os(COUNT_VARIABLE).filter(|file| !file.is_empty()) else {
        return;
    };
    let counts = json!({ "processes": runner.started(), "syncs": syncs() });
    // Whoever asked sees that there is no file.
    let _unwritten = put_view(Path::new(&file), format!("{counts}\n").as_bytes());
}
