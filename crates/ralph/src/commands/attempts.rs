//! `ralph attempts`: what the loops tried.

use clap::Args;
use ralph_core::cycle::{AttemptSummary, AttemptView, History};
use ralph_core::text::nearest;
use ralph_face::words;

use crate::args::OutputArgs;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// List the attempts of all loops, newest first
///
/// For each: its number, the task, the backend, how it ended, how many files it changed, how many
/// gates were green, what it cost, how long it took, and where its work is: the commit, or the ref
/// that keeps what did not land.
///
/// Examples:
///   ralph attempts
///   ralph attempts --task t-1a2b -n 5
///   ralph attempts --json | jq 'first.result'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct AttemptsArgs {
    /// Show only attempts at this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Show at most this many attempts
    #[arg(short = 'n', long = "number", value_name = "N")]
    number: Option<usize>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(context: &CommandContext, args: &AttemptsArgs) -> Result<(), CommandError> {
    let (history, running) = (context.history()?, context.running());
    let wanted = |view: &&AttemptView| args.task.as_ref().is_none_or(|id| view.started.task == *id);
    let most = args.number.unwrap_or(usize::MAX);
    let newest = history.attempts.iter().rev().filter(wanted).take(most);
    let found: Vec<AttemptSummary> = newest.map(|view| view.summary(&running)).collect();
    if args.output.render() == OutputMode::Json {
        return out::json(&found);
    }
    match (&args.task, found.is_empty()) {
        (_, false) => table(&found).into_iter().try_for_each(out::line),
        (Some(task), true) => out::line(none_on(task, &history)),
        (None, true) => out::line("No attempt was made here yet."),
    }
}

/// Nobody worked on it, or it was typed wrong.
fn none_on(task: &str, history: &History) -> String {
    let known = history.attempts.iter().map(|view| view.started.task.as_str());
    let shown = out::clean(task);
    match nearest(task, known) {
        Some(near) => format!("No attempt on {shown} was made. Did you mean {near}?"),
        None => format!("No attempt on {shown} was made yet."),
    }
}

fn table(found: &[AttemptSummary]) -> Vec<String> {
    let titles = ["#", "task", "backend", "result", "files", "gates", "cost", "time", "kept as"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    rows.extend(found.iter().map(row));
    out::table(&rows)
}

fn row(attempt: &AttemptSummary) -> Vec<String> {
    let nothing = || "-".to_owned();
    vec![
        attempt.started.iteration.to_string(),
        out::clean(&attempt.started.task),
        out::clean(&attempt.started.backend),
        attempt.words.clone(),
        attempt.changed_files.map_or_else(nothing, |files| files.to_string()),
        attempt.gate_words().unwrap_or_else(nothing),
        attempt.cost_usd.map_or_else(nothing, words::dollars),
        attempt.duration_ms.map_or_else(nothing, words::took),
        attempt.kept_short().map_or_else(nothing, out::clean),
    ]
}
