//! The journal of a worktree: what the loops decided and did, oldest first.
//!
//! # Theory of operation
//!
//! One JSON record a line in `journal.jsonl`, in the git directory, where no clean-up reaches. Only
//! the holder of the run lock writes it. An intent is synced before anything happens because of it,
//! and meanwhile what does not depend on it may go on ([`Durability::Syncing`], [`Journal::settle`]);
//! a fact that git or the ledger shows anyway is not synced. A last line without its end was never
//! acknowledged, so it is cut off; any other damage stops ralph, because what happened before is not
//! guessed.
//!
//! While the journal is open there is room behind its last line: zeros, which no record has in it, so
//! that what comes from the first of them on was never acknowledged either. A record that is written
//! over them does not make the file longer, and is on the disk in a fraction of the time.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ralph_core::cycle::{History, JOURNAL_FORM, JournalEntry, JournalRecord, RunStart};
use serde_json::Value;

use super::sync::{self, BackgroundSync};
use super::target;
use super::view::put_view;
use crate::file_error::{FileAction, FileError};
use crate::redaction::hide_record;

/// The journal's name in the state directory.
pub(super) const NAME: &str = "journal.jsonl";

/// Bytes of room that are added at once.
const ROOM: usize = 128 * 1024;

/// Whether a record must be on the disk before anything else happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Wait until the record is on the disk.
    Synced,
    /// Start to write the record to the disk. [`Journal::settle`] waits for it.
    Syncing,
    /// Do not wait. A power failure may lose the record, but something else shows the same fact.
    Eventual,
}

/// Journal that is open for writing. Only the holder of the run lock has one.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of records in the file. No other process writes it.
    length: u64,
    /// Position at which the zeros behind the records end.
    room: u64,
    syncing: BackgroundSync,
}

/// A journal that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(transparent)]
    File(#[from] FileError),
    /// Another version of ralph wrote it.
    #[error(
        "{}:{line}: written by another version of ralph: {message}; this is ralph {}",
        path.display(),
        env!("CARGO_PKG_VERSION")
    )]
    Foreign {
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Part of the record that this version does not know.
        message: String,
    },
    #[error("{}:{line}: this is no record of ralph's journal: {message}", path.display())]
    Damaged {
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        message: String,
    },
}

impl JournalError {
    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(e) => e.hint(),
            Self::Foreign { path, .. } => Some(format!(
                "nothing was changed; go on with the ralph that wrote it, or move {} away to start \
                 with an empty history (what is landed is in git)",
                path.display()
            )),
            Self::Damaged { path, .. } => Some(format!(
                "nothing was changed; move {} away to start with an empty history (what is landed \
                 is in git)",
                path.display()
            )),
        }
    }
}

/// Read the journal of a state directory without changing it.
pub fn read_history(state_dir: &Path) -> Result<History, JournalError> {
    let path = state_dir.join(NAME);
    Ok(load(&path)?.0)
}

/// Whether the journal of a state directory ends in something that was never acknowledged. Only when
/// no loop writes it does that mean anything.
pub fn is_torn(state_dir: &Path) -> Result<bool, JournalError> {
    let bytes = target::read(&state_dir.join(NAME))?.unwrap_or_default();
    let end = memchr::memchr(0, &bytes).unwrap_or(bytes.len());
    let cut = bytes[..end].last().is_some_and(|&last| last != b'\n');
    Ok(cut || bytes[end..].iter().any(|&byte| byte != 0))
}

/// The file that holds the journal of a state directory.
pub fn journal_file(state_dir: &Path) -> PathBuf {
    state_dir.join(NAME)
}

/// Hand on every record of the journal of a state directory, oldest first, without changing it.
pub fn read_entries(
    state_dir: &Path,
    hear: &mut dyn FnMut(&JournalEntry),
) -> Result<(), JournalError> {
    read_whole(&state_dir.join(NAME), hear).map(drop)
}

/// Read the journal. Return its history, the number of bytes in whole lines, and the bytes behind the
/// first zero that should be zeros. A machine that lost its power may have written such bytes before
/// earlier ones.
fn load(path: &Path) -> Result<(History, u64, Vec<u8>), JournalError> {
    let mut history = History::default();
    let (whole, behind) = read_whole(path, &mut |entry| history.add(entry))?;
    Ok((history, whole, behind))
}

fn read_whole(
    path: &Path,
    hear: &mut dyn FnMut(&JournalEntry),
) -> Result<(u64, Vec<u8>), JournalError> {
    let mut bytes = target::read(path)?.unwrap_or_default();
    let mut behind = bytes.split_off(memchr::memchr(0, &bytes).unwrap_or(bytes.len()));
    behind.retain(|&byte| byte != 0);
    let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    for (n, line) in bytes[..whole].split(|&b| b == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        hear(&entry_at(path, line, n + 1)?);
    }
    Ok((u64::try_from(whole).unwrap_or(u64::MAX), behind))
}

/// Parse the record on one line of the journal.
pub(super) fn entry_at(
    path: &Path,
    line: &[u8],
    number: usize,
) -> Result<JournalEntry, JournalError> {
    entry(line).map_err(|problem| problem.at(path, number))
}

/// Problem with a line of the journal.
enum JournalLineProblem {
    Foreign(String),
    Damaged(String),
}

impl JournalLineProblem {
    fn at(self, path: &Path, line: usize) -> JournalError {
        let path = path.to_owned();
        match self {
            Self::Foreign(message) => JournalError::Foreign { path, line, message },
            Self::Damaged(message) => JournalError::Damaged { path, line, message },
        }
    }
}

/// One line. A whole record that this version does not know is not damage.
fn entry(line: &[u8]) -> Result<JournalEntry, JournalLineProblem> {
    let entry: JournalEntry = serde_json::from_slice(line).map_err(|e| {
        let value: Value = serde_json::from_slice(line).unwrap_or_default();
        match (value["at"].as_str(), value["record"].as_str()) {
            (Some(_), Some(_)) => JournalLineProblem::Foreign(e.to_string()),
            _ => JournalLineProblem::Damaged(e.to_string()),
        }
    })?;
    match &entry.record {
        JournalRecord::RunStarted(RunStart { form, .. }) if *form != JOURNAL_FORM => {
            Err(JournalLineProblem::Foreign(format!(
                "its records have form {form}, and this ralph reads form {JOURNAL_FORM}"
            )))
        }
        _ => Ok(entry),
    }
}

impl Journal {
    /// Open the journal of a state directory for writing. Only the holder of the run lock may.
    pub fn open(state_dir: &Path) -> Result<(Self, History), JournalError> {
        let path = state_dir.join(NAME);
        let (history, whole, behind) = load(&path)?;
        if !behind.is_empty() {
            put_view(&path.with_extension("jsonl.torn"), &behind)?;
        }
        let file = open(&path, whole).map_err(FileError::io(FileAction::Write, &path))?;
        let syncing = BackgroundSync::default();
        Ok((Self { path, file, length: whole, room: whole, syncing }, history))
    }

    /// Append a record and return it as an entry, with its secrets hidden.
    pub fn append(
        &mut self,
        at: String,
        record: JournalRecord,
        durability: Durability,
    ) -> Result<JournalEntry, FileError> {
        let entry = JournalEntry { at, record: hide_record(record) };
        crate::crash::point();
        self.write(&entry, durability).map_err(FileError::io(FileAction::Write, &self.path))?;
        crate::crash::point();
        Ok(entry)
    }

    fn write(&mut self, entry: &JournalEntry, durability: Durability) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        if durability != Durability::Eventual {
            self.syncing.wait()?;
        }
        let written = self.put(&line).and_then(|()| match durability {
            Durability::Synced => sync::data(&self.file),
            Durability::Syncing => BackgroundSync::data(&self.file).map(|sync| self.syncing = sync),
            Durability::Eventual => Ok(()),
        });
        match written {
            Ok(()) => self.length += line.len() as u64,
            // Should this fail as well, the next start cuts the torn line off.
            Err(_) => _ = self.end_room(),
        }
        written
    }

    fn put(&mut self, line: &[u8]) -> io::Result<()> {
        let end = self.length + line.len() as u64;
        if end > self.room {
            let zeros = vec![0; line.len() + ROOM];
            match self.file.write_all_at(&zeros, self.length) {
                Ok(()) => self.room = self.length + zeros.len() as u64,
                // For the line alone there may be enough.
                Err(_) => self.end_room()?,
            }
        }
        self.file.write_all_at(line, self.length)
    }

    fn end_room(&mut self) -> io::Result<()> {
        self.room = self.length;
        self.file.set_len(self.length)
    }

    /// Wait until the last record that must be on the disk is there.
    pub fn settle(&mut self) -> Result<(), FileError> {
        self.syncing.wait().map_err(FileError::io(FileAction::Write, &self.path))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // If it stays, the next start does not look at it.
        let _left = self.end_room();
    }
}

fn open(path: &Path, whole: u64) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    if file.metadata()?.len() > whole {
        file.set_len(whole)?;
    }
    Ok(file)
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
