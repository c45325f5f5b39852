//! What a program did, and what a test expected of it.

use std::fmt::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Output;

/// A finished run: its exit code and what it wrote. The checks can be chained.
#[derive(Clone, Debug)]
pub struct Run {
    /// Exit code; 128 plus the number of the signal that ended it, as shells count.
    pub code: i32,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    line: String,
}

impl Run {
    pub(crate) fn new(line: String, output: &Output) -> Self {
        let signal = output.status.signal().map_or(-1, |signal| 128 + signal);
        Self {
            code: output.status.code().unwrap_or(signal),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            line,
        }
    }

    /// It succeeded.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.fails(0)
    }

    /// It ended with this exit code, and without a panic.
    #[track_caller]
    pub fn fails(self, code: i32) -> Self {
        if self.code != code {
            self.fail(&format!("the exit code is {}, not {code}", self.code));
        }
        if self.stderr.contains("panicked at") {
            self.fail("it panicked");
        }
        self
    }

    /// Standard output is exactly this.
    #[track_caller]
    pub fn stdout(self, expected: &str) -> Self {
        self.exactly("standard output", &self.stdout, expected);
        self
    }

    /// Standard error is exactly this.
    #[track_caller]
    pub fn stderr(self, expected: &str) -> Self {
        self.exactly("standard error", &self.stderr, expected);
        self
    }

    /// Standard output has this in it.
    #[track_caller]
    pub fn stdout_has(self, part: &str) -> Self {
        if !self.stdout.contains(part) {
            self.fail(&format!("standard output has no {part:?}"));
        }
        self
    }

    /// Standard output does not have this in it.
    #[track_caller]
    pub fn stdout_lacks(self, part: &str) -> Self {
        if self.stdout.contains(part) {
            self.fail(&format!("standard output has {part:?}"));
        }
        self
    }

    /// Standard error has this in it.
    #[track_caller]
    pub fn stderr_has(self, part: &str) -> Self {
        if !self.stderr.contains(part) {
            self.fail(&format!("standard error has no {part:?}"));
        }
        self
    }

    /// Standard output as JSON: all of it, and nothing else.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(e) => self.fail(&format!("standard output is not JSON: {e}")),
        }
    }

    #[track_caller]
    fn exactly(&self, what: &str, actual: &str, expected: &str) {
        if actual == expected {
            return;
        }
        let line = actual.lines().zip(expected.lines()).take_while(|(a, e)| a == e).count();
        let show = |text: &str| {
            text.split_inclusive('\n').nth(line).map_or("the end".to_owned(), |l| format!("{l:?}"))
        };
        self.fail(&format!(
            "{what} differs from line {}:\n  expected {}\n  got      {}",
            line + 1,
            show(expected),
            show(actual)
        ));
    }

    #[track_caller]
    fn fail(&self, why: &str) -> ! {
        let mut report = format!("{why}\n  {}\n  exit code {}\n", self.line, self.code);
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            let _infallible = writeln!(report, "--- {name}");
            report.push_str(text);
            if !text.is_empty() && !text.ends_with('\n') {
                report.push_str("(no newline)\n");
            }
        }
        panic!("{report}---");
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
