//! Files of one JSON record a line (plan.jsonl, inbox.jsonl), read strictly.
//!
//! # Theory of operation
//!
//! A reader that skips what it does not understand loses it at the next write, so every line must be
//! a JSON object with a `t`; blank lines, a byte order mark and both kinds of line end are fine and
//! stay. The one exception is made before the text is read: the last line, when it has no line end
//! and is not JSON, is an append that never finished. [`decode`] leaves it out and says where it
//! begins, so that the host can move it away and report it.

use std::borrow::Cow;
use std::ops::Range;

use crate::format::ParseError;
use crate::json::{self, JsonFields, JsonNode};
use crate::text::bom_len;

/// Position of one line in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinePosition {
    /// Line number, counted from 1.
    pub number: usize,
    /// Byte range of the line, without the line end and without a byte order mark.
    pub span: Range<usize>,
    /// Byte offset of the next line.
    pub end: usize,
}

impl LinePosition {
    /// Return the byte range of the line, including the line end.
    pub fn with_end(&self) -> Range<usize> {
        self.span.start..self.end
    }

    /// Whether it has a line end; only the last line of a text may have none.
    pub fn is_closed(&self) -> bool {
        self.span.end < self.end
    }
}

/// The lines of a text. A text that ends with a line end has no empty last line.
pub fn lines(text: &str) -> impl Iterator<Item = LinePosition> {
    let mut start = bom_len(text);
    let mut number = 0;
    std::iter::from_fn(move || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let (line, end) = match rest.split_once('\n') {
            Some((line, _)) => (line.strip_suffix('\r').unwrap_or(line), line.len() + 1),
            None => (rest, rest.len()),
        };
        number += 1;
        let found = LinePosition { number, span: start..start + line.len(), end: start + end };
        start = found.end;
        Some(found)
    })
}

/// The line end that must come first when something is appended to `text`, if its last line has none.
pub fn missing_end(text: &str) -> &'static str {
    match text.get(bom_len(text)..) {
        None | Some("") => "",
        Some(rest) if rest.ends_with('\n') => "",
        Some(_) => crate::text::newline(text),
    }
}

/// A line that holds a record.
#[derive(Clone, Debug)]
pub struct JsonlRecord<'t> {
    /// Position of the record in the text.
    pub line: LinePosition,
    /// Kind of the record: the value of its member `t`.
    pub kind: Cow<'t, str>,
    /// All of it; spans count in the whole text.
    pub node: JsonNode,
}

/// The records of a text, blank lines left out.
pub fn records(text: &str) -> impl Iterator<Item = Result<JsonlRecord<'_>, ParseError>> {
    let full = |line: &LinePosition| text.get(line.span.clone()).is_some_and(|l| !is_blank(l));
    lines(text).filter(full).map(|line| {
        let read = || {
            let node = json::parse_in(text, line.span.clone())?;
            let kind = JsonFields::new(text, &node)?.required("t")?;
            Ok((kind, node))
        };
        let (kind, node) = read().map_err(|e: json::JsonError| e.in_text(text))?;
        Ok(JsonlRecord { line, kind, node })
    })
}

fn is_blank(line: &str) -> bool {
    line.bytes().all(|b| matches!(b, b' ' | b'\t' | b'\r'))
}

/// The text of a file, and where its unfinished last line begins, which is not part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodedText<'b> {
    /// Text of the file without a torn last line.
    pub text: &'b str,
    /// The first byte of the torn line, when there is one.
    pub torn: Option<usize>,
}

/// The bytes of a file as text. Bytes that are not UTF-8 are an error with their line, except for a
/// character cut in half by a torn last line.
pub fn decode(bytes: &[u8]) -> Result<DecodedText<'_>, ParseError> {
    let torn = torn_tail(bytes);
    let whole = &bytes[..torn.unwrap_or(bytes.len())];
    match std::str::from_utf8(whole) {
        Ok(text) => Ok(DecodedText { text, torn }),
        Err(error) => {
            let (good, bad) = whole.split_at(error.valid_up_to());
            let byte = bad.first().copied().unwrap_or_default();
            let good = String::from_utf8_lossy(good);
            let message = format!("byte 0x{byte:02x} is not UTF-8 text");
            Err(ParseError::at(&good, good.len(), message))
        }
    }
}

/// Find the start of a torn last line.
/// A torn line has no line end and is not JSON. If the file has no other line, the torn line must
/// begin with `{`. Otherwise the file is of another kind.
pub fn torn_tail(bytes: &[u8]) -> Option<usize> {
    let start = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1);
    let head = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    if start == 0 && !head.starts_with(b"{") {
        return None;
    }
    match std::str::from_utf8(&bytes[start..]) {
        Ok(tail) => {
            let bom = if start == 0 { bom_len(tail) } else { 0 };
            let tail = &tail[bom..];
            (!is_blank(tail) && json::parse(tail).is_err()).then_some(start + bom)
        }
        // Half a character at the very end was cut off; anything else is damage.
        Err(error) => error.error_len().is_none().then_some(start),
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
