//! The part of a gate's output that a prompt shows: all of it where that fits, else its beginning, the
//! lines around each error, and its end.
//!
//! The output may be endless, so it is read once, when nobody knows yet which failures are new, and only
//! so much of it is kept. What of that is shown is chosen when the new failures are known: the lines
//! around these come first.

use std::collections::{BTreeMap, VecDeque};

use super::normal::is_progress;
use crate::text::clip;

/// Longest excerpt, in bytes, without the marks that say what is left out.
pub(super) const EXCERPT_BYTES: usize = 5_000;
/// Bytes of the beginning of an output.
const HEAD_BYTES: usize = 400;
/// Bytes of the end of an output that are shown beside errors.
const TAIL_BYTES: usize = 800;
/// Bytes around one error, or around several that follow each other closely.
const WINDOW_BYTES: usize = 1_500;
/// Lines before an error: pytest shows the code there, go the message.
const LINES_BEFORE: usize = 4;
const LINES_AFTER: usize = 10;
/// Bytes of windows with each sign that are kept to choose from.
const KEPT_BYTES: usize = 256 * 1024;
/// Maximum length of a line, in characters.
const LINE_CHARACTERS: usize = 400;

/// Confidence that a line shows an error. If space is short, clearer lines come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ErrorSign {
    /// A test runner, a compiler or a crash shows the failure itself.
    Clear,
    /// Something calls itself an error; passing tests print such lines, too.
    Likely,
    /// A word that may mean a failure.
    Vague,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ErrorWindow {
    sign: ErrorSign,
    /// The last line before the window's end that announces a failed test.
    heading: String,
    lines: Vec<(usize, String)>,
    bytes: usize,
    /// Lines that still belong to it.
    open: usize,
}

/// Reads an output line by line, and makes excerpts of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExcerptReader {
    count: usize,
    /// Everything, as long as that is short enough.
    whole: Option<String>,
    too_long: bool,
    head: Vec<(usize, String)>,
    head_bytes: usize,
    /// The newest lines, which are the end when the output ends.
    tail: VecDeque<(usize, String)>,
    tail_bytes: usize,
    heading: String,
    windows: Vec<ErrorWindow>,
    /// Bytes of all windows with each sign.
    window_bytes: [usize; 3],
}

impl ExcerptReader {
    /// The next line, without its end and without colours.
    pub(super) fn line(&mut self, line: &str) {
        let number = self.count;
        self.count += 1;
        let line = clip(line.trim_end(), LINE_CHARACTERS);
        self.add_to_whole(&line);
        if is_noise(&line) {
            return;
        }
        if announces_test(&line) {
            self.heading.clone_from(&line);
        }
        self.head_bytes += line.len() + 1;
        if self.head_bytes <= HEAD_BYTES {
            self.head.push((number, line.clone()));
        }
        self.add_to_windows(number, &line);
        self.tail_bytes += line.len() + 1;
        self.tail.push_back((number, line));
        while self.tail_bytes > EXCERPT_BYTES {
            let Some((_, gone)) = self.tail.pop_front() else { break };
            self.tail_bytes -= gone.len() + 1;
        }
    }

    fn add_to_whole(&mut self, line: &str) {
        if self.too_long {
            return;
        }
        let whole = self.whole.get_or_insert_default();
        whole.push_str(line);
        whole.push('\n');
        self.too_long = whole.len() > EXCERPT_BYTES;
        self.whole.take_if(|_| self.too_long);
    }

    fn add_to_windows(&mut self, number: usize, line: &str) {
        let sign = error_sign(line);
        if let Some(window) = self.windows.last_mut().filter(|window| window.open > 0)
            && window.bytes + line.len() <= WINDOW_BYTES
            // A clearer error gets a window of its own, so that it does not share a vague one's fate.
            && sign.is_none_or(|sign| sign >= window.sign)
        {
            let size = line.len() + 1;
            window.lines.push((number, line.to_owned()));
            window.bytes += size;
            window.open = if sign == Some(window.sign) { LINES_AFTER } else { window.open - 1 };
            self.window_bytes[window.sign as usize] += size;
            return;
        }
        let Some(sign) = sign else { return };
        if self.window_bytes[sign as usize] > KEPT_BYTES {
            return;
        }
        let from = self.tail.len().saturating_sub(LINES_BEFORE);
        let mut lines: Vec<(usize, String)> = self.tail.range(from..).cloned().collect();
        lines.push((number, line.to_owned()));
        let bytes = lines.iter().map(|(_, line)| line.len() + 1).sum();
        self.window_bytes[sign as usize] += bytes;
        let heading = self.heading.clone();
        self.windows.push(ErrorWindow { sign, heading, lines, bytes, open: LINES_AFTER });
    }

    /// Make the excerpt of all that was read. Lines around these failures come first; where none is
    /// named, or none is found, the clearest errors do.
    pub fn around(&self, names: &[String]) -> String {
        if let Some(whole) = self.whole.as_ref().filter(|_| !self.too_long) {
            return whole.trim_matches('\n').to_owned();
        }
        let signs: Vec<&str> = names.iter().flat_map(|name| name_signs(name)).collect();
        let mut windows: Vec<&ErrorWindow> = self.windows.iter().collect();
        windows.sort_by_cached_key(|window| (!window.mentions(&signs), window.sign));
        let mut shown: BTreeMap<usize, &str> =
            self.head.iter().map(|(number, line)| (*number, line.as_str())).collect();
        let mut room = EXCERPT_BYTES.saturating_sub(HEAD_BYTES + TAIL_BYTES);
        for window in windows {
            if window.bytes <= room {
                room -= window.bytes;
                shown.extend(window.lines.iter().map(|(number, line)| (*number, line.as_str())));
            }
        }
        let mut room = room + TAIL_BYTES;
        for (number, line) in self.tail.iter().rev() {
            if line.len() >= room {
                break;
            }
            room -= line.len() + 1;
            shown.insert(*number, line);
        }
        render_with_gaps(&shown, self.count)
    }
}

impl ErrorWindow {
    fn mentions(&self, signs: &[&str]) -> bool {
        let lines = || self.lines.iter().map(|(_, line)| line).chain([&self.heading]);
        signs.iter().any(|sign| lines().any(|line| line.contains(sign)))
    }
}

/// Return the texts by which an output may refer to a failure: its full name, or its last part.
fn name_signs(name: &str) -> Vec<&str> {
    const SHORTEST: usize = 4;
    let parts = ["::", " > ", " › ", ": ", " "].iter().filter_map(|mark| {
        let (_, last) =
            if *mark == ": " { name.split_once(mark)? } else { name.rsplit_once(mark)? };
        (last.len() >= SHORTEST).then_some(last)
    });
    std::iter::once(name).chain(parts).filter(|sign| !sign.trim().is_empty()).collect()
}

/// Whether a line is the heading of what a failed test wrote.
fn announces_test(line: &str) -> bool {
    const HEADINGS: [&str; 8] =
        ["---- ", "____", "● ", "--- FAIL", "FAIL: ", "FAIL ", "not ok ", "=== FAIL"];
    let line = line.trim_start();
    HEADINGS.iter().any(|heading| line.starts_with(heading))
}

/// The lines in their order, with a mark where some are missing.
fn render_with_gaps(shown: &BTreeMap<usize, &str>, count: usize) -> String {
    let mut text = String::new();
    let mut next = 0;
    let gap = |text: &mut String, missing: usize| match missing {
        0 => {}
        1 => text.push_str("[… 1 line left out …]\n"),
        n => text.push_str(&format!("[… {n} lines left out …]\n")),
    };
    for (number, line) in shown {
        gap(&mut text, number - next);
        text.push_str(line);
        text.push('\n');
        next = number + 1;
    }
    gap(&mut text, count - next);
    text.trim_end().to_owned()
}

/// Whether a line shows an error and does not only mention one.
pub fn shows_error(line: &str) -> bool {
    error_sign(line).is_some_and(|sign| sign < ErrorSign::Vague)
}

fn error_sign(line: &str) -> Option<ErrorSign> {
    const CLEAR: [&str; 13] = [
        "panicked at",
        "AssertionError",
        "assertion failed",
        "assertion `",
        "Traceback (most",
        "--- FAIL: ",
        ": error TS",
        " - error TS",
        "Segmentation fault",
        "core dumped",
        "undefined reference",
        "command not found",
        "AddressSanitizer",
    ];
    const CLEAR_START: [&str; 10] =
        ["error[", "error:", "not ok ", "E   ", "● ", "✕ ", "✗ ", "FAIL: ", "panic: ", "× "];
    const LIKELY: [&str; 5] = [": error", "SyntaxError", "TypeError", "Error: ", "Exception: "];
    const VAGUE: [&str; 9] = [
        "FAIL",
        "ERROR",
        "rror:",
        "✖",
        "fatal",
        "not found",
        "o such file",
        "segfault",
        "out of memory",
    ];
    let text = line.trim_start();
    let has = |signs: &[&str]| signs.iter().any(|sign| line.contains(sign));
    if CLEAR_START.iter().any(|sign| text.starts_with(sign)) || has(&CLEAR) {
        Some(ErrorSign::Clear)
    } else if has(&LIKELY) {
        Some(ErrorSign::Likely)
    } else {
        has(&VAGUE).then_some(ErrorSign::Vague)
    }
}

/// Lines that would only take room from what matters.
fn is_noise(line: &str) -> bool {
    let text = line.trim();
    text.is_empty()
        || text.ends_with(" ... ok")
        || text.starts_with("✓ ")
        || text.starts_with("✔ ")
        || text.starts_with("ok ")
        || text.starts_with("PASS ")
        || text.starts_with("--- PASS")
        || text.starts_with("=== RUN")
        || text.ends_with(" PASSED")
        || text.contains(" at /rustc/")
        || text.starts_with("at /rustc/")
        || is_progress(text)
}

#[cfg(test)]
#[path = "excerpt_tests.rs"]
mod tests;
