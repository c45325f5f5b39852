//! Secrets in what leaves the program: the usual shapes of keys, and the user's own patterns.
//!
//! It rather hides a word too many than one too few. JSON is looked at value by value, so that whatever
//! is hidden, its shape stays.

use std::borrow::Cow;

use serde_json::Value;

/// Text that replaces a secret.
pub const HIDDEN: &str = "[hidden]";

/// First characters of well-known keys, each with the minimum length of such a key.
const SHAPES: [(&str, usize); 25] = [
    ("sk-", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 20),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("xoxa-", 20),
    ("npm_", 20),
    ("hf_", 20),
    ("eyJ", 40),
    ("rk_live_", 20),
    ("sk_live_", 20),
    ("pypi-", 20),
    ("SG.", 30),
    ("gsk_", 20),
    ("dop_v1_", 20),
    ("ya29.", 20),
    ("whsec_", 20),
];

/// The shortest of them. Most words are shorter, and most lines hold nothing else.
const SHORTEST_KEY: usize = 20;

/// Names whose value is a secret, in any spelling with - or _ and whatever stands before them.
const NAMES: [&str; 9] = [
    "apikey",
    "secret",
    "secretkey",
    "password",
    "passwd",
    "accesskey",
    "authtoken",
    "accesstoken",
    "privatekey",
];

/// Shortest value of such a name that is taken for a secret.
const SHORTEST: usize = 6;

/// Longest name that is looked at, in bytes.
const LONGEST_NAME: usize = 100;

/// First and last line of a PEM key, up to its label.
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// Most lines of a key in armour whose end does not come.
const LONGEST_KEY: u16 = 200;

/// Number of lines of a PEM key that may still follow in a log.
///
/// 0 means that no key is open.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenPemKey(u16);

/// Filter that hides secrets in text.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    patterns: Vec<Vec<String>>,
}

impl Redactor {
    /// With patterns of the user's own: a text, with `*` for any run of letters and signs of a word.
    pub fn new(patterns: &[String]) -> Self {
        let split = |p: &String| p.split('*').map(str::to_owned).collect::<Vec<_>>();
        let says = |parts: &Vec<String>| parts.iter().any(|part| !part.is_empty());
        Self { patterns: patterns.iter().map(split).filter(says).collect() }
    }

    /// Return the text with secrets replaced by [`HIDDEN`].
    pub fn hide(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let text = without_key_blocks(text);
        let mut rest = text.as_str();
        let (mut name, mut linked) = (false, false);
        // What comes before a word is kept; the word itself may be hidden.
        while let Some(at) = rest.bytes().position(|b| is_word(b.into())) {
            // In text that is quoted, the letter behind a backslash is no part of the word.
            let escaped = rest[..at].ends_with('\\')
                && rest[at..].starts_with(['n', 'r', 't', 'b', 'f'])
                && rest[at + 1..].starts_with(is_word);
            let (gap, from) = rest.split_at(at + usize::from(escaped));
            out.push_str(gap);
            let end = from.bytes().position(|b| !is_word(b.into())).unwrap_or(from.len());
            let (word, after) = from.split_at(end);
            rest = after;
            let gap = &gap[..at];
            let quiet = signs(gap).is_empty();
            if word.bytes().all(|b| b == b'=') {
                linked = name && quiet;
                out.push_str(word);
                continue;
            }
            let follows = name && (is_link(gap) || (linked && quiet));
            self.put(word, follows, &mut out);
            let scheme = follows && is_scheme(word);
            name = scheme || is_name(word);
            linked = scheme || word.ends_with('=');
        }
        out.push_str(rest);
        self.hide_patterns(out)
    }

    /// A line of a log without secrets. Lines of one log share `key`, for a key of several lines.
    pub fn hide_line<'l>(&self, line: &'l [u8], key: &mut OpenPemKey) -> Cow<'l, [u8]> {
        let text = String::from_utf8_lossy(line);
        let json = || serde_json::from_str::<Value>(&text).ok();
        let json = text.trim_start().starts_with(['{', '[']).then(json).flatten();
        let hidden = match json {
            Some(old) => {
                let mut new = old.clone();
                self.hide_json(&mut new);
                if new == old { text.clone().into_owned() } else { new.to_string() }
            }
            _ if key.0 > 0 => {
                key.0 = if text.contains(END) { 0 } else { key.0 - 1 };
                HIDDEN.to_owned()
            }
            _ => {
                let opens = text.rfind(BEGIN).is_some_and(|at| {
                    text[at..].contains("PRIVATE KEY") && !text[at..].contains(END)
                });
                key.0 = if opens { LONGEST_KEY } else { 0 };
                self.hide(&text)
            }
        };
        if hidden == text { Cow::Borrowed(line) } else { Cow::Owned(hidden.into_bytes()) }
    }

    /// A file without secrets: JSON value by value, anything else as text.
    pub fn hide_file(&self, text: &str) -> String {
        match serde_json::from_str(text) {
            Ok(old @ (Value::Object(_) | Value::Array(_))) => {
                let mut new = old.clone();
                self.hide_json(&mut new);
                if new == old { text.to_owned() } else { format!("{new:#}\n") }
            }
            _ => self.hide(text),
        }
    }

    /// A value without secrets: in every text, and under every name that tells of one.
    pub fn hide_json(&self, value: &mut Value) {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Value::String(text) => *text = self.hide(text),
                Value::Array(items) => open.extend(items),
                Value::Object(fields) => {
                    for (name, value) in fields {
                        match value {
                            Value::String(text) if is_name(name) && text.len() >= SHORTEST => {
                                *text = HIDDEN.to_owned();
                            }
                            other => open.push(other),
                        }
                    }
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }

    fn put(&self, word: &str, is_value: bool, out: &mut String) {
        // `KEY=value` is one word when nothing stands around the sign.
        if let Some((name, value)) = word.split_once('=')
            && is_name(name)
            && value.len() >= SHORTEST
        {
            out.push_str(name);
            out.push('=');
            out.push_str(HIDDEN);
            return;
        }
        let secret = is_shaped(word) || (is_value && word.len() >= SHORTEST && !is_scheme(word));
        out.push_str(if secret { HIDDEN } else { word });
    }

    fn hide_patterns(&self, text: String) -> String {
        self.patterns.iter().fold(text, |text, parts| hide_pattern(&text, parts))
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | '=' | '~')
}

/// Whether a word is or ends in a key of a well-known shape.
fn is_shaped(word: &str) -> bool {
    let bytes = word.as_bytes();
    let begins = |at: &usize| *at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
    let mut starts = (0..word.len().saturating_sub(SHORTEST_KEY - 1)).filter(begins);
    starts.any(|at| {
        SHAPES.iter().filter(|(start, _)| word[at..].starts_with(start)).any(|(start, least)| {
            let key = word[at..].split(['/', '=']).next().unwrap_or_default();
            key.len() >= *least && key[start.len()..].bytes().any(|b| b.is_ascii_digit())
        })
    })
}

/// Whether the value that follows this word is a secret.
fn is_name(word: &str) -> bool {
    let last = word.trim_end_matches('=').rsplit(['.', '/']).next().unwrap_or_default();
    if last.len() > LONGEST_NAME || !last.ends_with(['t', 'T', 'y', 'Y', 'd', 'D', 'n', 'N']) {
        return false;
    }
    let flat: String = last.chars().filter(|c| !matches!(c, '_' | '-')).collect();
    let flat = flat.to_ascii_lowercase();
    NAMES.iter().any(|name| flat.ends_with(name))
        || flat == "authorization"
        || flat == "token"
        || flat.ends_with("apitoken")
        || last.ends_with("_TOKEN")
}

/// The first word of a value that is no secret itself.
fn is_scheme(word: &str) -> bool {
    ["Bearer", "bearer", "Basic", "basic", "token"].contains(&word)
}

/// Whether what stands between two words makes the second the value of the first.
fn is_link(gap: &str) -> bool {
    matches!(signs(gap).as_str(), ":" | ":=") && gap.len() <= 8
}

/// Return the characters between two words, without quotation marks, backslashes and spaces.
fn signs(gap: &str) -> String {
    gap.chars().filter(|c| !matches!(c, '"' | '\'' | '\\' | ' ')).collect()
}

fn without_key_blocks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        let (before, head) = rest.split_at(at);
        out.push_str(before);
        let label = head[BEGIN.len()..].split(['-', '\n', '"']).next().unwrap_or_default();
        if !label.contains("PRIVATE KEY") {
            out.push_str(BEGIN);
            rest = &head[BEGIN.len()..];
            continue;
        }
        out.push_str(HIDDEN);
        let closing = head.find(END).and_then(|end| {
            let behind = end + END.len();
            head[behind..].find("-----").map(|dashes| behind + dashes + 5)
        });
        // One without an end is hidden as far as it can reach.
        rest = &head[closing.unwrap_or(head.len())..];
    }
    out.push_str(rest);
    out
}

fn hide_pattern(text: &str, parts: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let first = parts.first().map(String::as_str).unwrap_or_default();
    while !rest.is_empty() {
        let Some(at) = rest.find(first) else { break };
        let length = match matched(&rest[at + first.len()..], &parts[1..]) {
            Some(length) => first.len() + length,
            None => 0,
        };
        if length == 0 {
            let step = rest[at..].chars().next().map_or(1, char::len_utf8);
            out.push_str(&rest[..at + step]);
            rest = &rest[at + step..];
            continue;
        }
        out.push_str(&rest[..at]);
        out.push_str(HIDDEN);
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    out
}

/// Return the length of the match of a pattern's remaining parts at the start of `text`.
///
/// Each part may follow after any number of word characters.
fn matched(text: &str, parts: &[String]) -> Option<usize> {
    let mut reached = 0;
    for (n, part) in parts.iter().enumerate() {
        let rest = &text[reached..];
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        reached += match (part.is_empty(), n + 1 == parts.len()) {
            (true, _) => word,
            (false, _) => rest[..].find(part.as_str()).filter(|at| *at <= word)? + part.len(),
        };
    }
    Some(reached)
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
