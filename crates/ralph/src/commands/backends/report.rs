//! Report of a trial: the outcome, the cost and the time, and advice.

use std::process::ExitCode;

use ralph_core::backend::{BackendOutcome, cost};
use ralph_host::backends::BackendRunReport;
use ralph_host::choice::ChosenBackend;
use serde_json::{Value, json};

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// A backend that did not do what it was asked to.
const NOT_DONE: u8 = 3;

pub(super) fn print(
    context: &CommandContext,
    chosen: &ChosenBackend,
    report: &BackendRunReport,
    render: OutputMode,
) -> Result<ExitCode, CommandError> {
    if let Some(error) = &report.finished.log_error {
        out::warn(format!("the log is not complete: {error}"));
    }
    match render {
        OutputMode::Json => out::json(&as_json(context, chosen, report))?,
        OutputMode::People => {
            if report.events > 0 {
                out::line("")?;
            }
            out::print_table(&rows(context, chosen, report))?;
            if let Some(advice) = report.outcome.advice(&chosen.name) {
                out::note(format!("hint: {advice}"));
            }
        }
    }
    Ok(match report.outcome {
        BackendOutcome::Success => ExitCode::SUCCESS,
        _ => ExitCode::from(NOT_DONE),
    })
}

fn resets_at(report: &BackendRunReport) -> Option<i64> {
    match report.outcome {
        BackendOutcome::RateLimit { resets_at, .. } => resets_at,
        _ => None,
    }
}

/// Return the path of the log; `None` when no log was written.
fn log(context: &CommandContext, report: &BackendRunReport) -> Option<String> {
    report.log.as_deref().filter(|log| log.exists()).map(|log| context.show(log))
}

fn rows(
    context: &CommandContext,
    chosen: &ChosenBackend,
    report: &BackendRunReport,
) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = |label: &str, text: String| {
        rows.push(vec![label.to_owned(), out::clip(&text, 400)]);
    };
    row("Outcome:", report.told());
    if let Some(note) = report.outcome.note(&report.finished.exit) {
        row("Note:", note);
    }
    if let Some(when) = resets_at(report).and_then(|at| context.clock().on_the_wall(at)) {
        row("Resets:", when);
    }
    if matches!(report.outcome, BackendOutcome::NotInstalled) {
        return rows;
    }
    let unknown = || "unknown".to_owned();
    let dollars = cost(&report.spent, &chosen.settings.prices);
    row("Cost:", dollars.map_or_else(unknown, |dollars| format!("${dollars:.4}")));
    row("Tokens:", tokens(report));
    row("Context:", context_use(report));
    if let Some(turns) = report.spent.turns {
        row("Turns:", turns.to_string());
    }
    row("Time:", format!("{:.1} s", report.finished.elapsed.as_secs_f64()));
    let sweep = report.finished.sweep;
    if sweep.left > 0 {
        row("Left:", format!("{} of its processes could not be ended", sweep.left));
    }
    if let Some(session) = &report.session {
        row("Session:", session.clone());
    }
    if let Some(log) = log(context, report) {
        row("Log:", log);
    }
    rows
}

fn tokens(report: &BackendRunReport) -> String {
    let (Some(input), Some(output)) = (report.spent.input, report.spent.output) else {
        return "unknown".to_owned();
    };
    match report.spent.cached {
        Some(cached) if cached > 0 => {
            format!("{input} read ({cached} from a cache), {output} written")
        }
        _ => format!("{input} read, {output} written"),
    }
}

fn context_use(report: &BackendRunReport) -> String {
    let Some(context) = report.context else { return "unknown".to_owned() };
    match context.window {
        Some(window) if window > 0 => {
            let share = match context.used.saturating_mul(100) / window {
                0 => "under 1".to_owned(),
                percent => percent.to_string(),
            };
            format!("{} of {window} tokens ({share} %)", context.used)
        }
        _ => format!("{} tokens", context.used),
    }
}

fn as_json(context: &CommandContext, chosen: &ChosenBackend, report: &BackendRunReport) -> Value {
    let spent = report.spent;
    json!({
        "backend": chosen.name,
        "model": chosen.model,
        "outcome": report.outcome.word(),
        "message": report.told(),
        "note": report.outcome.note(&report.finished.exit),
        "advice": report.outcome.advice(&chosen.name),
        "resets_at": resets_at(report),
        "answer": report.answer.text,
        "session": report.session,
        "cost": cost(&spent, &chosen.settings.prices),
        "tokens": { "input": spent.input, "cached": spent.cached, "output": spent.output },
        "turns": spent.turns,
        "context": report.context.map(|c| json!({ "used": c.used, "window": c.window })),
        "events": report.events,
        "elapsed_ms": u64::try_from(report.finished.elapsed.as_millis()).unwrap_or(u64::MAX),
        "log": log(context, report),
    })
}
