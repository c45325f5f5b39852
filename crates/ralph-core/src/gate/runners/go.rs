//! Runner for the output of `go test`.

use super::{RunnerReader, TOO_MANY, TestTally};

/// `go test`: the tests come first, the package they belong to after them.
#[derive(Default)]
pub(super) struct GoTest {
    pending: Vec<String>,
    panicked: bool,
}

/// Most tests of one package that wait for its name.
const MOST_PENDING: usize = 5000;

impl RunnerReader for GoTest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if let Some(rest) = line.trim_start().strip_prefix("--- FAIL: ") {
            let name = rest.rsplit_once(" (").map_or(rest, |(name, _)| name);
            if self.pending.len() < MOST_PENDING {
                self.pending.push(name.to_owned());
            } else {
                tally.missing(TOO_MANY);
            }
        } else if line.starts_with("panic: ") {
            self.panicked = true;
        } else if let Some(rest) = line.strip_prefix("FAIL\t") {
            self.package(rest, tally);
        } else if let Some(rest) = line.strip_prefix("ok  \t") {
            let package = rest.split('\t').next().unwrap_or_default();
            tally.ran(package);
            self.let_go(package, tally);
            self.panicked = false;
        }
    }

    fn end(&mut self, tally: &mut TestTally) {
        self.let_go("", tally);
    }
}

impl GoTest {
    fn package(&mut self, rest: &str, tally: &mut TestTally) {
        let package = rest.split(['\t', ' ']).next().unwrap_or_default();
        let panicked = std::mem::take(&mut self.panicked);
        if let Some((_, why)) = rest.split_once(" [") {
            tally.fail(&format!("{package} [{why}"));
        } else if self.pending.is_empty() {
            tally.fail(&format!("{package} (the package itself)"));
        } else if !panicked {
            tally.ran(package);
        }
        if panicked {
            tally.missing("a panic ended the tests of a package before all had run");
        }
        self.let_go(package, tally);
    }

    fn let_go(&mut self, package: &str, tally: &mut TestTally) {
        for name in self.pending.drain(..) {
            tally.fail(&format!("{package} {name}"));
        }
    }
}
