//! Complaints of compilers and linters, as `file: message`.
//!
//! The line number is left out, because it changes with unrelated edits.

use std::collections::BTreeMap;

use super::normal::without_root;
use crate::text::clip;

/// Most different complaints that are kept.
const MOST: usize = 5000;
/// Maximum length of a complaint, in characters.
const LONGEST: usize = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ComplaintSeverity {
    Error,
    Warning,
}

/// Gathers complaints from the lines of an output.
#[derive(Debug, Default)]
pub(super) struct ComplaintReader {
    root: String,
    /// A message whose place comes in a later line.
    open: Option<(ComplaintSeverity, String)>,
    /// A file whose complaints come in later lines.
    file: Option<String>,
    pub(super) errors: BTreeMap<String, u32>,
    pub(super) warnings: BTreeMap<String, u32>,
    pub(super) too_many: bool,
}

impl ComplaintReader {
    pub(super) fn new(root: &str) -> Self {
        Self { root: root.to_owned(), ..Self::default() }
    }

    /// Process one line of the output, which has no color codes.
    pub(super) fn line(&mut self, line: &str) {
        if let Some((_, place)) = line.split_once("--> ").filter(|(b, _)| b.trim().is_empty()) {
            if let Some((severity, message)) = self.open.take() {
                self.add(severity, place_file(place), &message);
            }
        } else if let Some((severity, message)) = headline(line) {
            self.close();
            self.open = Some((severity, message));
        } else if let Some((file, severity, message)) = in_one_line(line) {
            self.add(severity, file, message);
        } else if let Some((severity, message)) = of_table(line) {
            if let Some(file) = self.file.clone() {
                self.add(severity, &file, message);
            }
        } else if let Some(file) = file_headline(line) {
            self.file = Some(file.to_owned());
        } else if line.is_empty() {
            self.close();
        }
    }

    /// A message without any place is one too, unless it only sums up.
    pub(super) fn close(&mut self) {
        if let Some((severity, message)) = self.open.take() {
            self.add(severity, "", &message);
        }
    }

    fn add(&mut self, severity: ComplaintSeverity, file: &str, message: &str) {
        let file = without_root(file.trim(), &self.root);
        let file = file.trim_start_matches("./");
        let message = without_root(message.trim(), &self.root);
        let text = clip(&format!("{file}: {message}"), LONGEST);
        let into = match severity {
            ComplaintSeverity::Error => &mut self.errors,
            ComplaintSeverity::Warning => &mut self.warnings,
        };
        if into.len() < MOST || into.contains_key(&text) {
            *into.entry(text).or_default() += 1;
        } else {
            self.too_many = true;
        }
    }
}

/// `error[E0308]: mismatched types` and `warning: unused`, whose place follows.
fn headline(line: &str) -> Option<(ComplaintSeverity, String)> {
    const SUMS: [&str; 9] = [
        "could not compile",
        "aborting due to",
        "test failed",
        "test run failed",
        "doctest failed",
        "build failed",
        " previous error",
        "generated ",
        "target failed",
    ];
    let severity = severity_of(line)?;
    let end = line.find(": ")?;
    let word = line.get(..end)?;
    let plain = word == "error" || word == "warning" || word.ends_with(']');
    let is_sum = SUMS.iter().any(|sum| line.contains(sum))
        || line.contains(" tests were not run")
        || line.ends_with(" failed:");
    (plain && !is_sum).then(|| (severity, line.to_owned()))
}

fn severity_of(text: &str) -> Option<ComplaintSeverity> {
    let lower = text.get(..8.min(text.len())).unwrap_or(text).to_ascii_lowercase();
    if lower.starts_with("error") || lower.starts_with("fatal") {
        Some(ComplaintSeverity::Error)
    } else if lower.starts_with("warn") {
        Some(ComplaintSeverity::Warning)
    } else {
        None
    }
}

/// Return the file of a place such as `src/lib.rs:3:5`.
fn place_file(place: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut file = place.trim();
    while let Some((before, number)) = file.rsplit_once(':') {
        if !is_number(number) {
            break;
        }
        file = before;
    }
    file
}

/// `a.c:3:5: error: …`, `a.py:3: E501 …`, `a.ts(3,5): error …`, `a.ts:3:5 - error …`, `Diff in a.rs:3:`.
fn in_one_line(line: &str) -> Option<(&str, ComplaintSeverity, &str)> {
    if let Some(place) = line.strip_prefix("Diff in ") {
        let (file, _) = place.split_once(':').or_else(|| place.split_once(" at line "))?;
        return Some((file, ComplaintSeverity::Error, "not formatted"));
    }
    // `a.ts:3:5 - error TS2322: Type …` has a colon later.
    let (place, message) = match line.split_once(": ") {
        Some(parts) if is_place(parts.0) => parts,
        _ => line.split_once(" - ")?,
    };
    if !is_place(place) || message.trim().is_empty() {
        return None;
    }
    let file = match place.split_once('(') {
        Some((file, _)) => file,
        None => place_file(place),
    };
    // `file.c:3: note: …` only adds to what was said before.
    if ["note", "info", "help", "hint"].iter().any(|word| message.starts_with(word)) {
        return None;
    }
    let severity = severity_of(message).unwrap_or(ComplaintSeverity::Error);
    Some((file, severity, message))
}

/// Whether a text is `file.ext:3`, `file.ext:3:5` or `file.ext(3,5)`.
fn is_place(text: &str) -> bool {
    let file = match text.strip_suffix(')').and_then(|t| t.split_once('(')) {
        Some((file, numbers)) if numbers.bytes().all(|b| b.is_ascii_digit() || b == b',') => file,
        _ => place_file(text),
    };
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_path = !file.contains(' ') && !file.contains("://");
    file.len() < text.len() && is_path && (name.contains('.') || file.contains('/'))
}

/// `  3:5  error  message  rule` of eslint, below the name of its file; and shellcheck's
/// `^-- SC2086 (info): …`.
fn of_table(line: &str) -> Option<(ComplaintSeverity, &str)> {
    let text = line.trim();
    if let Some(rest) = text.strip_prefix('^') {
        let rest = rest.trim_start_matches(['-', '^', ' ']);
        let level = rest.strip_prefix("SC")?.split_once(" (")?.1;
        let severity = if level.starts_with("error") {
            ComplaintSeverity::Error
        } else {
            ComplaintSeverity::Warning
        };
        return Some((severity, rest));
    }
    let (place, rest) = text.split_once(' ')?;
    let numbers = place.bytes().all(|b| b.is_ascii_digit() || b == b':') && place.contains(':');
    let rest = rest.trim_start();
    (numbers && line.starts_with(' ')).then_some(())?;
    Some((severity_of(rest)?, rest))
}

/// A line that is nothing but a path, and shellcheck's `In file line 3:`.
fn file_headline(line: &str) -> Option<&str> {
    if let Some((file, _)) = line.strip_prefix("In ").and_then(|l| l.split_once(" line ")) {
        return Some(file);
    }
    let is_path = !line.contains([' ', '\t']) && line.contains('.') && line.contains('/');
    is_path.then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let mut complaints = ComplaintReader::new("/work/tree");
        text.lines().for_each(|line| complaints.line(line));
        complaints.close();
        let names = |map: &BTreeMap<String, u32>| {
            map.iter().map(|(text, n)| format!("{n} {text}")).collect::<Vec<_>>()
        };
        (names(&complaints.errors), names(&complaints.warnings))
    }

    #[test]
    fn rustc_and_clippy_are_known_by_headline_and_arrow() {
        let (errors, warnings) = read(
            "warning: unused variable: `x`\n  --> src/lib.rs:3:9\n   |\n3 |     let x = 1;\n\n\
             error[E0308]: mismatched types\n   --> src/main.rs:10:5\n    |\nnote: defined here\n   --> src/lib.rs:1:1\n\n\
             error: linking with `cc` failed: exit status: 1\n\n\
             error: could not compile `nx` (lib) due to 2 previous errors; 1 warning emitted\n",
        );
        assert_eq!(
            errors,
            [
                "1 : error: linking with `cc` failed: exit status: 1",
                "1 src/main.rs: error[E0308]: mismatched types"
            ]
        );
        assert_eq!(warnings, ["1 src/lib.rs: warning: unused variable: `x`"]);
    }

    #[test]
    fn one_line_complaints_lose_their_line_and_keep_their_count() {
        let (errors, warnings) = read(
            "a.c:3:5: error: expected ';'\na.c:9:5: error: expected ';'\n\
             /work/tree/b.py:12: E501 line too long (81 > 79)\n\
             src/c.ts(4,7): error TS2322: Type 'x' is not assignable.\n\
             src/d.ts:4:7 - error TS2304: Cannot find name 'y'.\n\
             ./pkg/e.go:7:2: undefined: z\n\
             a.c:4:1: warning: unused\na.c:4:1: note: declared here\n\
             Diff in /work/tree/src/f.rs:12:\n",
        );
        assert_eq!(
            errors,
            [
                "2 a.c: error: expected ';'",
                "1 b.py: E501 line too long (81 > 79)",
                "1 pkg/e.go: undefined: z",
                "1 src/c.ts: error TS2322: Type 'x' is not assignable.",
                "1 src/d.ts: error TS2304: Cannot find name 'y'.",
                "1 src/f.rs: not formatted",
            ]
        );
        assert_eq!(warnings, ["1 a.c: warning: unused"]);
    }

    #[test]
    fn eslint_and_shellcheck_name_their_file_first() {
        let (errors, warnings) = read(
            "/work/tree/src/a.js\n  1:10  error    'x' is defined but never used  no-unused-vars\n  \
             4:1   warning  Unexpected console statement   no-console\n\n✖ 2 problems (1 error, 1 warning)\n\n\
             In run.sh line 3:\necho $x\n     ^-- SC2086 (info): Double quote to prevent globbing.\n",
        );
        assert_eq!(errors, ["1 src/a.js: error    'x' is defined but never used  no-unused-vars"]);
        assert_eq!(
            warnings,
            [
                "1 run.sh: SC2086 (info): Double quote to prevent globbing.",
                "1 src/a.js: warning  Unexpected console statement   no-console",
            ]
        );
    }

    #[test]
    fn prose_is_no_complaint() {
        let (errors, warnings) = read(
            "running 3 tests\ntest a::b ... ok\nNote: 12:30: all is well\nhttp://host:80: hello\n\
             errors are fun\n  left: 1\n right: 2\n2026-01-01 10:00:00: started\n",
        );
        assert_eq!((errors, warnings), (vec![], vec![]));
    }
}
