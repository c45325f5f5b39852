//! `ralph inbox`: the queue of specs.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ralph_core::age;
use ralph_core::inbox::{Inbox, Record, Status};
use ralph_core::plan::Id;
use serde_json::json;

use crate::context::Context;
use crate::error::CommandError;
use crate::out;

/// The queue of specs that `ralph agent` works through, first in, first out
///
/// Without an action: list it.
///
/// Examples:
///   ralph inbox add feature-x.md
///   ralph inbox
///   ralph inbox remove q-a1b2
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct InboxArgs {
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show all records
    List,
    /// Queue a spec of ralph/specs/
    Add {
        /// The spec's file name, for example feature-x.md
        spec: String,
    },
    /// Take a spec out of the queue, unless it is being worked on
    Remove {
        /// A record's id, or a spec (its first record that is not active)
        #[arg(value_name = "ID|SPEC")]
        which: String,
    },
    /// Take all pending specs out of the queue
    Clear,
}

/// Run it.
pub(crate) fn run(context: &Context, args: InboxArgs) -> Result<ExitCode, CommandError> {
    match args.action {
        None | Some(Action::List) => list(context, args.json)?,
        Some(Action::Add { spec }) => add(context, &spec, args.json)?,
        Some(Action::Remove { which }) => remove(context, &which, args.json)?,
        Some(Action::Clear) => clear(context, args.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Read the inbox; one that does not exist is empty.
pub(crate) fn read(context: &Context) -> Result<Inbox, CommandError> {
    let path = context.project.inbox();
    let text = context.read_text(&path)?.unwrap_or_default();
    Inbox::parse(&text).map_err(|e| damaged(context, &e))
}

fn damaged(context: &Context, error: &ParseError) -> CommandError {
    let shown = context.show(&context.project.inbox());
    CommandError::new(format!("{shown}:{}: {}", error.line, error.message))
        .hint("nothing was changed; mend that line and try again")
}
