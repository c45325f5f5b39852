//! Tests that passed and failed, by number, in the output of a gate that is red: proof that more than the failing
//! ones ran.

/// Counts the tests that an output shows to have passed or failed, by single lines and by the sums of runners.
#[derive(Default)]
pub(super) struct TestPassCounter {
    lines: u64,
    sums: u64,
    /// Tests that ran, where a runner counts these only.
    ran: u64,
    failed: u64,
}

impl TestPassCounter {
    /// Process one line of the output, which has no color codes.
    pub(super) fn line(&mut self, line: &str) {
        let text = line.trim();
        let passed = text.ends_with(" ... ok")
            || text.ends_with(" PASSED")
            || ["ok  \t", "--- PASS", "PASS ", "✓ ", "✔ "]
                .iter()
                .any(|sign| text.starts_with(sign))
            || number_after(text, "ok ") > 0;
        self.lines += u64::from(passed);
        for word in [" passed", " passing"] {
            self.sums += number_before(text, word);
        }
        self.sums += number_after(text, "# pass ") + number_after(text, "ℹ pass ");
        self.ran += number_after(text, "Tests run: ").max(number_after(text, "Ran "));
        self.ran += number_before(text, " examples, ");
        self.failed += FAILED.iter().map(|word| number_before(text, word)).max().unwrap_or(0)
            + number_after(text, "# fail ")
            + number_after(text, "ℹ fail ")
            + FAILED_IN.iter().map(|word| number_inside(text, word)).sum::<u64>();
    }

    /// Return the number of failed tests in the summaries of test runners, including unknown runners.
    pub(super) fn failed(&self) -> u64 {
        self.failed
    }

    /// Return the minimum number of tests that passed. `failed` is the number of tests that failed.
    pub(super) fn count(&self, failed: usize) -> u64 {
        let rest = self.ran.saturating_sub(u64::try_from(failed).unwrap_or(u64::MAX));
        self.lines.max(self.sums).max(rest)
    }
}

/// Words behind the number of failures, in sums.
const FAILED: [&str; 5] = [" failed", " failing", " failures", " failure", " broken"];
/// Words before the number of failures, in sums.
const FAILED_IN: [&str; 6] =
    ["failures=", "errors=", "Failures: ", "Errors: ", "failed: ", "failed="];

fn number_inside(text: &str, word: &str) -> u64 {
    text.find(word).and_then(|at| text.get(at..)).map_or(0, |rest| number_after(rest, word))
}

fn number_before(text: &str, word: &str) -> u64 {
    let before = text.split(word).next().filter(|before| before.len() < text.len());
    let digits = before.and_then(|before| before.rsplit(|c: char| !c.is_ascii_digit()).next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn number_after(text: &str, word: &str) -> u64 {
    let digits = text.strip_prefix(word).and_then(|rest| rest.split([' ', ',', ';', ')']).next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(text: &str, failed: usize) -> u64 {
        let mut passes = TestPassCounter::default();
        text.lines().for_each(|line| passes.line(line));
        passes.count(failed)
    }

    #[test]
    fn every_runner_shows_tests_that_passed() {
        for text in [
            "test a ... FAILED\ntest b ... ok",
            "test result: FAILED. 3 passed; 1 failed; 0 ignored",
            "     Summary [   0.1s] 3 tests run: 2 passed, 1 failed, 0 skipped",
            "==== 1 failed, 2 passed in 0.12s ====",
            "Ran 3 tests in 0.001s\n\nFAILED (failures=1)",
            "ok  \texample.com/a\t0.1s\nFAIL\texample.com/b\t0.1s",
            "Tests:       1 failed, 2 passed, 3 total",
            "      Tests  1 failed | 2 passed (3)",
            "  2 passing (4ms)\n  1 failing",
            "ok 1 - a\nnot ok 2 - b",
            "# pass 2\n# fail 1",
            "5 examples, 1 failure",
            "Tests run: 5, Failures: 1, Errors: 0, Skipped: 0",
        ] {
            assert!(passed(text, 1) > 0, "{text}");
        }
    }

    #[test]
    fn failing_tests_alone_show_none() {
        for text in [
            "test a ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored",
            "==== 1 failed in 0.12s ====",
            "Ran 1 test in 0.001s\n\nFAILED (failures=1)",
            "not ok 1 - a",
            "1 example, 1 failure",
            "Tests run: 1, Failures: 1, Errors: 0, Skipped: 0",
            "it passed by, and nothing more",
        ] {
            assert_eq!(passed(text, 1), 0, "{text}");
        }
    }
}
