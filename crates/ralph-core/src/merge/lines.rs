//! A three-way merge of texts by lines.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Largest table of line pairs that is compared; a larger middle part counts as one change.
const MOST_PAIRS: usize = 4_000_000;

/// Result of lines that both sides changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictRule {
    /// Keep their lines, then our new ones.
    KeepBoth,
    /// Keep their lines, then our new records for items that their lines do not mention (plan.jsonl).
    KeepBothByRecord,
}

/// Merge two texts that came from `base`. No line that is new in `theirs` is lost.
pub fn merge_lines(base: &str, ours: &str, theirs: &str, rule: ConflictRule) -> String {
    if ours == base {
        return theirs.to_owned();
    }
    if theirs == base || ours == theirs {
        return ours.to_owned();
    }
    let [base, ours, theirs] = [base, ours, theirs].map(split);
    let (our_changes, their_changes) = (changes(&base, &ours), changes(&base, &theirs));
    let mut merged = MergedLines { base: &base, out: Vec::new(), at: 0 };
    let (mut left, mut right) = (our_changes.as_slice(), their_changes.as_slice());
    loop {
        match (left, right) {
            ([], []) => break,
            ([one, rest @ ..], []) => {
                merged.put(&one.old, &ours[one.new.clone()]);
                left = rest;
            }
            ([], [one, rest @ ..]) => {
                merged.put(&one.old, &theirs[one.new.clone()]);
                right = rest;
            }
            ([one, rest @ ..], [other, ..]) if is_before(&one.old, &other.old) => {
                merged.put(&one.old, &ours[one.new.clone()]);
                left = rest;
            }
            ([one, ..], [other, rest @ ..]) if is_before(&other.old, &one.old) => {
                merged.put(&other.old, &theirs[other.new.clone()]);
                right = rest;
            }
            _ => {
                let conflict;
                (conflict, left, right) = take_conflict(left, right);
                let old = &base[conflict.old.clone()];
                let (mine, yours) = (&ours[conflict.ours], &theirs[conflict.theirs]);
                merged.put(&conflict.old, &settle(old, mine, yours, rule));
            }
        }
    }
    merged.finish()
}

fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// One range of old lines and the new lines in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LineChange {
    old: Range<usize>,
    new: Range<usize>,
}

/// Whether a change ends before another begins. Two insertions at one place do not.
fn is_before(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.end <= other.start && (one.end < other.start || !(one.is_empty() && other.is_empty()))
}

struct LineConflict {
    old: Range<usize>,
    ours: Range<usize>,
    theirs: Range<usize>,
}

/// The changes of both sides that overlap at the beginning of the lists, as one.
fn take_conflict<'c>(
    mut left: &'c [LineChange],
    mut right: &'c [LineChange],
) -> (LineConflict, &'c [LineChange], &'c [LineChange]) {
    let (first, other) = (&left[0], &right[0]);
    let mut old = first.old.start.min(other.old.start)..first.old.end.max(other.old.end);
    let starts = (widen(first, old.start).start, widen(other, old.start).start);
    let mut last = (first, other);
    (left, right) = (&left[1..], &right[1..]);
    loop {
        match (left, right) {
            ([one, rest @ ..], _) if one.old.start < old.end => {
                (last.0, left) = (one, rest);
                old.end = old.end.max(one.old.end);
            }
            (_, [one, rest @ ..]) if one.old.start < old.end => {
                (last.1, right) = (one, rest);
                old.end = old.end.max(one.old.end);
            }
            _ => break,
        }
    }
    let end_of = |change: &LineChange| change.new.end + (old.end - change.old.end);
    let (ours, theirs) = (starts.0..end_of(last.0), starts.1..end_of(last.1));
    (LineConflict { old, ours, theirs }, left, right)
}

/// The new lines of a change with the unchanged lines from `start` on before it.
fn widen(change: &LineChange, start: usize) -> Range<usize> {
    change.new.start - (change.old.start - start)..change.new.end
}

/// Lines for a range that both sides changed.
fn settle<'t>(
    old: &[&'t str],
    ours: &[&'t str],
    theirs: &[&'t str],
    rule: ConflictRule,
) -> Vec<&'t str> {
    let known: BTreeSet<&str> = old.iter().chain(theirs).map(|line| line.trim_end()).collect();
    let mentioned: BTreeSet<String> = match rule {
        ConflictRule::KeepBoth => BTreeSet::new(),
        ConflictRule::KeepBothByRecord => {
            theirs.iter().filter_map(|line| record_key(line)).collect()
        }
    };
    let is_new = |line: &&&str| {
        !known.contains(line.trim_end())
            && record_key(line).is_none_or(|key| !mentioned.contains(&key))
    };
    let new = ours.iter().filter(is_new);
    theirs.iter().chain(new).copied().collect()
}

/// The type and id of a record.
fn record_key(line: &str) -> Option<String> {
    let record: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(format!("{} {}", record.get("t")?, record.get("id")?))
}

struct MergedLines<'b, 't> {
    base: &'b [&'t str],
    out: Vec<&'t str>,
    at: usize,
}

impl<'t> MergedLines<'_, 't> {
    fn put(&mut self, old: &Range<usize>, new: &[&'t str]) {
        self.copy_to(old.start);
        self.out.extend(new);
        self.at = old.end;
    }

    fn copy_to(&mut self, end: usize) {
        self.out.extend(&self.base[self.at..end]);
        self.at = end;
    }

    /// The text, with a line end between lines that were last in their file and are no longer.
    fn finish(mut self) -> String {
        self.copy_to(self.base.len());
        let mut text = String::new();
        for line in self.out {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
        }
        text
    }
}

/// The changes that turn `old` into `new`.
fn changes(old: &[&str], new: &[&str]) -> Vec<LineChange> {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let start = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
    let (old_mid, new_mid) = (&old_rest[..old_rest.len() - end], &new_rest[..new_rest.len() - end]);
    let mut found: Vec<LineChange> = Vec::new();
    let (mut a, mut b) = (0, 0);
    for (x, y) in common(old_mid, new_mid).into_iter().chain([(old_mid.len(), new_mid.len())]) {
        if (a, b) != (x, y) {
            found.push(LineChange { old: start + a..start + x, new: start + b..start + y });
        }
        (a, b) = (x + 1, y + 1);
    }
    found
}

/// Pairs of equal lines, as many as there can be in order.
fn common(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    if old.is_empty() || new.is_empty() || (old.len() + 1).saturating_mul(width) > MOST_PAIRS {
        return Vec::new();
    }
    let mut numbers = BTreeMap::new();
    let mut number = |line: &&str| {
        let next = numbers.len();
        *numbers.entry((*line).to_owned()).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(&mut number).collect();
    let new: Vec<usize> = new.iter().map(&mut number).collect();
    let mut longest = vec![0_u32; (old.len() + 1) * width];
    for a in (0..old.len()).rev() {
        for b in (0..new.len()).rev() {
            longest[a * width + b] = match old[a] == new[b] {
                true => longest[(a + 1) * width + b + 1] + 1,
                false => longest[(a + 1) * width + b].max(longest[a * width + b + 1]),
            };
        }
    }
    let (mut a, mut b, mut pairs) = (0, 0, Vec::new());
    while a < old.len() && b < new.len() {
        if old[a] == new[b] {
            pairs.push((a, b));
            (a, b) = (a + 1, b + 1);
        } else if longest[(a + 1) * width + b] >= longest[a * width + b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
    pairs
}
