//! The loop as JSON: one event a line, as `events.jsonl` has them, and the live ones.
//!
//! Words for people go to another stream, so that standard output is data.

use std::io::Write;

use ralph_core::cycle::{EventKind, LoopEvent};
use ralph_host::drive::LoopListener;

use crate::lines::{LineView, LineViewDetail};

/// Listener that writes each event as a JSON object on a line.
#[derive(Debug)]
pub struct JsonListener<W, E> {
    out: W,
    words: LineView<E>,
}

impl<W: Write, E: Write> JsonListener<W, E> {
    /// Events to `out`, problems and the end in words to `words`.
    pub fn new(out: W, words: E) -> Self {
        Self { out, words: LineView::new(words, LineViewDetail::Problems) }
    }

    /// Return both writers.
    pub fn into_inner(self) -> (W, E) {
        (self.out, self.words.into_inner())
    }
}

impl<W: Write, E: Write> LoopListener for JsonListener<W, E> {
    fn on_event(&mut self, event: &LoopEvent<'_>) {
        // A reader of data has a clock of its own.
        if !matches!(event.kind, EventKind::Tick(_)) {
            // A reader that went away stops nobody's work.
            let _ = serde_json::to_string(event)
                .map_err(std::io::Error::from)
                .and_then(|line| writeln!(self.out, "{line}"))
                .and_then(|()| self.out.flush());
        }
        self.words.on_event(event);
    }
}
