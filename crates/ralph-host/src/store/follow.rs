//! Reading a journal that somebody else writes: only what is new, and never more than whole lines.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use ralph_core::cycle::{Entry, Event, History, event_of};

use super::journal::{JournalError, NAME, entry_at};
use crate::file_error::{Action, FileError};

/// Events of the past that are kept.
const KEPT: usize = 2000;

/// A journal and how far it was read.
#[derive(Debug)]
pub struct Follow {
    path: PathBuf,
    /// Bytes that were read and understood.
    read: u64,
    lines: usize,
    history: History,
    events: Vec<Event>,
}

impl Follow {
    /// The journal of a state directory, of which nothing was read yet.
    pub fn of(state_dir: &Path) -> Self {
        Self {
            path: state_dir.join(NAME),
            read: 0,
            lines: 0,
            history: History::default(),
            events: Vec::new(),
        }
    }

    /// Read what is new. Whether there was something.
    pub fn look(&mut self) -> Result<bool, JournalError> {
        let new = self.unread().map_err(FileError::io(Action::Read, &self.path))?;
        let end = new.iter().position(|&b| b == 0).unwrap_or(new.len());
        let whole = new[..end].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        for line in new[..whole].split_inclusive(|&b| b == b'\n') {
            self.lines += 1;
            self.read += line.len() as u64;
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            self.add(&entry_at(&self.path, line, self.lines)?);
        }
        Ok(whole > 0)
    }

    fn add(&mut self, entry: &Entry) {
        self.history.add(entry);
        self.events.extend(event_of(entry, &self.history));
        if self.events.len() > 2 * KEPT {
            self.events.drain(..self.events.len() - KEPT);
        }
    }

    fn unread(&mut self) -> std::io::Result<Vec<u8>> {
        let mut file = match File::open(&self.path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        if file.metadata()?.len() < self.read {
            // It is another one: somebody moved the old one away.
            *self = Self { path: std::mem::take(&mut self.path), ..Self::of(Path::new("")) };
        }
        file.seek(SeekFrom::Start(self.read))?;
        let mut new = Vec::new();
        file.read_to_end(&mut new)?;
        Ok(new)
    }

    /// What was read so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The events since the last call, oldest first; of many only the newest.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}
