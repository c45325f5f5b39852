//! The end of a log that grows, in lines for people.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use ralph_core::backend::{
    BackendDriver, BackendEvent, BackendPermissions, BackendReader, BackendRequest,
};
use ralph_core::dashboard::BackendMeter;
use ralph_face::{ScreenLine, ScreenStyle, event_line};
use serde_json::Value;

/// Of a long log only so many bytes are read at first.
const MOST: u64 = 1 << 20;

/// A log and how far it was read.
#[derive(Default)]
pub(super) struct AttemptLogTail {
    path: Option<PathBuf>,
    reader: Option<Box<dyn BackendReader>>,
    read: u64,
    /// The beginning of a line whose end is not there yet.
    rest: Vec<u8>,
    /// Last context size and cost that the backend reported.
    pub(super) meter: BackendMeter,
}

impl AttemptLogTail {
    /// Nothing of this log was read yet. Without a driver its lines are shown as they are.
    pub(super) fn of(path: PathBuf, driver: Option<&dyn BackendDriver>) -> Self {
        let request = BackendRequest {
            permissions: BackendPermissions::Default,
            ..BackendRequest::plain("")
        };
        let length = path.metadata().map_or(0, |meta| meta.len());
        Self {
            path: Some(path),
            reader: driver.map(|driver| driver.reader(&request)),
            read: length.saturating_sub(MOST),
            rest: Vec::new(),
            meter: BackendMeter::default(),
        }
    }

    pub(super) fn is_of(&self, path: &Path) -> bool {
        self.path.as_deref() == Some(path)
    }

    /// Add what is new to `out`. A log that cannot be read says nothing.
    pub(super) fn read(&mut self, root: Option<&str>, out: &mut Vec<ScreenLine>) {
        let Some(new) = self.unread() else { return };
        self.rest.extend(new);
        let whole = self.rest.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let rest = self.rest.split_off(whole);
        let lines = std::mem::replace(&mut self.rest, rest);
        let mut events = Vec::new();
        for line in lines.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
            let Some(reader) = &mut self.reader else {
                out.push(ScreenLine::of(ScreenStyle::Plain, String::from_utf8_lossy(line)));
                continue;
            };
            reader.line(line, &mut events);
            for event in events.drain(..) {
                self.meter.hear(&event);
                out.extend(answer(&event).or_else(|| event_line(&event, root)));
            }
        }
    }

    fn unread(&mut self) -> Option<Vec<u8>> {
        let mut file = File::open(self.path.as_ref()?).ok()?;
        if file.metadata().ok()?.len() <= self.read {
            return None;
        }
        file.seek(SeekFrom::Start(self.read)).ok()?;
        let mut new = Vec::new();
        file.take(MOST).read_to_end(&mut new).ok()?;
        self.read += new.len() as u64;
        Some(new)
    }
}

/// An answer that is meant for ralph, in the one line of it that is meant for people.
fn answer(event: &BackendEvent) -> Option<ScreenLine> {
    let BackendEvent::Text(text) = event else { return None };
    let value: Value = serde_json::from_str(text.trim()).ok().filter(Value::is_object)?;
    let summary = value["summary"].as_str().unwrap_or("in JSON, for ralph alone");
    Some(
        ScreenLine::of(ScreenStyle::Strong, format!("{:<9}", "answer"))
            .hang_here()
            .add(ScreenStyle::Plain, summary),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_in_json_is_one_line_for_people() {
        let line = |text: &str| answer(&BackendEvent::Text(text.into())).map(|line| line.text());
        let told = line(r#"{"summary": "Parsed it.", "files_touched": []}"#);
        assert_eq!(told.as_deref(), Some("answer   Parsed it."));
        assert_eq!(line("{not json"), None);
        assert_eq!(line("I parsed it."), None);
    }
}
