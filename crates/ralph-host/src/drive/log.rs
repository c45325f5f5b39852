//! The text log of a loop, and how many stage logs stay.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_core::config::{Config, LogLevel};

use crate::store::{add_to_view, drop_view};

/// A line each for what happens, as much as is wanted.
#[derive(Clone, Debug)]
pub(super) struct Log {
    path: PathBuf,
    level: LogLevel,
}

impl Log {
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

/// Most bytes of one log of the agent loop; then a new one begins.
const LONGEST: u64 = 8 << 20;

/// The log of the agent loop: `[2025-01-20T10:00:00Z] FETCH: q-a1b2 feature-x.md`, a line each.
#[derive(Debug)]
pub struct AgentLog {
    directory: PathBuf,
    path: PathBuf,
    length: u64,
}

impl AgentLog {
    /// A log in `directory`, named after the time, RFC 3339. What began in the same second goes on.
    pub fn create(directory: &Path, stamp: &str) -> Self {
        let path = directory.join(agent_log_name(stamp));
        let length = fs::metadata(&path).map_or(0, |meta| meta.len());
        Self { directory: directory.to_owned(), path, length }
    }

    /// The file it writes now.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Add a line. A log that cannot be written is no reason to stop.
    pub fn line(&mut self, at: &str, text: &str) {
        if self.length >= LONGEST {
            *self = Self::create(&self.directory, at);
        }
        let text = text.trim_end().replace('\n', "\n    ");
        let line = format!("[{at}] {text}\n");
        if add_to_view(&self.path, line.as_bytes()).is_ok() {
            self.length += u64::try_from(line.len()).unwrap_or(u64::MAX);
        }
    }
}

/// `agent-20250120-100000.log`: the time as the names of other logs have it.
fn agent_log_name(stamp: &str) -> String {
    let digits: String = stamp.chars().filter(char::is_ascii_digit).take(14).collect();
    let (day, time) = digits.split_at_checked(8).unwrap_or((&digits, ""));
    format!("{}{day}-{time}.log", LogOf::Agent.prefix())
}

/// What a log in the directory of logs is about; its name begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogOf {
    /// A run of a backend in a loop.
    Stage,
    /// A backend that was tried alone.
    Trial,
    /// The agent loop.
    Agent,
}

impl LogOf {
    /// How the names begin.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Stage => "ralph-",
            Self::Trial => "try-",
            Self::Agent => "agent-",
        }
    }
}

/// Remove the oldest logs of a kind, so that `keep` of them are left, each with its prompt.
pub fn prune_logs(directory: &Path, kind: LogOf, keep: u32) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_the_agent_has_the_form_of_the_specification() {
        let place = tempfile::tempdir().unwrap();
        let logs = place.path().join("build/ralph-logs");
        let mut log = AgentLog::create(&logs, "2025-01-20T10:00:00Z");
        log.line("2025-01-20T10:00:00Z", "Agent started");
        log.line("2025-01-20T10:00:01Z", "FETCH: q-a1b2 feature-x.md");
        log.line("2025-01-20T10:00:02Z", "PLAN: failed:\nno answer\n");
        let text = fs::read_to_string(logs.join("agent-20250120-100000.log")).unwrap();
        assert_eq!(
            text,
            "[2025-01-20T10:00:00Z] Agent started\n\
             [2025-01-20T10:00:01Z] FETCH: q-a1b2 feature-x.md\n\
             [2025-01-20T10:00:02Z] PLAN: failed:\n    no answer\n"
        );
    }

    #[test]
    fn a_long_log_goes_on_in_a_new_file_and_old_ones_go() {
        let place = tempfile::tempdir().unwrap();
        let mut log = AgentLog::create(place.path(), "2025-01-20T10:00:00Z");
        log.length = LONGEST;
        log.line("2025-01-21T10:00:00Z", "FETCH: q-a1b2 feature-x.md");
        assert!(log.path().ends_with("agent-20250121-100000.log"));
        for day in 22..26 {
            AgentLog::create(place.path(), &format!("2025-01-{day}T10:00:00Z")).line("now", "x");
        }
        prune_logs(place.path(), LogOf::Agent, 2);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_log_that_cannot_be_written_stops_nobody() {
        let mut log = AgentLog::create(Path::new("/dev/null/logs"), "no time at all");
        log.line("now", "x");
        assert_eq!(log.length, 0);
    }
}
