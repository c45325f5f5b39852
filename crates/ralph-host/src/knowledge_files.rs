//! The two files of the knowledge index, and the checks of what an agent made of them.

use std::path::Path;

use ralph_core::memory::index::{Check, Files, JSON_FILE, MARKDOWN_FILE, Violation, verify};

use crate::file_error::FileError;
use crate::store;

/// The index as it is at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    markdown: Kept,
    json: Kept,
}

/// One of the two files of the index, as bytes and as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Kept {
    bytes: Option<Vec<u8>>,
    /// The same as text; what is none is replaced.
    text: Option<String>,
}

impl Kept {
    fn of(bytes: Option<Vec<u8>>) -> Self {
        let text = bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Self { bytes, text }
    }

    fn is_text(&self) -> bool {
        self.bytes.as_ref().is_none_or(|bytes| std::str::from_utf8(bytes).is_ok())
    }
}

impl Snapshot {
    /// Read it from the files below a directory.
    pub fn take(root: &Path) -> Result<Self, FileError> {
        let read = |file: &str| store::read(&root.join(file)).map(Kept::of);
        Ok(Self { markdown: read(MARKDOWN_FILE)?, json: read(JSON_FILE)? })
    }

    /// The index as an agent wrote it.
    pub fn of_bytes(markdown: Option<Vec<u8>>, json: Option<Vec<u8>>) -> Self {
        Self { markdown: Kept::of(markdown), json: Kept::of(json) }
    }

    /// Return the texts of both files.
    pub fn files(&self) -> Files<'_> {
        Files { markdown: self.markdown.text.as_deref(), json: self.json.text.as_deref() }
    }

    /// The bytes of each file, by its name; `None` where there is no such file.
    pub fn bytes(&self) -> [(&'static str, Option<&[u8]>); 2] {
        [(MARKDOWN_FILE, &self.markdown), (JSON_FILE, &self.json)]
            .map(|(file, kept)| (file, kept.bytes.as_deref()))
    }

    /// List what an agent that made the index `now` may not have done to it.
    pub fn violations(&self, now: &Self) -> Vec<Violation> {
        let no_text = |then: &Kept, now: &Kept| !now.is_text() && then.bytes != now.bytes;
        let wrong = |check, file| {
            let message = "it is not UTF-8 text".to_owned();
            vec![Violation { check, file, line: None, message }]
        };
        if no_text(&self.markdown, &now.markdown) {
            return wrong(Check::Header, MARKDOWN_FILE);
        }
        if no_text(&self.json, &now.json) {
            return wrong(Check::AppendOnly, JSON_FILE);
        }
        verify(self.files(), now.files()).err().unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "knowledge_files_tests.rs"]
mod tests;
