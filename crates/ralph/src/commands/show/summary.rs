//! Summary of one attempt on one screen.

use ralph_core::age;
use ralph_core::cycle::{AttemptFailure, AttemptSummary, failing_lines};
use ralph_core::gate::GateVerdict;
use ralph_face::words;

use super::details::prompt_path;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::LabelledRows;

pub(super) fn print(
    context: &CommandContext,
    attempt: &AttemptSummary,
) -> Result<(), CommandError> {
    let mut rows = LabelledRows::default();
    rows.add(
        "Attempt",
        [format!("{} (iteration {})", attempt.started.attempt, attempt.started.iteration)],
    );
    let retry = match attempt.started.retries {
        0 => String::new(),
        n => format!(" (retry {n})"),
    };
    rows.add("Task", [format!("{}  {}{retry}", attempt.started.task, attempt.started.name)]);
    let ago = age::ago(&attempt.started_at, &context.now());
    rows.add("Began", [with(&attempt.started_at, ago)]);
    rows.add("Backend", [with_model(&attempt.started.backend, attempt.started.model.as_deref())]);
    backend(&mut rows, attempt);
    if let Some(verdict) = &attempt.verdict {
        gates(&mut rows, verdict);
    }
    let result = attempt.fate.failure().map_or_else(|| attempt.words.clone(), AttemptFailure::told);
    rows.add("Result", [result]);
    rows.add("Ended", &attempt.ended_at);
    let diff = |kept| format!("{kept}  (`ralph show {} --diff`)", attempt.started.iteration);
    rows.add("Kept as", attempt.fate.kept().map(diff));
    rows.add("Log", &attempt.started.log);
    let prompt = prompt_path(attempt);
    rows.add("Prompt", prompt.filter(|path| context.project.root().join(path).is_file()));
    rows.print()
}

fn with(text: &str, more: Option<String>) -> String {
    more.map_or_else(|| text.to_owned(), |more| format!("{text} ({more})"))
}

fn with_model(backend: &str, model: Option<&str>) -> String {
    [Some(backend), model].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn backend(rows: &mut LabelledRows, attempt: &AttemptSummary) {
    let Some(outcome) = &attempt.outcome_message else { return };
    let numbers = [
        format!("{} changed", words::count(attempt.changed_files.unwrap_or(0), "file")),
        words::cost(attempt.cost_usd),
        words::took(attempt.duration_ms.unwrap_or(0)),
    ];
    let tokens = attempt.tokens.map(|(read, written)| {
        format!(", {} tokens in, {} out", words::tokens(read), words::tokens(written))
    });
    let tokens = tokens.unwrap_or_default();
    rows.add("Outcome", [format!("{outcome}; {}{tokens}", numbers.join(", "))]);
    rows.add("Claim", attempt.claim.as_ref().map(ToString::to_string));
    rows.add("Summary", Some(&attempt.summary).filter(|summary| !summary.is_empty()));
    rows.add("Handoff", &attempt.handoff);
}

fn gates(rows: &mut LabelledRows, verdict: &GateVerdict) {
    let mut lines = Vec::new();
    for check in &verdict.checks {
        let log = check.log.as_ref().map(|log| format!("  {log}")).unwrap_or_default();
        lines.push(format!("{}: {:#}{log}", check.name, check.standing));
        lines.extend(failing_lines(check).iter().map(|line| format!("  {line}")));
    }
    if lines.is_empty() {
        lines.push("none".to_owned());
    }
    rows.add("Gates", lines);
    rows.add("Unproven", verdict.proof_gaps().iter().map(ToString::to_string));
    rows.add("Judges", verdict.judges.iter().map(ToString::to_string));
    rows.add("Report", &verdict.report);
}
