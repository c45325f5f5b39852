//! TAP, as bats and `node --test` write it, and bats' report for people.

use super::{RunnerReader, TestTally, indent, without_time};

/// The Test Anything Protocol: `not ok 3 - name # directive`, with nested tests before their parent.
#[derive(Default)]
pub(super) struct Tap {
    /// Open `# Subtest:` lines, with their indentation.
    open: Vec<(usize, String)>,
    /// A failed test whose file may still be told.
    pending: Option<String>,
}

/// Maximum depth of nested tests that is tracked.
const DEEPEST: usize = 50;

impl RunnerReader for Tap {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        let (deep, text) = (indent(line), line.trim());
        if let Some(name) = text.strip_prefix("# Subtest: ") {
            self.flush(None, tally);
            self.close(deep);
            if self.open.len() < DEEPEST {
                self.open.push((deep, name.to_owned()));
            }
        } else if let Some(rest) = text.strip_prefix("not ok ") {
            self.flush(None, tally);
            self.close(deep);
            if let Some(name) = failed(rest) {
                self.pending = Some(self.path(name));
            }
        } else if text.starts_with("ok ") {
            self.flush(None, tally);
            self.close(deep);
        } else if let Some(name) = line.strip_prefix(" ✗ ") {
            self.flush(None, tally);
            self.pending = Some(without_time(name).to_owned());
        } else if self.pending.is_some() {
            if let Some(file) = file_of(text) {
                self.flush(Some(file), tally);
            }
        } else if text.starts_with("Bail out!") {
            tally.missing("the tests bailed out before all had run");
        }
    }

    fn end(&mut self, tally: &mut TestTally) {
        self.flush(None, tally);
    }
}

impl Tap {
    fn close(&mut self, deep: usize) {
        while self.open.last().is_some_and(|(at, _)| *at >= deep) {
            self.open.pop();
        }
    }

    fn path(&self, name: &str) -> String {
        let above = self.open.iter().map(|(_, name)| name.as_str());
        above.chain([name]).collect::<Vec<_>>().join(" › ")
    }

    fn flush(&mut self, file: Option<&str>, tally: &mut TestTally) {
        if let Some(name) = self.pending.take() {
            tally.fail_again(&format!("{} {name}", file.unwrap_or_default()));
        }
    }
}

/// The name after `not ok`, unless the failure is expected.
fn failed(rest: &str) -> Option<&str> {
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if after.len() == rest.len() {
        return None;
    }
    let after = after.trim_start();
    let name = after.strip_prefix("- ").unwrap_or(after);
    let (name, directive) = name.rsplit_once(" # ").unwrap_or((name, ""));
    let expected = ["todo", "skip"].iter().any(|word| directive.to_lowercase().starts_with(word));
    (!expected).then_some(without_time(name))
}

/// The file that a line below a failed test names.
fn file_of(text: &str) -> Option<&str> {
    if let Some(place) = text.strip_prefix("location: '") {
        return place.trim_end_matches('\'').rsplitn(3, ':').nth(2);
    }
    let (_, place) = text.split_once("in test file ")?;
    place.split(',').next()
}
