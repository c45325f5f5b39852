//! `.ralph/progress-log.json`: what each iteration did, for programs.
//!
//! # Theory of operation
//!
//! The file that ralph writes has its head in three lines and then one line an entry, so a new entry
//! is a piece of text between the last entry and the closing bracket, and nothing is parsed: the cost
//! is that of copying the text. A file in any other layout is edited by span, and stays in its layout.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::format::ParseError;
use crate::handoff::{AddedTests, Bug, Constraint, Deviation, Handoff, TouchedFile};
use crate::json::{self, ItemChange, JsonEditor, JsonError, JsonNode, MemberChange};
use crate::plan::{Plan, TaskState};
use crate::text::splice;

/// Result of one iteration. A second entry for the same task and iteration replaces the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProgressEntry {
    /// The task. It comes first, and the iteration second: by these two an entry is found again.
    pub task_id: String,
    /// Number of the iteration.
    pub iteration: u32,
    /// Time of the landing, RFC 3339.
    pub timestamp: String,
    /// Summary of the work, on one line.
    pub summary: String,
    /// Files that were created, modified or deleted.
    pub files_changed: Vec<TouchedFile>,
    /// Tests that the iteration added.
    pub tests_added: Vec<AddedTests>,
    /// Design decisions of the iteration.
    pub design_decisions: Vec<String>,
    /// Constraints that the iteration discovered.
    pub constraints: Vec<Constraint>,
    /// Differences between the work and the plan.
    pub deviations: Vec<Deviation>,
    /// Bugs that the iteration ran into.
    pub bugs: Vec<Bug>,
    /// Whether the task is complete.
    pub fully_complete: bool,
}

impl ProgressEntry {
    /// The entry that a handoff makes.
    pub fn of(handoff: &Handoff, task: &str, iteration: u32, at: &str) -> Self {
        let summary = match handoff.summary.trim() {
            "" => &handoff.task_completed.summary,
            summary => summary,
        };
        Self {
            task_id: task.to_owned(),
            iteration,
            timestamp: at.to_owned(),
            summary: super::flat(summary),
            files_changed: handoff.files_touched.clone(),
            tests_added: handoff.tests_added.clone(),
            design_decisions: handoff.architectural_notes.clone(),
            constraints: handoff.constraints_discovered.clone(),
            deviations: handoff.deviations.clone(),
            bugs: handoff.bugs_encountered.clone(),
            fully_complete: handoff.task_completed.fully_complete,
        }
    }
}

/// The file with these entries in it, and with what the plan says now. `old` is empty when there is
/// none; a file that is no JSON is refused and not written over.
pub fn progress_json(
    old: &str,
    plan: &Plan,
    entries: &[ProgressEntry],
    at: &str,
) -> Result<String, ParseError> {
    let counts = count_tasks(plan);
    let body = if old.trim().is_empty() { Some("") } else { our_entries(old) };
    match body {
        Some(body) => Ok(assemble(body, entries, &counts, at)),
        None => edit(old, entries, &counts, at).map_err(|e| e.in_text(old)),
    }
}

/// Number of tasks in each state, as the file reports them.
#[derive(Default, Serialize)]
struct TaskCounts {
    total_tasks: usize,
    completed: usize,
    pending: usize,
    failed: usize,
    skipped: usize,
}

fn count_tasks(plan: &Plan) -> TaskCounts {
    let mut counts = TaskCounts::default();
    for task in plan.all_tasks() {
        counts.total_tasks += 1;
        *match task.state {
            TaskState::Accepted | TaskState::Done => &mut counts.completed,
            TaskState::Failed(_) => &mut counts.failed,
            TaskState::Skipped => &mut counts.skipped,
            TaskState::Pending
            | TaskState::Running
            | TaskState::Blocked(_)
            | TaskState::Killed(_) => &mut counts.pending,
        } += 1;
    }
    counts
}

const HEAD: &str = "{\n  \"generated_at\": ";
const SUMMARY: &str = "  \"plan_summary\": {";
const ENTRIES: &str = "  \"entries\": [";
const TAIL: &str = "]\n}\n";
/// In front of each entry; no string in it can hold a line end, so it is found nowhere else.
const LINE: &str = "\n    ";

/// The lines of the entries, if the file has the layout in which ralph writes it.
fn our_entries(text: &str) -> Option<&str> {
    let (_, rest) = text.strip_prefix(HEAD)?.split_once('\n')?;
    let (_, rest) = rest.strip_prefix(SUMMARY)?.split_once('\n')?;
    let body = rest.strip_prefix(ENTRIES)?.strip_suffix(TAIL)?;
    if body.is_empty() {
        return Some(body);
    }
    let body = body.strip_suffix("\n  ")?;
    let whole = body.starts_with("\n    {") && body.ends_with('}');
    whole.then_some(body)
}

fn assemble(body: &str, entries: &[ProgressEntry], counts: &TaskCounts, at: &str) -> String {
    let mut body = body.to_owned();
    for entry in entries {
        let line = json!(entry).to_string();
        let key = key_of(entry);
        match body.find(&key) {
            Some(found) => {
                let start = found + LINE.len();
                let end = body[start..].find('\n').map_or(body.len(), |n| start + n);
                let end = if body[..end].ends_with(',') { end - 1 } else { end };
                body.replace_range(start..end, &line);
            }
            None => {
                let comma = if body.is_empty() { "" } else { "," };
                body.push_str(&format!("{comma}{LINE}{line}"));
            }
        }
    }
    let last = if body.is_empty() { "" } else { "\n  " };
    let (at, counts) = (Value::from(at), json!(counts));
    format!("{HEAD}{at},\n  \"plan_summary\": {counts},\n{ENTRIES}{body}{last}{TAIL}")
}

/// Return the start of an entry's line, by which the entry is found again.
fn key_of(entry: &ProgressEntry) -> String {
    let task = Value::from(entry.task_id.as_str());
    format!("{LINE}{{\"task_id\":{task},\"iteration\":{},", entry.iteration)
}

/// The same in a layout that somebody else chose.
fn edit(
    text: &str,
    entries: &[ProgressEntry],
    counts: &TaskCounts,
    at: &str,
) -> Result<String, JsonError> {
    let root = json::parse_file(text)?;
    let editor = JsonEditor::new(text, &root);
    let mut members = vec![
        MemberChange::Set("generated_at".into(), at.into()),
        MemberChange::Set("plan_summary".into(), json!(counts)),
    ];
    let mut splices = Vec::new();
    match root.get("entries") {
        None => members.push(MemberChange::Set("entries".into(), json!(entries))),
        Some(list) => {
            let known = list.items().unwrap_or_default();
            let changes: Vec<ItemChange> = entries
                .iter()
                .map(|entry| match known.iter().position(|node| is_about(node, entry, text)) {
                    Some(at) => ItemChange::Set(at, json!(entry)),
                    None => ItemChange::Push(json!(entry)),
                })
                .collect();
            splices.extend(editor.array(list, &changes)?);
        }
    }
    splices.extend(editor.object(&root, &members)?);
    splice(text, splices)
        .map_err(|e| JsonError { offset: e.0, message: "two changes meet here".into() })
}

fn is_about(node: &JsonNode, entry: &ProgressEntry, text: &str) -> bool {
    let task = node.get("task_id").and_then(|id| id.str(text));
    let iteration = node.get("iteration").and_then(|n| n.u64(text));
    task.is_some_and(|task| task == entry.task_id.as_str())
        && iteration == Some(u64::from(entry.iteration))
}

#[cfg(test)]
#[path = "progress_log_tests.rs"]
mod tests;
