//! Reader for the output of a gate, line by line and in bounded memory.

use super::complaints::ComplaintReader;
use super::counts::add_counts;
use super::excerpt::{ExcerptReader, shows_error};
use super::inner_end::{InnerEndReader, TestEvidence};
use super::model::{GateEnding, GateFailures};
use super::normal::{LONGEST_LINE, LineBag, is_progress, normal, plain, without_root};
use super::passes::TestPassCounter;
use super::runners::RunnerReaders;

/// Bytes that are kept of the beginning of an output.
pub const KEPT_HEAD: usize = 16 * 1024;
/// Bytes that are kept of the end of an output.
pub const KEPT_TAIL: usize = 48 * 1024;

/// Reads an output: what failed in it, and what of it is worth showing.
pub struct OutputReader {
    root: String,
    runners: RunnerReaders,
    complaints: ComplaintReader,
    passes: TestPassCounter,
    text: LineBag,
    counts: LineBag,
    ends: InnerEndReader,
    kept: ClippedOutput,
    excerpt: ExcerptReader,
}

/// Result of reading the output of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputReading {
    /// Beginning and end of the output, without color codes.
    pub output: String,
    /// Beginning of the output, the lines around errors, and the end.
    pub excerpts: ExcerptReader,
    pub failures: GateFailures,
}

impl OutputReader {
    /// A reader for a gate that runs in the directory `root`.
    pub fn new(root: &str) -> Self {
        Self {
            root: root.to_owned(),
            runners: RunnerReaders::new(),
            complaints: ComplaintReader::new(root),
            passes: TestPassCounter::default(),
            text: LineBag::default(),
            counts: LineBag::default(),
            ends: InnerEndReader::default(),
            kept: ClippedOutput::default(),
            excerpt: ExcerptReader::default(),
        }
    }

    /// The next line, without its end. Of a line that is written over again and again, the states that
    /// show an error are lines of their own.
    pub fn line(&mut self, bytes: &[u8]) {
        let written_over = bytes.trim_ascii_end().rsplit(|byte| *byte == b'\r').skip(1);
        let errors: Vec<&[u8]> =
            written_over.filter(|state| shows_error(&String::from_utf8_lossy(state))).collect();
        errors.into_iter().rev().for_each(|state| self.single_line(state));
        self.single_line(bytes);
    }

    fn single_line(&mut self, bytes: &[u8]) {
        let shown = bytes.get(..LONGEST_LINE).unwrap_or(bytes);
        let text = String::from_utf8_lossy(shown);
        let line = plain(&text);
        self.kept.line(&line, bytes.len() - shown.len());
        self.excerpt.line(&line);
        // Names must be the same wherever the tree is.
        let line = without_root(&line, &self.root);
        self.runners.line(&line);
        self.complaints.line(&line);
        self.passes.line(&line);
        self.ends.line(&line);
        let normal = normal(&line);
        if !normal.is_empty() && !is_progress(&line) {
            self.text.add(&normal);
            add_counts(&mut self.counts, &line);
        }
    }

    /// The output is over, and the command ended like this.
    pub fn finish(mut self, ending: &GateEnding) -> OutputReading {
        self.complaints.close();
        let mut failures = GateFailures {
            errors: self.complaints.errors,
            warnings: self.complaints.warnings,
            text: self.text.name(),
            counts: self.counts.name(),
            exit_code: ending.exit_code(),
            partial: self.complaints.too_many.then(|| "too many complaints to keep all".to_owned()),
            ..GateFailures::default()
        };
        let mut declared = 0;
        for mut tally in self.runners.finish() {
            declared += tally.declared;
            failures.tests.append(&mut tally.failed);
            failures.ran.append(&mut tally.ran);
            failures.partial = failures.partial.or(tally.partial);
        }
        failures.passed = self.passes.count(failures.tests.len());
        failures.failed = self.passes.failed().max(failures.tests.len() as u64).max(declared);
        failures.broken_off = ending.broken_off().or_else(|| self.ends.crash());
        let tests_ran = match failures.passed == 0 && failures.tests.is_empty() {
            true => TestEvidence::None,
            false => TestEvidence::Some,
        };
        failures.missing_program = self.ends.missing_program(tests_ran);
        if ending.is_success() {
            // A green gate has no failures, whatever its tests like to print.
            failures =
                GateFailures { text: failures.text, ran: failures.ran, ..GateFailures::default() };
        }
        OutputReading { excerpts: self.excerpt, output: self.kept.text(), failures }
    }
}

/// The beginning and the end of a text.
#[derive(Default)]
struct ClippedOutput {
    head: String,
    tail: String,
    left_out: usize,
}

impl ClippedOutput {
    fn line(&mut self, line: &str, cut: usize) {
        self.left_out += cut;
        if self.tail.is_empty() && self.head.len() + line.len() < KEPT_HEAD {
            self.head.push_str(line);
            self.head.push('\n');
            return;
        }
        self.tail.push_str(line);
        self.tail.push('\n');
        if self.tail.len() > 2 * KEPT_TAIL {
            self.trim();
        }
    }

    fn trim(&mut self) {
        let from = self.tail.len().saturating_sub(KEPT_TAIL);
        let from = (from..=self.tail.len()).find(|at| self.tail.is_char_boundary(*at));
        let from = from.unwrap_or(self.tail.len());
        self.left_out += from;
        self.tail.drain(..from);
    }

    fn text(mut self) -> String {
        self.trim();
        match self.left_out {
            0 => self.head + &self.tail,
            n => format!("{}[… {n} bytes are left out here …]\n{}", self.head, self.tail),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> OutputReading {
        let mut reader = OutputReader::new("/work/tree");
        text.lines().for_each(|line| reader.line(line.as_bytes()));
        reader.finish(&GateEnding::Code(1))
    }

    #[test]
    fn a_long_output_keeps_its_beginning_and_its_end_and_says_how_much_is_missing() {
        let mut reader = OutputReader::new("");
        for n in 0..100_000 {
            reader.line(format!("line {n} äöü").as_bytes());
        }
        let reading = reader.finish(&GateEnding::Code(1));
        assert!(reading.output.starts_with("line 0 äöü\nline 1 "));
        assert!(reading.output.ends_with("line 99999 äöü\n"));
        assert!(reading.output.contains(" bytes are left out here …]\n"));
        assert!(reading.output.len() < KEPT_HEAD + KEPT_TAIL + 100);
    }

    #[test]
    fn a_failure_in_the_part_that_is_left_out_is_found() {
        let noise = "nothing of interest in this line\n".repeat(20_000);
        let reading = read(&format!("{noise}not ok 7 in the middle\n{noise}"));
        assert!(!reading.output.contains("in the middle"));
        assert!(reading.failures.tests.contains("in the middle"));
    }

    #[test]
    fn a_green_gate_has_no_failures() {
        let mut reader = OutputReader::new("");
        reader.line(b"not ok 1 expected to fail");
        assert!(reader.finish(&GateEnding::Code(0)).failures.tests.is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..40)) {
            let mut reader = OutputReader::new("/r");
            lines.iter().for_each(|line| reader.line(line));
            let reading = reader.finish(&GateEnding::Code(1));
            prop_assert!(!reading.output.chars().any(|c| c == '\x1b'));
        }

        #[test]
        fn the_fingerprint_does_not_know_numbers_order_colour_or_place(
            mut words in prop::collection::vec("[g-z]{3,9}", 1..20), a in 0..100_000_u32, b in 0..100_000_u32, at in 0..20_usize,
        ) {
            let text = |words: &[String], root: &str, n: u32, colour: &str| -> String {
                words.iter().map(|w| format!("{colour}{w}\u{1b}[0m took {n}.5s in {root}/{w} at 0x{n:x}\n")).collect()
            };
            let print = |text: &str, root: &str| {
                let mut reader = OutputReader::new(root);
                text.lines().for_each(|line| reader.line(line.as_bytes()));
                reader.finish(&GateEnding::Code(1)).failures.text
            };
            let before = print(&text(&words, "/one", a, ""), "/one");
            let at = at % words.len();
            words.rotate_left(at);
            prop_assert_eq!(before, print(&text(&words, "/an/other", b, "\u{1b}[31m"), "/an/other"));
        }
    }
}
