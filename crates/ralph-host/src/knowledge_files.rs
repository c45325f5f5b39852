//! The two files of the knowledge index around an agent that writes them: a snapshot, and the way back.
//!
//! A snapshot holds the bytes, so that a file comes back as it was whatever was in it; a file that was
//! not there is removed again.

use std::path::Path;

use ralph_core::memory::index::{Files, JSON_FILE, MARKDOWN_FILE, Violation, verify};

use crate::file_error::FileError;
use crate::store::{self, drop_view, put_view};

/// The index as it is at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    markdown: Option<Vec<u8>>,
    json: Option<Vec<u8>>,
    texts: [Option<String>; 2],
}

impl Snapshot {
    /// Take one.
    pub fn take(root: &Path) -> Result<Self, FileError> {
        let markdown = store::read(&root.join(MARKDOWN_FILE))?;
        let json = store::read(&root.join(JSON_FILE))?;
        // Bytes that are no text are shown as such, and fail the checks where they matter.
        let text = |bytes: &Option<Vec<u8>>| {
            bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let texts = [text(&markdown), text(&json)];
        Ok(Self { markdown, json, texts })
    }

    /// What the files say.
    pub fn files(&self) -> Files<'_> {
        let [markdown, json] = &self.texts;
        Files { markdown: markdown.as_deref(), json: json.as_deref() }
    }

    /// Whether what an agent has made of the index since then may stay.
    pub fn verify(&self, now: &Self) -> Result<(), Vec<Violation>> {
        verify(self.files(), now.files())
    }

    /// Put the files back as they were. A file that did not change is not touched.
    pub fn restore(&self, root: &Path) -> Result<(), FileError> {
        let now = Self::take(root)?;
        let pairs =
            [(MARKDOWN_FILE, &self.markdown, now.markdown), (JSON_FILE, &self.json, now.json)];
        for (file, then, now) in pairs {
            let path = root.join(file);
            match then {
                _ if *then == now => {}
                Some(bytes) => put_view(&path, bytes)?,
                None => drop_view(&path)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "knowledge_files_tests.rs"]
mod tests;
