//! `ralph log`: what became of tasks.

use clap::Args;
use ralph_core::age;
use ralph_core::plan::{Plan, TaskState, TombstoneKind};
use serde::Serialize;

use crate::args::CommonArgs;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// Show the history: tasks that were accepted, rejected or left out, newest first
///
/// Examples:
///   ralph log
///   ralph log -n 5 --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LogArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// Show at most this many entries
    #[arg(short = 'n', long = "number", value_name = "N")]
    number: Option<usize>,
}

#[derive(Serialize)]
struct TaskLogEntry {
    #[serde(rename = "event")]
    what: &'static str,
    id: String,
    name: String,
    reason: Option<String>,
    at: Option<String>,
}

pub(crate) fn run(context: &CommandContext, args: &LogArgs) -> Result<(), CommandError> {
    let file = context.read_plan(&args.common.plan)?;
    let entries: Vec<TaskLogEntry> =
        history(&file.plan).into_iter().rev().take(args.number.unwrap_or(usize::MAX)).collect();
    if args.common.render() == OutputMode::Json {
        return out::json(&entries);
    }
    if entries.is_empty() {
        return out::line("No task was accepted or rejected yet.");
    }
    let now = context.now();
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|e| {
            let when = e.at.as_deref().and_then(|at| age::ago(at, &now)).unwrap_or("-".into());
            let reason = e.reason.as_deref().map(|r| format!(": {}", out::clean(r)));
            let text = format!("{}{}", out::clean(&e.name), reason.unwrap_or_default());
            vec![e.id.clone(), e.what.to_owned(), when, text]
        })
        .collect();
    out::print_table(&rows)
}

/// Oldest first. Formats that keep no history show how finished tasks stand.
fn history(plan: &Plan) -> Vec<TaskLogEntry> {
    if plan.format.buries_tasks() {
        return plan
            .tombstones
            .iter()
            .map(|t| TaskLogEntry {
                what: match t.kind {
                    TombstoneKind::Accept => "accepted",
                    TombstoneKind::Reject => "rejected",
                    TombstoneKind::Delete => "left out",
                },
                id: t.id.to_string(),
                name: t.name.clone().unwrap_or_default(),
                reason: t.reason.clone(),
                at: t.at.clone(),
            })
            .collect();
    }
    plan.tasks
        .iter()
        .filter_map(|t| {
            let (what, reason) = match &t.state {
                TaskState::Accepted => ("accepted", None),
                TaskState::Failed(reason) => ("failed", reason.clone()),
                TaskState::Skipped => ("left out", None),
                _ => ("rejected", Some(t.reject.clone()?)),
            };
            let (id, name) = (t.id.to_string(), t.name.clone());
            Some(TaskLogEntry { what, id, name, reason, at: t.done_at.clone() })
        })
        .collect()
}
