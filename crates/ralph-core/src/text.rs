//! Text and places in it: positions for people, splices for editors.

use std::ops::Range;

/// One change of a text: the bytes of `range` become `new`. An empty range inserts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// The bytes of the old text that go away.
    pub range: Range<usize>,
    pub new: String,
}

impl Splice {
    /// Put `new` at `offset`, removing nothing.
    pub fn insert(offset: usize, new: impl Into<String>) -> Self {
        Self { range: offset..offset, new: new.into() }
    }

    /// Create a splice that replaces `range` with `new`.
    pub fn replace(range: Range<usize>, new: impl Into<String>) -> Self {
        Self { range, new: new.into() }
    }

    /// Create a splice that removes `range` from the text.
    pub fn remove(range: Range<usize>) -> Self {
        Self { range, new: String::new() }
    }
}

/// Two changes wanted the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("two changes overlap at byte {0}")]
pub struct SpliceOverlap(pub usize);

/// Apply all `splices` to `text` at once. Their ranges are places in the *old* text; insertions at
/// the same place keep the order in which they were given.
pub fn splice(text: &str, mut splices: Vec<Splice>) -> Result<String, SpliceOverlap> {
    splices.sort_by_key(|s| (s.range.start, s.range.end));
    let grown: usize = splices.iter().map(|s| s.new.len()).sum();
    let mut out = String::with_capacity(text.len() + grown);
    let mut done = 0;
    for s in splices {
        let kept = text.get(done..s.range.start).ok_or(SpliceOverlap(s.range.start))?;
        if !text.is_char_boundary(s.range.end) {
            return Err(SpliceOverlap(s.range.end));
        }
        out.push_str(kept);
        out.push_str(&s.new);
        done = s.range.end;
    }
    out.push_str(text.get(done..).ok_or(SpliceOverlap(done))?);
    Ok(out)
}

/// A place in a text as people count: both from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    pub line: usize,
    pub column: usize,
}

/// The position of byte `offset`; past the end counts as the end.
pub fn position(text: &str, offset: usize) -> TextPosition {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |n| n + 1);
    TextPosition {
        line: before.bytes().filter(|&b| b == b'\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

/// Lines of places that are asked for in file order, so that the text is counted only once.
pub struct LineCounter<'t> {
    text: &'t str,
    counted: usize,
    line: usize,
}

impl<'t> LineCounter<'t> {
    /// Create a counter that starts at the first line.
    pub fn new(text: &'t str) -> Self {
        Self { text, counted: 0, line: 1 }
    }

    /// The line of `offset`, which must not be before the one asked for last.
    pub fn line(&mut self, offset: usize) -> usize {
        let between = self.text.as_bytes().get(self.counted..offset).unwrap_or_default();
        self.line += between.iter().filter(|&&b| b == b'\n').count();
        self.counted = self.counted.max(offset);
        self.line
    }
}

/// Return the length of a byte order mark at the start of a text in bytes, or 0 without one.
pub fn bom_len(text: &str) -> usize {
    text.strip_prefix('\u{feff}').map_or(0, |rest| text.len() - rest.len())
}

/// The line end that a text uses: that of its first line.
pub fn newline(text: &str) -> &'static str {
    match text.split_once('\n') {
        Some((line, _)) if line.ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// At most `most` characters of a text, with `…` for what is left out; never cuts a character.
pub fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text on one line, with single spaces: what stands in a table, a title or a list.
pub fn one_line(text: &str) -> String {
    let breaks = |c: char| c.is_control() || c.is_whitespace();
    text.split(breaks).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A word that a shell takes as it is.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The name in `known` that somebody who typed `word` most likely meant, if one is near enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|k| (distance(word, k), k))
        .filter(|&(d, _)| d <= limit)
        .min_by_key(|&(d, _)| d)
        .map(|(_, k)| k)
}

/// Edit distance with swaps of neighbours (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut prev: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = prev[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(prev[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut prev, row);
    }
    prev[b.len()]
}

/// Whether a text looks like the id of a commit, whole or short.
pub fn is_commit_id(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splices_apply_to_the_old_text_in_the_order_given() {
        let out = splice(
            "one two three",
            vec![Splice::replace(4..7, "2"), Splice::insert(13, "!"), Splice::insert(13, "?")],
        );
        assert_eq!(out.as_deref(), Ok("one 2 three!?"));
    }

    #[test]
    fn overlapping_or_out_of_range_splices_are_refused() {
        assert!(splice("abcdef", vec![Splice::remove(0..3), Splice::remove(2..4)]).is_err());
        assert!(splice("é", vec![Splice::remove(0..1)]).is_err());
        assert!(splice("ab", vec![Splice::remove(1..9)]).is_err());
    }

    #[test]
    fn positions_count_characters_not_bytes() {
        assert_eq!(position("ä\nöü", 5), TextPosition { line: 2, column: 2 });
        assert_eq!(position("", 7), TextPosition { line: 1, column: 1 });
    }

    #[test]
    fn lines_are_counted_on_from_the_last_place() {
        let mut lines = LineCounter::new("a\nb\n\nc");
        assert_eq!([0, 1, 2, 2, 5].map(|offset| lines.line(offset)), [1, 1, 2, 2, 4]);
        assert_eq!(lines.line(99), 4);
    }

    #[test]
    fn only_one_byte_order_mark_at_the_start_counts() {
        assert_eq!(bom_len("\u{feff}\u{feff}a"), 3);
        assert_eq!(bom_len("a\u{feff}"), 0);
    }

    #[test]
    fn the_first_line_decides_about_line_ends() {
        assert_eq!(newline("a\r\nb\n"), "\r\n");
        assert_eq!(newline("a\nb\r\n"), "\n");
        assert_eq!(newline("a\rb"), "\n");
    }

    #[test]
    fn nearest_finds_typos_and_swaps_but_not_strangers() {
        assert_eq!(nearest("max_retrys", ["max_retries", "mode"]), Some("max_retries"));
        assert_eq!(nearest("nmae", ["name", "notes"]), Some("name"));
        assert_eq!(nearest("zebra", ["name", "notes"]), None);
    }
}
