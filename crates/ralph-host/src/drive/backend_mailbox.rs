//! The loop's side of the mailbox: who may speak now, and who answers.

use std::path::PathBuf;

use ralph_core::agent_role::AgentRole;
use ralph_core::plan::Id;

use super::control::CommandListener;
use super::error::DriveError;
use super::signals::ReceivedSignals;
use crate::FileError;
use crate::lanes::Lane;
use crate::mailbox::{
    MAILBOX_VARIABLE, MailboxAnswer, MailboxDirectory, MailboxRequest, MailboxSocket,
};
use crate::proc::{CancelToken, EnvChange};

/// Requests that are answered at once; more wait for the next look.
const MOST_ANSWERS: usize = 16;

/// A backend or an agent that may ask the loop something.
#[derive(Clone, Debug)]
pub struct MailboxCaller {
    /// The id of the attempt or the consultation.
    pub id: String,
    pub role: CallerRole,
    /// The plan of the run, relative to the project.
    pub plan: String,
    /// The project's folder in the lane.
    pub lane: PathBuf,
}

/// Work of a caller: an attempt at a task, or a question in a consultation.
#[derive(Clone, Debug)]
pub enum CallerRole {
    Attempt {
        /// Number of the attempt.
        iteration: u32,
        task: Id,
    },
    Consultation {
        /// What it was asked to do, in one word.
        role: AgentRole,
    },
}

/// The commands of ralph, as far as callers may use them.
pub trait BackendCommands {
    /// Carry out what a caller asks for, under the guards for it.
    fn answer(&mut self, caller: &MailboxCaller, request: MailboxRequest) -> MailboxAnswer;
}

/// Sockets on which backends of the run send requests, and the commands that answer them.
pub(super) struct BackendMailbox {
    commands: Box<dyn BackendCommands>,
    directory: MailboxDirectory,
}

impl BackendMailbox {
    pub(super) fn new(directory: MailboxDirectory, commands: Box<dyn BackendCommands>) -> Self {
        Self { directory, commands }
    }

    /// Let processes that are about to run ask.
    pub(super) fn open(
        &self,
        running: &mut RunningProcesses,
        role: CallerRole,
        plan: &str,
    ) -> Result<(), FileError> {
        let (id, plan, lane) = (running.id.clone(), plan.to_owned(), running.root.clone());
        let socket = MailboxSocket::open(&self.directory, &id)?;
        running.mailbox = Some((socket, MailboxCaller { id, role, plan, lane }));
        Ok(())
    }
}

/// The processes of an attempt or a consultation, as the loop deals with them.
#[derive(Default)]
pub(super) struct RunningProcesses {
    /// The id of the attempt or the consultation.
    pub(super) id: String,
    /// The task that is worked on; empty in a consultation.
    pub(super) task: String,
    /// Ends the processes when it is cancelled.
    pub(super) leash: CancelToken,
    /// The folder of the lane in which they run.
    pub(super) root: PathBuf,
    /// Changes to their environment that come with the lane.
    pub(super) surroundings: Vec<EnvChange>,
    mailbox: Option<(MailboxSocket, MailboxCaller)>,
}

impl RunningProcesses {
    /// Those of an attempt or a consultation in a lane.
    pub(super) fn new(lane: &Lane<'_>, signals: &ReceivedSignals, id: &str, task: &str) -> Self {
        Self {
            id: id.to_owned(),
            task: task.to_owned(),
            leash: signals.cancel().inner(),
            root: lane.root(),
            surroundings: lane.environment(std::env::vars_os()),
            mailbox: None,
        }
    }

    /// The variable that tells them where the mailbox is.
    pub(super) fn mailbox_variable(&self) -> (String, String) {
        let path = self.mailbox.as_ref().map(|(socket, _)| socket.path().display().to_string());
        (MAILBOX_VARIABLE.to_owned(), path.unwrap_or_default())
    }

    /// Close the mailbox, so that the processes can send no more requests.
    pub(super) fn close_mailbox(&mut self) {
        self.mailbox = None;
    }
}

impl CommandListener<'_> {
    /// Answer what callers asked since the last look.
    pub(super) fn answer_callers(&mut self) -> Result<(), DriveError> {
        let Some((socket, caller)) = &self.running.mailbox else { return Ok(()) };
        for _ in 0..MOST_ANSWERS {
            let Some(pending) = socket.next() else { break };
            // What the plan says is on the disk before anybody builds on it.
            self.plan.wait()?;
            let answer = self.backend_mailbox.commands.answer(caller, pending.request.clone());
            pending.answer(answer);
        }
        Ok(())
    }
}
