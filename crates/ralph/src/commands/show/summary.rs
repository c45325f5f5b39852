//! One attempt on one screen.

use ralph_core::age;
use ralph_core::cycle::{AttemptSummary, Failure, failing_lines};
use ralph_core::gate::GateVerdict;
use ralph_face::words;

use super::details::prompt_path;
use crate::context::Context;
use crate::error::CommandError;
use crate::out;

pub(super) fn print(context: &Context, attempt: &AttemptSummary) -> Result<(), CommandError> {
    let mut rows = Rows::default();
    rows.add("Attempt:", format!("{} (iteration {})", attempt.attempt, attempt.iteration));
    let retry = match attempt.retry {
        0 => String::new(),
        n => format!(" (retry {n})"),
    };
    rows.add("Task:", format!("{}  {}{retry}", attempt.task_id, attempt.name));
    let ago = age::ago(&attempt.started_at, &context.now());
    rows.add("Began:", with(&attempt.started_at, ago));
    rows.add("Backend:", with_model(&attempt.backend, attempt.model.as_deref()));
    backend(&mut rows, attempt);
    if let Some(verdict) = &attempt.verdict {
        gates(&mut rows, verdict);
    }
    let result = attempt.fate.failure().map_or_else(|| attempt.words.clone(), Failure::told);
    rows.add("Result:", result);
    if let Some(at) = &attempt.ended_at {
        rows.add("Ended:", at);
    }
    if let Some(kept) = attempt.fate.kept() {
        rows.add("Kept as:", format!("{kept}  (`ralph show {} --diff`)", attempt.iteration));
    }
    if let Some(log) = &attempt.log {
        rows.add("Log:", log);
    }
    let prompt = prompt_path(attempt);
    if let Some(path) = prompt.filter(|path| context.project.root().join(path).is_file()) {
        rows.add("Prompt:", path);
    }
    out::table(&rows.0).into_iter().try_for_each(out::line)
}

#[derive(Default)]
struct Rows(Vec<Vec<String>>);

impl Rows {
    fn add(&mut self, label: &str, text: impl AsRef<str>) {
        self.0.push(vec![label.to_owned(), out::clean(text.as_ref())]);
    }
}

fn with(text: &str, more: Option<String>) -> String {
    more.map_or_else(|| text.to_owned(), |more| format!("{text} ({more})"))
}

fn with_model(backend: &str, model: Option<&str>) -> String {
    [Some(backend), model].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn backend(rows: &mut Rows, attempt: &AttemptSummary) {
    let Some(outcome) = &attempt.outcome_message else { return };
    let numbers = [
        format!("{} changed", words::count(attempt.changed_files.unwrap_or(0), "file")),
        words::cost(attempt.cost_usd),
        words::took(attempt.duration_ms.unwrap_or(0)),
    ];
    let tokens = attempt.tokens.map(|(read, written)| {
        format!(", {} tokens in, {} out", words::tokens(read), words::tokens(written))
    });
    rows.add(
        "Outcome:",
        format!("{outcome}; {}{}", numbers.join(", "), tokens.unwrap_or_default()),
    );
    if let Some(claim) = &attempt.claim {
        rows.add("Claim:", claim.to_string());
    }
    if !attempt.summary.is_empty() {
        rows.add("Summary:", &attempt.summary);
    }
    if let Some(handoff) = &attempt.handoff {
        rows.add("Handoff:", handoff);
    }
}

fn gates(rows: &mut Rows, verdict: &GateVerdict) {
    if verdict.checks.is_empty() {
        rows.add("Gates:", "none");
    }
    for (n, check) in verdict.checks.iter().enumerate() {
        let label = if n == 0 { "Gates:" } else { "" };
        let log = check.log.as_ref().map(|log| format!("  {log}")).unwrap_or_default();
        rows.add(label, format!("{}: {:#}{log}", check.name, check.standing));
        failing_lines(check).iter().for_each(|line| rows.add("", format!("  {line}")));
    }
    for (n, why) in verdict.proof_gaps().iter().enumerate() {
        rows.add(if n == 0 { "Unproven:" } else { "" }, why.to_string());
    }
    for (n, change) in verdict.judges.iter().enumerate() {
        rows.add(if n == 0 { "Judges:" } else { "" }, change.to_string());
    }
    if let Some(path) = &verdict.report {
        rows.add("Report:", path);
    }
}
