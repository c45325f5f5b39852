//! Everything that follows from a record: lines of `events.jsonl` and `ralph.log`, `state.json`, and
//! what listeners hear. All of it is made from the same events.

use std::path::{Path, PathBuf};

use ralph_core::config::LogLevel;
use ralph_core::cycle::{EventKind, History, JournalEntry, JournalRecord, events_of, state_of};

use super::error::DriveError;
use super::listener::LoopListener;
use super::log::LoopLog;
use crate::FileError;
use crate::project::Project;
use crate::store::{add_to_view, read_entries, swap_view};

/// The files that other programs read about a loop.
#[derive(Clone, Debug)]
pub(super) struct LoopViewFiles {
    events: PathBuf,
    state: PathBuf,
}

impl LoopViewFiles {
    /// Return the views of a project.
    pub(super) fn of(project: &Project) -> Self {
        let events = project.root().join(".ralph/logs/events.jsonl");
        Self { events, state: project.state_json() }
    }

    /// Make the events anew from the journal: a loop that was killed may have died between a record and
    /// its events.
    pub(super) fn rebuild_events(&self, state_dir: &Path) -> Result<(), DriveError> {
        let (mut history, mut lines) = (History::default(), Vec::new());
        read_entries(state_dir, &mut |entry| {
            history.add(entry);
            for event in events_of(entry, &history) {
                if serde_json::to_writer(&mut lines, &event).is_ok() {
                    lines.push(b'\n');
                }
            }
        })?;
        Ok(swap_view(&self.events, &lines)?)
    }

    /// Publish a record; `history` holds everything up to and with it. Returns the files that cannot be
    /// written, which is no reason to stop.
    pub(super) fn publish(
        &self,
        entry: &JournalEntry,
        history: &History,
        log: Option<&LoopLog>,
        listener: &mut dyn LoopListener,
    ) -> Vec<FileError> {
        let mut problems = Vec::new();
        let mut lines = Vec::new();
        for event in events_of(entry, history) {
            if serde_json::to_writer(&mut lines, &event).is_ok() {
                lines.push(b'\n');
            }
            if let Some(log) = log {
                log.line(level(&event.kind), event.timestamp, &event.kind.to_string());
            }
            listener.on_event(&event);
        }
        if !lines.is_empty() {
            problems.extend(add_to_view(&self.events, &lines).err());
        }
        if changes_state(&entry.record) {
            let text = serde_json::to_string_pretty(&state_of(history)).unwrap_or_default() + "\n";
            problems.extend(swap_view(&self.state, text.as_bytes()).err());
        }
        problems
    }
}

fn level(kind: &EventKind<'_>) -> LogLevel {
    match kind {
        EventKind::Warning(_) | EventKind::CommandRefused(_) => LogLevel::Warn,
        _ => LogLevel::Info,
    }
}

fn changes_state(record: &JournalRecord) -> bool {
    matches!(
        record,
        JournalRecord::RunStarted(_)
            | JournalRecord::RunEnded(_)
            | JournalRecord::AttemptStarted { .. }
            | JournalRecord::Waiting(_)
            | JournalRecord::Waited
            | JournalRecord::Command(_)
    )
}
