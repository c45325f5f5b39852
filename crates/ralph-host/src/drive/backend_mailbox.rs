//! The loop's side of the mailbox: who may speak now, and who answers.

use std::path::PathBuf;

use ralph_core::plan::Id;

use super::attempt::Begun;
use super::control::Ear;
use super::error::DriveError;
use super::session::Session;
use crate::mailbox::{
    MAILBOX_VARIABLE, MailboxAnswer, MailboxDirectory, MailboxRequest, MailboxSocket,
};

/// Requests that are answered at once; more wait for the next look.
const MOST_ANSWERS: usize = 16;

/// A backend or an agent that may ask the loop something.
#[derive(Clone, Debug)]
pub struct MailboxCaller {
    /// The id of the attempt or the consultation.
    pub id: String,
    /// What it works on.
    pub role: CallerRole,
    /// The plan of the run, relative to the project.
    pub plan: String,
    /// The project's folder in the lane.
    pub lane: PathBuf,
}

/// What a caller works on.
#[derive(Clone, Debug)]
pub enum CallerRole {
    /// A task.
    Attempt {
        /// The number of the attempt.
        iteration: u32,
        /// The task.
        task: Id,
    },
    /// A question.
    Consultation {
        /// What it was asked to do, in one word.
        role: String,
    },
}

/// The commands of ralph, as far as callers may use them.
pub trait BackendCommands {
    /// Carry out what a caller asks for, under the guards for it.
    fn answer(&mut self, caller: &MailboxCaller, request: MailboxRequest) -> MailboxAnswer;
}

/// The mailbox of the run, and of the caller that may speak now.
pub(super) struct BackendMailbox {
    /// Goes before the directory that it is in.
    open: Option<(MailboxSocket, MailboxCaller)>,
    commands: Box<dyn BackendCommands>,
    directory: MailboxDirectory,
}

impl BackendMailbox {
    pub(super) fn new(directory: MailboxDirectory, commands: Box<dyn BackendCommands>) -> Self {
        Self { directory, commands, open: None }
    }

    /// The variable that tells a caller where the mailbox is.
    pub(super) fn variable(&self) -> (String, String) {
        let path = self.open.as_ref().map(|(socket, _)| socket.path().display().to_string());
        (MAILBOX_VARIABLE.to_owned(), path.unwrap_or_default())
    }

    /// Nobody may speak any more.
    pub(super) fn close(&mut self) {
        self.open = None;
    }
}

impl Session<'_> {
    /// The backend of an attempt may speak.
    pub(super) fn open_mailbox(&mut self, begun: &Begun) -> Result<(), DriveError> {
        let (id, iteration) = (begun.started.attempt.clone(), begun.started.iteration);
        self.open_mailbox_for(id, CallerRole::Attempt { iteration, task: begun.task.id.clone() })
    }

    /// The agents of a consultation may ask.
    pub(super) fn open_mailbox_for(
        &mut self,
        id: String,
        role: CallerRole,
    ) -> Result<(), DriveError> {
        let mailbox = &mut self.backend_mailbox;
        mailbox.close();
        let socket = MailboxSocket::open(&mailbox.directory, &id)?;
        let (plan, lane) = (self.plan.shown.clone(), self.work.lane.root());
        mailbox.open = Some((socket, MailboxCaller { id, role, plan, lane }));
        Ok(())
    }
}

impl Ear<'_> {
    /// Answer what callers asked since the last look.
    pub(super) fn answer_callers(&mut self) -> Result<(), DriveError> {
        let BackendMailbox { commands, open, .. } = &mut *self.backend_mailbox;
        let Some((socket, caller)) = open else { return Ok(()) };
        for _ in 0..MOST_ANSWERS {
            let Some(pending) = socket.next() else { break };
            // What the plan says is on the disk before anybody builds on it.
            self.plan.wait(std::mem::take(self.plan_syncing))?;
            let answer = commands.answer(caller, pending.request.clone());
            pending.answer(answer);
        }
        Ok(())
    }
}
