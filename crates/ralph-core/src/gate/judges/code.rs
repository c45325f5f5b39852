//! Source text without its strings and comments, byte for byte as long, and its brackets in pairs.

use std::collections::BTreeMap;
use std::ops::Range;

/// The families of languages that are read alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceLanguage {
    Rust,
    Python,
    Script,
    Go,
    Ruby,
    Class,
    Bats,
}

impl SourceLanguage {
    /// The language of a file, by its name.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, ending) = path.rsplit_once('.')?;
        match ending {
            "rs" => Some(Self::Rust),
            "py" => Some(Self::Python),
            "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" => Some(Self::Script),
            "go" => Some(Self::Go),
            "rb" | "exs" => Some(Self::Ruby),
            "java" | "kt" | "scala" | "groovy" | "cs" | "php" | "swift" => Some(Self::Class),
            "bats" => Some(Self::Bats),
            _ => None,
        }
    }

    fn has_hash_comments(self) -> bool {
        matches!(self, Self::Python | Self::Ruby | Self::Bats)
    }
}

/// A source and its mask: strings and comments are blanks, everything else stays in its place.
pub(super) struct MaskedSource<'t> {
    pub(super) text: &'t str,
    pub(super) mask: String,
    pairs: BTreeMap<usize, usize>,
}

impl<'t> MaskedSource<'t> {
    pub(super) fn new(text: &'t str, language: SourceLanguage) -> Self {
        let mask = mask(text, language);
        let pairs = pairs(mask.as_bytes());
        Self { text, mask, pairs }
    }

    /// The bracket that closes the one at `open`.
    pub(super) fn close(&self, open: usize) -> Option<usize> {
        self.pairs.get(&open).copied()
    }

    /// The bytes from the bracket at `open` to its partner, both included.
    pub(super) fn pair(&self, open: usize) -> Option<Range<usize>> {
        self.close(open).map(|close| open..close + 1)
    }

    /// The first byte at or after `from` that is no blank.
    pub(super) fn skip_blanks(&self, from: usize) -> usize {
        let rest = self.mask.as_bytes().get(from..).unwrap_or_default();
        from + rest.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(rest.len())
    }

    /// The word that begins at `from`.
    pub(super) fn word(&self, from: usize) -> &str {
        let rest = self.mask.get(from..).unwrap_or_default();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
        rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.mask.as_bytes().get(at).copied()
    }

    /// Every place where `word` stands alone.
    pub(super) fn words<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        let is_part =
            |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$');
        self.mask.match_indices(word).map(|(at, _)| at).filter(move |at| {
            let before = at.checked_sub(1).and_then(|at| self.byte(at));
            !is_part(before) && !is_part(self.byte(at + word.len()))
        })
    }

    pub(super) fn masked(&self, range: Range<usize>) -> &str {
        self.mask.get(range).unwrap_or_default()
    }

    pub(super) fn source(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or_default()
    }
}

fn pairs(mask: &[u8]) -> BTreeMap<usize, usize> {
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut pairs = BTreeMap::new();
    for (at, byte) in mask.iter().enumerate() {
        match byte {
            b'(' => open.push((at, b')')),
            b'[' => open.push((at, b']')),
            b'{' => open.push((at, b'}')),
            b')' | b']' | b'}' => {
                // A bracket that closes nothing is a sign of something not understood: skip it.
                if let Some(level) = open
                    .iter()
                    .rposition(|(_, close)| close == byte)
                    .filter(|l| open.len() - l <= 8)
                {
                    if let Some((start, _)) = open.get(level) {
                        pairs.insert(*start, at);
                    }
                    open.truncate(level);
                }
            }
            _ => {}
        }
    }
    pairs
}

fn mask(text: &str, language: SourceLanguage) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match hidden(bytes, at, language) {
            Some(end) => end.min(bytes.len()),
            None => {
                at += 1;
                continue;
            }
        };
        for byte in out.get_mut(at..end).into_iter().flatten() {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    // Only whole strings and comments are blanked, and they begin and end with plain signs.
    String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// Return the end of the string or comment that starts at `at`, or `None` if none starts there.
fn hidden(bytes: &[u8], at: usize, language: SourceLanguage) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let found = |needle: &[u8], from: usize| {
        let tail = rest.get(from..)?;
        let place = tail.windows(needle.len()).position(|w| w == needle)?;
        Some(at + from + place)
    };
    if language.has_hash_comments() {
        // `$#` and `${#x}` of the shell are no comments.
        let before = at.checked_sub(1).and_then(|b| bytes.get(b));
        let starts =
            before.is_none_or(|b| b.is_ascii_whitespace() || language == SourceLanguage::Python);
        if rest.first() == Some(&b'#') && starts {
            return Some(found(b"\n", 0).unwrap_or(bytes.len()));
        }
    } else if rest.starts_with(b"//") {
        return Some(found(b"\n", 0).unwrap_or(bytes.len()));
    } else if rest.starts_with(b"/*") {
        return Some(found(b"*/", 2).map_or(bytes.len(), |end| end + 2));
    }
    match (rest.first()?, language) {
        (b'"' | b'\'', SourceLanguage::Python)
            if rest.starts_with(b"\"\"\"") || rest.starts_with(b"'''") =>
        {
            let quote = rest.get(..3)?;
            Some(found(quote, 3).map_or(bytes.len(), |end| end + 3))
        }
        (b'r', SourceLanguage::Rust) => raw_string(bytes, at),
        (b'\'', SourceLanguage::Rust) => rust_char(rest).map(|length| at + length),
        (b'"', SourceLanguage::Rust | SourceLanguage::Ruby | SourceLanguage::Bats) => {
            Some(quoted(rest, b'"', StringExtent::Many) + at)
        }
        (b'`', SourceLanguage::Script | SourceLanguage::Go) => {
            Some(quoted(rest, b'`', StringExtent::Many) + at)
        }
        (b'\'', SourceLanguage::Bats) => Some(quoted(rest, b'\'', StringExtent::Many) + at),
        (quote @ (b'"' | b'\''), _) => Some(quoted(rest, *quote, StringExtent::One) + at),
        _ => None,
    }
}

/// Number of lines that a string may span.
///
/// An unclosed string of one line ends with its line. So a misread quotation mark, for example in a
/// regular expression, affects one line and not the rest of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StringExtent {
    One,
    Many,
}

/// Return the length of the string at the start of `rest`.
fn quoted(rest: &[u8], quote: u8, lines: StringExtent) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' if lines == StringExtent::One => return at,
            byte if *byte == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    rest.len()
}

/// `r"…"` and `r##"…"##`, unless the `r` ends a word.
fn raw_string(bytes: &[u8], at: usize) -> Option<usize> {
    let before = at.checked_sub(1).and_then(|b| bytes.get(b));
    if before.is_some_and(|b| (b.is_ascii_alphanumeric() && *b != b'b') || *b == b'_') {
        return None;
    }
    let rest = bytes.get(at + 1..)?;
    let hashes = rest.iter().take_while(|b| **b == b'#').count();
    if rest.get(hashes) != Some(&b'"') {
        return None;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = rest.get(hashes + 1..)?;
    let end = body.windows(close.len()).position(|w| w == close)?;
    Some(at + 1 + hashes + 1 + end + close.len())
}

/// A character such as `'x'`, `'"'` or `'\n'`; `None` for a lifetime.
fn rust_char(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        let tail = rest.get(3..)?;
        return tail.iter().take(12).position(|b| *b == b'\'').map(|end| end + 4);
    }
    let end = rest.iter().skip(1).take(5).position(|b| *b == b'\'')? + 1;
    let inside = rest.get(1..end)?;
    let one = str::from_utf8(inside).is_ok_and(|text| text.chars().count() == 1);
    one.then_some(end + 1)
}
