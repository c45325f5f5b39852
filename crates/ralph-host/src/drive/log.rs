//! The text log of a loop, and how many stage logs stay.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_core::config::{Config, LogLevel};

use crate::store::{add_to_view, drop_view};

/// A line each for what happens, as much as is wanted.
#[derive(Clone, Debug)]
pub(super) struct LoopLog {
    path: PathBuf,
    level: LogLevel,
}

impl LoopLog {
    /// The log of the project at `root`.
    pub(super) fn of(root: &Path, config: &Config) -> Self {
        Self { path: root.join(&config.log_file), level: config.log_level }
    }

    /// Add a line. A log that cannot be written is no reason to stop.
    pub(super) fn line(&self, level: LogLevel, at: &str, text: &str) {
        // The levels go from the loudest to the gravest.
        if level < self.level {
            return;
        }
        let text = text.replace('\n', "\n    ");
        let line = format!("[{at}] [{}] {text}\n", level.as_str());
        let _unwritten = add_to_view(&self.path, line.as_bytes());
    }
}

/// Subject of a log. The name of the log file begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSubject {
    /// A run of a backend in a loop.
    Stage,
    /// A backend that was tried alone.
    Trial,
    /// Session of the agent loop.
    Agent,
}

impl LogSubject {
    /// Return the prefix of the names of these logs.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Stage => "ralph-",
            Self::Trial => "try-",
            Self::Agent => "agent-",
        }
    }
}

/// Remove the oldest logs of a kind, so that `keep` of them are left, each with its prompt.
pub fn prune_logs(directory: &Path, kind: LogSubject, keep: u32) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut logs: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(kind.prefix()))
        .map(|entry| (entry.metadata().and_then(|meta| meta.modified()).ok(), entry.path()))
        .filter(|(_, path)| path.extension().is_some_and(|e| e == "log"))
        .collect();
    logs.sort();
    let extra = logs.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    for (_, log) in logs.iter().take(extra) {
        let _left = drop_view(log);
        let _left = drop_view(&log.with_extension("prompt.md"));
    }
}
