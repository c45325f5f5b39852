//! Common parts of the readers of line-by-line JSON: parsing, state and judgement.
//!
//! A reader records in [`StreamState`] what the program reports about its own end. After the process has
//! ended, [`StreamState::judge`] combines that with the end of the process. The order of precedence is:
//! an action of ralph, a failure that the program reports, denied tools, a success that the
//! program reports. After a reported success, an exit code is only worth a note
//! ([`BackendOutcome::note`]), because programs fail while they clean up. Without a report about the end,
//! a run is never a success.

use serde_json::{Map, Value};

use super::failure::{judge_text, status_in};
use super::wire::{head, repair, tail};
use super::{
    BackendEvent, BackendExit, BackendOutcome, BackendPermissions, BackendReader, BackendRequest,
    MOST_ANSWER, ProcessEnding, RunUsage, StopCause,
};

/// A reader that keeps what it learns in a [`StreamState`]. All of them are [`BackendReader`]s in the same way.
pub(super) trait StreamReader: Send {
    fn heard(&self) -> &StreamState;

    fn heard_mut(&mut self) -> &mut StreamState;

    /// One JSON object of the stream; `None` when it is not known.
    fn event(&mut self, event: Map<String, Value>, events: &mut Vec<BackendEvent>) -> Option<()>;

    fn read_line(&mut self, line: &[u8], events: &mut Vec<BackendEvent>) {
        let Some(event) = self.heard_mut().object(line, events) else { return };
        match self.event(event, events) {
            Some(()) => self.heard_mut().understood = true,
            None => self.heard_mut().stray(line, events),
        }
    }

    fn has_ended(&self) -> bool {
        self.heard().end != ReportedEnd::Open
    }

    fn judge(&self, exit: &BackendExit, stderr: &str) -> BackendOutcome {
        self.heard().judge(exit, stderr)
    }
}

impl<T: StreamReader> BackendReader for T {
    fn line(&mut self, line: &[u8], events: &mut Vec<BackendEvent>) {
        self.read_line(line, events);
    }

    fn is_finished(&self) -> bool {
        self.has_ended()
    }

    fn outcome(&mut self, exit: &BackendExit, stderr: &str) -> BackendOutcome {
        self.judge(exit, stderr)
    }

    fn answer(&self) -> &str {
        self.heard().answer.as_str()
    }

    fn structured(&self) -> Option<&Value> {
        self.heard().structured.as_ref()
    }

    fn session(&self) -> Option<&str> {
        self.heard().session.as_deref()
    }

    fn spent(&self) -> RunUsage {
        self.heard().spent
    }
}

/// Most characters of a message that is kept for people.
const MESSAGE: usize = 2000;
/// Most bytes of a tool's words, or of a line that is not understood; the log has all of it.
pub(super) const MOST_TEXT: usize = 64 << 10;
/// Most names of denied tools that are kept.
const DENIED: usize = 32;
/// Last lines of standard error that may say why a program gave up.
const LAST_LINES: usize = 2;

/// End of the work, as reported by the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportedEnd {
    Open,
    Done,
    /// The program has stopped and may continue. If it reports nothing more, its exit code decides.
    Stopped,
    Failed,
}

/// Failure in the words of the program.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReportedFailure {
    /// The program used a word of its own that leaves no doubt.
    Known(BackendOutcome),
    /// A call to its model failed.
    Model {
        message: String,
        status: Option<u16>,
    },
    Program {
        message: String,
    },
}

impl ReportedFailure {
    /// As an outcome of a process that ended like this.
    fn outcome(&self, ending: ProcessEnding) -> BackendOutcome {
        match self {
            Self::Known(outcome) => outcome.clone(),
            Self::Model { message, status } => of_model(message, *status),
            Self::Program { message } => {
                judge_text(message, None).unwrap_or_else(|| match status_in(message) {
                    Some(_) => of_model(message, None),
                    None => BackendOutcome::Crash { ending, message: message.clone() },
                })
            }
        }
    }
}

/// A failed call to the model. Whatever its text does not explain is an API error.
pub(super) fn of_model(message: &str, status: Option<u16>) -> BackendOutcome {
    judge_text(message, status).unwrap_or_else(|| BackendOutcome::ApiError {
        status: status.or_else(|| status_in(message)),
        message: message.to_owned(),
    })
}

/// State collected from the output of a run.
#[derive(Debug)]
pub(super) struct StreamState {
    permissions: BackendPermissions,
    pub(super) end: ReportedEnd,
    pub(super) failure: Option<ReportedFailure>,
    pub(super) answer: AnswerTail,
    pub(super) structured: Option<Value>,
    pub(super) session: Option<String>,
    pub(super) spent: RunUsage,
    pub(super) denied: Vec<String>,
    understood: bool,
    /// The first line that made no sense.
    stray: Option<String>,
    last_is_broken: bool,
}

impl StreamState {
    /// Nothing yet, of a run for this request.
    pub(super) fn new(request: &BackendRequest<'_>) -> Self {
        Self {
            permissions: request.permissions,
            end: ReportedEnd::Open,
            failure: None,
            answer: AnswerTail::default(),
            structured: None,
            session: None,
            spent: RunUsage::default(),
            denied: Vec::new(),
            understood: false,
            stray: None,
            last_is_broken: false,
        }
    }

    /// The JSON object of a line. Anything else is kept as it came, and is no event.
    pub(super) fn object(
        &mut self,
        line: &[u8],
        events: &mut Vec<BackendEvent>,
    ) -> Option<Map<String, Value>> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let repaired = || serde_json::from_str(&repair(line)?).ok();
        let value = serde_json::from_slice(line).ok().or_else(repaired);
        self.last_is_broken = !matches!(value, Some(Value::Object(_)));
        match value {
            Some(Value::Object(object)) => Some(object),
            _ => {
                self.stray(line, events);
                None
            }
        }
    }

    /// Keeps a line that is not understood.
    fn stray(&mut self, line: &[u8], events: &mut Vec<BackendEvent>) {
        let text = String::from_utf8_lossy(line).into_owned();
        self.stray.get_or_insert_with(|| for_people(&text));
        events.push(BackendEvent::Unknown(head(text, MOST_TEXT)));
    }

    pub(super) fn start(&mut self, session: Option<&str>, model: Option<&str>) -> BackendEvent {
        self.session = session.map(str::to_owned);
        BackendEvent::Started { session: self.session.clone(), model: model.map(str::to_owned) }
    }

    pub(super) fn deny(&mut self, tool: &str) {
        if self.denied.len() < DENIED && self.denied.iter().all(|known| known != tool) {
            self.denied.push(tool.to_owned());
        }
    }

    /// The outcome, from all that was heard and how the process ended.
    pub(super) fn judge(&self, exit: &BackendExit, stderr: &str) -> BackendOutcome {
        if let Some(outcome) = of_our_doing(exit) {
            return outcome;
        }
        if let Some(failure) = &self.failure {
            return failure.outcome(exit.ending);
        }
        // Who asked for looking only has asked for denials.
        if !self.denied.is_empty() && self.permissions != BackendPermissions::ReadOnly {
            return BackendOutcome::PermissionDenied { tools: self.denied.clone() };
        }
        match (self.end, exit.ending) {
            (ReportedEnd::Done, _) | (ReportedEnd::Stopped, ProcessEnding::Code(0)) => {
                BackendOutcome::Success
            }
            (ReportedEnd::Stopped, _) if exit.stopped == Some(StopCause::Lingered) => {
                BackendOutcome::Success
            }
            (_, ProcessEnding::Code(0)) => self.cut_short(stderr),
            (_, ending) => gave_up(ending, stderr, self.stray.as_deref()),
        }
    }

    /// A clean exit without a word about the end.
    fn cut_short(&self, stderr: &str) -> BackendOutcome {
        let malformed = |message: &str| BackendOutcome::Malformed { message: message.to_owned() };
        match &self.stray {
            _ if self.understood && self.last_is_broken => {
                malformed("its last line is not whole, and it did not say that it was done")
            }
            _ if self.understood => {
                let last = last_lines(stderr);
                let said = last.lines().last().unwrap_or("it did not say that it was done");
                BackendOutcome::Crash { ending: ProcessEnding::Code(0), message: said.to_owned() }
            }
            Some(stray) => malformed(stray),
            None => BackendOutcome::NoOutput,
        }
    }
}

/// Return the outcome when the output does not matter.
/// This is so when the program is not installed or when ralph ended the run.
pub(super) fn of_our_doing(exit: &BackendExit) -> Option<BackendOutcome> {
    if exit.ending == ProcessEnding::NotFound {
        return Some(BackendOutcome::NotInstalled);
    }
    exit.stopped.and_then(BackendOutcome::of_stop)
}

/// The outcome of a process that failed without saying why on standard output.
pub(super) fn gave_up(ending: ProcessEnding, stderr: &str, stray: Option<&str>) -> BackendOutcome {
    let last = last_lines(stderr);
    if matches!(ending, ProcessEnding::Code(_))
        && let Some(outcome) = judge_text(&last, None)
    {
        return outcome;
    }
    let silence = match ending {
        ProcessEnding::Signal(_) => "it died while it worked",
        ProcessEnding::Code(_) | ProcessEnding::NotFound => "it gave no reason",
    };
    let message = last.lines().last().or(stray).unwrap_or(silence).to_owned();
    BackendOutcome::Crash { ending, message }
}

/// The last lines of standard error that say something, for people. Places in the program's own
/// code do not.
pub(super) fn last_lines(stderr: &str) -> String {
    let says = |line: &&str| {
        let line = line.trim();
        !line.trim_matches(['{', '}', ' ']).is_empty()
            && !["at ", "note: run with"].iter().any(|start| line.starts_with(start))
    };
    let mut lines: Vec<&str> = stderr.lines().rev().filter(says).take(LAST_LINES).collect();
    lines.reverse();
    for_people(&lines.join("\n"))
}

/// A program's text without colours and control characters, and not too long.
pub(super) fn for_people(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    let mut kept = 0;
    while let Some(c) = chars.next() {
        if c == '\u{1b}' && chars.next_if_eq(&'[').is_some() {
            while chars.next_if(|c| !c.is_ascii_alphabetic()).is_some() {}
            chars.next();
        } else if c == '\n' || !c.is_control() {
            if kept == MESSAGE {
                out.push('…');
                break;
            }
            out.push(c);
            kept += 1;
        }
    }
    out.trim().to_owned()
}

pub(super) fn text<'v>(object: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
    object.get(key)?.as_str()
}

pub(super) fn object<'v>(
    object: &'v Map<String, Value>,
    key: &str,
) -> Option<&'v Map<String, Value>> {
    object.get(key)?.as_object()
}

pub(super) fn number(object: &Map<String, Value>, key: &str) -> Option<u64> {
    object.get(key)?.as_u64()
}

pub(super) fn real(object: &Map<String, Value>, key: &str) -> Option<f64> {
    object.get(key)?.as_f64()
}

pub(super) fn is_true(object: &Map<String, Value>, key: &str) -> bool {
    object.get(key).and_then(Value::as_bool) == Some(true)
}

/// The number under a key as an HTTP status.
pub(super) fn status(object: &Map<String, Value>, key: &str) -> Option<u16> {
    u16::try_from(number(object, key)?).ok()
}

/// The end of a text that may grow for ever: markers and JSON stand at the end of an answer.
#[derive(Debug, Default)]
pub(super) struct AnswerTail(String);

impl AnswerTail {
    /// Goes on with `piece`. The beginning is cut off now and then, not at each piece.
    pub(super) fn push(&mut self, piece: &str) {
        self.0.push_str(piece);
        if self.0.len() > 2 * MOST_ANSWER {
            let cut = self.0.ceil_char_boundary(self.0.len() - MOST_ANSWER);
            self.0.drain(..cut);
        }
    }

    pub(super) fn set(&mut self, text: &str) {
        self.0.clear();
        self.push(text);
    }

    pub(super) fn as_str(&self) -> &str {
        tail(&self.0, MOST_ANSWER)
    }
}
