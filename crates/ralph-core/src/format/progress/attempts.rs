//! Recent Attempts: what was tried, and the marks that stand for states without a checkbox.

use std::collections::BTreeMap;
use std::ops::Range;

use super::doc::{ProgressDoc, ProgressSectionKind, words};
use super::{ident, lines, tasks};
use crate::plan::Id;

/// One entry of the section Recent Attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentAttempt {
    /// The iteration it was made in.
    pub iteration: u32,
    pub tried: String,
    pub result: String,
    /// Next step, if the entry names one.
    pub next: Option<String>,
}

/// Verdict of an entry on the task that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryVerdict {
    Skipped,
    Failed,
    Rejected,
    Retry,
}

impl EntryVerdict {
    const ALL: [Self; 4] = [Self::Skipped, Self::Failed, Self::Rejected, Self::Retry];

    fn word(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Retry => "retry",
        }
    }

    /// Whether the task is out of the running.
    pub(super) fn is_final(self) -> bool {
        matches!(self, Self::Skipped | Self::Failed)
    }
}

/// A verdict on a task, as an entry carries it.
pub(super) struct VerdictMark {
    pub(super) id: Id,
    verdict: EntryVerdict,
    reason: Option<String>,
}

impl VerdictMark {
    /// The mark in `attempt`: `tried` begins with a task's id and `result` with a verdict.
    pub(super) fn of(attempt: &RecentAttempt) -> Option<Self> {
        let id = Id::new(ident::leading_id(&attempt.tried)?);
        let (verdict, rest) = EntryVerdict::ALL
            .into_iter()
            .find_map(|v| Some((v, attempt.result.strip_prefix(v.word())?)))?;
        let rest = rest.trim_start();
        let reason = rest.strip_prefix(['—', '–', '-', ':']);
        (rest.is_empty() || reason.is_some()).then(|| Self {
            id,
            verdict,
            reason: reason.map(str::trim).filter(|r| !r.is_empty()).map(str::to_owned),
        })
    }
}

/// The entry that marks the task `id`.
pub(super) fn marking(
    iteration: u32,
    (id, name): (&Id, &str),
    verdict: EntryVerdict,
    reason: Option<&str>,
) -> RecentAttempt {
    let reason = reason.map(lines::one_line).filter(|r| !r.is_empty());
    RecentAttempt {
        iteration,
        tried: format!("{id} — {name}"),
        result: match reason {
            Some(reason) => format!("{} — {reason}", verdict.word()),
            None => verdict.word().to_owned(),
        },
        next: None,
    }
}

/// Entry of Recent Attempts with its place in the text.
pub(super) struct AttemptEntry {
    pub(super) attempt: RecentAttempt,
    pub(super) mark: Option<VerdictMark>,
    /// From its heading to its last line.
    pub(super) range: Range<usize>,
    pub(super) tried_at: usize,
}

pub(super) fn entries(doc: &ProgressDoc<'_>) -> Vec<AttemptEntry> {
    let mut entries = Vec::new();
    for section in doc.all(ProgressSectionKind::Attempts) {
        let inner = doc.outline.headings.get(section.headings.clone()).unwrap_or_default();
        let ends = inner.iter().skip(1).map(|h| h.range.start).chain([section.body.end]);
        for (heading, end) in inner.iter().zip(ends) {
            if let Some(iteration) = iteration(&heading.title) {
                let end = doc.content_end(heading.range.end..end.max(heading.range.end));
                entries.push(entry(doc, iteration, heading.range.start..end));
            }
        }
    }
    entries
}

/// Return the number in a heading such as `Iteration 3`.
fn iteration(title: &str) -> Option<u32> {
    let words = words(title);
    let number = words.strip_prefix("iteration ")?;
    number.split(' ').next()?.parse().ok()
}

fn entry(doc: &ProgressDoc<'_>, iteration: u32, range: Range<usize>) -> AttemptEntry {
    let mut attempt = RecentAttempt { iteration, ..RecentAttempt::default() };
    let mut tried_at = range.start;
    for item in doc.outline.items.get(doc.outline.items_in(&range)).unwrap_or_default() {
        let value = |label| tasks::labelled(doc.text, item, label);
        if item.parent.is_some() {
            continue;
        } else if let Some(value) = value("tried") {
            tried_at = value.start;
            attempt.tried = lines::one_line(lines::at(doc.text, value));
        } else if let Some(value) = value("result") {
            attempt.result = lines::one_line(lines::at(doc.text, value));
        } else if let Some(value) = value("next") {
            attempt.next = Some(lines::one_line(lines::at(doc.text, value)));
        }
    }
    AttemptEntry { mark: VerdictMark::of(&attempt), attempt, range, tried_at }
}

pub(super) fn render(attempt: &RecentAttempt) -> Vec<String> {
    let field = |label: &str, value: &str| {
        format!("- {label}: {}", lines::one_line(value)).trim_end().to_owned()
    };
    let mut lines = vec![
        format!("### Iteration {}", attempt.iteration),
        field("Tried", &attempt.tried),
        field("Result", &attempt.result),
    ];
    lines.extend(attempt.next.as_deref().map(|next| field("Next", next)));
    lines
}

/// Several entries as lines, blank lines between them.
pub(super) fn render_all(attempts: &[RecentAttempt]) -> Vec<String> {
    attempts.iter().map(render).collect::<Vec<_>>().join(&String::new())
}

/// Summary of all entries about one task.
pub(super) struct MarkHistory<'e> {
    pub(super) newest: EntryVerdict,
    /// Why, as the newest mark says.
    pub(super) reason: Option<&'e str>,
    /// Rejections since the task was last retried or started over.
    pub(super) rejections: u32,
    /// Why it was rejected last, since then.
    pub(super) rejected: Option<&'e str>,
}

/// Summarize the entries by task. The last entry in the file is the newest.
pub(super) fn histories(entries: &[AttemptEntry]) -> BTreeMap<&Id, MarkHistory<'_>> {
    let mut histories: BTreeMap<&Id, MarkHistory<'_>> = BTreeMap::new();
    for mark in entries.iter().filter_map(|e| e.mark.as_ref()) {
        let fresh =
            MarkHistory { newest: mark.verdict, reason: None, rejections: 0, rejected: None };
        let history = histories.entry(&mark.id).or_insert(fresh);
        if mark.verdict == EntryVerdict::Retry || starts_over(history.newest, mark.verdict) {
            (history.rejections, history.rejected) = (0, None);
        }
        history.newest = mark.verdict;
        history.reason = mark.reason.as_deref();
        if mark.verdict == EntryVerdict::Rejected {
            history.rejections += 1;
            history.rejected = mark.reason.as_deref();
        }
    }
    histories
}

/// A task that was given up and is rejected again has begun anew in between.
fn starts_over(before: EntryVerdict, now: EntryVerdict) -> bool {
    before.is_final() && now == EntryVerdict::Rejected
}

/// Return for each of `marks` (oldest first) whether its entry must stay in the file.
///
/// An entry must stay if its task would change state or count of rejections without it. `is_open`
/// returns whether a task's box is not ticked.
pub(super) fn needed(marks: &[Option<&VerdictMark>], is_open: impl Fn(&Id) -> bool) -> Vec<bool> {
    let mut needed = vec![false; marks.len()];
    // The verdict that still speaks for each task, walking from the newest mark to the oldest.
    let mut speaking: BTreeMap<&Id, Option<EntryVerdict>> = BTreeMap::new();
    for (mark, needed) in marks.iter().zip(&mut needed).rev() {
        let Some(mark) = mark else { continue };
        let speaks = speaking.get(&mark.id).copied();
        let goes_on = match (speaks, mark.verdict) {
            (None, verdict) => verdict != EntryVerdict::Retry && is_open(&mark.id),
            (Some(Some(EntryVerdict::Rejected)), EntryVerdict::Rejected) => true,
            _ => false,
        };
        *needed = goes_on;
        speaking.insert(&mark.id, goes_on.then_some(mark.verdict));
    }
    needed
}
