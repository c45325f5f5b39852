//! `ralph inbox`: the queue of specs.

use clap::{Args, Subcommand};
use ralph_core::age;
use ralph_core::inbox::{Inbox, InboxChange, InboxEntry, InboxError, InboxStatus};
use ralph_core::init::is_starter;
use ralph_core::needs::LoopProcess;
use ralph_core::spec;
use ralph_core::words::count;
use ralph_host::drive::{self, WarningCollector};
use ralph_host::plan_store::PlanError;
use serde_json::json;

use crate::args::{OutputArgs, PlanArgs};
use crate::commands::build::{mend_ledger, setup};
use crate::commands::construct::native_plan;
use crate::commands::permit::CommandAccess;
use crate::commands::spec::existing_spec;
use crate::commands::spec_file::untouched;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

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
    #[command(flatten)]
    output: OutputArgs,
    #[command(subcommand)]
    action: Option<InboxAction>,
}

#[derive(Debug, Subcommand)]
enum InboxAction {
    /// Show all records of the queue
    List,
    /// Add a spec of ralph/specs/ to the queue
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

impl InboxArgs {
    pub(crate) fn access(&self) -> CommandAccess {
        match self.action {
            None | Some(InboxAction::List) => CommandAccess::Look,
            Some(_) => CommandAccess::Decide,
        }
    }
}

pub(crate) fn run(context: &CommandContext, args: InboxArgs) -> Result<(), CommandError> {
    let render = args.output.render();
    match args.action {
        None | Some(InboxAction::List) => list(context, render),
        Some(InboxAction::Add { spec }) => add(context, &spec, render),
        Some(InboxAction::Remove { which }) => remove(context, &which, render),
        Some(InboxAction::Clear) => clear(context, render),
    }
}

fn list(context: &CommandContext, render: OutputMode) -> Result<(), CommandError> {
    let entries = context.inbox()?;
    if render == OutputMode::Json {
        return out::json(&entries);
    }
    let end = if entries.is_empty() { "" } else { ":" };
    out::line(format!("Inbox ({}){end}", count(entries.len(), "spec")))?;
    let now = context.now();
    let width = entries.iter().map(|e| e.spec.chars().count()).max().unwrap_or(0).max(16);
    for entry in &entries {
        let (status, spec) = (entry.status.as_str(), out::clean(&entry.spec));
        let when = when(entry, &now);
        out::line(format!("  {}  {status:<8}  {spec:<width$}  ({when})", entry.id))?;
    }
    Ok(())
}

/// Describe the last change of an entry and its age.
fn when(entry: &InboxEntry, now: &str) -> String {
    let (word, at) = match entry.status {
        InboxStatus::Pending => ("added", Some(&entry.added_at)),
        InboxStatus::Active => ("started", entry.started_at.as_ref()),
        InboxStatus::Done => ("done", entry.completed_at.as_ref()),
        InboxStatus::Failed => ("failed", entry.completed_at.as_ref()),
    };
    let ago = at.and_then(|at| age::ago(at, now)).map(|ago| format!(" {ago}"));
    let why = entry.error.as_ref().map(|e| format!(": {}", out::clean(e)));
    format!("{word}{}{}", ago.unwrap_or_default(), why.unwrap_or_default())
}

fn add(context: &CommandContext, typed: &str, render: OutputMode) -> Result<(), CommandError> {
    let spec = existing_spec(context, typed)?;
    let path = context.project.specs_dir().join(&spec);
    let text = ralph_host::store::read(&path).ok().flatten();
    if text.is_some_and(|bytes| is_starter(&String::from_utf8_lossy(&bytes))) {
        return Err(untouched(&context.show(&path)));
    }
    let at = context.now();
    let id = change(context, |inbox| {
        if let Some(entry) = inbox.queued(&spec) {
            let (id, status) = (&entry.id, entry.status.as_str());
            return Err(CommandError::new(format!(
                "{spec} is already in the inbox: {id}, {status}"
            ))
            .hint("`ralph inbox` shows it"));
        }
        let id = inbox.fresh_id(&mut context.random()).ok_or_else(|| {
            CommandError::new("the inbox has no free ids left")
                .hint("remove records that are done: `ralph inbox remove ID`")
        })?;
        Ok((inbox.add(&id, &spec, &at), id))
    })?;
    render.print(
        &json!({ "id": id, "spec": spec, "status": "pending", "added_at": at }),
        format!("Queued: {id} {spec}"),
    )
}

fn remove(context: &CommandContext, which: &str, render: OutputMode) -> Result<(), CommandError> {
    let text = context.read_text(&context.project.inbox())?.unwrap_or_default();
    let inbox = parse(context, &text)?;
    let typed = inbox.find(which).map(|e| e.id.clone()).or_else(|| spec::name(which).ok());
    let entry = match inbox.removable(typed.as_deref().unwrap_or(which)) {
        Ok(entry) => entry.clone(),
        // What a killed agent left is nobody's.
        Err(InboxError::Active { id, .. }) if context.running() == LoopProcess::Nobody => {
            match inbox.find(&id) {
                Some(entry) => entry.clone(),
                None => return Err(CommandError::new(format!("the inbox has no {id}"))),
            }
        }
        Err(InboxError::Unknown(_)) => {
            return Err(CommandError::new(format!("the inbox has no {which}"))
                .hint("`ralph inbox` shows what it has"));
        }
        Err(other) => return Err(CommandError::new(other.to_string())),
    };
    let begun = drive::is_begun(&context.project, &entry.id);
    let kept = if begun { discard(context, &entry)? } else { None };
    change(context, |inbox| {
        let error = |e: InboxError| CommandError::new(e.to_string());
        if entry.status == InboxStatus::Active && context.running() == LoopProcess::Nobody {
            let pending = inbox.set_status(&entry.id, &InboxChange::Pending).map_err(error)?;
            let text = parse(context, &pending)?.remove(&entry.id).map_err(error)?;
            return Ok((text, ()));
        }
        Ok((inbox.remove(&entry.id).map_err(error)?, ()))
    })?;
    match render {
        OutputMode::Json => {
            out::json(&json!({ "id": entry.id, "spec": entry.spec, "work_kept": kept }))
        }
        OutputMode::People => {
            out::line(format!("Removed: {} {}", entry.id, out::clean(&entry.spec)))?;
            match kept {
                Some(kept) => out::line(format!("Its unfinished work is kept: {kept}")),
                None => Ok(()),
            }
        }
    }
}

/// Keep aside what was built of a spec. Returns where, in words.
fn discard(context: &CommandContext, entry: &InboxEntry) -> Result<Option<String>, CommandError> {
    let mut told = WarningCollector::default();
    mend_ledger(context, &mut told)?;
    let file = native_plan(context, &PlanArgs::default())?;
    let resolved = context.reader().config(&file, &[])?;
    let setup = setup(context, &file, &resolved, drive::RunOptions::default())?;
    let kept = drive::discard_spec(setup, entry, &mut told);
    told.0.iter().for_each(out::warn);
    Ok(kept?)
}

fn clear(context: &CommandContext, render: OutputMode) -> Result<(), CommandError> {
    let cleared = change(context, |inbox| Ok(inbox.clear()))?;
    render.print(&json!({ "cleared": cleared }), format!("Cleared {cleared} pending specs"))
}

fn change<T>(
    context: &CommandContext,
    decide: impl FnOnce(&Inbox<'_>) -> Result<(String, T), CommandError>,
) -> Result<T, CommandError> {
    context.change_text(&context.project.inbox(), |text| {
        decide(&parse(context, text.unwrap_or_default())?)
    })
}

fn parse<'t>(context: &CommandContext, text: &'t str) -> Result<Inbox<'t>, CommandError> {
    let shown = context.show(&context.project.inbox());
    Ok(Inbox::parse(text).map_err(|e| PlanError::damaged(&shown, &e))?)
}
