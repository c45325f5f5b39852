//! `.ralph/progress-log.md`: what each iteration did, for people and for agents.
//!
//! A table of all tasks on top, made anew each time, and below it one `###` section an iteration,
//! oldest first. Only the table and the section at hand are touched; what else is in the file stays.

use std::fmt::Write as _;

use super::flat;
use super::progress_log::ProgressEntry;
use crate::plan::{Plan, TaskState};

const TABLE_HEAD: &str = "| Task | Status | Summary |\n";

/// The file with these entries in it, and with what the plan says now. `old` is empty when there is
/// none.
pub fn progress_md(old: &str, plan: &Plan, entries: &[ProgressEntry]) -> String {
    let mut text = with_table(old, plan);
    for entry in entries {
        put_section(&mut text, entry);
    }
    text
}

fn with_table(old: &str, plan: &Plan) -> String {
    let table = table(plan);
    if old.trim().is_empty() {
        let title = plan.title.clone().unwrap_or_else(|| plan.format.file_name().to_owned());
        return format!("# Progress Log: {}\n\n{table}", flat(&title));
    }
    let found = old.find(TABLE_HEAD).filter(|&at| at == 0 || old[..at].ends_with('\n'));
    let (before, after) = match found {
        Some(at) => {
            let rows = old[at..].split_inclusive('\n').take_while(|line| line.starts_with('|'));
            (&old[..at], &old[at + rows.map(str::len).sum::<usize>()..])
        }
        // Somebody took the table away: it belongs under the title.
        None => match old.split_once('\n') {
            Some((title, _)) if title.starts_with("# ") => old.split_at(title.len() + 1),
            _ => ("", old),
        },
    };
    let gap = |text: &str| if found.is_none() && !text.is_empty() { "\n" } else { "" };
    let below = if after.starts_with('\n') { "" } else { gap(after) };
    format!("{before}{}{table}{below}{after}", gap(before))
}

fn table(plan: &Plan) -> String {
    let mut table = format!("{TABLE_HEAD}| --- | --- | --- |\n");
    for task in plan.all_tasks() {
        let (id, name) = (cell(task.id.as_str()), cell(&task.name));
        // Writing to a string cannot fail.
        let _ = writeln!(table, "| {id} | {} | {name} |", word(&task.state));
    }
    table
}

/// The words of the log, which are those of plan.json.
fn word(state: &TaskState) -> &'static str {
    match state {
        TaskState::Accepted => "done",
        TaskState::Running => "in_progress",
        other => other.word(),
    }
}

fn cell(text: &str) -> String {
    flat(text).replace('|', "\\|")
}

/// Put the section where the one about the same task and iteration is, or at the end.
fn put_section(text: &mut String, entry: &ProgressEntry) {
    let heading = format!("### Iteration {}: {}\n", entry.iteration, flat(&entry.task_id));
    let section = format!("{heading}\n{}", content(entry));
    if let Some(at) = text.find(&format!("\n{heading}")).map(|at| at + 1) {
        let body = at + heading.len();
        let end = ["\n# ", "\n## ", "\n### "]
            .iter()
            .filter_map(|mark| text[body..].find(mark))
            .min()
            .map_or(text.len(), |n| body + n);
        text.replace_range(at..end, &section);
        return;
    }
    while !text.is_empty() && !text.ends_with("\n\n") {
        text.push('\n');
    }
    text.push_str(&section);
}

fn content(entry: &ProgressEntry) -> String {
    let part = if entry.fully_complete { "" } else { " (a part of the task)" };
    // What an agent says must not become a heading of ours.
    let summary = entry.summary.trim_start_matches(['#', ' ']);
    let mut text = format!("*{}*{part}\n\n{}\n", flat(&entry.timestamp), flat(summary));
    if !entry.files_changed.is_empty() {
        text.push_str("\n**Files changed**\n\n| File | Action |\n| --- | --- |\n");
        for file in &entry.files_changed {
            let _ = writeln!(text, "| {} | {} |", cell(&file.path), cell(&file.action));
        }
    }
    list(&mut text, "Tests added", &entry.tests_added, |tests| {
        format!("{}: {}", tests.file, tests.test_names.join(", "))
    });
    list(&mut text, "Design decisions", &entry.design_decisions, Clone::clone);
    list(&mut text, "Constraints", &entry.constraints, |one| match &one.workaround {
        Some(way) => format!("{}: {} (workaround: {way})", one.constraint, one.impact),
        None => format!("{}: {}", one.constraint, one.impact),
    });
    list(&mut text, "Deviations", &entry.deviations, |one| {
        format!("planned: {}; done: {}; why: {}", one.planned, one.actual, one.reason)
    });
    list(&mut text, "Bugs", &entry.bugs, |bug| {
        let state = if bug.resolved { "resolved" } else { "open" };
        format!("{} ({state}): {}", bug.description, bug.resolution)
    });
    text
}

/// A list under a heading; nothing when it is empty.
fn list<T>(text: &mut String, heading: &str, items: &[T], line: impl Fn(&T) -> String) {
    if items.is_empty() {
        return;
    }
    let _ = write!(text, "\n**{heading}**\n\n");
    for item in items {
        let _ = writeln!(text, "- {}", flat(&line(item)));
    }
}

#[cfg(test)]
#[path = "progress_table_tests.rs"]
mod tests;
