//! The tests in a source, by name.

use std::collections::BTreeMap;
use std::ops::Range;

use super::code::{MaskedSource, SourceLanguage};

/// Most tests and suites of one file that are looked at.
const MOST: usize = 5000;

/// A test, or a suite of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TestItem {
    /// Name with the names of the suites around it, joined with `::`.
    pub(super) name: String,
    pub(super) leaf: String,
    /// Text before the body, such as attributes and decorators, without strings and comments.
    pub(super) head: String,
    /// Body without strings and comments. `None` for a suite, whose tests are separate cases.
    pub(super) body: Option<String>,
    /// All of it (of a suite only its head) as it is written.
    source: String,
}

impl TestItem {
    pub(super) fn is_test(&self) -> bool {
        self.body.is_some()
    }
}

/// A test or suite as places in the text.
struct CaseSpan {
    leaf: String,
    head: Range<usize>,
    body: Range<usize>,
    is_suite: bool,
}

/// All tests of a source, in its order. Of several with one name, all but the first are numbered.
pub(super) fn cases(text: &str, language: SourceLanguage) -> Vec<TestItem> {
    let code = MaskedSource::new(text, language);
    let mut found = match language {
        SourceLanguage::Rust => rust(&code),
        SourceLanguage::Script => script(&code),
        SourceLanguage::Go => go(&code),
        SourceLanguage::Class => classes(&code),
        SourceLanguage::Python | SourceLanguage::Ruby | SourceLanguage::Bats => {
            by_lines(&code, language)
        }
    };
    found.truncate(MOST);
    found.sort_by_key(|case| case.head.start);
    named(&code, &found)
}

fn named(code: &MaskedSource<'_>, found: &[CaseSpan]) -> Vec<TestItem> {
    let mut around: Vec<&CaseSpan> = Vec::new();
    let mut names = CaseNames::default();
    let mut cases: Vec<TestItem> = Vec::new();
    for case in found {
        around
            .retain(|suite| suite.body.end >= case.body.end && suite.body.start <= case.head.start);
        let path = around.iter().map(|suite| suite.leaf.as_str());
        let name = path.chain([case.leaf.as_str()]).collect::<Vec<_>>().join("::");
        let name = names.free(name, case.is_suite);
        let whole = case.head.start..if case.is_suite { case.body.start } else { case.body.end };
        cases.push(TestItem {
            name,
            leaf: case.leaf.clone(),
            head: code.masked(case.head.clone()).to_owned(),
            body: (!case.is_suite).then(|| code.masked(case.body.clone()).to_owned()),
            source: code.source(whole).to_owned(),
        });
        if case.is_suite {
            around.push(case);
        }
    }
    cases
}

/// Names that are taken, those of suites apart from those of tests, and the last number of each.
#[derive(Default)]
struct CaseNames(BTreeMap<(bool, String), usize>);

impl CaseNames {
    /// The name, with a number when it is taken.
    fn free(&mut self, name: String, is_suite: bool) -> String {
        let mut last = self.0.get(&(is_suite, name.clone())).copied().unwrap_or(0);
        let mut free = name.clone();
        while self.0.contains_key(&(is_suite, free.clone())) {
            last += 1;
            free = format!("{name} #{}", last + 1);
        }
        self.0.insert((is_suite, name), last);
        self.0.entry((is_suite, free.clone())).or_insert(0);
        free
    }
}

/// Functions with an attribute such as `#[test]`, and the modules around them.
fn rust(code: &MaskedSource<'_>) -> Vec<CaseSpan> {
    let mut found = Vec::new();
    let mut done = 0;
    for at in code.mask.match_indices("#[").map(|(at, _)| at) {
        if at < done {
            continue;
        }
        // Attributes follow one another; comments between them are blanks.
        let (mut next, mut is_test) = (at, false);
        while code.mask.get(next..).is_some_and(|rest| rest.starts_with("#[")) {
            let Some(close) = code.close(next + 1) else { break };
            is_test |= is_test_attribute(code.masked(next + 2..close));
            next = code.skip_blanks(close + 1);
        }
        done = next.max(at + 2);
        if let Some(case) = rust_function(code, at, next).filter(|_| is_test) {
            found.push(case);
        }
    }
    for at in code.words("mod") {
        let name_at = code.skip_blanks(at + 3);
        let leaf = code.word(name_at).to_owned();
        let open = code.skip_blanks(name_at + leaf.len());
        if let Some(body) = code.pair(open).filter(|_| code.byte(open) == Some(b'{')) {
            found.push(CaseSpan { leaf, head: at..at, body, is_suite: true });
        }
    }
    found
}

/// `test`, `tokio::test(…)`, `rstest`, `test_case(…)`: the last word of the path tells.
fn is_test_attribute(attribute: &str) -> bool {
    let path = attribute.split(['(', '=']).next().unwrap_or_default().trim();
    let last = path.rsplit("::").next().unwrap_or_default().trim();
    last.ends_with("test") || last == "test_case" || last == "quickcheck"
}

fn rust_function(code: &MaskedSource<'_>, head: usize, from: usize) -> Option<CaseSpan> {
    let mut at = from;
    loop {
        match code.word(at) {
            "fn" => break,
            word @ ("pub" | "async" | "unsafe" | "const" | "extern") => {
                at = code.skip_blanks(at + word.len());
                // `pub(crate)`
                if let Some(range) = code.pair(at).filter(|_| code.byte(at) == Some(b'(')) {
                    at = code.skip_blanks(range.end);
                }
            }
            _ => return None,
        }
    }
    let name_at = code.skip_blanks(at + 2);
    let leaf = code.word(name_at).to_owned();
    let body = body_after(code, name_at)?;
    Some(CaseSpan { leaf, head: head..body.start, body, is_suite: false })
}

/// The braces that follow, past the parameters and whatever else is in brackets.
fn body_after(code: &MaskedSource<'_>, from: usize) -> Option<Range<usize>> {
    let mut at = from;
    loop {
        match code.byte(at)? {
            b'{' => return code.pair(at),
            b';' | b'}' => return None,
            b'(' | b'[' => at = code.close(at)? + 1,
            _ => at += 1,
        }
    }
}

/// The text of all that stands under `#[cfg(test)]` in a Rust source.
pub(super) fn test_code(text: &str) -> String {
    let code = MaskedSource::new(text, SourceLanguage::Rust);
    let (mut out, mut done) = (String::new(), 0);
    for (at, attribute) in code.mask.match_indices("#[cfg(test)]") {
        let range = body_after(&code, at + attribute.len());
        let end = range.map_or(at + attribute.len(), |body| body.end);
        if at >= done {
            out.push_str(code.source(at..end));
            out.push('\n');
            done = end;
        }
    }
    out
}

/// `it("…", …)`, `test.skip("…", …)`, `describe("…", …)` and their kin.
fn script(code: &MaskedSource<'_>) -> Vec<CaseSpan> {
    const TESTS: [&str; 7] = ["it", "test", "specify", "xit", "xtest", "fit", "ftest"];
    const SUITES: [&str; 5] = ["describe", "context", "suite", "xdescribe", "fdescribe"];
    let mut found = Vec::new();
    for (words, is_suite) in [(&TESTS[..], false), (&SUITES[..], true)] {
        for word in words {
            for at in code.words(word) {
                let is_method = at.checked_sub(1).and_then(|b| code.byte(b)) == Some(b'.');
                if let Some((open, leaf)) = call(code, at + word.len()).filter(|_| !is_method)
                    && let Some(body) = code.pair(open)
                {
                    found.push(CaseSpan { leaf, head: at..open, body, is_suite });
                }
            }
        }
    }
    found.sort_by_key(|case| case.head.start);
    found
}

/// The bracket of a call and the text that is its first argument, past `.skip`, `.each(…)` and the like.
fn call(code: &MaskedSource<'_>, from: usize) -> Option<(usize, String)> {
    let mut at = from;
    while code.byte(at) == Some(b'.') {
        let word = code.word(at + 1).to_owned();
        at += 1 + word.len();
        if word == "each" || word == "skipIf" || word == "runIf" || word == "for" {
            at = match code.byte(at)? {
                b'(' => code.close(at)? + 1,
                // A table in a template string, which the mask hides.
                _ => at + code.mask.get(at..)?.find('(')?,
            };
        }
    }
    let open = code.skip_blanks(at);
    if code.byte(open) != Some(b'(') {
        return None;
    }
    let text = code.text.get(open + 1..)?.trim_start();
    Some((open, literal(text)?))
}

/// The text literal that `text` begins with.
fn literal(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let mut out = String::new();
    let mut chars = text.chars().skip(1);
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            c if c == quote => return Some(out),
            c => out.push(c),
        }
    }
    None
}

/// Return the tests of a Go file, such as `func TestX(t *testing.T) {`.
fn go(code: &MaskedSource<'_>) -> Vec<CaseSpan> {
    let mut found = Vec::new();
    for at in code.words("func") {
        let name_at = code.skip_blanks(at + 4);
        let leaf = code.word(name_at).to_owned();
        let is_test = ["Test", "Fuzz", "Example"].iter().any(|begin| leaf.starts_with(begin));
        if let Some(body) = body_after(code, name_at).filter(|_| is_test && leaf != "TestMain") {
            found.push(CaseSpan { leaf, head: at..body.start, body, is_suite: false });
        }
    }
    found
}

/// Methods under `@Test`, `[Fact]` and their kin, and PHP's `function testX`.
fn classes(code: &MaskedSource<'_>) -> Vec<CaseSpan> {
    const MARKS: [&str; 9] = [
        "@Test",
        "@ParameterizedTest",
        "@RepeatedTest",
        "@Property",
        "[Test]",
        "[TestCase",
        "[Fact",
        "[Theory",
        "[TestMethod]",
    ];
    let mut found: Vec<CaseSpan> = Vec::new();
    let mut places: Vec<usize> =
        MARKS.iter().flat_map(|mark| code.mask.match_indices(mark)).map(|(at, _)| at).collect();
    places.sort_unstable();
    for at in places {
        // What else is said of the method may stand before.
        let start = code
            .mask
            .get(..at)
            .and_then(|before| before.rfind(['{', '}', ';']))
            .map_or(0, |b| b + 1);
        if found.last().is_some_and(|last| last.head.contains(&at)) {
            continue;
        }
        if let Some(case) = method(code, start, at) {
            found.push(case);
        }
    }
    for at in code.words("function") {
        let name_at = code.skip_blanks(at + 8);
        let leaf = code.word(name_at).to_owned();
        if let Some(body) = body_after(code, name_at).filter(|_| leaf.starts_with("test")) {
            let start =
                code.mask.get(..at).and_then(|b| b.rfind(['{', '}', ';'])).map_or(0, |b| b + 1);
            found.push(CaseSpan { leaf, head: start..body.start, body, is_suite: false });
        }
    }
    found
}

fn method(code: &MaskedSource<'_>, start: usize, mark: usize) -> Option<CaseSpan> {
    let mut at = mark;
    // Past this and all further annotations.
    loop {
        at = code.skip_blanks(at);
        match code.byte(at)? {
            b'@' => {
                at += 1;
                while code.byte(at) == Some(b'.') || !code.word(at).is_empty() {
                    at += code.word(at).len().max(1);
                }
                if code.byte(at) == Some(b'(') {
                    at = code.close(at)? + 1;
                }
            }
            b'[' => at = code.close(at)? + 1,
            _ => break,
        }
    }
    let body = body_after(code, at)?;
    let parameters = code.masked(at..body.start).find('(')? + at;
    let signature = code.source(at..parameters).trim_end();
    let leaf = match signature.strip_suffix('`').and_then(|s| s.rsplit_once('`')) {
        Some((_, name)) => name,
        None => signature.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next()?,
    };
    Some(CaseSpan { leaf: leaf.to_owned(), head: start..body.start, body, is_suite: false })
}

/// Languages in which a body is what stands further in than its head.
fn by_lines(code: &MaskedSource<'_>, language: SourceLanguage) -> Vec<CaseSpan> {
    let mut lines: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for line in code.mask.split_inclusive('\n') {
        lines.push(start..start + line.len());
        start += line.len();
    }
    let mut found = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        let depth = depth(code, line);
        // A line that begins within a string or a comment is no head.
        let is_code = code.byte(line.start + depth).is_some_and(|b| !b.is_ascii_whitespace());
        let head = is_code.then(|| head_of(code.source(line.clone()), language)).flatten();
        if let Some((leaf, is_suite)) = head {
            let inside =
                |other: &&Range<usize>| depth_or_blank(code, other).is_none_or(|d| d > depth);
            let last = lines.iter().skip(n + 1).take_while(inside).last().unwrap_or(line);
            let head = decorated_from(code, &lines, n, depth)..line.end;
            found.push(CaseSpan { leaf, head, body: line.end..last.end.max(line.end), is_suite });
        }
        if found.len() >= MOST {
            break;
        }
    }
    found
}

fn depth(code: &MaskedSource<'_>, line: &Range<usize>) -> usize {
    code.source(line.clone()).bytes().take_while(|b| *b == b' ' || *b == b'\t').count()
}

fn depth_or_blank(code: &MaskedSource<'_>, line: &Range<usize>) -> Option<usize> {
    (!code.masked(line.clone()).trim().is_empty()).then(|| depth(code, line))
}

/// Return the start of the decorators above line `n`.
fn decorated_from(code: &MaskedSource<'_>, lines: &[Range<usize>], n: usize, deep: usize) -> usize {
    let mut from = lines.get(n).map_or(0, |line| line.start);
    for line in lines.get(..n).unwrap_or_default().iter().rev().take(50) {
        let text = code.masked(line.clone()).trim();
        match depth_or_blank(code, line) {
            Some(d) if d == deep && text.starts_with('@') => from = line.start,
            Some(d) if d > deep || (d == deep && text.starts_with(')')) => {}
            _ => break,
        }
    }
    from
}

/// The name of the test or suite whose head a line is.
fn head_of(line: &str, language: SourceLanguage) -> Option<(String, bool)> {
    let text = line.trim();
    let word_of = |rest: &str| -> String {
        rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == ':').collect()
    };
    match language {
        SourceLanguage::Python => {
            let text = text.strip_prefix("async ").unwrap_or(text);
            if let Some(rest) = text.strip_prefix("class ") {
                return Some((word_of(rest).trim_end_matches(':').to_owned(), true));
            }
            let name = word_of(text.strip_prefix("def ")?);
            name.starts_with("test").then_some((name, false))
        }
        SourceLanguage::Bats => {
            let rest = text.strip_prefix("@test ")?;
            Some((literal(rest.trim_start())?, false))
        }
        _ => {
            if let Some(name) = text.strip_prefix("def ").map(word_of) {
                return name.starts_with("test_").then_some((name, false));
            }
            if let Some(rest) =
                text.strip_prefix("class ").or_else(|| text.strip_prefix("defmodule "))
            {
                return Some((word_of(rest), true));
            }
            let (word, rest) = text.split_once([' ', '('])?;
            let is_test = ["it", "test", "specify", "example", "xit", "fit"].contains(&word);
            let is_suite =
                ["describe", "context", "xdescribe", "RSpec.describe", "feature"].contains(&word);
            let rest = rest.trim_start();
            let leaf = literal(rest).or_else(|| is_suite.then(|| word_of(rest)))?;
            ((is_test || is_suite)
                && (text.ends_with("do") || text.ends_with('|') || text.ends_with('{')))
            .then_some((leaf, is_suite))
        }
    }
}
