//! Lines and blank space, the way markdown sees them: a line ends in `\n`, `\r\n` or `\r`.

use std::borrow::Cow;
use std::ops::Range;

use crate::text::Splice;

/// Characters of blank lines. Markdown treats other white space, such as a no-break space, as text.
const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];
const ENDS: [char; 2] = ['\n', '\r'];

/// The text of `range`, or nothing when there is no such place.
pub(super) fn at(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

/// Return the start of the line that contains `offset`.
pub(super) fn line_start(text: &str, offset: usize) -> usize {
    at(text, 0..offset).rfind(ENDS).map_or(0, |n| n + 1)
}

/// Return the end of the line that contains `offset`, without its line end.
pub(super) fn line_end(text: &str, offset: usize) -> usize {
    at(text, offset..text.len()).find(ENDS).map_or(text.len(), |n| offset + n)
}

/// Return the start of the next line after `offset`, or the end of the text.
pub(super) fn next_line(text: &str, offset: usize) -> usize {
    let end = line_end(text, offset);
    match at(text, end..text.len()) {
        rest if rest.starts_with("\r\n") => end + 2,
        "" => end,
        _ => end + 1,
    }
}

/// Whether there is nothing to see in `text`.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim_matches(BLANK).is_empty()
}

/// The end of the last line of `range` that is not blank, its line end included; the start of
/// `range` when all of it is blank.
pub(super) fn content_end(text: &str, range: Range<usize>) -> usize {
    let kept = at(text, range.clone()).trim_end_matches(BLANK).len();
    if kept == 0 { range.start } else { next_line(text, range.start + kept).min(range.end) }
}

/// The start of the first line of `range` that is not blank; the end of `range` when all of it is.
pub(super) fn content_start(text: &str, range: Range<usize>) -> usize {
    let inside = at(text, range.clone());
    let blank = inside.len() - inside.trim_start_matches(BLANK).len();
    if blank == inside.len() {
        range.end
    } else {
        line_start(text, range.start + blank).max(range.start)
    }
}

/// Whether the line before `offset` (the start of a line) is blank or missing.
fn blank_before(text: &str, offset: usize) -> bool {
    let before = at(text, 0..offset).trim_start_matches('\u{feff}');
    let before = before.strip_suffix("\r\n").or_else(|| before.strip_suffix(ENDS));
    before.is_none_or(|b| is_blank(at(b, line_start(b, b.len())..b.len())))
}

/// The line end this text uses.
pub(super) fn eol(text: &str) -> &'static str {
    match text.find(ENDS).map(|n| at(text, n..text.len())) {
        Some(rest) if rest.starts_with("\r\n") => "\r\n",
        Some(rest) if rest.starts_with('\r') => "\r",
        _ => "\n",
    }
}

/// The same text, byte for byte, but with `\n` for each `\r` that is a line end of its own: the
/// parser is not at one with itself about those.
pub(super) fn plain_ends(text: &str) -> Cow<'_, str> {
    let (mut out, mut done) = (String::new(), 0);
    for (n, _) in text.match_indices('\r') {
        if !at(text, n + 1..text.len()).starts_with('\n') {
            out.extend([at(text, done..n), "\n"]);
            done = n + 1;
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(at(text, done..text.len()));
    Cow::Owned(out)
}

/// New lines at `offset`, which is the start of a line or the end of a text that may lack its last
/// line end.
pub(super) fn insert(text: &str, offset: usize, lines: &[String]) -> Splice {
    let eol = eol(text);
    let unfinished = offset == text.len() && !text.is_empty() && !text.ends_with(ENDS);
    let mut new = String::new();
    for line in lines {
        let parts = if unfinished { [eol, line] } else { [line.as_str(), eol] };
        new.extend(parts);
    }
    Splice::insert(offset, new)
}

/// New lines at `offset`, set off from what is around them by blank lines.
pub(super) fn insert_block(text: &str, offset: usize, lines: &[String]) -> Splice {
    let unfinished = offset == text.len() && !text.ends_with(ENDS);
    let mut block = Vec::with_capacity(lines.len() + 2);
    if unfinished || !blank_before(text, offset) {
        block.push(String::new());
    }
    block.extend_from_slice(lines);
    if offset < text.len() && !is_blank(at(text, offset..line_end(text, offset))) {
        block.push(String::new());
    }
    insert(text, offset, &block)
}

/// Take the whole lines of `range` away, with the blank line before them where one follows too.
/// The end of the removal is the end of `range`, so that insertions there do not collide with it.
pub(super) fn remove(text: &str, range: Range<usize>) -> Splice {
    let begin = line_start(text, range.start);
    if !is_blank(at(text, begin..range.start)) {
        // Something else shares the first line (`- - [ ] x`): its line end stays.
        let kept = at(text, range.clone()).trim_end_matches(BLANK).len();
        return Splice::remove(range.start..range.start + kept);
    }
    let followed =
        range.end < text.len() && !is_blank(at(text, range.end..line_end(text, range.end)));
    let above = at(text, 0..begin);
    let above = above.strip_suffix("\r\n").or_else(|| above.strip_suffix(ENDS)).unwrap_or(above);
    let blank = line_start(text, above.len());
    let from =
        if !followed && blank < begin && is_blank(at(text, blank..begin)) { blank } else { begin };
    Splice::remove(from..range.end)
}

/// `text` on one line: its lines trimmed and joined by a space.
pub(super) fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.split(ENDS).map(str::trim).filter(|l| !l.is_empty()).collect();
    lines.join(" ")
}

/// `text` without the indentation its lines share and without blank lines around it; line ends
/// become `\n`. `None` when nothing is left.
pub(super) fn dedent(text: &str) -> Option<String> {
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = unified.split('\n').map(str::trim_end).collect();
    let first = lines.iter().position(|l| !l.is_empty())?;
    let last = lines.iter().rposition(|l| !l.is_empty())?;
    let lines = &lines[first..=last];
    let shared = lines.iter().filter(|l| !l.is_empty()).map(|l| indentation(l)).reduce(common)?;
    let cut: Vec<&str> = lines.iter().map(|l| l.strip_prefix(shared).unwrap_or(l)).collect();
    Some(cut.join("\n"))
}

fn indentation(line: &str) -> &str {
    at(line, 0..line.len() - line.trim_start_matches([' ', '\t']).len())
}

fn common<'a>(a: &'a str, b: &str) -> &'a str {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    at(a, 0..same)
}

/// White space as wide as `text`: tabs stay, everything else becomes a space.
pub(super) fn blank_out(text: &str) -> String {
    text.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect()
}
