//! The tasks of a progress file: checkbox items, their marks and what is nested in them.

use std::ops::Range;

use super::attempts::{self, EntryVerdict};
use super::doc::ProgressDoc;
use super::outline::OutlineItem;
use super::{ident, lines};
use crate::format::ParseError;
use crate::plan::{Task, TaskState};
use crate::text::{LineCounter, position};

/// A task and the places of its parts.
pub(super) struct TaskSpan {
    pub(super) task: Task,
    /// From its bullet to the end of its last line.
    pub(super) item: Range<usize>,
    /// The bullet and the space after it.
    pub(super) lead: Range<usize>,
    /// Character between the brackets of the checkbox.
    pub(super) tick: Range<usize>,
    /// The name, as in the source.
    pub(super) name: Range<usize>,
    /// The `[BLOCKED]` mark with the space before it; empty at the end of the name without one.
    pub(super) blocked: Range<usize>,
    /// Lines of the task below its first line.
    pub(super) body: Range<usize>,
    /// The lines of its acceptance criteria, within the body.
    pub(super) accepts: Vec<Range<usize>>,
    pub(super) ticked: bool,
    /// Verdict of the newest entry about this task in Recent Attempts.
    pub(super) verdict: Option<EntryVerdict>,
}

impl TaskSpan {
    /// White space that puts a line into this task.
    pub(super) fn indent(&self, text: &str) -> String {
        let start = lines::line_start(text, self.item.start);
        lines::blank_out(lines::at(text, start..self.lead.end))
    }
}

/// Find the tasks of all regions of `doc`, name them, and let the attempts speak.
pub(super) fn fill(doc: &mut ProgressDoc<'_>) -> Result<(), ParseError> {
    let mut tasks = Vec::new();
    let mut ranges = Vec::new();
    for region in &doc.regions {
        let from = tasks.len();
        collect(doc, &region.body, region.phase.as_deref(), &mut tasks)?;
        ranges.push(from..tasks.len());
    }
    for (region, range) in doc.regions.iter_mut().zip(ranges) {
        region.tasks = range;
    }
    let ids = ident::assign(tasks.iter().map(|t| lines::at(doc.text, t.name.clone())));
    let histories = attempts::histories(&doc.entries);
    let mut counter = LineCounter::new(doc.text);
    for (span, id) in tasks.iter_mut().zip(ids) {
        span.task.line = counter.line(span.item.start);
        if let Some(history) = histories.get(&id) {
            span.task.retries = history.rejections;
            span.task.reject = history.rejected.map(str::to_owned);
            span.verdict = Some(history.newest);
            match history.newest {
                _ if span.ticked => {}
                EntryVerdict::Skipped => span.task.state = TaskState::Skipped,
                EntryVerdict::Failed => {
                    span.task.state = TaskState::Failed(history.reason.map(str::to_owned))
                }
                EntryVerdict::Rejected | EntryVerdict::Retry => {}
            }
        }
        span.task.id = id;
    }
    doc.tasks = tasks;
    Ok(())
}

/// The tasks among the items of `range`.
fn collect(
    doc: &ProgressDoc<'_>,
    range: &Range<usize>,
    phase: Option<&str>,
    tasks: &mut Vec<TaskSpan>,
) -> Result<(), ParseError> {
    let mut owner = None;
    for n in doc.outline.items_in(range) {
        let Some(item) = doc.outline.items.get(n) else { continue };
        match &item.checkbox {
            _ if item.inside_checkbox => {
                if item.parent == owner
                    && let Some(span) = tasks.last_mut()
                {
                    criterion(doc.text, item, span);
                }
            }
            Some(checkbox) => {
                finish(doc.text, owner.and(tasks.last_mut()));
                tasks.push(span(doc.text, item, checkbox, phase));
                owner = Some(n);
            }
            None => check_box(doc, item)?,
        }
    }
    finish(doc.text, owner.and(tasks.last_mut()));
    Ok(())
}

fn span(text: &str, item: &OutlineItem, checkbox: &Range<usize>, phase: Option<&str>) -> TaskSpan {
    let end = lines::line_end(text, checkbox.end);
    let rest = lines::at(text, checkbox.end..end);
    let start = checkbox.end + (rest.len() - rest.trim_start().len());
    let full = rest.trim();
    let (name, reason) = split_blocked(full);
    let ticked = lines::at(text, checkbox.clone()).contains(['x', 'X']);
    let state = match reason {
        _ if ticked => TaskState::Accepted,
        Some(reason) => TaskState::Blocked(reason.to_owned()),
        None => TaskState::Pending,
    };
    TaskSpan {
        task: Task {
            name: name.to_owned(),
            state,
            phase: phase.map(str::to_owned),
            ..Task::default()
        },
        item: item.range.clone(),
        lead: item.range.start..checkbox.start,
        tick: checkbox.start + 1..checkbox.end - 1,
        name: start..start + name.len(),
        blocked: start + name.len()..start + full.len(),
        body: lines::next_line(text, checkbox.end).min(item.range.end)..item.range.end,
        accepts: Vec::new(),
        ticked,
        verdict: None,
    }
}

/// Take a nested `- Accept: …` as a criterion of `span`.
fn criterion(text: &str, item: &OutlineItem, span: &mut TaskSpan) {
    if item.checkbox.is_none()
        && let Some(value) = labelled(text, item, "accept")
    {
        span.task.accept.push(lines::one_line(lines::at(text, value)));
        span.accepts.push(lines::line_start(text, item.range.start)..item.range.end);
    }
}

/// Read the notes: what is nested and is not a criterion.
fn finish(text: &str, span: Option<&mut TaskSpan>) {
    let Some(span) = span else { return };
    let mut notes = String::new();
    let mut from = span.body.start;
    for accept in &span.accepts {
        notes.push_str(lines::at(text, from..accept.start));
        from = accept.end;
    }
    notes.push_str(lines::at(text, from..span.body.end));
    span.task.notes = lines::dedent(&notes);
}

/// Split a trailing ` [BLOCKED]` or ` [BLOCKED: reason]` off a task's text.
pub(super) fn split_blocked(full: &str) -> (&str, Option<&str>) {
    let plain = (full, None);
    let Some(open) = full.ends_with(']').then(|| last_bracket(full)).flatten() else {
        return plain;
    };
    let name = lines::at(full, 0..open);
    let inside = lines::at(full, open + 1..full.len() - 1);
    let Some((word, rest)) = inside.split_at_checked("BLOCKED".len()) else { return plain };
    let is_mark = word.eq_ignore_ascii_case("blocked") && !rest.starts_with(char::is_alphanumeric);
    if !is_mark || !name.ends_with(char::is_whitespace) || name.trim().is_empty() {
        return plain;
    }
    (name.trim_end(), Some(rest.trim_start_matches([':', '-', '–', '—', ' ', '\t']).trim_end()))
}

/// The bracket that the last character closes.
fn last_bracket(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (n, c) in text.char_indices().rev() {
        match c {
            ']' => depth += 1,
            '[' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(n);
        }
    }
    None
}

/// Return the place of an item's text, for an item without a checkbox.
pub(super) fn content(text: &str, item: &OutlineItem) -> Range<usize> {
    let source = lines::at(text, item.range.clone());
    let digits = source.len() - source.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = lines::at(source, (digits + 1).min(source.len())..source.len()).trim_start();
    item.range.end - rest.len()..item.range.end
}

/// The place of the value in an item `Label: value`; the label may be emphasised.
pub(super) fn labelled(text: &str, item: &OutlineItem, label: &str) -> Option<Range<usize>> {
    let content = content(text, item);
    let source = lines::at(text, content.clone());
    let bare = source.trim_start_matches(['*', '_']);
    let marks = lines::at(source, 0..source.len() - bare.len());
    let (word, rest) = bare.split_at_checked(label.len())?;
    let value = match rest.strip_prefix(':') {
        Some(rest) => rest.strip_prefix(marks)?,
        None => rest.strip_prefix(marks)?.strip_prefix(':')?,
    };
    let value = value.trim_start();
    word.eq_ignore_ascii_case(label).then(|| content.end - value.len()..content.end)
}

/// Refuse what was meant as a checkbox and is none, so that no task is lost in silence.
fn check_box(doc: &ProgressDoc<'_>, item: &OutlineItem) -> Result<(), ParseError> {
    let content = content(doc.text, item);
    if doc.outline.is_opaque(content.start) {
        return Ok(());
    }
    let line = lines::at(doc.text, content.start..lines::line_end(doc.text, content.start));
    let Some((inside, rest)) = line.strip_prefix('[').and_then(|s| s.split_once(']')) else {
        return Ok(());
    };
    let mark = inside.trim();
    let is_box = mark.chars().count() <= 1 && mark.chars().all(|c| "xX✓✔~-/>!?*".contains(c));
    let is_link = rest.starts_with(['(', '[', ':']);
    // `- [ ]` and nothing else is a line that somebody has not written yet.
    let is_empty =
        rest.trim().is_empty() && lines::next_line(doc.text, content.start) >= content.end;
    if !is_box || is_link || is_empty {
        return Ok(());
    }
    let line = position(doc.text, item.range.start).line;
    Err(ParseError::new(
        line,
        format!("[{inside}] is not a checkbox ralph knows: write `- [ ] text` or `- [x] text`"),
    ))
}
