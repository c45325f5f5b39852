//! `build/ralph-logs/agent-<timestamp>.log`: what the agent did, a line each.

use std::fs;
use std::path::{Path, PathBuf};

use crate::drive::LogSubject;
use crate::store::add_to_view;

/// Most bytes of one log of the agent loop; then a new one begins.
const LONGEST: u64 = 8 << 20;

/// The log of the agent loop: `[2025-01-20T10:00:00Z] FETCH: q-a1b2 feature-x.md`, a line each.
/// The default one writes nothing.
#[derive(Clone, Debug, Default)]
pub struct AgentLog {
    path: Option<PathBuf>,
    length: u64,
}

impl AgentLog {
    /// A log in `directory`, named after the time, RFC 3339. What began in the same second goes on.
    pub fn create(directory: &Path, stamp: &str) -> Self {
        let path = directory.join(agent_log_name(stamp));
        let length = fs::metadata(&path).map_or(0, |meta| meta.len());
        Self { path: Some(path), length }
    }

    /// Add a line. A log that cannot be written is no reason to stop.
    pub fn line(&mut self, at: &str, text: &str) {
        if let Some(directory) = self.path.as_deref().and_then(Path::parent)
            && self.length >= LONGEST
        {
            *self = Self::create(directory, at);
        }
        let Some(path) = &self.path else { return };
        let text = text.trim_end().replace('\n', "\n    ");
        let line = format!("[{at}] {text}\n");
        if add_to_view(path, line.as_bytes()).is_ok() {
            self.length += u64::try_from(line.len()).unwrap_or(u64::MAX);
        }
    }
}

/// `agent-20250120-100000.log`: the time as the names of other logs have it.
fn agent_log_name(stamp: &str) -> String {
    let digits: String = stamp.chars().filter(char::is_ascii_digit).take(14).collect();
    let (day, time) = digits.split_at_checked(8).unwrap_or((&digits, ""));
    format!("{}{day}-{time}.log", LogSubject::Agent.prefix())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::prune_logs;

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
        assert!(log.path.unwrap().ends_with("agent-20250121-100000.log"));
        for day in 22..26 {
            AgentLog::create(place.path(), &format!("2025-01-{day}T10:00:00Z")).line("now", "x");
        }
        prune_logs(place.path(), LogSubject::Agent, 2);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_log_that_cannot_be_written_stops_nobody() {
        let mut log = AgentLog::create(Path::new("/dev/null/logs"), "no time at all");
        log.line("now", "x");
        assert_eq!(log.length, 0);
    }
}
