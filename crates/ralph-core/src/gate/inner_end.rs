//! The end of a program inside of a gate, as wrappers and runners tell it: `make`, `just` and scripts have an exit
//! code of their own, which hides a crash or a program that is not installed.

use super::model::GateEnding;
use super::normal::normal;
use crate::text::clip;

/// Longest part of a line that is quoted, in characters.
const LONGEST_QUOTE: usize = 120;

/// Signals by the words in which shells and `make` report them.
const SIGNALS: [(&str, i32); 6] = [
    ("Segmentation fault", 11),
    ("Bus error", 7),
    ("Aborted", 6),
    ("Illegal instruction", 4),
    ("Floating point exception", 8),
    ("Killed", 9),
];

/// Reads the lines of an output for crashes and for programs that are not there.
#[derive(Debug, Default)]
pub(super) struct InnerEndReader {
    crash: Option<String>,
    /// A panic of the main thread. Tests that run there end with a summary, which takes it back.
    panic: Option<String>,
    missing: Option<String>,
    told_missing: Option<String>,
}

impl InnerEndReader {
    /// Process one line of the output, which has no color codes.
    pub(super) fn line(&mut self, line: &str) {
        if let Some(crash) = crash(line) {
            self.crash.get_or_insert(crash);
        } else if line.starts_with("thread 'main' ") && line.contains("panicked at") {
            self.panic.get_or_insert("crashed: the main thread panicked".to_owned());
        } else if line.starts_with("test result: ") {
            self.panic = None;
        } else if let Some(program) = missing_program(line) {
            self.missing.get_or_insert(program.to_owned());
        }
        if inner_code(line) == Some(127) {
            self.told_missing.get_or_insert_with(|| clip(line.trim(), LONGEST_QUOTE));
        }
    }

    /// Return a description of the crash, if there was one. The same crash has the same description.
    pub(super) fn crash(&self) -> Option<String> {
        self.crash.clone().or_else(|| self.panic.clone())
    }

    /// The program that is not there. Where tests ran, a line about a missing program may be their own, and only
    /// the exit code of a shell counts.
    pub(super) fn missing_program(self, tests_ran: TestEvidence) -> Option<String> {
        match (self.told_missing, tests_ran) {
            (Some(told), _) => Some(self.missing.unwrap_or(told)),
            (None, TestEvidence::None) => self.missing,
            (None, TestEvidence::Some) => None,
        }
    }
}

/// Whether an output shows that tests ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestEvidence {
    None,
    Some,
}

/// The exit code that `make` (`*** [Makefile:2: test] Error 139`) or `just` reports of a command.
fn inner_code(line: &str) -> Option<i32> {
    let (before, code) = line.trim_end().rsplit_once(' ')?;
    let is_told = before.ends_with(" Error") && before.contains("*** [")
        || before.ends_with(" with exit code");
    code.parse().ok().filter(|_| is_told)
}

fn crash(line: &str) -> Option<String> {
    if let Some(code) = inner_code(line) {
        return GateEnding::Code(code).broken_off();
    }
    let text = line.trim();
    if let Some((_, signal)) = text.split_once("(signal: ")
        && text.contains("process didn't exit successfully: ")
    {
        let digits = signal.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        return GateEnding::Signal(digits.parse().ok()?).broken_off();
    }
    let runner_died = ["Fatal Python error: ", "INTERNALERROR> ", "FATAL ERROR: "];
    if runner_died.iter().any(|begin| text.starts_with(begin)) {
        return Some(format!("crashed: {}", clip(&normal(text), LONGEST_QUOTE)));
    }
    let reported = reported_signal(line)?;
    let signal = SIGNALS.iter().find(|(words, _)| reported.starts_with(words))?;
    // `Aborted` may begin a sentence; behind the words comes nothing, or the command in columns.
    let rest = reported[signal.0.len()..].trim_end();
    let is_report = rest.is_empty() || rest.starts_with("  ") || rest.contains("(core dumped)");
    GateEnding::Signal(signal.1).broken_off().filter(|_| is_report)
}

/// The part of a line where a shell or `make` names a signal: the whole line, the text behind
/// `script.sh: line 3:  1234`, or that behind `make: *** [Makefile:2: test]`.
fn reported_signal(line: &str) -> Option<&str> {
    if let Some((_, rest)) = line.split_once("*** [") {
        return rest.split_once("] ").map(|(_, rest)| rest);
    }
    match line.split_once(": line ") {
        Some((_, rest)) => {
            let (_, rest) = rest.split_once(':')?;
            Some(rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start())
        }
        None => Some(line),
    }
}

/// The program that a shell, `make` or `env` did not find.
fn missing_program(line: &str) -> Option<&str> {
    let text = line.trim_end();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let program = if let Some(before) = text.strip_suffix(": command not found") {
        before.rsplit(": ").next()
    } else if let Some((_, program)) = text.split_once(": command not found: ") {
        Some(program)
    } else if let Some(before) = text.strip_suffix(": not found") {
        // dash: `sh: 1: cargo: not found`.
        let (shell, program) = before.rsplit_once(": ")?;
        shell.rsplit(": ").next().filter(|line| is_number(line)).map(|_| program)
    } else {
        let before = text.strip_suffix(": No such file or directory")?;
        let (wrapper, program) = before.split_once(": ")?;
        let wrapper = wrapper.rsplit('/').next().unwrap_or_default();
        let finds = wrapper.starts_with("make") || wrapper.starts_with("gmake") || wrapper == "env";
        finds.then_some(program)
    };
    let program = program?.trim().trim_matches(['\'', '"', '`', '‘', '’']);
    (!program.is_empty() && !program.contains(char::is_whitespace)).then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> InnerEndReader {
        let mut ends = InnerEndReader::default();
        text.lines().for_each(|line| ends.line(line));
        ends
    }

    #[test]
    fn crashes_behind_wrappers_are_known_by_their_signal() {
        for (text, words) in [
            ("make: *** [Makefile:2: test] Error 139", "ended by signal 11"),
            ("make: *** [Makefile:2: test] Segmentation fault (core dumped)", "ended by signal 11"),
            ("gmake[1]: *** [test] Aborted", "ended by signal 6"),
            ("error: Recipe `test` failed on line 2 with exit code 137", "ended by signal 9"),
            (
                "run.sh: line 3:  4711 Segmentation fault      (core dumped) ./t",
                "ended by signal 11",
            ),
            ("Segmentation fault (core dumped)", "ended by signal 11"),
            (
                "  process didn't exit successfully: `t` (signal: 6, SIGABRT: process abort signal)",
                "ended by signal 6",
            ),
            (
                "Fatal Python error: Segmentation fault",
                "crashed: Fatal Python error: Segmentation fault",
            ),
            (
                "thread 'main' (4711) panicked at src/main.rs:3:4:",
                "crashed: the main thread panicked",
            ),
        ] {
            assert_eq!(read(text).crash().as_deref(), Some(words), "{text}");
        }
    }

    #[test]
    fn failures_and_prose_are_no_crashes() {
        for text in [
            "make: *** [Makefile:2: test] Error 1",
            "Aborted transactions are retried",
            "Killed by the reviewer",
            "thread 'tests::a' panicked at src/lib.rs:3:4:",
            "thread 'main' panicked at src/lib.rs:3:4:\ntest result: FAILED. 1 passed; 1 failed",
            "    Segmentation fault is what this test expects",
        ] {
            assert_eq!(read(text).crash(), None, "{text}");
        }
    }

    #[test]
    fn a_missing_program_is_named() {
        for (text, program) in [
            (
                "make: cargo: No such file or directory\nmake: *** [Makefile:2: test] Error 127",
                "cargo",
            ),
            ("./check.sh: line 3: jest: command not found", "jest"),
            ("/bin/sh: 1: pytest: not found", "pytest"),
            ("zsh:1: command not found: tox", "tox"),
            ("/usr/bin/env: ‘node’: No such file or directory", "node"),
        ] {
            let found = read(text).missing_program(TestEvidence::None);
            assert_eq!(found.as_deref(), Some(program), "{text}");
        }
        for text in ["cat: a.txt: No such file or directory", "page: not found", "fine"] {
            assert_eq!(read(text).missing_program(TestEvidence::None), None, "{text}");
        }
        let own_words = read("sh: 1: nope: not found");
        assert_eq!(own_words.missing_program(TestEvidence::Some), None, "a test may write this");
    }
}
