//! What other programs read about a loop: `events.jsonl` and `state.json`, made from the journal.

use std::path::PathBuf;

use ralph_core::cycle::{Entry, History, Record, event_of, state_of};

use crate::FileError;
use crate::project::Project;
use crate::store::{add_to_view, swap_view};

/// The files.
#[derive(Clone, Debug)]
pub(super) struct Views {
    events: PathBuf,
    state: PathBuf,
}

impl Views {
    /// Those of a project.
    pub(super) fn of(project: &Project) -> Self {
        let events = project.root().join(".ralph/logs/events.jsonl");
        Self { events, state: project.state_json() }
    }

    /// Bring them up to date after a record; `history` holds everything up to and with it. That they
    /// cannot be written is no reason to stop.
    pub(super) fn show(&self, entry: &Entry, history: &History) -> Vec<FileError> {
        let mut problems = Vec::new();
        let mut lines = Vec::new();
        for event in event_of(entry, history) {
            if serde_json::to_writer(&mut lines, &event).is_ok() {
                lines.push(b'\n');
            }
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

fn changes_state(record: &Record) -> bool {
    matches!(
        record,
        Record::RunStarted(_)
            | Record::RunEnded { .. }
            | Record::AttemptStarted(_)
            | Record::Waiting { .. }
            | Record::Waited
            | Record::Command { .. }
    )
}
