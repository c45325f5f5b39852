//! A handoff at three sizes: a line, a small object, a pointer.
//!
//! Whoever reads many handoffs reads small ones. What a view leaves out is still in the file that
//! the pointer names, and a view that left something out says so.

use serde_json::{Value, json};

use super::flat;
use crate::handoff::{Bug, Constraint, Deviation, Handoff, UnfinishedItem};
use crate::prompt::PastHandoff;
use crate::text::clip;

/// Characters of a summary in the first view.
const SUMMARY: usize = 160;
/// Characters of one text in the second view.
const TEXT: usize = 400;
/// Entries of one list in the second view.
const ENTRIES: usize = 12;

/// Characters that the second views of a compaction may take, and the first views of older handoffs.
const DETAILS: usize = 48_000;
const LINES: usize = 8_000;

/// A handoff on one line: `[t-1a2b] Headers are parsed. Complete. 3 files.`
pub fn l1(handoff: &Handoff) -> String {
    let done = &handoff.task_completed;
    let summary = match flat(&handoff.summary) {
        summary if summary.is_empty() => flat(&done.summary),
        summary => summary,
    };
    let summary = clip(summary.trim_end_matches('.'), SUMMARY);
    let complete = if done.fully_complete { "Complete" } else { "Partial" };
    let files = match handoff.files_touched.len() {
        1 => "1 file".to_owned(),
        n => format!("{n} files"),
    };
    format!("[{}] {summary}. {complete}. {files}.", flat(&done.task_id))
}

/// Return a handoff as a small object: the task, decisions, constraints, failures and open work.
pub fn l2(handoff: &Handoff) -> Value {
    let done = &handoff.task_completed;
    json!({
        "task": {
            "id": done.task_id,
            "summary": short(&done.summary),
            "complete": done.fully_complete,
        },
        "decisions": list(&handoff.architectural_notes, |text| short(text).into()),
        "deviations": list(&handoff.deviations, deviation),
        "constraints": list(&handoff.constraints_discovered, constraint),
        "failed": list(handoff.bugs_encountered.iter().filter(|bug| !bug.resolved), bug),
        "unfinished": list(&handoff.unfinished_business, unfinished),
    })
}

/// Return the path of the handoff's file, which has the complete text.
pub fn l3(handoff: &PastHandoff) -> &str {
    &handoff.file
}

/// Return the text about new handoffs that the indexer reads, oldest first.
///
/// The newest handoffs are JSON objects, one a line, as many as fit. Older ones are one line of text
/// each. The rest is only a count. Each handoff that is shown names its file.
pub fn compaction_input(handoffs: &[PastHandoff]) -> String {
    let (mut details, mut room) = (Vec::new(), DETAILS);
    let mut rest = handoffs.iter().rev();
    let mut older = Vec::new();
    for past in rest.by_ref() {
        let line = detailed(past);
        match room.checked_sub(line.chars().count()) {
            Some(left) => room = left,
            None => {
                older.push(past);
                break;
            }
        }
        details.push(line);
    }
    older.extend(rest);
    let (mut lines, mut room, mut left_out) = (Vec::new(), LINES, 0usize);
    for past in older {
        let line = format!("iteration {} ({}): {}", past.number, l3(past), l1(&past.handoff));
        match room.checked_sub(line.chars().count()) {
            Some(left) => {
                room = left;
                lines.push(line);
            }
            None => {
                room = 0;
                left_out += 1;
            }
        }
    }
    if left_out > 0 {
        lines.push(format!("{left_out} older handoffs are not shown here; their files are there"));
    }
    lines.reverse();
    lines.extend(details.into_iter().rev());
    lines.join("\n")
}

fn detailed(past: &PastHandoff) -> String {
    let mut value = json!({ "iteration": past.number, "file": l3(past) });
    if past.handoff.synthetic {
        value["synthetic"] = true.into();
    }
    if let (Some(all), Value::Object(more)) = (value.as_object_mut(), l2(&past.handoff)) {
        all.extend(more);
    }
    value.to_string()
}

fn short(text: &str) -> String {
    clip(&flat(text), TEXT)
}

/// The first entries, and how many more there are.
fn list<'h, T: 'h>(entries: impl IntoIterator<Item = &'h T>, one: fn(&T) -> Value) -> Value {
    let mut rest = entries.into_iter();
    let mut shown: Vec<Value> = rest.by_ref().take(ENTRIES).map(one).collect();
    match rest.count() {
        0 => {}
        more => shown.push(format!("… and {more} more in the file").into()),
    }
    shown.into()
}

fn deviation(deviation: &Deviation) -> Value {
    json!({
        "planned": short(&deviation.planned),
        "actual": short(&deviation.actual),
        "reason": short(&deviation.reason),
    })
}

fn constraint(constraint: &Constraint) -> Value {
    let mut value = json!({
        "constraint": short(&constraint.constraint),
        "impact": short(&constraint.impact),
    });
    if let Some(workaround) = &constraint.workaround {
        value["workaround"] = short(workaround).into();
    }
    value
}

fn bug(bug: &Bug) -> Value {
    json!({ "description": short(&bug.description), "resolution": short(&bug.resolution) })
}

fn unfinished(unfinished: &UnfinishedItem) -> Value {
    json!({
        "item": short(&unfinished.item),
        "reason": short(&unfinished.reason),
        "priority": unfinished.priority,
    })
}

#[cfg(test)]
#[path = "levels_tests.rs"]
mod tests;
