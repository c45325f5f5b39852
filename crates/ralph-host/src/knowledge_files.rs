//! The two files of the knowledge index around an agent that writes them: a snapshot, the checks, and
//! the way back.
//!
//! A snapshot holds the bytes, so that a file comes back as it was whatever was in it; a file that was
//! not there is removed again.

use std::io;
use std::path::Path;

use ralph_core::memory::index::{Check, Files, JSON_FILE, MARKDOWN_FILE, Violation, verify};

use crate::file_error::{Action, FileError};
use crate::store::{self, drop_view, put_aside};

/// Largest file of the index that is read, in bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Where a directory goes that took the place of a file.
const ASIDE: &str = ".ralph/context/in-place-of-the-index";

/// The index as it is at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    markdown: Kept,
    json: Kept,
}

/// A file of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Kept {
    bytes: Option<Vec<u8>>,
    /// The same as text; what is none is replaced.
    text: Option<String>,
}

impl Kept {
    fn read(path: &Path) -> Result<Self, FileError> {
        if std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() > LARGEST) {
            let why = io::Error::other(format!("it has more than {LARGEST} bytes"));
            return Err(FileError::io(Action::Read, path)(why));
        }
        Ok(Self::of(store::read(path)?))
    }

    fn of(bytes: Option<Vec<u8>>) -> Self {
        let text = bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Self { bytes, text }
    }

    fn is_text(&self) -> bool {
        self.bytes.as_ref().is_none_or(|bytes| std::str::from_utf8(bytes).is_ok())
    }
}

impl Snapshot {
    /// Take one.
    pub fn take(root: &Path) -> Result<Self, FileError> {
        let read = |file: &str| Kept::read(&root.join(file));
        Ok(Self { markdown: read(MARKDOWN_FILE)?, json: read(JSON_FILE)? })
    }

    /// All of it as bytes, to be found again after a crash.
    pub fn to_bytes(&self) -> Vec<u8> {
        let both = [&self.markdown.bytes, &self.json.bytes];
        serde_json::to_vec(&both).unwrap_or_default()
    }

    /// The snapshot that was made into these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [markdown, json]: [Option<Vec<u8>>; 2] = serde_json::from_slice(bytes).ok()?;
        Some(Self { markdown: Kept::of(markdown), json: Kept::of(json) })
    }

    /// What the files say.
    pub fn files(&self) -> Files<'_> {
        Files { markdown: self.markdown.text.as_deref(), json: self.json.text.as_deref() }
    }

    /// Look at what an agent has made of the index since then: keep it, or put everything back and
    /// say why. Nothing said means that it was kept.
    pub fn settle(&self, root: &Path) -> Result<Vec<Violation>, FileError> {
        let found = self.violations(root);
        if !found.is_empty() {
            self.restore(root)?;
        }
        Ok(found)
    }

    /// What an agent may not have done to the index since then.
    pub fn violations(&self, root: &Path) -> Vec<Violation> {
        let wrong = |check, file, message| vec![Violation { check, file, line: None, message }];
        let now = match Self::take(root) {
            Ok(now) => now,
            Err(error) => return wrong(Check::Header, MARKDOWN_FILE, error.to_string()),
        };
        let no_text = |then: &Kept, now: &Kept| !now.is_text() && then.bytes != now.bytes;
        let message = || "it is not UTF-8 text".to_owned();
        if no_text(&self.markdown, &now.markdown) {
            return wrong(Check::Header, MARKDOWN_FILE, message());
        }
        if no_text(&self.json, &now.json) {
            return wrong(Check::AppendOnly, JSON_FILE, message());
        }
        verify(self.files(), now.files()).err().unwrap_or_default()
    }

    /// Put the files back as they were. A file that did not change is not touched.
    pub fn restore(&self, root: &Path) -> Result<(), FileError> {
        for (file, then) in [(MARKDOWN_FILE, &self.markdown), (JSON_FILE, &self.json)] {
            let path = root.join(file);
            if Kept::read(&path).is_ok_and(|now| now == *then) {
                continue;
            }
            if std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir()) {
                put_aside(&path, &root.join(ASIDE))?;
            }
            match &then.bytes {
                Some(bytes) => {
                    // An agent may have taken the directory away as well.
                    let directory = path.parent().unwrap_or(root);
                    std::fs::create_dir_all(directory)
                        .map_err(FileError::io(Action::Write, directory))?;
                    store::replace(&path, bytes)?;
                }
                None => drop_view(&path)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "knowledge_files_tests.rs"]
mod tests;
