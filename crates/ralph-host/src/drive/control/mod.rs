//! Commands of the operator, taken while the loop works, waits or is paused.
//!
//! # Theory of operation
//!
//! ```text
//! commands.json changed --read--> new ids --Record::Command, synced--> effect --> out of the file
//! ```
//!
//! Nothing listens in the background: the loop looks at the file's stamp several times a second,
//! wherever it is. While a backend, an agent or a gate runs it does so between two of their words
//! ([`CommandListener`]), because then most of the session is lent out. An effect that has to wait for the end of
//! what runs is *held*; its entry stays in the file until it was had. After a crash the file still
//! has what was not finished, and the journal knows what was begun: what can be done twice without
//! harm is done again, everything else only leaves the file.
//!
//! The file is in the checkout, where a backend works. So what decides about work is believed while one
//! is at work only if ralph itself put it there ([`crate::store::LedgerStore::vouches_for`]); the file is read
//! once more when it has ended, so that nothing of it waits for a time that is believed.

mod between;
mod effects;
mod mailbox;

use std::collections::BTreeSet;

use jiff::Timestamp;
use ralph_core::backend::BackendEvent;
use ralph_core::control::{
    CommandEffect, DoubtedCommand, LoopActivity, LoopCommand, OperatorCommand, QueuedCommand,
    effect, promise,
};
use ralph_core::cycle::{EventKind, History, JournalRecord, LoopEvent, Remark, StreamedEvent};
use ralph_core::dashboard::redact::OpenPemKey;

pub(super) use self::mailbox::CommandMailbox;
use self::mailbox::is_at_work;
use super::backend_mailbox::{BackendMailbox, RunningProcesses};
use super::error::DriveError;
use super::listener::LoopListener;
use super::log::LoopLog;
use super::plan_file::PlanFile;
use super::signals::ReceivedSignals;
use super::views::LoopViewFiles;
use crate::clock::Clock;
use crate::ids::IdSource;
use crate::project::Project;
use crate::redaction::hide_event;
use crate::store::{CommandQueueContent, Durability, Journal};

/// Most commands that are told of those that come at once; the event stream has them all.
const TOLD: usize = 20;

/// Told when a context is about to be made smaller.
pub(super) const COMPACTING: &str = "[RALPH] Context is full: it is to be compacted";

/// A command that is written down and not carried out yet.
struct PendingCommand {
    id: String,
    effect: CommandEffect,
}

/// Parts of a session that take commands while the rest of the session is borrowed.
pub(in crate::drive) struct CommandListener<'e> {
    pub(in crate::drive) mailbox: &'e mut CommandMailbox,
    pub(in crate::drive) journal: &'e mut Journal,
    pub(in crate::drive) history: &'e mut History,
    pub(in crate::drive) plan: &'e PlanFile,
    pub(in crate::drive) project: &'e Project,
    pub(in crate::drive) clock: &'e Clock,
    pub(in crate::drive) ids: &'e mut IdSource,
    pub(in crate::drive) log: &'e LoopLog,
    pub(in crate::drive) signals: &'e ReceivedSignals,
    pub(in crate::drive) listener: &'e mut dyn LoopListener,
    pub(in crate::drive) backend_mailbox: &'e mut BackendMailbox,
    /// The processes that the loop waits for.
    pub(in crate::drive) running: &'e RunningProcesses,
    /// A key that a backend is in the middle of saying.
    pub(in crate::drive) open_key: OpenPemKey,
}

/// The ear of a session whose other parts are lent out: a method would borrow all of it.
macro_rules! ear {
    ($session:ident, $running:expr) => {
        $crate::drive::control::CommandListener {
            mailbox: &mut $session.mailbox,
            journal: &mut $session.journal,
            history: &mut $session.history,
            plan: &$session.plan,
            project: &$session.project,
            clock: &$session.clock,
            ids: &mut $session.ids,
            log: &$session.log,
            signals: &$session.signals,
            listener: &mut *$session.listener,
            backend_mailbox: &mut $session.backend_mailbox,
            running: $running,
            open_key: ralph_core::dashboard::redact::OpenPemKey::default(),
        }
    };
}
pub(in crate::drive) use ear;

impl CommandListener<'_> {
    /// Take what is new. An error ends what runs.
    pub(in crate::drive) fn listen(&mut self, doing: LoopActivity<'_>) -> Result<(), DriveError> {
        let heard = self
            .tell_signal(doing)
            .and_then(|()| self.answer_callers())
            .and_then(|()| self.take(doing));
        if heard.is_err() {
            self.running.leash.cancel();
        }
        heard
    }

    /// Take what was written while something worked that has just ended.
    pub(in crate::drive) fn listen_after(
        &mut self,
        doing: LoopActivity<'_>,
    ) -> Result<(), DriveError> {
        self.mailbox.look_again();
        self.listen(doing)
    }

    /// Say once that a signal came while something runs, and let other terminals see it.
    fn tell_signal(&mut self, doing: LoopActivity<'_>) -> Result<(), DriveError> {
        if !matches!(doing, LoopActivity::Attempt(_) | LoopActivity::Asking)
            || !self.signals.is_news()
        {
            return Ok(());
        }
        let command = OperatorCommand::of_signal(&self.ids.ulid(self.clock.now()));
        self.record(JournalRecord::Command(command), Durability::Eventual)
    }

    fn take(&mut self, doing: LoopActivity<'_>) -> Result<(), DriveError> {
        let Some(stamp) = self.mailbox.has_news() else { return Ok(()) };
        let (ids, now) = (&mut *self.ids, self.clock.now());
        // Whoever gives an id says when; these only say when the loop found them.
        let mut mint = || format!("loop-{}", ids.ulid(now));
        let path = self.mailbox.path.clone();
        let sent = match self.plan.store().read_commands(&path, &mut mint)? {
            CommandQueueContent::Queue(sent) => sent,
            CommandQueueContent::Damaged(why) => return self.damaged(stamp, &why),
        };
        (self.mailbox.seen, self.mailbox.suspect) = (Some(stamp), None);
        let doubtful = self.mailbox.doubtful || is_at_work(self.history);
        let (mut fresh, mut done) = (Vec::new(), BTreeSet::new());
        for sent in sent {
            if self.mailbox.held.iter().any(|(held, _)| *held == sent.id) {
                continue;
            }
            if doubtful && self.leave_to_people(&sent)? {
                done.insert(sent.id);
                continue;
            }
            let QueuedCommand { id, read } = sent;
            match read {
                Err(why) => {
                    self.refuse(&format!("a command was ignored: {why}"))?;
                    done.insert(id);
                }
                Ok(command) if self.history.commands.contains(&id) => {
                    // A crash came between its record and its end.
                    let again = effect(&command, doing);
                    let redone = again.is_redone();
                    if !redone || self.carry_out(&id, again)? {
                        done.insert(id);
                    }
                }
                Ok(command) => fresh.push((id, command)),
            }
        }
        let fresh = self.write_down(fresh, doing)?;
        self.mailbox.spoken |= !fresh.is_empty();
        for PendingCommand { id, effect } in fresh {
            crate::crash::point();
            if self.carry_out(&id, effect)? {
                done.insert(id);
            }
        }
        crate::crash::point();
        self.plan.store().drop_commands(&path, &done)?;
        Ok(())
    }

    /// Whether a command that is found at the start was sent since the run began.
    fn is_of_this_run(&self, id: &str) -> bool {
        let sent = id.get(..26).and_then(crate::ids::ulid_time);
        let began = self.history.run_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
        sent.zip(began).is_some_and(|(sent, began)| sent >= began.as_second())
    }

    /// All of them are on the disk before one of them is carried out.
    fn write_down(
        &mut self,
        fresh: Vec<(String, LoopCommand)>,
        doing: LoopActivity<'_>,
    ) -> Result<Vec<PendingCommand>, DriveError> {
        let count = fresh.len();
        let mut written = Vec::with_capacity(count);
        for (n, (id, command)) in fresh.into_iter().enumerate() {
            let doing = if self.is_of_this_run(&id) { now_doing(doing) } else { doing };
            let effect = effect(&command, doing);
            let ignored = match &effect {
                CommandEffect::Nothing(why) => Some((*why).to_owned()),
                _ => None,
            };
            let durability = if n + 1 == count { Durability::Synced } else { Durability::Eventual };
            let promise = if n < TOLD { promise(&command, doing) } else { String::new() };
            let new = OperatorCommand::new(id.as_str(), &command);
            let record = JournalRecord::Command(OperatorCommand { promise, ignored, ..new });
            self.record(record, durability)?;
            written.push(PendingCommand { id, effect });
        }
        Ok(written)
    }

    /// A command that only a person may give, and that nobody vouches for, is not carried out. Whether
    /// this is one.
    fn leave_to_people(&mut self, sent: &QueuedCommand) -> Result<bool, DriveError> {
        let Ok(command) = &sent.read else { return Ok(false) };
        let Some(next) = command.for_people() else { return Ok(false) };
        if self.plan.store().vouches_for(sent)? {
            return Ok(false);
        }
        // The id of an earlier one says nothing new.
        if !self.history.commands.contains(&sent.id) {
            let command = OperatorCommand {
                ignored: Some(DoubtedCommand::WHY.to_owned()),
                next: Some(next),
                ..OperatorCommand::new(sent.id.as_str(), command)
            };
            self.record(JournalRecord::Command(command), Durability::Eventual)?;
        }
        Ok(true)
    }

    pub(in crate::drive) fn record(
        &mut self,
        record: JournalRecord,
        durability: Durability,
    ) -> Result<(), DriveError> {
        self.plan.wait()?;
        let entry = self.journal.append(self.clock.stamp(), record, durability)?;
        self.history.add(&entry);
        // That views cannot be written is no reason to stop, and told with the next record.
        let views = LoopViewFiles::of(self.project);
        let _problems = views.publish(&entry, self.history, Some(self.log), self.listener);
        Ok(())
    }

    /// Record a remark about the context of a backend.
    pub(in crate::drive) fn note_context(&mut self, text: &str) -> Result<(), DriveError> {
        self.record(JournalRecord::ContextNoted(Remark::new(text)), Durability::Eventual)
    }

    /// Tell listeners what a backend says; its log keeps it.
    pub(in crate::drive) fn stream(&mut self, attempt: &str, event: &BackendEvent) {
        let kind = EventKind::Backend(StreamedEvent {
            attempt,
            event: &hide_event(event, &mut self.open_key),
        });
        self.listener.on_event(&LoopEvent { timestamp: &self.clock.stamp(), kind });
    }

    /// Record a command that is not carried out, with the reason.
    fn refuse(&mut self, message: &str) -> Result<(), DriveError> {
        self.record(JournalRecord::CommandRefused(Remark::new(message)), Durability::Eventual)
    }
}

/// The same moment without the suspicion that a command is old.
fn now_doing(doing: LoopActivity<'_>) -> LoopActivity<'_> {
    if doing == LoopActivity::Starting { LoopActivity::Nothing } else { doing }
}
