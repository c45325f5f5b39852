//! The whole file as values, for readers: prompts, views, the build loop.

use std::ops::Range;

use super::attempts::RecentAttempt;
use super::doc::{ProgressDoc, ProgressSectionKind, words};
use super::outline::OutlineTable;
use super::{lines, tasks};
use crate::format::ParseError;

/// Content of a progress file besides its tasks.
///
/// Text sections are as in the source, without blank lines around them. A missing section is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressFile {
    pub status: String,
    pub analysis: String,
    pub testing_strategy: String,
    /// Tasks that were completed in the last iteration.
    pub completed: Vec<String>,
    /// Entries of Recent Attempts, oldest first.
    pub attempts: Vec<RecentAttempt>,
    /// The rows of the Iteration Log that have a number.
    pub log: Vec<LogRow>,
}

/// One row of the Iteration Log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogRow {
    pub iteration: u32,
    pub started: String,
    pub duration: String,
    /// Number of tasks that the iteration completed. It is text, because people add words to it.
    pub tasks_completed: String,
    pub notes: String,
}

/// Read everything but the tasks from a progress file.
pub fn read(text: &str) -> Result<ProgressFile, ParseError> {
    ProgressDoc::read(text).map(of)
}

pub(super) fn of(doc: ProgressDoc<'_>) -> ProgressFile {
    ProgressFile {
        status: prose(&doc, ProgressSectionKind::Status),
        analysis: prose(&doc, ProgressSectionKind::Analysis),
        testing_strategy: prose(&doc, ProgressSectionKind::Testing),
        completed: completed(&doc),
        log: log(&doc),
        attempts: doc.entries.into_iter().map(|e| e.attempt).collect(),
    }
}

/// Return the place of a section's text, without blank lines and thematic breaks around it.
pub(super) fn prose_range(doc: &ProgressDoc<'_>, body: &Range<usize>) -> Range<usize> {
    let end = doc.content_end(body.clone());
    lines::content_start(doc.text, body.start..end)..end
}

fn prose(doc: &ProgressDoc<'_>, kind: ProgressSectionKind) -> String {
    let section = doc.section(kind);
    let range = section.map_or(0..0, |s| prose_range(doc, &s.body));
    lines::at(doc.text, range).trim_end().to_owned()
}

/// Whether `RALPH_DONE` stands alone on a line of the Status section, outside of code.
pub(super) fn says_done(doc: &ProgressDoc<'_>) -> bool {
    doc.all(ProgressSectionKind::Status).any(|section| {
        let mut at = section.body.start;
        let mut done = false;
        while at < section.body.end && !done {
            let line = lines::at(doc.text, at..lines::line_end(doc.text, at));
            let word = at + (line.len() - line.trim_start().len());
            done = line.trim() == "RALPH_DONE" && !doc.outline.is_opaque(word);
            at = lines::next_line(doc.text, at);
        }
        done
    })
}

/// The items of the Completed section that are not in another item, without their boxes.
fn completed(doc: &ProgressDoc<'_>) -> Vec<String> {
    let Some(section) = doc.section(ProgressSectionKind::Completed) else { return Vec::new() };
    let items = doc.outline.items.get(doc.outline.items_in(&section.body)).unwrap_or_default();
    let texts = items.iter().filter(|i| i.parent.is_none()).filter_map(|item| {
        let from = match &item.checkbox {
            Some(checkbox) if lines::at(doc.text, checkbox.clone()).contains(' ') => return None,
            Some(checkbox) => checkbox.end,
            None => tasks::content(doc.text, item).start,
        };
        Some(lines::at(doc.text, from..lines::line_end(doc.text, from)).trim().to_owned())
    });
    texts.filter(|t| !t.is_empty()).collect()
}

/// The columns of the Iteration Log.
pub(super) const COLUMNS: [&str; 5] =
    ["Iteration", "Started", "Duration", "Tasks Completed", "Notes"];

/// The value of a row in the column with this heading.
pub(super) fn cell<'r>(row: &'r LogRow, iteration: &'r str, column: &str) -> &'r str {
    match words(column).as_str() {
        "iteration" => iteration,
        "started" => &row.started,
        "duration" => &row.duration,
        "tasks completed" => &row.tasks_completed,
        "notes" => &row.notes,
        _ => "",
    }
}

/// The headings of a table's columns.
pub(super) fn columns(doc: &ProgressDoc<'_>, table: &OutlineTable) -> Vec<String> {
    let head = table.rows.first().map(Vec::as_slice).unwrap_or_default();
    head.iter().map(|c| unescape(lines::at(doc.text, c.clone()))).collect()
}

/// The tables of the log sections that have an Iteration column.
pub(super) fn log_tables<'d>(
    doc: &'d ProgressDoc<'_>,
) -> impl DoubleEndedIterator<Item = &'d OutlineTable> {
    let sections: Vec<_> = doc.all(ProgressSectionKind::Log).map(|s| s.body.clone()).collect();
    doc.outline.tables.iter().filter(move |t| {
        sections.iter().any(|body| body.contains(&t.range.start))
            && columns(doc, t).iter().any(|c| words(c) == "iteration")
    })
}

pub(super) fn log(doc: &ProgressDoc<'_>) -> Vec<LogRow> {
    let mut rows = Vec::new();
    for table in log_tables(doc) {
        let columns = columns(doc, table);
        for cells in table.rows.iter().skip(1) {
            let texts = cells.iter().map(|c| unescape(lines::at(doc.text, c.clone())));
            rows.extend(row(columns.iter().map(String::as_str).zip(texts)));
        }
    }
    rows
}

fn row<'c>(cells: impl Iterator<Item = (&'c str, String)>) -> Option<LogRow> {
    let mut row = LogRow::default();
    let mut iteration = None;
    for (column, text) in cells {
        match words(column).as_str() {
            "iteration" => iteration = text.parse().ok(),
            "started" => row.started = text,
            "duration" => row.duration = text,
            "tasks completed" => row.tasks_completed = text,
            "notes" => row.notes = text,
            _ => {}
        }
    }
    row.iteration = iteration?;
    Some(row)
}

/// The iteration that is going on: one more than the last one in the log, and not before the
/// newest attempt's.
pub(super) fn current_iteration(doc: &ProgressDoc<'_>) -> u32 {
    let logged = log(doc).iter().map(|r| r.iteration.saturating_add(1)).max();
    let tried = doc.entries.iter().map(|e| e.attempt.iteration).max();
    logged.max(tried).unwrap_or(1)
}

/// A cell's text, where `\|` stands for `|`.
fn unescape(cell: &str) -> String {
    cell.trim().replace("\\|", "|")
}

/// A text that stays in its cell.
pub(super) fn escape(text: &str) -> String {
    // A backslash right before a bar would escape our escape.
    lines::one_line(text).replace("\\|", "\\ |").replace('|', "\\|")
}
