//! Changes that an attempt makes to the plan, in any format: text in, text out.
//!
//! `plan` is always the parsed form of `text`. The caller has parsed it already, and parsing a
//! long plan takes long. Each function does nothing when the plan already says so. Therefore a
//! recovery may call it again.

use crate::format::progress::{self, LogRow, RecentAttempt};
use crate::format::{EditError, PlanFormat, codec, implementation};
use crate::plan::{
    Id, LookedUpTask, Plan, PlanEdit, PlanLookup, Retirement, Task, TaskState, verbs,
};

use super::judge::{AttemptFailure, FailureKind};
use super::record::LandingExtent;

/// Author to write into implementation.json.
const AUTHOR: &str = "build-mode";

/// Facts about an attempt to write into the plan.
#[derive(Clone, Debug)]
pub struct AttemptNote<'a> {
    pub task: &'a Id,
    /// Number of the attempt.
    pub iteration: u32,
    /// When it began, as the log shows it.
    pub started: &'a str,
    /// Duration of the attempt, as the log shows it.
    pub took: &'a str,
    /// One line about what was done.
    pub summary: &'a str,
    /// Account of the agent for Recent Attempts. Empty when there is none.
    pub story: &'a str,
    /// Current time, RFC 3339.
    pub at: &'a str,
    /// Number of Recent Attempts to keep.
    pub keep: usize,
}

/// A failed attempt, as the plan is told about it.
#[derive(Clone, Debug)]
pub struct FailedAttempt<'a> {
    pub failure: &'a AttemptFailure,
    /// Retries of the task after this attempt.
    pub retries: u32,
    /// Maximum number of retries of the task.
    pub max_retries: u32,
    /// An unused id, for formats in which an issue takes the place of a failed task.
    pub issue: Id,
}

/// A backend is about to work on the task: formats that can say so do.
pub fn begin(plan: &Plan, text: &str, task: &Id, at: &str) -> Result<String, EditError> {
    if !matches!(plan.format, PlanFormat::Deluxe | PlanFormat::Implementation) {
        return Ok(text.to_owned());
    }
    match plan.task(task) {
        Some(task) if task.state == TaskState::Pending => {
            let running = Task { state: TaskState::Running, ..task.clone() };
            stamp(plan, edit(plan, text, &[PlanEdit::UpdateTask(running)])?, at)
        }
        _ => Ok(text.to_owned()),
    }
}

/// Write into the plan that the attempt's work has landed.
pub fn land(
    plan: &Plan,
    text: &str,
    landing: LandingExtent,
    note: &AttemptNote<'_>,
) -> Result<String, EditError> {
    let Some(task) = open_task(plan, note.task) else { return Ok(text.to_owned()) };
    let edits = match landing {
        LandingExtent::Complete => vec![PlanEdit::Retire {
            id: task.id.clone(),
            how: Retirement::Accepted,
            reason: None,
            at: note.at.to_owned(),
        }],
        LandingExtent::Partial => reopen(task),
    };
    let mut new = edit(plan, text, &edits)?;
    if plan.format == PlanFormat::Progress {
        let done = landing == LandingExtent::Complete;
        let result = if done { "done" } else { "partly done" };
        new = progress_record(&new, task, note, result, usize::from(done))?;
    }
    stamp(plan, new, note.at)
}

/// The attempt's work has landed in a construct, where a verifier has the last word: the task is only
/// claimed to be done.
pub fn claim(
    plan: &Plan,
    text: &str,
    landing: LandingExtent,
    note: &AttemptNote<'_>,
) -> Result<String, EditError> {
    match (landing, open_task(plan, note.task)) {
        (LandingExtent::Complete, Some(task)) if plan.format.knows_claims() => {
            let edits = verbs::done(plan, &task.id, note.at).unwrap_or_default();
            stamp(plan, edit(plan, text, &edits)?, note.at)
        }
        _ => land(plan, text, landing, note),
    }
}

/// Write into the plan that the attempt was rolled back.
pub fn fail(
    plan: &Plan,
    text: &str,
    defeat: &FailedAttempt<'_>,
    note: &AttemptNote<'_>,
) -> Result<String, EditError> {
    let Some(task) = open_task(plan, note.task) else { return Ok(text.to_owned()) };
    let failure = defeat.failure;
    let mut reason = failure.told();
    if plan.format == PlanFormat::Progress && !note.story.is_empty() {
        reason = format!("{reason}. The agent: {}", note.story);
    }
    let edits = match failure.kind {
        FailureKind::Blocked | FailureKind::Conflict => {
            if matches!(task.state, TaskState::Blocked(_)) {
                return Ok(text.to_owned());
            }
            verbs::block(plan, &task.id, &failure.message).unwrap_or_default()
        }
        kind if !kind.counts() => reopen(task),
        _ if defeat.retries > defeat.max_retries => {
            verbs::fail(plan, &task.id, &reason, note.at, defeat.issue.clone()).unwrap_or_default()
        }
        _ if task.retries >= defeat.retries => reopen(task),
        _ => vec![PlanEdit::Reject { id: task.id.clone(), reason, at: note.at.to_owned() }],
    };
    if edits.is_empty() {
        return Ok(text.to_owned());
    }
    let mut new = edit(plan, text, &edits)?;
    if plan.format == PlanFormat::Progress {
        new = progress::trim_attempts(&new, note.keep)?;
        new = log_row(&new, note, failure.kind.words(), 0)?;
    }
    stamp(plan, new, note.at)
}

/// A landing that was written down did not happen: the task is open again.
pub fn undo(plan: &Plan, text: &str, before: &Task, at: &str) -> Result<String, EditError> {
    let open = Task { state: TaskState::Pending, ..before.clone() };
    let change = match PlanLookup::new(plan).fate(&before.id) {
        LookedUpTask::Live(task) if matches!(task.state, TaskState::Accepted | TaskState::Done) => {
            PlanEdit::UpdateTask(open)
        }
        LookedUpTask::Accepted => PlanEdit::AddTask { task: open, after: None },
        _ => return Ok(text.to_owned()),
    };
    match plan.format {
        PlanFormat::Jsonl => {
            let text = without_acceptance(text, &before.id);
            codec(plan.format).edit(&text, &[change])
        }
        _ => stamp(plan, edit(plan, text, &[change])?, at),
    }
}

/// The records without the newest one that says that this task was accepted.
fn without_acceptance(text: &str, id: &Id) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let accepts = |line: &&str| {
        let record = serde_json::from_str::<serde_json::Value>(line).unwrap_or_default();
        record["t"] == "accept" && record["id"] == id.as_str()
    };
    if let Some(at) = lines.iter().rposition(accepts) {
        lines.remove(at);
    }
    lines.concat()
}

/// The mark of a running task goes away.
pub fn unmark(plan: &Plan, text: &str, task: &Id, at: &str) -> Result<String, EditError> {
    match plan.task(task).map(reopen) {
        Some(edits) if !edits.is_empty() => stamp(plan, edit(plan, text, &edits)?, at),
        _ => Ok(text.to_owned()),
    }
}

/// The file's own word that everything is done, where the format has one.
pub fn complete(plan: &Plan, text: &str) -> Result<String, EditError> {
    let finished = !plan.tasks.is_empty()
        && plan.tasks.iter().all(|t| matches!(t.state, TaskState::Accepted | TaskState::Skipped));
    if plan.format != PlanFormat::Progress || plan.says_done || !finished {
        return Ok(text.to_owned());
    }
    progress::set_status(text, "RALPH_DONE")
}

/// The task, unless it is finished already.
fn open_task<'p>(plan: &'p Plan, id: &Id) -> Option<&'p Task> {
    plan.task(id).filter(|t| t.state.is_open())
}

/// The edit that takes a running mark away, if there is one.
fn reopen(task: &Task) -> Vec<PlanEdit> {
    match task.state {
        TaskState::Running => {
            vec![PlanEdit::UpdateTask(Task { state: TaskState::Pending, ..task.clone() })]
        }
        _ => Vec::new(),
    }
}

fn edit(plan: &Plan, text: &str, edits: &[PlanEdit]) -> Result<String, EditError> {
    codec(plan.format).edit_parsed(plan, text, edits)
}

fn stamp(plan: &Plan, text: String, at: &str) -> Result<String, EditError> {
    match plan.format {
        PlanFormat::Implementation => implementation::stamp(&text, at, AUTHOR),
        _ => Ok(text),
    }
}

fn progress_record(
    text: &str,
    task: &Task,
    note: &AttemptNote<'_>,
    result: &str,
    completed: usize,
) -> Result<String, EditError> {
    let attempt = RecentAttempt {
        iteration: note.iteration,
        tried: format!("{} — {}", task.id, task.name),
        result: format!(
            "{result}: {}",
            if note.story.is_empty() { note.summary } else { note.story }
        ),
        next: None,
    };
    let text = progress::add_attempt(text, &attempt, note.keep)?;
    let done: Vec<String> = (completed > 0).then(|| task.name.clone()).into_iter().collect();
    let text = progress::set_completed(&text, &done)?;
    log_row(&text, note, note.summary, completed)
}

fn log_row(
    text: &str,
    note: &AttemptNote<'_>,
    notes: &str,
    completed: usize,
) -> Result<String, EditError> {
    let row = LogRow {
        iteration: note.iteration,
        started: note.started.to_owned(),
        duration: note.took.to_owned(),
        tasks_completed: completed.to_string(),
        notes: notes.to_owned(),
    };
    progress::log_iteration(text, &row)
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
