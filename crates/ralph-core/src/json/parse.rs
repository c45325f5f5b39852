//! The reader: one pass over the bytes, strict, with messages for people.

use std::borrow::Cow;
use std::ops::Range;

use super::{JsonError, JsonKind, JsonMember, JsonNode};

/// The deepest nesting that is read.
pub const MAX_DEPTH: usize = 128;

/// Objects up to this size are checked for repeated keys by comparing all pairs, which needs no
/// memory; bigger ones by sorting.
const FEW_MEMBERS: usize = 24;

type JsonResult<T> = Result<T, JsonError>;

/// Read a text that is one JSON value.
pub fn parse(text: &str) -> JsonResult<JsonNode> {
    parse_in(text, 0..text.len())
}

/// Read a file's text: as [`parse`], but it may begin with a byte order mark.
pub fn parse_file(text: &str) -> JsonResult<JsonNode> {
    parse_in(text, crate::text::bom_len(text)..text.len())
}

/// Read the one JSON value that the bytes of `range` hold. Spans count from the start of `text`.
pub fn parse_in(text: &str, range: Range<usize>) -> JsonResult<JsonNode> {
    if text.get(range.clone()).is_none() {
        return Err(JsonError { offset: range.start, message: "no such place".into() });
    }
    let mut reader = JsonParser { text, bytes: &text.as_bytes()[..range.end], pos: range.start };
    reader.space();
    let node = reader.value(0)?;
    reader.space();
    match reader.peek() {
        None => Ok(node),
        Some(_) => reader.fail("there is more text after the end of the value"),
    }
}

/// Decode what stands between the quotes of a string that was read. Borrows when nothing is escaped.
pub(super) fn unescape(inner: &str) -> Cow<'_, str> {
    let Some(first) = inner.bytes().position(|b| b == b'\\') else { return Cow::Borrowed(inner) };
    let (plain, mut rest) = inner.split_at(first);
    let mut out = String::with_capacity(inner.len());
    out.push_str(plain);
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let mut chars = after.chars();
        match chars.next() {
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let (decoded, length) = unicode_escape(after);
                out.push(decoded);
                rest = after.get(length..).unwrap_or_default();
                continue;
            }
            Some(other) => out.push(other),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The character of `uXXXX` or `uXXXX\uXXXX`, and how many bytes it takes.
fn unicode_escape(text: &str) -> (char, usize) {
    let unit = |at: usize| text.get(at..at + 4).and_then(|hex| u16::from_str_radix(hex, 16).ok());
    let mut units = unit(1).into_iter().chain(unit(7));
    let decoded = units.next().map(|first| match first {
        0xd800..=0xdbff => (char::decode_utf16([first].into_iter().chain(units)).next(), 11),
        _ => (char::decode_utf16([first]).next(), 5),
    });
    match decoded {
        Some((Some(Ok(decoded)), length)) => (decoded, length),
        _ => (char::REPLACEMENT_CHARACTER, 5),
    }
}

struct JsonParser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    pos: usize,
}

impl JsonParser<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    fn fail<T>(&self, message: impl Into<String>) -> JsonResult<T> {
        self.fail_at(self.pos, message)
    }

    fn fail_at<T>(&self, offset: usize, message: impl Into<String>) -> JsonResult<T> {
        Err(JsonError { offset, message: message.into() })
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.pos += 1;
        }
    }

    /// Step over `byte` when it comes next.
    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.pos += 1)
    }

    fn value(&mut self, depth: usize) -> JsonResult<JsonNode> {
        let start = self.pos;
        let kind = match self.peek() {
            Some(b'"') => {
                self.string()?;
                JsonKind::String
            }
            Some(b'{') => self.object(depth + 1)?,
            Some(b'[') => self.array(depth + 1)?,
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                JsonKind::Number
            }
            Some(b't') => self.word("true", JsonKind::Bool(true))?,
            Some(b'f') => self.word("false", JsonKind::Bool(false))?,
            Some(b'n') => self.word("null", JsonKind::Null)?,
            Some(b'\'') => return self.fail("strings stand in double quotes, not in single ones"),
            Some(_) => return self.fail("expected a value"),
            None => return self.fail("the text ends where a value should be"),
        };
        Ok(JsonNode { span: start..self.pos, kind })
    }

    fn word(&mut self, word: &str, kind: JsonKind) -> JsonResult<JsonKind> {
        let end = self.pos + word.len();
        if self.bytes.get(self.pos..end) != Some(word.as_bytes()) {
            return match self.bytes[self.pos..].starts_with(&word.as_bytes()[..2]) {
                true => self.fail(format!("expected a value; did you mean `{word}`?")),
                false => self.fail("expected a value"),
            };
        }
        self.pos = end;
        Ok(kind)
    }

    /// Skip the opening bracket, and check the maximum depth.
    fn enter(&mut self, depth: usize) -> JsonResult<()> {
        if depth > MAX_DEPTH {
            return self.fail(format!("nested more than {MAX_DEPTH} levels deep"));
        }
        self.pos += 1;
        self.space();
        Ok(())
    }

    fn array(&mut self, depth: usize) -> JsonResult<JsonKind> {
        self.enter(depth)?;
        let mut items = Vec::new();
        while self.take(b']').is_none() {
            if !items.is_empty() {
                self.comma(b']')?;
            }
            items.push(self.value(depth)?);
            self.space();
        }
        Ok(JsonKind::Array(items))
    }

    fn object(&mut self, depth: usize) -> JsonResult<JsonKind> {
        self.enter(depth)?;
        let mut members = Vec::with_capacity(8);
        while self.take(b'}').is_none() {
            if !members.is_empty() {
                self.comma(b'}')?;
            }
            members.push(self.member(depth)?);
            self.space();
        }
        match repeated(&members) {
            None => Ok(JsonKind::Object(members)),
            Some(again) => self.fail_at(
                again.key_span.start,
                format!("the key {:?} stands twice in this object", again.key),
            ),
        }
    }

    /// Step over the comma between two entries of a container that ends with `close`.
    fn comma(&mut self, close: u8) -> JsonResult<()> {
        let close = char::from(close);
        let at = self.pos;
        match self.peek() {
            Some(b',') => self.pos += 1,
            Some(_) => return self.fail(format!("expected a comma or `{close}`")),
            None => return self.fail(format!("the text ends before the closing `{close}`")),
        }
        self.space();
        match self.peek() {
            Some(b']' | b'}') => {
                self.fail_at(at, format!("remove this comma: nothing follows before `{close}`"))
            }
            _ => Ok(()),
        }
    }

    fn member(&mut self, depth: usize) -> JsonResult<JsonMember> {
        let start = self.pos;
        match self.peek() {
            Some(b'"') => self.string()?,
            Some(_) => return self.fail("expected a key in double quotes"),
            None => return self.fail("the text ends before the closing `}`"),
        }
        let key_span = start..self.pos;
        let key = unescape(&self.text[start + 1..self.pos - 1]).into_owned();
        self.space();
        match self.peek() {
            Some(b':') => self.pos += 1,
            Some(_) => return self.fail(format!("expected `:` after the key {key:?}")),
            None => return self.fail(format!("the text ends after the key {key:?}")),
        }
        self.space();
        let value = self.value(depth)?;
        Ok(JsonMember { key, key_span, value })
    }

    /// Step over a string, checking every escape.
    fn string(&mut self) -> JsonResult<()> {
        let start = self.pos;
        self.pos += 1;
        loop {
            let rest = self.bytes.get(self.pos..).unwrap_or_default();
            let plain = rest.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20);
            self.pos += plain.unwrap_or(rest.len());
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(b'\n' | b'\r') => {
                    return self.fail("a line break inside a string; write it as `\\n`");
                }
                Some(b) => {
                    let message = "a control character inside a string; write it as";
                    return self.fail(format!("{message} `\\u{b:04x}`"));
                }
                None => return self.fail_at(start, "this string has no closing quote"),
            }
        }
        self.pos += 1;
        Ok(())
    }

    fn escape(&mut self) -> JsonResult<()> {
        match self.bytes.get(self.pos + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.pos += 2,
            Some(b'u') => return self.unicode(),
            Some(_) => return self.fail("unknown escape: a backslash itself is written `\\\\`"),
            None => return self.fail("the text ends inside a string"),
        }
        Ok(())
    }

    /// Step over `\uXXXX`, or over two of them that make one character.
    fn unicode(&mut self) -> JsonResult<()> {
        let start = self.pos;
        match self.unit()? {
            0xd800..=0xdbff => {
                let paired = self.bytes.get(self.pos..self.pos + 2) == Some(b"\\u")
                    && matches!(self.unit()?, 0xdc00..=0xdfff);
                if !paired {
                    return self.fail_at(start, "half of a character: the second `\\u` is missing");
                }
            }
            0xdc00..=0xdfff => {
                return self.fail_at(start, "half of a character: the first `\\u` is missing");
            }
            _ => {}
        }
        Ok(())
    }

    fn unit(&mut self) -> JsonResult<u32> {
        let mut unit = 0;
        for at in self.pos + 2..self.pos + 6 {
            match self.bytes.get(at).and_then(|&b| char::from(b).to_digit(16)) {
                Some(digit) => unit = unit * 16 + digit,
                None => return self.fail("`\\u` needs four hexadecimal digits"),
            }
        }
        self.pos += 6;
        Ok(unit)
    }

    fn number(&mut self) -> JsonResult<()> {
        let start = self.pos;
        let _minus = self.take(b'-');
        let zero = self.take(b'0');
        match (zero, self.digits()) {
            (Some(()), 1..) => return self.fail_at(start, "a number must not begin with 0"),
            (None, 0) => return self.fail("expected a digit"),
            _ => {}
        }
        if self.take(b'.').is_some() && self.digits() == 0 {
            return self.fail("expected a digit after the decimal point");
        }
        if self.take(b'e').or_else(|| self.take(b'E')).is_some() {
            let _sign = self.take(b'+').or_else(|| self.take(b'-'));
            if self.digits() == 0 {
                return self.fail("expected a digit in the exponent");
            }
        }
        match self.text[start..self.pos].parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(()),
            _ => self.fail_at(start, "this number is too large"),
        }
    }

    /// Step over digits; how many there were.
    fn digits(&mut self) -> usize {
        let start = self.pos;
        while let Some(b'0'..=b'9') = self.peek() {
            self.pos += 1;
        }
        self.pos - start
    }
}

/// The first member, in file order, whose key stood before it.
fn repeated(members: &[JsonMember]) -> Option<&JsonMember> {
    if members.len() <= FEW_MEMBERS {
        let again = |(i, m): &(usize, &JsonMember)| members[..*i].iter().any(|e| e.key == m.key);
        return members.iter().enumerate().find(again).map(|(_, m)| m);
    }
    let mut sorted: Vec<&JsonMember> = members.iter().collect();
    sorted.sort_by(|a, b| (&a.key, a.key_span.start).cmp(&(&b.key, b.key_span.start)));
    let pairs = sorted.windows(2).filter(|pair| pair[0].key == pair[1].key);
    pairs.map(|pair| pair[1]).min_by_key(|m| m.key_span.start)
}
