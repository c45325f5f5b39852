//! Log of a backend as items that a page can show, read while the log grows.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use ralph_core::backend::{
    BackendDriver, BackendEvent, BackendPermissions, BackendReader, BackendRequest, ToolStatus,
};
use ralph_core::cycle::AttemptView;
use ralph_core::dashboard::redact::Redactor;
use ralph_core::dashboard::{AgentRow, BackendMeter};
use ralph_core::text::clip;
use ralph_face::{event_line, tool_words};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Items that are kept of one log; of a longer one the middle is left out.
const MOST: usize = 20_000;
/// Most characters of one item.
const LONGEST: usize = 8_000;
/// Bytes that are read at once.
const PIECE: usize = 256 * 1024;
/// Longest line; what comes behind is dropped.
const LINE: usize = 8 * 1024 * 1024;

/// One thing that a backend said or did.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct LogItem {
    /// `says`, `thinks`, `tool`, `result`, `start`, `usage` or `note`.
    pub(crate) kind: &'static str,
    /// In a line, or the words themselves.
    pub(crate) text: String,
    /// The whole input of a tool, or what it gave back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// Pairs a tool call with its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) call: Option<String>,
    /// A tool or the backend failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) failed: bool,
}

/// An attempt or an agent, with what is needed to read its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogOwner {
    pub(crate) id: String,
    pub(crate) backend: String,
    pub(crate) log: Option<String>,
}

impl From<&AttemptView> for LogOwner {
    fn from(view: &AttemptView) -> Self {
        let started = &view.started;
        Self {
            id: started.attempt.clone(),
            backend: started.backend.clone(),
            log: started.log.clone(),
        }
    }
}

impl From<&AgentRow> for LogOwner {
    fn from(row: &AgentRow) -> Self {
        Self { id: row.id.clone(), backend: row.backend.clone(), log: Some(row.log.clone()) }
    }
}

/// A log that is read as it grows.
pub(crate) struct LogStream {
    pub(crate) owner: String,
    path: PathBuf,
    root: String,
    reader: Option<Box<dyn BackendReader>>,
    offset: u64,
    partial: Vec<u8>,
    pub(crate) items: Vec<LogItem>,
    pub(crate) left_out: usize,
    pub(crate) meter: BackendMeter,
}

impl LogStream {
    /// The log of an attempt or an agent at `path`, below `root`.
    pub(crate) fn new(
        owner: &str,
        path: PathBuf,
        root: &Path,
        driver: Option<&dyn BackendDriver>,
    ) -> Self {
        let request = BackendRequest {
            permissions: BackendPermissions::Default,
            ..BackendRequest::plain("")
        };
        Self {
            owner: owner.to_owned(),
            path,
            root: root.to_string_lossy().into_owned(),
            reader: driver.map(|driver| driver.reader(&request)),
            offset: 0,
            partial: Vec::new(),
            items: Vec::new(),
            left_out: 0,
            meter: BackendMeter::default(),
        }
    }

    /// Read what is new; whether there was anything.
    pub(crate) fn look(&mut self, redactor: &Redactor) -> bool {
        let before = self.items.len() + self.left_out;
        let Ok(mut file) = File::open(&self.path) else { return false };
        if file.seek(SeekFrom::Start(self.offset)).is_err() {
            return false;
        }
        let mut piece = vec![0; PIECE];
        while let Ok(length) = file.read(&mut piece) {
            if length == 0 {
                break;
            }
            self.offset += length as u64;
            for &byte in &piece[..length] {
                match byte {
                    b'\n' => {
                        let line = std::mem::take(&mut self.partial);
                        self.line(&line, redactor);
                    }
                    byte if self.partial.len() < LINE => self.partial.push(byte),
                    _ => {}
                }
            }
        }
        self.items.len() + self.left_out != before
    }

    fn line(&mut self, line: &[u8], redactor: &Redactor) {
        let Some(reader) = &mut self.reader else {
            let text = String::from_utf8_lossy(line).into_owned();
            return self.push(item("says", text), redactor);
        };
        let mut events = Vec::new();
        reader.line(line, &mut events);
        for event in events {
            if let Some(item) = self.item(&event) {
                self.push(item, redactor);
            }
        }
    }

    fn push(&mut self, mut item: LogItem, redactor: &Redactor) {
        // A message comes in pieces: one item each would be a word a line.
        if let Some(last) = self.items.last_mut()
            && last.kind == item.kind
            && matches!(item.kind, "says" | "thinks")
            && last.text.len() < LONGEST
            && self.reader.is_some()
        {
            last.text.push_str(&item.text);
            last.text = redactor.hide(&last.text);
            return;
        }
        item.text = redactor.hide(&clip(&item.text, LONGEST));
        item.detail = item.detail.map(|detail| redactor.hide(&clip(&detail, LONGEST)));
        if self.items.len() < MOST {
            self.items.push(item);
        } else {
            self.left_out += 1;
        }
    }

    fn item(&mut self, event: &BackendEvent) -> Option<LogItem> {
        match event {
            BackendEvent::Text(text) => Some(item("says", text.clone())),
            BackendEvent::Thinking(text) => Some(item("thinks", text.clone())),
            BackendEvent::ToolCall { id, name, input } => Some(LogItem {
                detail: detail(input),
                call: Some(id.clone()),
                ..item("tool", tool_words(name, input, Some(&self.root)))
            }),
            BackendEvent::ToolResult { id, status, text } => Some(LogItem {
                detail: Some(text.clone()),
                call: Some(id.clone()),
                failed: *status == ToolStatus::Failed,
                ..item("result", clip(text.lines().next().unwrap_or_default(), 200))
            }),
            BackendEvent::Context(_) | BackendEvent::Cost(_) => {
                self.meter.hear(event);
                None
            }
            BackendEvent::Usage(_) => self.note("usage", event),
            BackendEvent::Started { .. } => self.note("start", event),
            BackendEvent::Denied { .. } | BackendEvent::CompactionFailed(_) => {
                self.note("note", event).map(|item| LogItem { failed: true, ..item })
            }
            other => self.note("note", other),
        }
    }

    fn note(&self, kind: &'static str, event: &BackendEvent) -> Option<LogItem> {
        let line = event_line(event, Some(&self.root))?.text();
        // The first word is the kind, which has a column of its own here.
        let words = line.split_once(char::is_whitespace).map_or(line.as_str(), |(_, rest)| rest);
        Some(item(kind, words.trim().to_owned()))
    }
}

fn item(kind: &'static str, text: String) -> LogItem {
    LogItem { kind, text, detail: None, call: None, failed: false }
}

/// The input of a tool as text: an edit as a difference, anything else as JSON.
fn detail(input: &Value) -> Option<String> {
    let text = |key: &str| input[key].as_str();
    let names = [("old_string", "new_string"), ("find", "with")];
    let edit = names.iter().find_map(|(old, new)| Some((text(old)?, text(new)?)));
    if let Some((old, new)) = edit {
        let lines = |sign: &str, text: &str| {
            text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>()
        };
        return Some(format!("{}{}", lines("-", old), lines("+", new)));
    }
    let empty = input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty);
    (!empty).then(|| serde_json::to_string_pretty(input).unwrap_or_default())
}
