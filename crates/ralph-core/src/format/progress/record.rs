//! Edits of progress.md other than tasks: attempts, the log, completed tasks, the status.
//!
//! Each function takes the old text and returns the new one. It creates a missing section. If the
//! new text could not be read back, for example after an open code block, the function returns an
//! error.

use std::collections::BTreeSet;

use super::attempts::{self, RecentAttempt};
use super::doc::{ProgressDoc, ProgressSectionKind};
use super::outline::MarkdownOutline;
use super::view::{self, LogRow, ProgressFile};
use super::{lines, swallowed};
use crate::format::EditError;
use crate::plan::Id;
use crate::text::{Splice, splice};

/// Add an entry to Recent Attempts and keep the newest `keep` of them.
pub fn add_attempt(text: &str, attempt: &RecentAttempt, keep: usize) -> Result<String, EditError> {
    let doc = ProgressDoc::read(text)?;
    let expected = doc.entries.len() + 1;
    let change = append(&doc, ProgressSectionKind::Attempts, &attempts::render(attempt));
    let new = checked(&doc, splice(text, vec![change])?, |file| file.attempts.len() == expected)?;
    trim_attempts(&new, keep)
}

/// Keep the newest `keep` entries of Recent Attempts. Entries that a task's state hangs on (skipped,
/// failed, rejections of an open task) stay beyond that.
pub fn trim_attempts(text: &str, keep: usize) -> Result<String, EditError> {
    let doc = ProgressDoc::read(text)?;
    let marks: Vec<_> = doc.entries.iter().map(|e| e.mark.as_ref()).collect();
    let open: BTreeSet<&Id> = doc.tasks.iter().filter(|t| !t.ticked).map(|t| &t.task.id).collect();
    let needed = attempts::needed(&marks, |id| open.contains(id));
    let old = needed.iter().take(marks.len().saturating_sub(keep)).enumerate();
    let gone: Vec<usize> = old.filter(|(_, needed)| !**needed).map(|(n, _)| n).collect();
    let splices: Vec<Splice> = gone
        .iter()
        .filter_map(|&n| doc.entries.get(n))
        .map(|e| lines::remove(text, e.range.clone()))
        .collect();
    let expected = marks.len() - gone.len();
    checked(&doc, splice(text, splices)?, |file| file.attempts.len() == expected)
}

/// The highest iteration that the file knows of; 0 when it knows none or cannot be read.
pub fn last_iteration(text: &str) -> u32 {
    let file = view::read(text).unwrap_or_default();
    let logged = file.log.iter().map(|row| row.iteration);
    logged.chain(file.attempts.iter().map(|attempt| attempt.iteration)).max().unwrap_or(0)
}

/// Add a row to the Iteration Log.
pub fn log_iteration(text: &str, row: &LogRow) -> Result<String, EditError> {
    let doc = ProgressDoc::read(text)?;
    let number = row.iteration.to_string();
    let line = |columns: &[String]| {
        let cells = columns.iter().map(|c| view::escape(view::cell(row, &number, c)));
        cells.fold(String::from("|"), |line, cell| format!("{line} {cell} |"))
    };
    let change = match view::log_tables(&doc).last() {
        Some(table) => lines::insert(text, table.range.end, &[line(&view::columns(&doc, table))]),
        None => {
            let [head, rule] = empty_log();
            append(
                &doc,
                ProgressSectionKind::Log,
                &[head, rule, line(&view::COLUMNS.map(str::to_owned))],
            )
        }
    };
    let expected = view::log(&doc).len() + 1;
    checked(&doc, splice(text, vec![change])?, |file| file.log.len() == expected)
}

/// Make the Completed section list exactly `done`. Other text in it stays.
pub fn set_completed(text: &str, done: &[String]) -> Result<String, EditError> {
    let doc = ProgressDoc::read(text)?;
    let done: Vec<String> =
        done.iter().map(|d| lines::one_line(d)).filter(|d| !d.is_empty()).collect();
    let new: Vec<String> = done.iter().map(|d| format!("- [x] {d}")).collect();
    let body = doc.section(ProgressSectionKind::Completed).map_or(0..0, |s| s.body.clone());
    let items = doc.outline.items.get(doc.outline.items_in(&body)).unwrap_or_default();
    let mut old = items.iter().filter(|i| i.parent.is_none()).map(|i| i.range.clone());
    let mut splices = Vec::new();
    match old.next() {
        Some(first) => {
            splices.push(lines::insert(text, lines::line_start(text, first.start), &new));
            splices.push(Splice::remove(lines::line_start(text, first.start)..first.end));
        }
        None if new.is_empty() => {}
        None => splices.push(append(&doc, ProgressSectionKind::Completed, &new)),
    }
    splices.extend(old.map(|range| lines::remove(text, range)));
    checked(&doc, splice(text, splices)?, |file| file.completed == done)
}

/// Make `status` the text of the Status section.
pub fn set_status(text: &str, status: &str) -> Result<String, EditError> {
    let doc = ProgressDoc::read(text)?;
    let wanted: Vec<String> = status.trim().lines().map(str::to_owned).collect();
    let old = doc.section(ProgressSectionKind::Status).map(|s| view::prose_range(&doc, &s.body));
    let change = match old.filter(|range| !range.is_empty()) {
        Some(range) => {
            let mut change = lines::insert(text, range.start, &wanted);
            change.range = range;
            change
        }
        None => append(&doc, ProgressSectionKind::Status, &wanted),
    };
    let headings = doc.outline.headings.len()
        + usize::from(doc.section(ProgressSectionKind::Status).is_none());
    let new = splice(text, vec![change])?;
    if MarkdownOutline::of(&new).headings.len() != headings {
        return Err(swallowed());
    }
    checked(&doc, new, |file| {
        file.status.lines().eq(wanted.iter().map(|l| l.trim_end_matches('\r')))
    })
}

/// The head of the Iteration Log's table.
pub(super) fn empty_log() -> [String; 2] {
    let head = view::COLUMNS.iter().fold(String::from("|"), |line, c| format!("{line} {c} |"));
    [head, "|---".repeat(view::COLUMNS.len()) + "|"]
}

/// New lines at the end of a section, which is created when it is missing.
pub(super) fn append(doc: &ProgressDoc<'_>, kind: ProgressSectionKind, new: &[String]) -> Splice {
    if let Some(section) = doc.section(kind) {
        return lines::insert_block(doc.text, doc.content_end(section.body.clone()), new);
    }
    let head = [kind.heading(), String::new()];
    lines::insert_block(doc.text, doc.place_for(kind), &[&head, new].concat())
}

/// `text`, when it says what it should and its tasks are those of `old`.
fn checked(
    old: &ProgressDoc<'_>,
    text: String,
    is_right: impl FnOnce(&ProgressFile) -> bool,
) -> Result<String, EditError> {
    let new = ProgressDoc::read(&text).map_err(|_| swallowed())?;
    let same_tasks =
        old.tasks.iter().map(|t| &t.task.name).eq(new.tasks.iter().map(|t| &t.task.name));
    let is_right = same_tasks && is_right(&view::of(new));
    if is_right { Ok(text) } else { Err(swallowed()) }
}
