//! Numbers that count something, in an output that names no test: `6 passed`, `failures=2`, `5/7`.
//!
//! The fingerprint of a text knows no numbers, because times, places, ids and ports change from run to run. A count
//! that changes says that something else fails now, so counts have a fingerprint of their own.

use super::normal::LineBag;

/// Words behind a number that is a time or a size.
const UNITS: [&str; 24] = [
    "ms", "s", "sec", "secs", "second", "seconds", "m", "min", "minute", "minutes", "h", "hour",
    "hours", "us", "µs", "ns", "days", "b", "bytes", "kb", "kib", "mb", "mib", "gb",
];

/// Words before a number that is a time, a place or an id.
const PLACES: [&str; 20] = [
    "after", "at", "col", "column", "id", "in", "line", "lines", "on", "pid", "port", "process",
    "seed", "since", "thread", "took", "time", "version", "v", "worker",
];

/// Add the numbers of a line that count something, each with the word behind it.
pub(super) fn add_counts(bag: &mut LineBag, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| words.get(at)).copied().unwrap_or_default();
        let after = words.get(at + 1).copied().unwrap_or_default();
        if let Some(number) = counted(word)
            && !PLACES.contains(&plain(before).as_str())
            && !UNITS.contains(&plain(after).as_str())
        {
            bag.add(&format!("{number} {}", plain(after)));
        }
    }
}

/// A word without the signs around it, in small letters.
fn plain(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

/// The number in a word, where it can be a count: `6`, `(6`, `6,`, `failures=6` or `6/7`.
fn counted(word: &str) -> Option<&str> {
    let is_number = |text: &str| {
        let is_short = (1..=6).contains(&text.len());
        is_short && text.bytes().all(|b| b.is_ascii_digit())
    };
    // `(4711)` and `[4711]` are processes and threads.
    if word.starts_with(['(', '[', '#']) && word.ends_with([')', ']', ':']) && !word.contains('=') {
        return None;
    }
    let word = word.trim_start_matches(['(', '[', '{']);
    let word = word.trim_end_matches([',', ';', '.', ')', ']', '}', '|']);
    let number = word.rsplit('=').next().unwrap_or(word);
    let is_fraction = number.split_once('/').is_some_and(|(a, b)| is_number(a) && is_number(b));
    (is_number(number) || is_fraction).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(line: &str) -> String {
        let mut bag = LineBag::default();
        add_counts(&mut bag, line);
        bag.name()
    }

    #[test]
    fn counts_are_told_apart() {
        for (before, now) in [
            ("6 passed, 1 failed", "5 passed, 2 failed"),
            ("FAILED (failures=1)", "FAILED (failures=2)"),
            ("checks good: 6/7", "checks good: 5/7"),
            ("bad: 1", "bad: 2"),
        ] {
            assert_ne!(print(before), print(now), "{now}");
        }
    }

    #[test]
    fn times_places_ids_and_sizes_are_no_counts() {
        for (before, now) in [
            ("wrong after 12 ms", "wrong after 340 ms"),
            ("done in 3 seconds", "done in 41 seconds"),
            ("pid 4711 on port 8080", "pid 17 on port 9090"),
            ("a.c:3:5: no, line 3", "a.c:30:5: no, line 30"),
            ("thread 'x' (4711) took 1.5s", "thread 'x' (12) took 20.5s"),
            ("12:30:01 at 0x7ffee", "09:00:59 at 0x1"),
            ("2026-01-02 read 12 kb", "2026-02-03 read 900 kb"),
        ] {
            assert_eq!(print(before), print(now), "{now}");
        }
    }
}
