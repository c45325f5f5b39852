//! Outcome of a run of claude.
//!
//! An action of ralph comes first, then the `result` event. Only without that event do the exit
//! code and standard error count. A failed call of the model also has `subtype: "success"`; then
//! `is_error` decides.

use super::reader::{ClaudeReader, ClaudeResult};
use crate::backend::failure::judge_text;
use crate::backend::heard::{StreamState, of_model, of_our_doing};
use crate::backend::wire;
use crate::backend::{BackendExit, BackendOutcome, ProcessEnding};

/// Most of a message to people.
const MOST_MESSAGE: usize = 2_000;

pub(super) fn outcome(
    run: &ClaudeReader,
    heard: &StreamState,
    exit: &BackendExit,
    stderr: &str,
) -> BackendOutcome {
    if let Some(outcome) = of_our_doing(exit) {
        return outcome;
    }
    if let Some(result) = &run.result {
        return finished(run, result, exit.ending).unwrap_or_else(|| heard.judge(exit, stderr));
    }
    match (exit.ending, &run.error) {
        (ProcessEnding::Code(_), Some(error)) => failed(run, &error.text, error.status),
        (ProcessEnding::Code(code), None) if code != 0 => {
            recognised(run, stderr.trim(), None).unwrap_or_else(|| heard.judge(exit, stderr))
        }
        _ => heard.judge(exit, stderr),
    }
}

/// Return the outcome of a `result` event, or `None` if it reports success.
fn finished(
    run: &ClaudeReader,
    result: &ClaudeResult,
    ending: ProcessEnding,
) -> Option<BackendOutcome> {
    match result.reason.as_str() {
        "max_turns" => return Some(BackendOutcome::MaxTurns),
        "budget_exhausted" => return Some(BackendOutcome::Budget),
        // The last two: its own guard before the limit, and a context that is full again right
        // after each compaction.
        "prompt_too_long" | "blocking_limit" | "rapid_refill_breaker" => {
            return Some(BackendOutcome::ContextLimit);
        }
        "aborted_streaming" | "aborted_tools" => {
            return Some(BackendOutcome::Crash {
                ending,
                message: "it was interrupted".to_owned(),
            });
        }
        _ => {}
    }
    Some(match result.subtype.as_str() {
        "error_max_turns" => BackendOutcome::MaxTurns,
        "error_max_budget_usd" => BackendOutcome::Budget,
        "error_max_structured_output_retries" => {
            BackendOutcome::Malformed { message: message(&result.text) }
        }
        "success" if !result.is_error => return None,
        // A model that failed says success too.
        "success" => failed(run, &result.text, result.status),
        subtype => {
            let said = if result.text.is_empty() { subtype } else { &result.text };
            recognised(run, said, result.status)
                .unwrap_or_else(|| BackendOutcome::Crash { ending, message: message(said) })
        }
    })
}

/// A call of the model failed for good.
fn failed(run: &ClaudeReader, text: &str, status: Option<u16>) -> BackendOutcome {
    recognised(run, text, status).unwrap_or_else(|| of_model(&message(text), status))
}

/// Classify a failure by its text, its status or the program's own word for the error.
fn recognised(run: &ClaudeReader, text: &str, status: Option<u16>) -> Option<BackendOutcome> {
    let word = run.error.as_ref().map_or("", |error| error.kind.as_str());
    let mut outcome = judge_text(text, status).or_else(|| judge_text(word, None))?;
    match &mut outcome {
        BackendOutcome::RateLimit { resets_at, message: said } => {
            *resets_at = run.resets_at.or(*resets_at);
            *said = message(text);
        }
        BackendOutcome::NotLoggedIn { message: said } => *said = message(text),
        BackendOutcome::PermissionDenied { tools } => tools.clone_from(&run.heard.denied),
        _ => {}
    }
    Some(outcome)
}

fn message(text: &str) -> String {
    wire::tail(text.trim(), MOST_MESSAGE).to_owned()
}
