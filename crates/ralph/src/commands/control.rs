//! `ralph pause|resume|skip|note|stop|kill-attempt`: what a person asks of the loop that runs.

use clap::Args;
use ralph_core::control::{LoopCommand, promise};
use ralph_core::cycle::History;
use ralph_core::dashboard::command::doing;
use ralph_core::plan::Id;
use ralph_host::store::{LockHolder, who_runs};
use serde_json::json;

use super::task;
use crate::args::{CommonArgs, OutputArgs, PlanArgs};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// Leave a task out
///
/// If the loop works on it, that attempt is ended first. Without a loop it is done at once, as with
/// `ralph task skip`.
#[derive(Debug, Args)]
pub(crate) struct SkipArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The id of the task
    id: String,
}

/// Tell the next backend something, once
///
/// The next prompt of a task has it. Without a loop it waits for the next start.
///
/// Examples:
///   ralph note "the parser must stay without dependencies"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct NoteArgs {
    /// The text of the note
    text: String,
    #[command(flatten)]
    output: OutputArgs,
}

/// Run `ralph note`: leave a note for the next prompt.
pub(crate) fn note(context: &CommandContext, args: &NoteArgs) -> Result<(), CommandError> {
    let text = args.text.trim();
    if text.is_empty() {
        return Err(CommandError::usage("a note needs a text")
            .hint("for example: ralph note \"keep the parser small\""));
    }
    let command = LoopCommand::Note(text.to_owned());
    let (id, holder) = (send(context, &command)?, running(context));
    let what = match &holder {
        Some(_) => promise(&command, doing(&context.history()?)),
        None => "no loop runs; the first prompt of the next one has it, once".to_owned(),
    };
    told(&command, &id, holder.as_ref(), &what, args.output.render())
}

/// Run `ralph skip`: let the running loop skip the task, or skip it at once without a loop.
pub(crate) fn skip(context: &CommandContext, args: &SkipArgs) -> Result<(), CommandError> {
    let plan = &args.common.plan;
    if running(context).is_none() {
        task::skip(context, plan, &args.id, args.common.render())?;
        return Ok(());
    }
    let history = context.history()?;
    let file = context.read_plan(&plan_of(context, &history, plan))?;
    let id = Id::new(args.id.as_str());
    if file.plan.task(&id).is_none() {
        return Err(task::unknown(&id, &file.plan));
    }
    to_the_loop(context, &LoopCommand::Skip(id), args.common.render())
}

/// Return the plan of the command line, else the plan that the last loop used.
pub(crate) fn plan_of(context: &CommandContext, history: &History, asked: &PlanArgs) -> PlanArgs {
    let used = history.run.as_ref().map(|run| context.project.ledger_file(&run.plan));
    PlanArgs { plan: asked.plan.clone().or(used.filter(|path| path.exists())) }
}

/// Send a command that only a loop that runs can carry out.
pub(crate) fn to_the_loop(
    context: &CommandContext,
    command: &LoopCommand,
    render: OutputMode,
) -> Result<(), CommandError> {
    let Some(holder) = running(context) else {
        let error = CommandError::new(format!(
            "no loop runs here, so there is nothing to {}",
            verb(command)
        ));
        return Err(error.hint("`ralph build`, `ralph construct` and `ralph agent` start one"));
    };
    let what = promise(command, doing(&context.history()?));
    let id = send(context, command)?;
    told(command, &id, Some(&holder), &what, render)
}

fn typed(command: &LoopCommand) -> &'static str {
    match command {
        LoopCommand::Skip(_) => "skip",
        LoopCommand::Note(_) => "note",
        LoopCommand::Retry(_) => "retry",
        LoopCommand::Set(_) => "setting",
        LoopCommand::Pause | LoopCommand::Resume | LoopCommand::Stop | LoopCommand::KillAttempt => {
            command.word()
        }
    }
}

fn verb(command: &LoopCommand) -> &'static str {
    match command {
        LoopCommand::Pause => "pause",
        LoopCommand::Resume => "resume",
        LoopCommand::Skip(_) => "skip",
        LoopCommand::Note(_) => "tell",
        LoopCommand::Stop => "stop",
        LoopCommand::KillAttempt => "end",
        LoopCommand::Retry(_) => "retry",
        LoopCommand::Set(_) => "set",
    }
}

/// Put a command into the queue. Returns its id.
pub(crate) fn send(
    context: &CommandContext,
    command: &LoopCommand,
) -> Result<String, CommandError> {
    if !context.project.is_initialised() {
        let place = context.project.root().display();
        return Err(CommandError::new(format!("{place} is no project of ralph"))
            .hint("`ralph init` makes this directory a project"));
    }
    let id = context.ids().ulid(context.clock().now());
    // Chance may be predictable in tests, and ids are for ever.
    let id = format!("{id}-{}", std::process::id());
    let path = context.project.commands_json();
    if let Some(place) = context.store().send_command(&path, command, &id)? {
        let (path, place) = (context.show(&path), context.show(&place));
        out::warn(format!("{path} could not be read; it was moved to {place}"));
    }
    Ok(id)
}

/// The loop that runs in this worktree.
pub(crate) fn running(context: &CommandContext) -> Option<LockHolder> {
    who_runs(&context.project.state_dir())
}

fn told(
    command: &LoopCommand,
    id: &str,
    holder: Option<&LockHolder>,
    what: &str,
    render: OutputMode,
) -> Result<(), CommandError> {
    match render {
        OutputMode::Json => out::json(&json!({
            "id": id, "command": command.word(), "argument": command.argument(),
            "running": holder.map(|holder| holder.pid), "effect": what,
        }))?,
        OutputMode::People => out::line(format!("Sent {}: {}.", typed(command), out::clean(what)))?,
    }
    Ok(())
}
