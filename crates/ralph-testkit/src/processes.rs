//! Processes that outlive a run of ralph.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Processes of a ralph run whose home this is.
pub fn left(home: &Path) -> Vec<String> {
    let home = format!("HOME={}", home.display());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(environ) = fs::read(entry.path().join("environ")) else { continue };
        let mut variables = environ.split(|&b| b == 0);
        let run = variables.clone().any(|v| v.starts_with(b"RALPH_RUN="));
        if run && variables.any(|v| v == home.as_bytes()) {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            found.push(format!("{} {line}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

/// None is left, at once or very soon.
#[track_caller]
pub fn none_is_left(home: &Path) {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let left = left(home);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "these processes are still there:\n{}", left.join("\n"));
        thread::sleep(Duration::from_millis(20));
    }
}
