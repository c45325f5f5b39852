//! Printing: data to stdout, words for people to stderr when stdout is data.

use std::cell::RefCell;
use std::io::{self, Write};

pub(crate) use ralph_core::words::count;
pub(crate) use ralph_face::text::clean;
use ralph_face::text::width;
use serde::Serialize;

use crate::error::CommandError;

/// Print one line. A reader that went away (`ralph log | head`) is not an error.
pub(crate) fn line(text: impl AsRef<str>) -> Result<(), CommandError> {
    bytes(format!("{}\n", text.as_ref()).as_bytes())
}

/// Output of a command that was captured.
#[derive(Debug, Default)]
pub(crate) struct CapturedOutput {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

thread_local! {
    /// Buffer for the output of this thread. It is set while the loop runs a command of a backend.
    static CAPTURED: RefCell<Option<CapturedOutput>> = const { RefCell::new(None) };
}

/// Run something, and keep what it prints on this thread instead of printing it.
pub(crate) fn capture<T>(run: impl FnOnce() -> T) -> (T, CapturedOutput) {
    CAPTURED.set(Some(CapturedOutput::default()));
    let result = run();
    (result, CAPTURED.take().unwrap_or_default())
}

/// Give bytes to whoever captures. Tells whether anybody does.
fn is_captured(keep: impl FnOnce(&mut CapturedOutput)) -> bool {
    CAPTURED.with_borrow_mut(|captured| captured.as_mut().map(keep).is_some())
}

/// Print bytes as they are, with a line end after the last one.
pub(crate) fn bytes(content: &[u8]) -> Result<(), CommandError> {
    let end: &[u8] = if content.is_empty() || content.ends_with(b"\n") { b"" } else { b"\n" };
    if is_captured(|captured| captured.stdout.extend([content, end].concat())) {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(content)
        .and_then(|()| stdout.write_all(end))
        .and_then(|()| stdout.flush());
    match written {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(CommandError::new(format!("cannot write to standard output: {e}"))),
        Ok(()) => Ok(()),
    }
}

/// Print a value as JSON on one line.
pub(crate) fn json(value: &impl Serialize) -> Result<(), CommandError> {
    line(json_text(value)?)
}

/// A value as JSON on one line.
pub(crate) fn json_text(value: &impl Serialize) -> Result<String, CommandError> {
    serde_json::to_string(value)
        .map_err(|e| CommandError::new(format!("this cannot be printed as JSON: {e}")))
}

/// Print a warning to standard error.
pub(crate) fn warn(text: impl AsRef<str>) {
    note(format!("warning: {}", text.as_ref()));
}

/// Lines of a table with aligned columns, two spaces apart; the last column is not padded.
pub(crate) fn table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest =
        |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|cell| width(cell)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    rows.iter()
        .map(|row| {
            let mut text = String::new();
            for (c, cell) in row.iter().enumerate() {
                let pad = widths[c].saturating_sub(width(cell)) + 2;
                text.push_str(cell);
                text.extend(std::iter::repeat_n(' ', pad));
            }
            text.trim_end().to_owned()
        })
        .collect()
}

/// Print a table with aligned columns.
pub(crate) fn print_table(rows: &[Vec<String>]) -> Result<(), CommandError> {
    table(rows).into_iter().try_for_each(line)
}

/// Rows of a label and a text that is safe to show.
#[derive(Default)]
pub(crate) struct LabelledRows(Vec<Vec<String>>);

impl LabelledRows {
    /// Add lines, the first of them with the label; no lines, no label.
    pub(crate) fn add(&mut self, label: &str, lines: impl IntoIterator<Item: AsRef<str>>) {
        for (n, line) in lines.into_iter().enumerate() {
            let label = if n == 0 { format!("{label}:") } else { String::new() };
            self.0.push(vec![label, clean(line.as_ref())]);
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        table(&self.0)
    }

    pub(crate) fn print(&self) -> Result<(), CommandError> {
        print_table(&self.0)
    }
}

/// Readers of the output: people, or programs that read JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputMode {
    People,
    Json,
}

impl OutputMode {
    /// Return the kind of output that `--json` selects.
    pub(crate) fn from_flag(json: bool) -> Self {
        if json { Self::Json } else { Self::People }
    }

    /// Print an answer: the value for a program, one line for a person.
    pub(crate) fn print(
        self,
        value: &impl Serialize,
        text: impl AsRef<str>,
    ) -> Result<(), CommandError> {
        match self {
            Self::Json => json(value),
            Self::People => line(text),
        }
    }
}

/// Print a text as it is.
pub(crate) fn raw(text: &str) -> Result<(), CommandError> {
    line(text.strip_suffix('\n').unwrap_or(text))
}

/// Say something to the person beside the data.
pub(crate) fn note(text: impl AsRef<str>) {
    let line = format!("{}\n", text.as_ref());
    if !is_captured(|captured| captured.stderr.extend(line.as_bytes())) {
        // Nobody can be told that stderr is gone.
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

/// Say on a terminal what is going on; the next call, with nothing to say, takes it away again.
pub(crate) fn progress(text: &str) {
    let mut stderr = io::stderr();
    if !is_captured(|_| ()) && io::IsTerminal::is_terminal(&stderr) {
        // Nobody can be told that stderr is gone.
        let _ = write!(stderr, "\r\x1b[K{text}").and_then(|()| stderr.flush());
    }
}

/// A text from a file, safe to show and at most `most` characters long.
pub(crate) fn clip(text: &str, most: usize) -> String {
    ralph_core::text::clip(&clean(text), most)
}

/// Print a file from elsewhere: a program gets its bytes, a terminal only what cannot command it.
pub(crate) fn untrusted(content: &[u8]) -> Result<(), CommandError> {
    if is_captured(|_| ()) || !io::IsTerminal::is_terminal(&io::stdout()) {
        return bytes(content);
    }
    String::from_utf8_lossy(content).lines().try_for_each(|l| line(clean_tabbed(l)))
}

/// A line from elsewhere, safe to show, with its tabs.
pub(crate) fn clean_tabbed(line: &str) -> String {
    line.split('\t').map(clean).collect::<Vec<_>>().join("\t")
}
