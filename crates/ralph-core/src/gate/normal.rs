//! Text without what changes from run to run: colours, numbers, times, addresses, places.

use std::borrow::Cow;

/// Longest part of a line that is looked at, in bytes.
pub(super) const LONGEST_LINE: usize = 4096;

/// A line without escape sequences and control characters. Of a line that was written over with
/// carriage returns, what was last to be seen.
pub(super) fn plain(line: &str) -> Cow<'_, str> {
    let line = line.trim_end_matches(['\r', '\n']);
    let line = line.rsplit('\r').next().unwrap_or_default();
    if !line.chars().any(|c| c.is_control() && c != '\t') {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                // A control sequence ends with a letter or one of a few signs.
                Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                // A title or a link ends with a bell or with escape and backslash.
                Some(']') => {
                    while let Some(c) = chars.next() {
                        if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                _ => {}
            },
            '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A line in which numbers, addresses and blanks do not count.
pub(super) fn normal(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for (n, word) in line.split_whitespace().enumerate() {
        if n > 0 {
            out.push(' ');
        }
        push_word(&mut out, word);
    }
    out
}

/// A text in which the directory of the run is `.`: the same text comes from another directory when a
/// tree is checked elsewhere.
pub(super) fn without_root<'a>(line: &'a str, root: &str) -> Cow<'a, str> {
    match root.trim_end_matches('/') {
        root if root.is_empty() || !line.contains(root) => Cow::Borrowed(line),
        root => Cow::Owned(line.replace(root, ".")),
    }
}

fn push_word(out: &mut String, word: &str) {
    // Letters and digits belong together: `0x7f3a`, `1.5s`, `a1b2c3d`, `test-72ee6507dc2c5010`.
    let mut rest = word;
    while !rest.is_empty() {
        let is_part = |c: char| c.is_ascii_alphanumeric();
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        if is_hex(part) {
            push_number(out);
        } else {
            push_digits(out, part);
        }
        let end = after.find(is_part).unwrap_or(after.len());
        let (signs, after) = after.split_at(end);
        out.push_str(signs);
        rest = after;
    }
}

/// Whether a part is an address or an id rather than a word: `0x…`, or long and with digits.
fn is_hex(part: &str) -> bool {
    let digits = part.strip_prefix("0x").unwrap_or(part);
    let is_hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_hex
        && (digits.len() < part.len()
            || (part.len() >= 7 && part.bytes().any(|b| b.is_ascii_digit())))
}

fn push_digits(out: &mut String, part: &str) {
    for c in part.chars() {
        if c.is_ascii_digit() {
            push_number(out);
        } else {
            out.push(c);
        }
    }
}

/// One sign for a number of any length, also for `1.5` and for a number in parts.
fn push_number(out: &mut String) {
    if out.ends_with("#.") || out.ends_with("#,") {
        out.pop();
    }
    if !out.ends_with('#') {
        out.push('#');
    }
}

/// The lines of a text as one number: the same in any order, another one if a line comes once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineBag {
    sums: [u64; 2],
    lines: u64,
}

impl LineBag {
    pub(super) fn add(&mut self, line: &str) {
        for (seed, sum) in (1_u64..).zip(&mut self.sums) {
            *sum = sum.wrapping_add(hash(seed, line.as_bytes()));
        }
        self.lines += 1;
    }

    pub(super) fn name(&self) -> String {
        format!("{:016x}{:016x}-{}", self.sums[0], self.sums[1], self.lines)
    }
}

/// FNV-1a with a last mixing step, so that sums of it do not cancel out.
pub(super) fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = bytes.iter().fold(start, step);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Lines that tell of the build's progress and depend on what is cached.
pub(super) fn is_progress(line: &str) -> bool {
    const VERBS: [&str; 16] = [
        "Compiling ",
        "Checking ",
        "Finished ",
        "Fresh ",
        "Downloading ",
        "Downloaded ",
        "Updating ",
        "Blocking ",
        "Locking ",
        "Building ",
        "Running ",
        "Executable ",
        "go: downloading ",
        "Waiting ",
        "Resolving ",
        "npm notice",
    ];
    let line = line.trim_start();
    VERBS.iter().any(|verb| line.starts_with(verb))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_titles_and_overwritten_text_are_not_part_of_a_line() {
        assert_eq!(plain("\u{1b}[1;31merror\u{1b}[0m: no"), "error: no");
        assert_eq!(plain("\u{1b}]8;;file:///x\u{1b}\\link\u{1b}]0;title\u{7}."), "link.");
        assert_eq!(plain("10%\r50%\rdone\r\n"), "done");
        assert_eq!(plain("\u{1b}["), "");
        assert_eq!(plain("\u{1b}"), "");
    }

    #[test]
    fn numbers_times_addresses_and_the_root_do_not_count() {
        let same = |a: &str, b: &str| {
            let (a, b) = (without_root(a, "/one/tree"), without_root(b, "/other/tree/"));
            assert_eq!(normal(&a), normal(&b));
        };
        same("took 1.25s at 12:30:01", "took 310.5s at 09:00:59");
        same("object 0x7ffee at /one/tree/src/a.c:3", "object 0x1 at /other/tree/src/a.c:41");
        same("deps/it-72ee6507dc2c5010", "deps/it-0123456789abcdef");
        same("1,234 ms   gone", "5 ms gone");
        assert_ne!(normal("deadbeef"), normal("facade"), "words made of a to f are words");
    }

    proptest! {
        #[test]
        fn a_bag_is_the_same_in_any_order(mut lines in prop::collection::vec("[a-z ]{0,8}", 0..12), at in 0..12_usize) {
            let bag = |lines: &[String]| {
                let mut bag = LineBag::default();
                lines.iter().for_each(|line| bag.add(line));
                bag
            };
            let before = bag(&lines);
            if !lines.is_empty() {
                let at = at % lines.len();
                lines.rotate_left(at);
                lines.reverse();
            }
            prop_assert_eq!(before, bag(&lines));
            lines.push("one more".into());
            prop_assert_ne!(before, bag(&lines));
        }

        #[test]
        fn numbers_can_be_exchanged_for_others(words in prop::collection::vec("[g-z]{1,6}", 1..6), a in 0..1_000_000_u32, b in 0..1_000_000_u32) {
            let line = |number: u32| words.iter().map(|word| format!("{word} {number} {word}={number}ms ")).collect::<String>();
            prop_assert_eq!(normal(&line(a)), normal(&line(b)));
        }

        #[test]
        fn any_text_can_be_made_plain_and_normal(text in ".{0,60}", root in ".{0,4}") {
            let plain = plain(&text);
            prop_assert!(!plain.chars().any(|c| c == '\x1b'));
            let normal = normal(&without_root(&plain, &root));
            prop_assert!(!normal.contains(|c: char| c.is_ascii_digit()));
        }
    }
}
