//! Runners for the output of pytest and unittest.

use super::{RunnerReader, TestTally, number_before};

/// Runner for pytest, which reads its short summary.
pub(super) struct Pytest;

impl RunnerReader for Pytest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        let told = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "));
        if let Some(rest) = told {
            let name = node_id(rest);
            // `ERROR at setup of x` and log lines are no nodes.
            if name.contains(".py") {
                tally.fail(name);
            }
        } else if line.starts_with('!')
            && (line.contains("stopping after") || line.contains("Interrupted:"))
        {
            tally.missing("pytest stopped before it had run all tests");
        } else if is_summary(line) {
            for word in [" failed", " error"] {
                tally.declared += number_before(line, word).unwrap_or(0);
            }
        }
    }
}

/// `path::name[parameters] - message`, where the parameters may hold anything.
fn node_id(rest: &str) -> &str {
    let from = match (rest.find('['), rest.find(" - ")) {
        (Some(open), Some(dash)) if open < dash => {
            rest.get(open..).and_then(|r| r.find("] - ")).map_or(dash, |at| open + at + 1)
        }
        (_, Some(dash)) => dash,
        _ => rest.len(),
    };
    rest.get(..from).unwrap_or(rest).trim()
}

/// `==== 1 failed, 2 passed in 0.12s ====`, with or without the signs.
fn is_summary(line: &str) -> bool {
    let text = line.trim_matches(['=', ' ']);
    let timed = text.split_once(" in ").is_some_and(|(_, time)| {
        time.split([' ', 's']).next().is_some_and(|n| n.parse::<f64>().is_ok())
    });
    timed
        && text.starts_with(|c: char| c.is_ascii_digit())
        && (text.contains(" passed") || text.contains(" failed") || text.contains(" error"))
}

#[derive(Default)]
pub(super) struct Unittest {
    ruled: bool,
}

impl RunnerReader for Unittest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        let after_rule =
            std::mem::replace(&mut self.ruled, line.len() == 70 && line.bytes().all(|b| b == b'='));
        let told = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "));
        if let Some(name) = told.filter(|_| after_rule) {
            tally.fail_again(name);
        } else if let Some(counts) = line.strip_prefix("FAILED (").and_then(|l| l.strip_suffix(')'))
        {
            for part in counts.split(", ") {
                let number =
                    part.strip_prefix("failures=").or_else(|| part.strip_prefix("errors="));
                tally.declared += number.and_then(|n| n.parse().ok()).unwrap_or(0);
            }
        }
    }
}
