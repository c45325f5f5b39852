//! Runners for the output of `cargo test` and `cargo nextest`.

use std::collections::BTreeMap;

use super::{RunnerReader, TestTally, number_before};

/// Most targets that are told apart.
const MOST_TARGETS: usize = 5000;

/// The test harness of Rust under `cargo test`, which says which program it runs.
#[derive(Default)]
pub(super) struct Libtest {
    target: String,
    /// Number of runs of each target. Two packages may have a target with the same name.
    targets: BTreeMap<String, u32>,
    /// Within the list of names at the end of a target.
    listing: bool,
    /// The tests of one target stopped the others.
    stopped: bool,
    /// Tests have begun, and their result is not told yet.
    running: bool,
}

impl RunnerReader for Libtest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if std::mem::take(&mut self.listing) {
            if let Some(name) = line.strip_prefix("    ").filter(|name| !name.starts_with(' ')) {
                self.listing = true;
                self.listed(name, tally);
                return;
            }
            if line.is_empty() {
                self.listing = true;
                return;
            }
        }
        if let Some(rest) = line.strip_prefix("test ") {
            let failed = rest
                .strip_suffix(" ... FAILED")
                .or_else(|| rest.strip_suffix(" ... FAILED (time limit exceeded)"));
            if let Some(name) = failed.filter(|name| !name.contains(" (line ")) {
                tally.fail(&self.full(name));
            }
            // Examples in documentation are known by their line, which moves.
            let passed = rest.strip_suffix(" ... ok").filter(|name| !name.contains(" (line "));
            if let Some(name) = passed {
                tally.ran(&self.full(name));
            }
            let result = rest.strip_prefix("result: ");
            if let Some(failed) = result.and_then(|result| number_before(result, " failed")) {
                tally.declared += failed;
                tally.ran(&self.target);
                self.running = false;
            }
        } else if line.starts_with("running ") && line.trim_end_matches('s').ends_with(" test") {
            self.interrupt(tally);
            self.running = true;
        } else if line == "failures:" {
            self.listing = true;
        } else if let Some(rest) = line.strip_prefix("     Running ") {
            self.begin(target_of(rest));
        } else if let Some(name) = line.strip_prefix("   Doc-tests ") {
            self.begin(format!("{}-doc", name.trim()));
        } else if line.starts_with("error: test failed, to rerun pass")
            || line.starts_with("error: doctest failed,")
        {
            self.stopped = true;
        } else if line.starts_with("error: ")
            && line.ends_with(" failed:")
            && line.contains(" target")
        {
            // With --no-fail-fast all targets run, and this list is at the end.
            self.stopped = false;
        }
    }

    fn end(&mut self, tally: &mut TestTally) {
        self.interrupt(tally);
        if self.stopped {
            tally.missing(
                "cargo stops at the first target that fails; add --no-fail-fast to see them all",
            );
        }
    }
}

impl Libtest {
    /// The tests that began before have no result: their process ended in the middle of them.
    fn interrupt(&mut self, tally: &mut TestTally) {
        if std::mem::take(&mut self.running) {
            let target = &self.target;
            tally.missing(&format!("the tests of {target} did not come to their end"));
        }
    }

    fn begin(&mut self, target: String) {
        let room = self.targets.len() < MOST_TARGETS;
        let times = if room { self.targets.entry(target.clone()).or_default() } else { &mut 0 };
        *times += 1;
        self.target = if *times > 1 { format!("{target}#{times}") } else { target };
    }

    /// A name of the list. Examples in documentation are known by their line, which moves; so several
    /// of one item are counted.
    fn listed(&self, name: &str, tally: &mut TestTally) {
        match name.split_once(" (line ") {
            Some((item, _)) => tally.fail_again(&self.full(item)),
            None => tally.fail(&self.full(name)),
        }
    }

    fn full(&self, name: &str) -> String {
        let name = name.split(" - should panic").next().unwrap_or_default();
        format!("{} {name}", self.target)
    }
}

/// `unittests src/lib.rs (target/debug/deps/name-0123456789abcdef)` is the target `name`, and the file
/// tells the library `name` from the program `name`.
fn target_of(rest: &str) -> String {
    let (what, path) = rest.rsplit_once(" (").unwrap_or((rest, rest));
    let file = path.trim_end_matches(')').rsplit(['/', '\\']).next().unwrap_or_default();
    let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
    match what.strip_prefix("unittests ") {
        Some(source) => format!("{name}({source})"),
        None => name.to_owned(),
    }
}

/// Runner for the output of `cargo nextest run`.
#[derive(Default)]
pub(super) struct Nextest {
    summary: bool,
}

impl RunnerReader for Nextest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        let text = line.trim_start();
        if let Some(rest) = text.strip_prefix("Summary [") {
            self.summary = true;
            for word in [" failed", " timed out", " exec failed"] {
                tally.declared += number_before(rest, word).unwrap_or(0);
            }
        } else if text.contains(" tests were not run due to ") && text.starts_with("warning: ") {
            tally.missing(
                "nextest stops at the first test that fails; add --no-fail-fast to see them all",
            );
        } else if let Some((state, rest)) = text.split_once(" [")
            && let Some((time, name)) = rest.split_once("] ")
            && time.trim().ends_with('s')
        {
            let name = name.trim_start();
            let name = match name.strip_prefix('(').and_then(|n| n.split_once(") ")) {
                Some((_, name)) => name.trim_start(),
                None => name,
            };
            self.state(state, name, tally);
        }
    }
}

impl Nextest {
    fn state(&self, state: &str, name: &str, tally: &mut TestTally) {
        // A try that fails may be followed by one that passes; the summary knows.
        let last = match state.strip_prefix("TRY ").and_then(|rest| rest.split_once(' ')) {
            Some((_, last)) if self.summary => last,
            Some(_) => return,
            None => state,
        };
        match last {
            "PASS" | "LEAK" if !self.summary => tally.ran(name),
            "FAIL" | "TIMEOUT" | "TMT" | "ABORT" | "XFAIL" | "FL+LK" | "LEAK-FAIL" => {
                tally.fail(name)
            }
            signal if signal.starts_with("SIG") => tally.fail(name),
            _ => {}
        }
    }
}
