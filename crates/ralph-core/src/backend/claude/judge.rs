//! How a run of claude ended.
//!
//! What ralph did to it comes first, then the `result` event, and only without one the exit code and
//! what stands on standard error. `subtype: "success"` is also what a failed call of the model says:
//! `is_error` decides.

use super::reader::{ClaudeReader, Ended};
use crate::backend::failure::{judge_text, status_in};
use crate::backend::wire;
use crate::backend::{Ending, Exit, Outcome, Permissions};

/// Most of a message to people.
const MOST_MESSAGE: usize = 2_000;

pub(super) fn outcome(run: &ClaudeReader, exit: &Exit, stderr: &str) -> Outcome {
    if let Some(outcome) = exit.stopped.and_then(Outcome::of_stop) {
        return outcome;
    }
    if exit.ending == Ending::NotFound {
        return Outcome::NotInstalled;
    }
    match &run.result {
        Some(result) => finished(run, result, exit.ending),
        None => unfinished(run, exit.ending, stderr.trim()),
    }
}

fn finished(run: &ClaudeReader, result: &Ended, ending: Ending) -> Outcome {
    match result.reason.as_str() {
        "max_turns" => return Outcome::MaxTurns,
        "budget_exhausted" => return Outcome::Budget,
        // The last two: its own guard before the limit, and a context that is full again right
        // after each compaction.
        "prompt_too_long" | "blocking_limit" | "rapid_refill_breaker" => {
            return Outcome::ContextLimit;
        }
        "aborted_streaming" | "aborted_tools" => {
            return Outcome::Crash { ending, message: "it was interrupted".to_owned() };
        }
        _ => {}
    }
    match result.subtype.as_str() {
        "error_max_turns" => Outcome::MaxTurns,
        "error_max_budget_usd" => Outcome::Budget,
        "error_max_structured_output_retries" => {
            Outcome::Malformed { message: message(&result.text) }
        }
        "success" if !result.is_error => allowed(run),
        // A model that failed says success too.
        "success" => failed(run, &result.text, result.status),
        subtype => {
            let said = if result.text.is_empty() { subtype } else { &result.text };
            recognised(run, said, result.status)
                .unwrap_or_else(|| Outcome::Crash { ending, message: message(said) })
        }
    }
}

/// It says that all is well. Under read-only permissions, being denied something is what was asked.
fn allowed(run: &ClaudeReader) -> Outcome {
    if run.denied.is_empty() || run.permissions == Permissions::ReadOnly {
        Outcome::Success
    } else {
        Outcome::PermissionDenied { tools: run.denied.clone() }
    }
}

/// A call of the model failed for good.
fn failed(run: &ClaudeReader, text: &str, status: Option<u16>) -> Outcome {
    recognised(run, text, status).unwrap_or_else(|| Outcome::ApiError {
        status: status.or_else(|| status_in(text)),
        message: message(text),
    })
}

/// What the text, the status or the program's own word for the error says.
fn recognised(run: &ClaudeReader, text: &str, status: Option<u16>) -> Option<Outcome> {
    let word = run.error.as_ref().map_or("", |error| error.kind.as_str());
    let mut outcome = judge_text(text, status).or_else(|| judge_text(word, None))?;
    match &mut outcome {
        Outcome::RateLimit { resets_at, message: said } => {
            *resets_at = run.resets_at.or(*resets_at);
            *said = message(text);
        }
        Outcome::NotLoggedIn { message: said } => *said = message(text),
        Outcome::PermissionDenied { tools } => tools.clone_from(&run.denied),
        _ => {}
    }
    Some(outcome)
}

fn unfinished(run: &ClaudeReader, ending: Ending, stderr: &str) -> Outcome {
    let is_by_itself = matches!(ending, Ending::Code(_));
    if is_by_itself && let Some(error) = &run.error {
        return failed(run, &error.text, error.status);
    }
    if is_by_itself
        && ending != Ending::Code(0)
        && let Some(outcome) = recognised(run, stderr, None)
    {
        return outcome;
    }
    let broken = run.seen.broken.as_deref();
    match ending {
        Ending::Code(0) if !run.seen.events => match broken {
            Some(line) => Outcome::Malformed { message: message(line) },
            None => Outcome::NoOutput,
        },
        Ending::Code(0) if run.seen.last_is_broken => Outcome::Malformed {
            message: "its last line is not whole, and there is no result".to_owned(),
        },
        _ => {
            let said =
                if stderr.is_empty() { broken.filter(|_| !run.seen.events) } else { Some(stderr) };
            let silence = if run.seen.events { "it left no result" } else { "it said nothing" };
            Outcome::Crash { ending, message: message(said.unwrap_or(silence)) }
        }
    }
}

fn message(text: &str) -> String {
    wire::tail(text.trim(), MOST_MESSAGE).to_owned()
}
