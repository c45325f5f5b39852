//! Live view of a backend, line by line.
//!
//! A word in the first column says what a line is about. The text of an answer comes in pieces of any
//! size, so the pieces are kept until a line is complete or something else happens.

use std::path::Path;

use ralph_core::backend::{BackendEvent, LimitStatus, RateLimit, StopCause, ToolStatus};
use ralph_core::limits::MonitorAction;
use ralph_face::tool_words;
use ralph_host::backends::BackendNotice;
use ralph_host::clock::Clock;

use crate::out::{self, OutputMode};

/// Width of the first column, in characters.
const WORD: usize = 9;

/// Most characters of a line of an answer.
const LONGEST: usize = 4000;

/// Most characters of a line about anything else.
const SHORT: usize = 160;

/// Live view of one run of a backend.
pub(super) struct BackendLiveView {
    render: OutputMode,
    clock: Clock,
    /// Working directory of the backend, with a slash at the end. It is left out of shown paths.
    here: String,
    /// The line of an answer that is not whole yet.
    pending: Option<(&'static str, String)>,
    /// Word of the last line, which is not repeated if the next line has the same word.
    speaking: Option<&'static str>,
}

impl BackendLiveView {
    /// In JSON mode everything here goes to standard error.
    pub(super) fn new(render: OutputMode, clock: Clock, here: &Path) -> Self {
        let here = format!("{}/", here.display());
        Self { render, clock, here, pending: None, speaking: None }
    }

    pub(super) fn start(&mut self, text: &str) {
        self.print("run", text);
    }

    pub(super) fn end(&mut self) {
        self.flush();
    }

    /// Show this, if it says something to people.
    pub(super) fn hear(&mut self, heard: BackendNotice<'_>) {
        match heard {
            BackendNotice::Event(BackendEvent::Text(text)) => self.speak("says", text),
            BackendNotice::Event(BackendEvent::Thinking(text)) => self.speak("thinks", text),
            // Numbers come between the pieces of a text.
            BackendNotice::Event(
                BackendEvent::Usage(_) | BackendEvent::Cost(_) | BackendEvent::Unknown(_),
            ) => {}
            BackendNotice::Event(event) => {
                self.flush();
                if let Some((word, text)) = describe(event, &self.clock) {
                    self.print(word, &text.replace(&self.here, ""));
                }
            }
            BackendNotice::Started | BackendNotice::Tick => {}
            BackendNotice::Decision(decision) => {
                self.flush();
                self.print("ralph", &decided(decision));
            }
        }
    }

    fn speak(&mut self, word: &'static str, text: &str) {
        if self.pending.as_ref().is_some_and(|(other, _)| *other != word) {
            self.flush();
        }
        let mut lines = text.split('\n');
        let first = lines.next().unwrap_or_default();
        let (_, pending) = self.pending.get_or_insert((word, String::new()));
        push(pending, first);
        for line in lines {
            self.line();
            let (_, pending) = self.pending.insert((word, String::new()));
            push(pending, line);
        }
    }

    /// Show the pending line, which is complete.
    fn line(&mut self) {
        let Some((word, text)) = self.pending.take() else { return };
        let text = out::clip(text.trim_end(), LONGEST);
        if text.is_empty() {
            return;
        }
        let first = if self.speaking == Some(word) { "" } else { word };
        self.show(first, &text);
        self.speaking = Some(word);
    }

    fn flush(&mut self) {
        self.line();
        self.speaking = None;
    }

    fn print(&mut self, word: &str, text: &str) {
        self.show(word, &out::clip(text.trim(), SHORT));
    }

    fn show(&self, word: &str, text: &str) {
        let line = format!("{word:WORD$}{text}");
        match self.render {
            OutputMode::Json => out::note(line.trim_end()),
            // A reader that went away does not end the run.
            OutputMode::People => drop(out::line(line.trim_end())),
        }
    }
}

/// Whatever a program prints without a line end costs bounded memory.
fn push(line: &mut String, more: &str) {
    if line.len() <= LONGEST * 4 {
        line.push_str(&ralph_core::text::clip(more, LONGEST + 1));
    }
}

fn describe(event: &BackendEvent, clock: &Clock) -> Option<(&'static str, String)> {
    Some(match event {
        BackendEvent::Started { model: Some(model), .. } => ("model", model.clone()),
        BackendEvent::ToolCall { name, input, .. } => ("tool", tool_words(name, input, None)),
        BackendEvent::ToolResult { status: ToolStatus::Ok, text, .. } => ("ok", first_line(text)),
        BackendEvent::ToolResult { status: ToolStatus::Failed, text, .. } => {
            ("failed", first_line(text))
        }
        BackendEvent::RateLimit(limit) => ("limit", limited(limit, clock)),
        BackendEvent::Retry { attempt, of, delay_ms, reason } => {
            let of = of.map(|of| format!(" of {of}")).unwrap_or_default();
            let wait = delay_ms.map(|ms| format!(", in {}", seconds(ms))).unwrap_or_default();
            ("retry", format!("{attempt}{of}{wait}: {}", first_line(reason)))
        }
        BackendEvent::Compacted { before, after, .. } => {
            let tokens = |n: &Option<u64>| n.map_or("unknown".to_owned(), |n| n.to_string());
            ("compact", format!("from {} to {} tokens", tokens(before), tokens(after)))
        }
        BackendEvent::CompactionFailed(why) => ("compact", format!("failed: {}", first_line(why))),
        BackendEvent::Denied { tool, reason: Some(reason) } => {
            ("denied", format!("{tool}: {}", first_line(reason)))
        }
        BackendEvent::Denied { tool, reason: None } => ("denied", tool.clone()),
        _ => return None,
    })
}

fn decided(decision: &MonitorAction) -> String {
    match decision {
        MonitorAction::Warn(text) => text.trim_start_matches("[RALPH] ").to_owned(),
        MonitorAction::Compact => {
            "the context should be compacted; that is left to the program here".to_owned()
        }
        MonitorAction::Stop(stop) => {
            let why = match stop {
                StopCause::Timeout => "it takes too long",
                StopCause::Idle => "it has fallen silent",
                StopCause::Cancelled => "as asked",
                StopCause::ContextFull => "its context is full",
                StopCause::Budget => "the money is used up",
                StopCause::Lingered => "it has finished and does not exit",
            };
            format!("ending it: {why}")
        }
    }
}

fn limited(limit: &RateLimit, clock: &Clock) -> String {
    let mut text = match limit.status {
        LimitStatus::Warning => "nearly used up".to_owned(),
        LimitStatus::Rejected => "used up".to_owned(),
    };
    if let Some(kind) = &limit.kind {
        text.push_str(&format!(" ({})", kind.replace('_', " ")));
    }
    if let Some(when) = limit.resets_at.and_then(|at| clock.on_the_wall(at)) {
        text.push_str(&format!(", until {when}"));
    }
    text
}

fn first_line(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default().trim().to_owned();
    match lines.count() {
        0 => first,
        more => {
            format!("{} (and {})", out::clip(&first, SHORT - 30), out::count(more, "more line"))
        }
    }
}

fn seconds(ms: u64) -> String {
    format!("{:.1} s", ms as f64 / 1000.0)
}
