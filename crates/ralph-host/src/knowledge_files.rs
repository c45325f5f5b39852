//! The two files of the knowledge index, and the checks of what an agent made of them.

use std::path::Path;

use ralph_core::memory::index::{
    IndexCheck, IndexFiles, IndexViolation, JSON_FILE, MARKDOWN_FILE, verify,
};

use crate::file_error::FileError;
use crate::store;

/// The index as it is at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnowledgeSnapshot {
    markdown: KnowledgeFileCopy,
    json: KnowledgeFileCopy,
}

/// One of the two files of the index, as bytes and as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct KnowledgeFileCopy {
    bytes: Option<Vec<u8>>,
    /// The same as text; what is none is replaced.
    text: Option<String>,
}

impl KnowledgeFileCopy {
    fn of(bytes: Option<Vec<u8>>) -> Self {
        let text = bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Self { bytes, text }
    }

    fn is_text(&self) -> bool {
        self.bytes.as_ref().is_none_or(|bytes| std::str::from_utf8(bytes).is_ok())
    }
}

impl KnowledgeSnapshot {
    /// Read it from the files below a directory.
    pub fn take(root: &Path) -> Result<Self, FileError> {
        let read = |file: &str| store::read(&root.join(file)).map(KnowledgeFileCopy::of);
        Ok(Self { markdown: read(MARKDOWN_FILE)?, json: read(JSON_FILE)? })
    }

    /// The index as an agent wrote it.
    pub fn of_bytes(markdown: Option<Vec<u8>>, json: Option<Vec<u8>>) -> Self {
        Self { markdown: KnowledgeFileCopy::of(markdown), json: KnowledgeFileCopy::of(json) }
    }

    /// Return the texts of both files.
    pub fn files(&self) -> IndexFiles<'_> {
        IndexFiles { markdown: self.markdown.text.as_deref(), json: self.json.text.as_deref() }
    }

    /// The bytes of each file, by its name; `None` where there is no such file.
    pub fn bytes(&self) -> [(&'static str, Option<&[u8]>); 2] {
        [(MARKDOWN_FILE, &self.markdown), (JSON_FILE, &self.json)]
            .map(|(file, kept)| (file, kept.bytes.as_deref()))
    }

    /// List what an agent that made the index `now` may not have done to it.
    pub fn violations(&self, now: &Self) -> Vec<IndexViolation> {
        let no_text = |then: &KnowledgeFileCopy, now: &KnowledgeFileCopy| {
            !now.is_text() && then.bytes != now.bytes
        };
        let wrong = |check, file| {
            let message = "it is not UTF-8 text".to_owned();
            vec![IndexViolation { check, file, line: None, message }]
        };
        if no_text(&self.markdown, &now.markdown) {
            return wrong(IndexCheck::Header, MARKDOWN_FILE);
        }
        if no_text(&self.json, &now.json) {
            return wrong(IndexCheck::AppendOnly, JSON_FILE);
        }
        verify(self.files(), now.files()).err().unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "knowledge_files_tests.rs"]
mod tests;
