//! Reading the journal while a loop writes it: what is new since the last look.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use ralph_core::cycle::JournalEntry;

use super::journal::{JournalError, NAME, entry_at};
use crate::file_error::{FileAction, FileError};

/// Bytes that are read at once.
const CHUNK: usize = 256 * 1024;

/// A place in the journal up to which everything was read.
#[derive(Debug)]
pub struct JournalTail {
    path: PathBuf,
    file: Option<File>,
    inode: u64,
    offset: u64,
    line: usize,
}

/// Result of one look at the journal.
#[derive(Debug, Default)]
pub struct NewJournalRecords {
    /// The journal is another one than before: forget what was read of the old one.
    pub restarted: bool,
    /// Records that were not there at the last look.
    pub entries: Vec<JournalEntry>,
    /// Set when the journal may have more records that can be read at once.
    pub more: bool,
}

impl JournalTail {
    /// The beginning of the journal in a state directory.
    pub fn new(state_dir: &Path) -> Self {
        Self { path: state_dir.join(NAME), file: None, inode: 0, offset: 0, line: 0 }
    }

    /// Read the next piece of new records. An unfinished line and the room behind the last line are left
    /// for later. Nothing is changed.
    pub fn look(&mut self) -> Result<NewJournalRecords, JournalError> {
        let failed = |e| FileError::io(FileAction::Read, &self.path)(e);
        let meta = match std::fs::metadata(&self.path) {
            Ok(meta) => meta,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let restarted = self.file.take().is_some();
                (self.offset, self.line) = (0, 0);
                return Ok(NewJournalRecords { restarted, ..NewJournalRecords::default() });
            }
            Err(e) => return Err(failed(e).into()),
        };
        let mut fresh = NewJournalRecords::default();
        if self.file.is_none() || meta.ino() != self.inode || meta.len() < self.offset {
            fresh.restarted = self.file.is_some();
            self.file = Some(File::open(&self.path).map_err(failed)?);
            (self.inode, self.offset, self.line) = (meta.ino(), 0, 0);
        }
        let Some(file) = &self.file else { return Ok(fresh) };
        let mut bytes = vec![0; CHUNK];
        let mut length = file.read_at(&mut bytes, self.offset).map_err(failed)?;
        // A record that is longer than a piece is read whole.
        while length == bytes.len() && !bytes.contains(&b'\n') && !bytes.contains(&0) {
            bytes.resize(bytes.len() * 2, 0);
            length = file.read_at(&mut bytes, self.offset).map_err(failed)?;
        }
        let full = length == bytes.len();
        bytes.truncate(length);
        bytes.truncate(memchr::memchr(0, &bytes).unwrap_or(bytes.len()));
        fresh.more = full && bytes.len() == length;
        let Some(end) = memchr::memrchr(b'\n', &bytes) else { return Ok(fresh) };
        for line in bytes[..end].split(|&b| b == b'\n') {
            self.line += 1;
            if !line.iter().all(u8::is_ascii_whitespace) {
                fresh.entries.push(entry_at(&self.path, line, self.line)?);
            }
        }
        self.offset += end as u64 + 1;
        Ok(fresh)
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::cycle::JournalRecord;

    use super::super::{Durability, Journal};
    use super::*;

    fn append(journal: &mut Journal, n: u32) {
        let record = JournalRecord::Indexed { iteration: n };
        journal.append(format!("t{n}"), record, Durability::Eventual).unwrap();
    }

    #[test]
    fn every_record_is_seen_once_while_it_is_written_and_after_a_restart() {
        let place = tempfile::tempdir().unwrap();
        let mut tail = JournalTail::new(place.path());
        assert!(tail.look().unwrap().entries.is_empty());
        let (mut journal, _) = Journal::open(place.path()).unwrap();
        let mut seen = Vec::new();
        for n in 0..5000 {
            append(&mut journal, n);
            if n % 700 == 0 {
                seen.extend(tail.look().unwrap().entries);
            }
        }
        drop(journal);
        let (mut journal, _) = Journal::open(place.path()).unwrap();
        append(&mut journal, 5000);
        loop {
            let fresh = tail.look().unwrap();
            assert!(!fresh.restarted);
            seen.extend(fresh.entries);
            if !fresh.more {
                break;
            }
        }
        let expected: Vec<String> = (0..=5000).map(|n| format!("t{n}")).collect();
        assert_eq!(seen.iter().map(|e| e.at.clone()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn another_journal_is_read_from_its_beginning() {
        let place = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(place.path()).unwrap();
        append(&mut journal, 1);
        let mut tail = JournalTail::new(place.path());
        assert_eq!(tail.look().unwrap().entries.len(), 1);
        drop(journal);
        super::super::drop_view(&place.path().join(NAME)).unwrap();
        let gone = tail.look().unwrap();
        assert!(gone.restarted && gone.entries.is_empty());
        let (mut journal, _) = Journal::open(place.path()).unwrap();
        append(&mut journal, 2);
        assert_eq!(tail.look().unwrap().entries[0].at, "t2");
    }
}
