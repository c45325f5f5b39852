//! Output of an import: its preview and its result, for people and programs.

use ralph_core::import::{ImportRow, ImportStatus, PreparedImport};
use ralph_core::plan::TaskState;
use serde_json::{Value, json};

use super::ImportJob;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// Most characters of a name in the table.
const NAME: usize = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImportOutcome {
    Written,
    /// Dry run that wrote nothing.
    Looked,
    Nothing,
}

impl ImportOutcome {
    /// The end of an import that wrote nothing.
    pub(super) fn unwritten(dry_run: bool) -> Self {
        if dry_run { Self::Looked } else { Self::Nothing }
    }
}

pub(super) fn plan(
    context: &CommandContext,
    job: &ImportJob,
    import: &PreparedImport,
) -> Result<(), CommandError> {
    let into = context.show(&job.into);
    out::line(format!("{} from {} into {into}:", job.kind, out::clean(&job.from)))?;
    let rows: Vec<Vec<String>> = import.rows.iter().map(row).collect();
    for line in out::table(&rows) {
        out::line(format!("  {line}"))?;
    }
    let copies: Vec<Vec<String>> = job
        .placed
        .iter()
        .map(|placed| {
            let mark = if placed.is_there { "here" } else { "copy" };
            let from = if placed.is_there { String::new() } else { placed.document.from.clone() };
            let from = if from.is_empty() { from } else { format!("from {from}") };
            vec![mark.to_owned(), out::clean(&placed.path), out::clean(&from)]
        })
        .collect();
    for line in out::table(&copies) {
        out::line(format!("  {line}"))?;
    }
    if !import.record.is_empty() {
        out::line(format!("  record  {}: what the plan has no place for", import.record_path))?;
    }
    for warning in import.warnings.iter().chain(&job.remarks) {
        out::warn(out::clean(warning));
    }
    Ok(())
}

fn row(row: &ImportRow) -> Vec<String> {
    let mark = match row.fate {
        ImportStatus::New => "new",
        ImportStatus::Here => "here",
    };
    let id = match &row.source {
        Some(source) if source != row.id.as_str() => {
            format!("{} (was {})", row.id, out::clip(source, NAME))
        }
        _ => row.id.to_string(),
    };
    let deps: Vec<&str> = row.deps.iter().map(|id| id.as_str()).collect();
    let mut more = Vec::new();
    if !deps.is_empty() && row.state.is_open() {
        more.push(format!("after {}", deps.join(", ")));
    }
    let noted: Vec<&str> = row.noted.iter().map(String::as_str).filter(|l| *l != "text").collect();
    if !noted.is_empty() {
        more.push(format!("notes: {}", noted.join(", ")));
    }
    if !row.recorded.is_empty() {
        more.push(format!("record: {}", row.recorded.join(", ")));
    }
    vec![
        mark.to_owned(),
        out::clean(&id),
        word(&row.state).to_owned(),
        out::clip(&row.name, NAME),
        out::clip(&more.join("; "), 2 * NAME),
    ]
}

fn word(state: &TaskState) -> &'static str {
    match state {
        TaskState::Accepted => "done",
        other => other.word(),
    }
}

pub(super) fn end(
    context: &CommandContext,
    job: &ImportJob,
    import: &PreparedImport,
    end: ImportOutcome,
    render: OutputMode,
) -> Result<(), CommandError> {
    if render == OutputMode::Json {
        return out::json(&value(context, job, import, end));
    }
    let into = context.show(&job.into);
    let (added, here) = (import.added(), import.rows.len() - import.added());
    let also = match here {
        0 => String::new(),
        n => format!("; {} here already", are(n)),
    };
    out::line(match end {
        ImportOutcome::Nothing => format!("Nothing new: {} here already.", are(here)),
        ImportOutcome::Looked => {
            format!("Nothing was written. {} would be added{also}.", out::count(added, "task"))
        }
        ImportOutcome::Written => {
            format!("Imported {} into {into}{also}.", out::count(added, "task"))
        }
    })?;
    if end == ImportOutcome::Written {
        scope(context, job, import)?;
        out::line("Next: `ralph validate`, then `ralph build --dry-run`")?;
    }
    Ok(())
}

fn are(n: usize) -> String {
    if n == 1 { "1 task is".to_owned() } else { format!("{n} tasks are") }
}

/// Tasks of another spec than the current one are not worked on: say so.
fn scope(
    context: &CommandContext,
    job: &ImportJob,
    import: &PreparedImport,
) -> Result<(), CommandError> {
    let plan = &context.plan_at(&job.into)?.plan;
    let Some(current) = &plan.current_spec else { return Ok(()) };
    let new = import.rows.iter().filter(|row| row.fate == ImportStatus::New && row.state.is_open());
    let other = new.filter_map(|row| plan.task(&row.id)?.spec.clone()).find(|spec| spec != current);
    match other {
        Some(spec) => out::line(format!(
            "The current spec is {current}; `ralph spec use {spec}` turns to what was imported"
        )),
        None => Ok(()),
    }
}

fn value(
    context: &CommandContext,
    job: &ImportJob,
    import: &PreparedImport,
    end: ImportOutcome,
) -> Value {
    json!({
        "kind": job.kind.as_str(),
        "from": job.from,
        "plan": context.show(&job.into),
        "written": end == ImportOutcome::Written,
        "added": import.added(),
        "tasks": import.rows,
        "documents": job.placed,
        "record": (!import.record.is_empty()).then_some(&import.record_path),
        "warnings": import.warnings.iter().chain(&job.remarks).collect::<Vec<_>>(),
    })
}
