//! One attempt on one screen.

use ralph_core::age;
use ralph_core::cycle::{AttemptView, BackendEnd, Fate};
use ralph_core::gate::GateVerdict;
use ralph_core::needs::Running;
use ralph_face::{attempt, words};

use super::details::prompt_path;
use crate::context::Context;
use crate::error::CommandError;
use crate::out;

/// Print it.
pub(super) fn print(context: &Context, view: &AttemptView) -> Result<(), CommandError> {
    let mut rows = Rows::default();
    let started = &view.started;
    rows.add("Attempt:", format!("{} (iteration {})", started.attempt, started.iteration));
    let retry = match started.retries {
        0 => String::new(),
        n => format!(" (retry {n})"),
    };
    rows.add("Task:", format!("{}  {}{retry}", started.task, started.name));
    let ago = age::ago(&view.at, &context.now());
    rows.add("Began:", with(&view.at, ago));
    rows.add("Backend:", with_model(&started.backend, started.model.as_deref()));
    if let Some(end) = &view.backend {
        backend(&mut rows, end);
    }
    if let Some(verdict) = &view.verdict {
        gates(&mut rows, verdict);
    }
    fate(&mut rows, view, &context.running());
    if let Some(log) = &started.log {
        rows.add("Log:", log.clone());
    }
    if let Some(path) = prompt_path(view).filter(|path| context.project.root().join(path).is_file())
    {
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

fn backend(rows: &mut Rows, end: &BackendEnd) {
    let files = words::count(end.changed, "file");
    let numbers =
        format!("{files} changed, {}, {}", words::cost(end.cost), words::took(end.took_ms));
    let tokens = end.tokens.map(|(read, written)| {
        format!(", {} tokens in, {} out", words::tokens(read), words::tokens(written))
    });
    rows.add("Outcome:", format!("{}; {numbers}{}", end.message, tokens.unwrap_or_default()));
    rows.add("Claim:", end.claim.to_string());
    if !end.summary.is_empty() {
        rows.add("Summary:", &end.summary);
    }
    if let Some(handoff) = &end.handoff {
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

fn fate(rows: &mut Rows, view: &AttemptView, running: &Running) {
    let number = view.started.iteration;
    match &view.fate {
        Fate::Failed { failure, .. } => rows.add("Result:", failure.told()),
        _ => rows.add("Result:", attempt::result(view, running)),
    }
    if let Some(at) = &view.ended_at {
        rows.add("Ended:", at);
    }
    if let Some(kept) = attempt::kept(view) {
        rows.add("Kept as:", format!("{kept}  (`ralph show {number} --diff`)"));
    }
}
