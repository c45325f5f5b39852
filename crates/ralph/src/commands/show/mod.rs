//! `ralph show`: one attempt, from its prompt to its end.

pub(crate) mod details;
mod summary;

use clap::Args;
use ralph_core::cycle::{AttemptView, History};
use ralph_core::text::nearest;

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// Show one attempt: how it began, what the backend did and claimed, what the gates said, how it ended
///
/// Works while a loop runs, and after it. With one of --prompt, --events, --gates or --diff: that
/// alone, and all of it.
///
/// Examples:
///   ralph show last
///   ralph show 7 --gates
///   ralph show 7 --diff | git apply
///   ralph show 01JHX2 --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ShowArgs {
    /// The number of an iteration, the id of an attempt or the beginning of one, or `last`
    #[arg(value_name = "ATTEMPT", default_value = "last")]
    which: String,
    #[command(flatten)]
    part: ShowPartArgs,
    /// Print JSON
    #[arg(long, conflicts_with = "ShowPartArgs")]
    json: bool,
}

/// One part of an attempt, printed whole.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct ShowPartArgs {
    /// Print the prompt
    #[arg(long)]
    prompt: bool,
    /// Print what the backend said and did
    #[arg(long)]
    events: bool,
    /// Print the results of the gates and their output
    #[arg(long)]
    gates: bool,
    /// Print what was changed, as a patch
    #[arg(long)]
    diff: bool,
}

pub(crate) fn run(context: &CommandContext, args: &ShowArgs) -> Result<(), CommandError> {
    let history = context.history()?;
    let mut attempt = find(&history, &args.which)?.summary(&context.running());
    if attempt.verdict.is_some() {
        attempt.verdict = context.verdict(&attempt.started.attempt)?;
    }
    let attempt = &attempt;
    if OutputMode::from_flag(args.json) == OutputMode::Json {
        return out::json(attempt);
    }
    match args.part {
        ShowPartArgs { prompt: true, .. } => details::prompt(context, attempt),
        ShowPartArgs { events: true, .. } => details::events(context, attempt),
        ShowPartArgs { gates: true, .. } => details::gates(context, attempt),
        ShowPartArgs { diff: true, .. } => details::diff(context, attempt),
        _ => summary::print(context, attempt),
    }
}

fn find<'h>(history: &'h History, which: &str) -> Result<&'h AttemptView, CommandError> {
    let attempts = &history.attempts;
    let Some(last) = attempts.last() else {
        return Err(CommandError::new("no attempt was made here yet")
            .hint("`ralph build` works on the tasks of a plan"));
    };
    if which == "last" {
        return Ok(last);
    }
    if let Ok(number) = which.parse::<u32>() {
        // A usage limit lets one iteration have several attempts; the newest one tells most.
        let found = attempts.iter().rev().find(|view| view.started.iteration == number);
        return found.ok_or_else(|| unknown(which, history));
    }
    let begins = |view: &&AttemptView| {
        let id = &view.started.attempt;
        id.get(..which.len()).is_some_and(|start| start.eq_ignore_ascii_case(which))
    };
    let found: Vec<&AttemptView> = attempts.iter().filter(begins).collect();
    match found[..] {
        [view] => Ok(view),
        [] => Err(unknown(which, history)),
        [first, ..] if first.started.attempt.len() == which.len() => Ok(first),
        _ => {
            let error = CommandError::new(format!("several attempts begin with {which}"));
            Err(found.iter().rev().take(10).fold(error, |error, view| {
                let started = &view.started;
                let (id, n) = (&started.attempt, started.iteration);
                error.hint(format!("{id}  iteration {n}, {}", out::clean(&started.task)))
            }))
        }
    }
}

/// Return the error for a name that matches no attempt, with suggestions.
fn unknown(which: &str, history: &History) -> CommandError {
    let shown = out::clean(which);
    let error = CommandError::new(format!("there is no attempt {shown}"));
    if history.of_task(which).next().is_some() {
        return error.hint(format!(
            "{shown} is a task: `ralph attempts --task {shown}` lists its attempts"
        ));
    }
    if which.parse::<u32>().is_ok() {
        let numbers = || history.attempts.iter().map(|view| view.started.iteration);
        let (first, last) = (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0));
        return error
            .hint(format!("iterations go from {first} to {last}: `ralph attempts` lists them"));
    }
    let ids = history.attempts.iter().map(|view| view.started.attempt.as_str());
    let near = nearest(which, ids.chain(["last"])).map(|near| format!("did you mean {near}?"));
    error.maybe_hint(near).hint("`ralph attempts` lists them")
}
