//! The beginning and the end of a log: what came between is what filled a context.

use std::collections::VecDeque;

use crate::text::clip;

/// Lines of the beginning and of the end.
const HEAD: usize = 50;
const TAIL: usize = 100;
/// Characters of a line: a log of JSON has lines of megabytes.
const WIDTH: usize = 400;

/// The first 50 and the last 100 lines of a log, long ones cut.
pub fn sample(log: &str) -> String {
    let mut lines = log.lines();
    let mut out: Vec<String> = lines.by_ref().take(HEAD).map(|line| clip(line, WIDTH)).collect();
    let mut tail: VecDeque<&str> = VecDeque::with_capacity(TAIL);
    let mut left_out = 0_usize;
    for line in lines {
        if tail.len() == TAIL {
            tail.pop_front();
            left_out += 1;
        }
        tail.push_back(line);
    }
    if left_out > 0 {
        out.push(format!("[… {left_out} lines left out …]"));
    }
    out.extend(tail.into_iter().map(|line| clip(line, WIDTH)));
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_log_is_its_first_50_and_last_100_lines() {
        let log: String = (1..=1000).map(|n| format!("line {n}\n")).collect();
        let lines: Vec<String> = sample(&log).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 151);
        assert_eq!((lines[0].as_str(), lines[49].as_str()), ("line 1", "line 50"));
        assert_eq!(lines[50], "[… 850 lines left out …]");
        assert_eq!((lines[51].as_str(), lines[150].as_str()), ("line 901", "line 1000"));
    }

    #[test]
    fn a_short_log_is_whole_and_a_long_line_is_cut() {
        assert_eq!(sample("a\nb\r\n"), "a\nb");
        assert_eq!(sample(""), "");
        assert_eq!(sample(&"é".repeat(1_000_000)).chars().count(), WIDTH + 1);
    }

    proptest! {
        #[test]
        fn a_sample_is_bounded_and_a_log_of_150_lines_loses_none(
            line in "\\PC{0,500}", count in 0..400_usize,
        ) {
            let log = vec![line.as_str(); count].join("\n");
            let sampled = sample(&log);
            prop_assert!(sampled.lines().count() <= HEAD + TAIL + 1);
            let short = log.lines().count() <= HEAD + TAIL;
            prop_assert_eq!(short, !sampled.contains("lines left out"));
        }
    }
}
