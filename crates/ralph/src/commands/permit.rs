//! Rights of a backend in ralph: it may look, and say a few things.
//!
//! A loop starts backends with `RALPH_ATTEMPT` and `RALPH_MAILBOX`. A command that finds both variables
//! asks the loop ([`super::mailbox`]). The loop carries it out on behalf of the backend, within the
//! limits of this module. A command that descends from the loop of its project and does not ask the
//! loop may only look, whatever its environment says. In another project it is a command like any
//! other, because a backend that works on ralph itself has to test it.

use std::path::Path;

use ralph_core::agent_role::AgentRole;
use ralph_core::claim::{self, Claim};
use ralph_core::handoff::Handoff;
use ralph_core::plan::{Id, MAX_AMENDMENTS};
use ralph_host::drive::{ATTEMPT_VARIABLE, CallerRole, MailboxCaller};
use ralph_host::mailbox::MAILBOX_VARIABLE;
use ralph_host::proc::mark::descends_from;
use ralph_host::redaction::{hide_secrets_of, hide_text};
use ralph_host::store::LedgerStoreError;

use super::control::running;
use crate::context::CommandContext;
use crate::error::CommandError;

/// Kind of access that a command needs. It decides whether a backend may use the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandAccess {
    Look,
    /// Say something that a backend may say. The command itself checks the details.
    Say,
    Decide,
}

/// The attempt that a command runs in.
#[derive(Clone, Debug)]
pub(crate) struct EnclosingAttempt {
    pub(crate) attempt: String,
    pub(crate) task: Id,
}

const ALLOWED: &str = "a backend may use `ralph task add`, `ralph task done` and `ralph task block` \
                       for its own task, `ralph issue add`, and everything that only looks \
                       (status, query, log, validate, task list, task show, config show)";

/// The backend that a command is carried out for, in its loop.
#[derive(Clone, Debug)]
pub(crate) struct CommandCaller {
    pub(crate) caller: MailboxCaller,
    /// Standard input that the backend gave to the command.
    pub(crate) input: Option<String>,
}

impl CommandCaller {
    /// The plan of its run, relative to the project.
    pub(crate) fn plan(&self) -> &str {
        &self.caller.plan
    }

    /// Refuse what is not for a backend.
    pub(crate) fn check(&self, access: CommandAccess) -> Result<(), CommandError> {
        match (access, &self.caller.role) {
            (CommandAccess::Look, _) | (CommandAccess::Say, CallerRole::Attempt { .. }) => Ok(()),
            (CommandAccess::Decide, CallerRole::Attempt { iteration, task }) => {
                Err(for_people(&format!("iteration {iteration}, {task}")))
            }
            (_, CallerRole::Consultation { role }) => Err(not_to_decide(*role)),
        }
    }
}

fn for_people(whose: &str) -> CommandError {
    CommandError::new(format!(
        "this runs inside an attempt ({whose}), and that command is for people"
    ))
    .hint(ALLOWED)
}

fn not_to_decide(role: AgentRole) -> CommandError {
    CommandError::new(format!("this agent was asked to {role}, not to decide"))
        .hint("say it in the answer; whatever only looks is allowed")
}

/// Refuse what descends from a loop and does not ask it.
pub(crate) fn check(access: CommandAccess, here: Option<&Path>) -> Result<(), CommandError> {
    if access == CommandAccess::Look {
        return Ok(());
    }
    // Whether there is a project at all is for the command to say.
    let context = match CommandContext::open(here) {
        Ok(context) => context,
        Err(_) if named_attempt().is_none() => return Ok(()),
        Err(e) => return Err(e),
    };
    let is_below = running(&context).is_some_and(|holder| descends_from(holder.pid));
    let history = match (is_below, named_attempt()) {
        (false, None) => return Ok(()),
        (true, _) => context.history()?,
        (false, Some(named)) => {
            let history = context.history()?;
            if !history.attempts.iter().any(|view| view.started.attempt == named) {
                return Ok(());
            }
            history
        }
    };
    match (&history.open, access) {
        (Some(open), CommandAccess::Decide) => {
            Err(for_people(&format!("iteration {}, {}", open.started.iteration, open.started.task)))
        }
        (_, CommandAccess::Decide) => Err(for_people("the loop of this project started it")),
        _ => Err(CommandError::new(format!(
            "this runs inside an attempt, and {MAILBOX_VARIABLE} does not say how to ask its loop"
        ))
        .hint("do not change the variables that begin with RALPH_")),
    }
}

fn named_attempt() -> Option<String> {
    let value = std::env::var_os(ATTEMPT_VARIABLE).filter(|v| !v.is_empty())?;
    Some(value.to_string_lossy().into_owned())
}

/// The attempt that the command is carried out for.
pub(crate) fn inside(context: &CommandContext) -> Result<Option<EnclosingAttempt>, CommandError> {
    let Some(CommandCaller { caller, .. }) = context.behalf() else { return Ok(None) };
    match &caller.role {
        CallerRole::Attempt { task, .. } => {
            Ok(Some(EnclosingAttempt { attempt: caller.id.clone(), task: task.clone() }))
        }
        CallerRole::Consultation { role } => Err(not_to_decide(*role)),
    }
}

/// Hides secrets in texts that a backend gives to a command. A person's texts stay as they are.
pub(crate) fn secrets_hider(
    context: &CommandContext,
) -> Result<impl Fn(&str) -> String + use<>, CommandError> {
    let is_backend = inside(context)?.is_some();
    if is_backend {
        hide_secrets_of(&context.config()?);
    }
    Ok(move |text: &str| if is_backend { hide_text(text) } else { text.to_owned() })
}

/// The attempt that something is said in. Outside of one there is nobody to say it.
pub(crate) fn speaking(
    context: &CommandContext,
    what: &str,
) -> Result<EnclosingAttempt, CommandError> {
    inside(context)?.ok_or_else(|| {
        CommandError::new(format!("{what} is for a backend inside an attempt, and this is none"))
            .hint("a person uses `ralph task done ID` or `ralph task block ID REASON`")
    })
}

impl EnclosingAttempt {
    /// The task that is meant, if the backend may speak about it.
    fn own(&self, id: Option<&str>) -> Result<&Id, CommandError> {
        match id {
            Some(id) if id != self.task.as_str() => Err(CommandError::new(format!(
                "this attempt is about {}, so it cannot say anything about {id}",
                self.task
            ))
            .hint(ALLOWED)),
            _ => Ok(&self.task),
        }
    }

    /// Claim something about the task, which is the attempt's own unless somebody says otherwise. The
    /// gates decide. Returns the task.
    pub(crate) fn claim(
        &self,
        context: &CommandContext,
        id: Option<&str>,
        claim: Claim,
    ) -> Result<&Id, CommandError> {
        let task = self.own(id)?;
        if matches!(&claim, Claim::Blocked { reason } if reason.trim().is_empty()) {
            return Err(CommandError::usage(format!("{task} cannot be blocked without a reason"))
                .hint("say what is missing, and who could give it"));
        }
        context.store().say(&self.attempt, |said| {
            said.claim = claim;
            Ok::<_, LedgerStoreError>(())
        })?;
        Ok(task)
    }

    /// Leave the handoff of this attempt. The last one counts. Returns the task.
    pub(crate) fn hand_over(
        &self,
        context: &CommandContext,
        handoff: Handoff,
    ) -> Result<&Id, CommandError> {
        if let Some(misfit) = claim::misfit(&handoff, &self.task) {
            return Err(CommandError::usage(format!(
                "this is no handoff for {}: {misfit}",
                self.task
            ))
            .hint("mend that and write it again; nothing was stored"));
        }
        context.store().say(&self.attempt, |said| {
            said.handoff = Some(handoff);
            Ok::<_, LedgerStoreError>(())
        })?;
        Ok(&self.task)
    }
}

/// Add so many tasks or issues with `add`. A backend may add a few.
pub(crate) fn adding<T>(
    context: &CommandContext,
    count: usize,
    add: impl FnOnce() -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let Some(inside) = inside(context)? else { return add() };
    let store = context.store();
    store.say(&inside.attempt, |said| {
        if said.added + count > MAX_AMENDMENTS {
            return Err(CommandError::new(format!(
                "one attempt may add {MAX_AMENDMENTS} tasks and issues, and {} were added",
                said.added
            ))
            .hint("say the rest in the handoff"));
        }
        said.added += count;
        Ok(())
    })?;
    let added = add();
    if added.is_err() {
        store.say(&inside.attempt, |said| {
            said.added = said.added.saturating_sub(count);
            Ok::<_, LedgerStoreError>(())
        })?;
    }
    added
}
