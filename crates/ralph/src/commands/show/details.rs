//! The parts of an attempt that are too long for one screen.

use std::io::{BufRead, BufReader};
use std::path::Path;

use ralph_core::backend::{BackendDriver, BackendPermissions, BackendRequest};
use ralph_core::cycle::AttemptSummary;
use ralph_face::{Paint, event_line};
use ralph_host::choice;
use ralph_host::git::GitError;
use ralph_host::proc::JobRunner;

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out;

/// Return the path of the prompt, which is kept beside the log.
pub(super) fn prompt_path(attempt: &AttemptSummary) -> Option<String> {
    let path = Path::new(attempt.started.log.as_ref()?).with_extension("prompt.md");
    Some(path.to_string_lossy().into_owned())
}

pub(super) fn prompt(
    context: &CommandContext,
    attempt: &AttemptSummary,
) -> Result<(), CommandError> {
    let path = prompt_path(attempt).ok_or_else(|| nothing(attempt, "prompt"))?;
    out::untrusted(&read(context, &path)?)
}

/// Print what the backend said and did, one line each.
pub(super) fn events(
    context: &CommandContext,
    attempt: &AttemptSummary,
) -> Result<(), CommandError> {
    let log = attempt.started.log.as_ref().ok_or_else(|| nothing(attempt, "log"))?;
    let path = context.project.root().join(log);
    let file = std::fs::File::open(&path).map_err(|e| gone(log, &e))?;
    let request =
        BackendRequest { permissions: BackendPermissions::Default, ..BackendRequest::plain("") };
    let driver = driver(context, &attempt.started.backend)?;
    let mut reader = driver.map(|driver| driver.reader(&request));
    let root = context.project.root().to_str();
    let mut events = Vec::new();
    // Line by line: a log may be larger than memory.
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(|e| gone(log, &e))?;
        let Some(reader) = &mut reader else {
            // A program that ralph has no translator for: its own words.
            out::line(out::clean_tabbed(&String::from_utf8_lossy(&line)))?;
            continue;
        };
        reader.line(&line, &mut events);
        for event in events.drain(..) {
            if let Some(line) = event_line(&event, root) {
                out::line(line.paint(Paint::None))?;
            }
        }
    }
    Ok(())
}

/// The translator of a backend's output, as far as the configuration of now says which.
pub(crate) fn driver(
    context: &CommandContext,
    name: &str,
) -> Result<Option<Box<dyn BackendDriver>>, CommandError> {
    Ok(choice::named(&context.config()?, name, context.place()).ok().map(|chosen| chosen.driver))
}

/// Print the whole output of the gates.
pub(super) fn gates(
    context: &CommandContext,
    attempt: &AttemptSummary,
) -> Result<(), CommandError> {
    let Some(verdict) = &attempt.verdict else {
        return Err(
            nothing(attempt, "gate result").hint("gates run only after a backend made a claim")
        );
    };
    for check in &verdict.checks {
        let (name, words, command) = (&check.name, &check.standing, &check.command);
        out::line(out::clean(&format!("== {name}: {words}  {command}")))?;
        if let Some(log) = &check.log {
            out::untrusted(&read(context, log)?)?;
        }
    }
    if verdict.checks.is_empty() {
        out::line("No gate is configured, so nothing is proven.")?;
    }
    Ok(())
}

/// Print what was changed, as a patch.
pub(super) fn diff(context: &CommandContext, attempt: &AttemptSummary) -> Result<(), CommandError> {
    out::untrusted(&patch(context, attempt)?)
}

/// Return the changes of an attempt as a patch.
pub(crate) fn patch(
    context: &CommandContext,
    attempt: &AttemptSummary,
) -> Result<Vec<u8>, CommandError> {
    let kept = attempt.fate.kept().ok_or_else(|| nothing(attempt, "change"))?;
    let failed = |e: GitError| {
        CommandError::new(format!("git cannot show {kept}: {e}"))
            .maybe_hint(e.hint())
            .hint("kept work is given up after a while: `ralph config get retention.salvage`")
    };
    let runner = JobRunner::new(format!("show-{}", std::process::id()));
    context.repo(&runner)?.patch_of(kept).map_err(failed)
}

fn read(context: &CommandContext, path: &str) -> Result<Vec<u8>, CommandError> {
    std::fs::read(context.project.root().join(path)).map_err(|e| gone(path, &e))
}

fn nothing(attempt: &AttemptSummary, what: &str) -> CommandError {
    let number = attempt.started.iteration;
    CommandError::new(format!("iteration {number} has no {what}: {}", attempt.words))
}

fn gone(path: &str, error: &std::io::Error) -> CommandError {
    CommandError::new(format!("{path}: {error}"))
        .hint("logs are kept for a while only: `ralph config get retention.logs`")
}
