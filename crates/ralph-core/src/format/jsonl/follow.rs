//! A text that was changed a little, read without reading all of it again.
//!
//! What a loop does to its plan all day long is to take one line out, and to add some to the end. What
//! the other lines say is known. Any other change is read from the beginning.

use super::read;
use crate::format::ParseError;
use crate::lines;
use crate::plan::{Plan, Tombstone};
use crate::text::bom_len;

/// Difference between an old text and a new one: at most one line removed, and lines appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextChange {
    /// The number of the line that is gone, from 1.
    gone: Option<usize>,
    /// Start of the appended lines, as a byte offset in the new text.
    tail: usize,
}

/// Parse `new`, and reuse `known`, the plan of the text `old`, where the text did not change.
///
/// The result is always the same as that of [`read::plan`].
pub(super) fn plan(known: &Plan, old: &str, new: &str) -> Result<Plan, ParseError> {
    let followed = change(old, new).and_then(|change| follow(known, new, change));
    followed.map_or_else(|| read::plan(new), Ok)
}

fn change(old: &str, new: &str) -> Option<TextChange> {
    if bom_len(old) > 0 || !(old.is_empty() || old.ends_with('\n')) {
        return None;
    }
    let differ = old.bytes().zip(new.bytes()).position(|(a, b)| a != b);
    let same = differ.unwrap_or(old.len().min(new.len()));
    if same == old.len() {
        return Some(TextChange { gone: None, tail: same });
    }
    let before = old.as_bytes().get(..same)?;
    let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let end = start + old.get(start..)?.find('\n')? + 1;
    let rest = old.get(end..)?;
    let gone = old.get(..start)?.matches('\n').count() + 1;
    let tail = start + rest.len();
    new.get(start..)?.starts_with(rest).then_some(TextChange { gone: Some(gone), tail })
}

/// The plan after the change. `None` when more than a task, an issue or a tombstone is gone, or when
/// something is wrong with what is new: whoever reads all of it says what.
fn follow(known: &Plan, new: &str, change: TextChange) -> Option<Plan> {
    let TextChange { gone, tail } = change;
    let known_lines = || {
        let tasks = known.tasks.iter().map(|task| task.line);
        let issues = known.issues.iter().map(|issue| issue.line);
        tasks.chain(issues).chain(known.tombstones.iter().map(|stone| stone.line))
    };
    if gone.is_some_and(|gone| known_lines().all(|line| line != gone)) {
        return None;
    }
    let moved = |line: usize| line - usize::from(gone.is_some_and(|gone| line > gone));
    let stays = |line: usize| Some(line) != gone;
    let tasks = known.tasks.iter().filter(|task| stays(task.line));
    let issues = known.issues.iter().filter(|issue| stays(issue.line));
    let stones = known.tombstones.iter().filter(|stone| stays(stone.line));
    let mut plan = Plan {
        format: known.format,
        title: known.title.clone(),
        specs: known.specs.clone(),
        current_spec: known.current_spec.clone(),
        tasks: copied(tasks, known.tasks.len()),
        issues: copied(issues, known.issues.len()),
        tombstones: copied(stones, known.tombstones.len()),
        accepted_specs: known.accepted_specs.clone(),
        gates: known.gates.clone(),
        config: known.config.clone(),
        unknown_records: known.unknown_records.clone(),
        says_done: known.says_done,
    };
    plan.tasks.iter_mut().for_each(|task| task.line = moved(task.line));
    plan.issues.iter_mut().for_each(|issue| issue.line = moved(issue.line));
    plan.config.line = moved(plan.config.line);
    for Tombstone { line, task, .. } in &mut plan.tombstones {
        *line = moved(*line);
        task.iter_mut().for_each(|task| task.line = *line);
    }
    let (before, added) = new.split_at_checked(tail)?;
    if bom_len(added) > 0 {
        return None;
    }
    let lines_before = before.matches('\n').count();
    for record in lines::records(added) {
        let mut record = record.ok()?;
        record.line.number += lines_before;
        read::take(&mut plan, added, &record).ok()?;
    }
    Some(plan)
}

/// Copies, with room for one more.
fn copied<'i, T: Clone + 'i>(items: impl Iterator<Item = &'i T>, most: usize) -> Vec<T> {
    let mut copies = Vec::with_capacity(most + 1);
    copies.extend(items.cloned());
    copies
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINES: [&str; 13] = [
        r#"{"t":"task","id":"t-1","name":"one","s":"p","accept":"it is there"}"#,
        r#"{"t":"task","id":"t-2","name":"two","s":"d","deps":["t-1"]}"#,
        r#"{"t":"issue","id":"i-1","desc":"ü broken"}"#,
        r#"{"t":"accept","id":"t-9","name":"nine"}"#,
        r#"{"t":"delete","id":"t-8","task":{"id":"t-8","name":"eight","s":"p"}}"#,
        r#"{"t":"accept","spec":"a.md"}"#,
        r#"{"t":"spec","spec":"b.md"}"#,
        r#"{"t":"config","max_iterations":7}"#,
        r#"{"t":"note","text":"x"}"#,
        "",
        r#"{"t":"mystery","text":"x"}"#,
        "nonsense",
        "\u{feff}",
    ];

    fn text(lines: &[usize], ends: &[bool]) -> String {
        let end = |n: usize| if ends.get(n).copied().unwrap_or(true) { "\n" } else { "\r\n" };
        lines.iter().enumerate().map(|(n, line)| format!("{}{}", LINES[*line], end(n))).collect()
    }

    proptest! {
        #[test]
        fn a_followed_text_says_what_it_says_when_it_is_read_whole(
            lines in prop::collection::vec((0..12_usize).prop_filter("readable", |n| *n != 11), 0..9),
            ends in prop::collection::vec(any::<bool>(), 0..4),
            gone in 0..9_usize,
            how_many in 0..3_usize,
            added in prop::collection::vec(0..LINES.len(), 0..3),
            closed in any::<bool>(),
        ) {
            let old = text(&lines, &ends);
            let Ok(known) = read::plan(&old) else { return Ok(()) };
            let mut left = lines.clone();
            let from = gone.min(left.len());
            left.drain(from..(from + how_many).min(left.len()));
            left.extend(added);
            let mut new = text(&left, &ends);
            if !closed {
                new.pop();
            }
            prop_assert_eq!(plan(&known, &old, &new), read::plan(&new));
        }
    }

    #[test]
    fn a_landing_is_followed_and_not_read_from_the_beginning() {
        let old = text(&[6, 0, 1, 2, 3], &[]);
        let new = text(&[6, 1, 2, 3, 4], &[]);
        let change = change(&old, &new).unwrap();
        assert_eq!(change, TextChange { gone: Some(2), tail: text(&[6, 1, 2, 3], &[]).len() });
        let known = read::plan(&old).unwrap();
        assert_eq!(follow(&known, &new, change), read::plan(&new).ok());
        assert_eq!(super::change(&old, &format!("{old}x")).unwrap().gone, None);
        assert_eq!(super::change(&old, &text(&[6, 2, 3], &[])), None, "two lines are gone");
    }
}
