//! The names of failed tests in the output of the test runners that are in use.
//!
//! Each runner is known by lines that no other program is likely to write, and each keeps a [`TestTally`]
//! of its own. Most runners also say how many tests failed; where that is more than the names that
//! were found, the tally says so, and nobody may take the list for the whole truth.

use std::collections::{BTreeMap, BTreeSet};

mod go;
mod others;
mod python;
mod rust;
mod script;
mod tap;

use crate::text::clip;

/// Most names of failed tests that one runner keeps.
const MOST_FAILED: usize = 5000;
/// Most groups and passed tests that one runner keeps.
pub(super) const MOST_RAN: usize = 20_000;
const TOO_MANY: &str = "too many tests fail to keep all their names";
/// Maximum length of a test's name, in characters.
const LONGEST_NAME: usize = 400;

#[derive(Debug, Default)]
pub(super) struct TestTally {
    pub(super) failed: BTreeSet<String>,
    pub(super) ran: BTreeSet<String>,
    /// Number of failures by name, for runners in which a repeated name is another test.
    times: BTreeMap<String, u64>,
    /// Number of failed tests that the runner itself reports.
    pub(super) declared: u64,
    /// Why some failures may be missing.
    pub(super) partial: Option<String>,
}

impl TestTally {
    /// A test failed; told twice is told once.
    fn fail(&mut self, name: &str) {
        let name = without_addresses(clip(name.trim(), LONGEST_NAME));
        if name.is_empty() {
            return;
        }
        if self.failed.len() < MOST_FAILED || self.failed.contains(&name) {
            self.failed.insert(name);
        } else {
            self.missing(TOO_MANY);
        }
    }

    /// A test failed in a runner that tells of each once: the same name again is another test.
    fn fail_again(&mut self, name: &str) {
        let name = without_addresses(clip(name.trim(), LONGEST_NAME));
        if self.times.len() >= MOST_FAILED && !self.times.contains_key(&name) {
            return self.missing(TOO_MANY);
        }
        let times = self.times.entry(name.clone()).or_default();
        *times += 1;
        match *times {
            1 => self.fail(&name),
            times => self.fail(&format!("{name} #{times}")),
        }
    }

    /// A test passed, or a group of tests came to its end.
    fn ran(&mut self, name: &str) {
        if self.ran.len() < MOST_RAN {
            self.ran.insert(clip(name.trim(), LONGEST_NAME));
        }
    }

    fn missing(&mut self, why: &str) {
        self.partial.get_or_insert_with(|| why.to_owned());
    }
}

trait RunnerReader {
    /// A line without colours, and without its end.
    fn line(&mut self, line: &str, tally: &mut TestTally);

    fn end(&mut self, tally: &mut TestTally) {
        let _ = tally;
    }
}

/// All runners that are known, reading side by side.
pub(super) struct RunnerReaders(Vec<(Box<dyn RunnerReader>, TestTally)>);

impl RunnerReaders {
    pub(super) fn new() -> Self {
        let all: [Box<dyn RunnerReader>; 12] = [
            Box::new(rust::Libtest::default()),
            Box::new(rust::Nextest::default()),
            Box::new(python::Pytest),
            Box::new(python::Unittest::default()),
            Box::new(go::GoTest::default()),
            Box::new(script::Jest::default()),
            Box::new(script::Vitest),
            Box::new(script::Mocha::default()),
            Box::new(script::NodeTest::default()),
            Box::new(tap::Tap::default()),
            Box::new(others::Rspec),
            Box::new(others::Junit::default()),
        ];
        Self(all.into_iter().map(|runner| (runner, TestTally::default())).collect())
    }

    pub(super) fn line(&mut self, line: &str) {
        for (runner, tally) in &mut self.0 {
            runner.line(line, tally);
        }
    }

    /// Return the result of each runner.
    pub(super) fn finish(self) -> impl Iterator<Item = TestTally> {
        self.0.into_iter().map(|(mut runner, mut tally)| {
            runner.end(&mut tally);
            let found = tally.failed.len() as u64;
            if tally.declared > found {
                let declared = tally.declared;
                tally.missing(&format!(
                    "{declared} tests failed, {found} of them with a known name"
                ));
            }
            tally
        })
    }
}

/// A name in which `<object at 0x7f01>` has no address. Other hexadecimal numbers are part of a name.
fn without_addresses(name: String) -> String {
    let mut parts = name.split(" at 0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| {
        out + " at 0x" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit())
    })
}

/// The number right before `word`, as in `3 failed`.
fn number_before(line: &str, word: &str) -> Option<u64> {
    let (before, _) = line.split_once(word)?;
    let digits = before.trim_end();
    let start =
        digits.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + last_len(digits, at));
    digits.get(start..)?.parse().ok()
}

fn last_len(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(1, char::len_utf8)
}

/// A line without a time in brackets at its end: `name (1.5 ms)`, `name 12ms`.
fn without_time(line: &str) -> &str {
    let line = line.trim_end();
    let is_time = |text: &str| {
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim();
        unit.len() < text.len() && ["ms", "s", "m", "h", "µs"].contains(&unit)
    };
    if let Some((name, time)) = line.strip_suffix(')').and_then(|l| l.rsplit_once(" ("))
        && is_time(time)
    {
        return name.trim_end();
    }
    match line.rsplit_once(' ') {
        Some((name, time)) if is_time(time) => name.trim_end(),
        _ => line,
    }
}

/// Return the indentation of a line, in characters.
fn indent(line: &str) -> usize {
    line.chars().take_while(|c| *c == ' ').count()
}
