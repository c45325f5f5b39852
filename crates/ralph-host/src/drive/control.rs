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
//! ([`Ear`]), because then most of the session is lent out. An effect that has to wait for the end of
//! what runs is *held*; its entry stays in the file until it was had. After a crash the file still
//! has what was not finished, and the journal knows what was begun: what can be done twice without
//! harm is done again, everything else only leaves the file.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ralph_core::config::{self, LogLevel, OnDirty};
use ralph_core::control::{Command, Doing, Effect, Entry as Sent, Setting, effect, promise};
use ralph_core::cycle::{End, History, Record, event_of};
use ralph_core::format::codec;
use ralph_core::plan::{Edit, Id, Plan, Refusal, verbs};
use serde_json::json;

use super::error::DriveError;
use super::log::Log;
use super::notice::{Listener, Notice};
use super::plan_file::PlanFile;
use super::session::Session;
use super::views::Views;
use super::wait::NAP;
use crate::clock::Clock;
use crate::ids::Ids;
use crate::proc::Cancel;
use crate::project::Project;
use crate::store::{Commands, Durability, Journal, Syncing};

/// Least time between two looks at the file.
const LOOK: Duration = Duration::from_millis(100);

/// A file that cannot be read may be half written: so long it is given.
const PATIENCE: Duration = Duration::from_millis(400);

/// Most commands that are told of those that come at once; the event stream has them all.
const TOLD: usize = 20;

/// What tells one state of a file from another.
type Stamp = (u64, u64, i64, i64);

/// The queue, and what of it waits.
#[derive(Debug)]
pub(super) struct Mailbox {
    path: PathBuf,
    looked: Option<Instant>,
    seen: Option<Stamp>,
    /// Unreadable since.
    suspect: Option<(Stamp, Instant)>,
    /// Written down, and to be done when nothing runs.
    held: Vec<(String, Effect)>,
    /// The loop is to end.
    stop: bool,
    /// Commands came since the loop last decided what to do.
    spoken: bool,
}

impl Mailbox {
    pub(super) fn of(project: &Project) -> Self {
        Self {
            path: project.commands_json(),
            looked: None,
            seen: None,
            suspect: None,
            held: Vec::new(),
            stop: false,
            spoken: false,
        }
    }

    /// Whether somebody asked the loop to end.
    pub(super) fn stop_asked(&self) -> bool {
        self.stop
    }

    /// Whether commands came since the loop last decided what to do.
    pub(super) fn has_spoken(&self) -> bool {
        self.spoken
    }

    /// Whether the file has changed since it was last read.
    fn has_news(&mut self) -> Option<Stamp> {
        if self.looked.is_some_and(|at| at.elapsed() < LOOK) {
            return None;
        }
        self.looked = Some(Instant::now());
        let meta = std::fs::metadata(&self.path).ok()?;
        let stamp = (meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec());
        (self.seen != Some(stamp)).then_some(stamp)
    }
}

/// What is needed to take commands while the rest of a session is lent out.
pub(super) struct Ear<'e> {
    pub(super) mailbox: &'e mut Mailbox,
    pub(super) journal: &'e mut Journal,
    pub(super) history: &'e mut History,
    pub(super) plan: &'e PlanFile,
    pub(super) plan_syncing: &'e mut Syncing,
    pub(super) project: &'e Project,
    pub(super) clock: &'e Clock,
    pub(super) ids: &'e mut Ids,
    pub(super) log: &'e Log,
    /// Ends what runs.
    pub(super) leash: &'e Cancel,
}

impl Ear<'_> {
    /// Take what is new. An error ends what runs.
    pub(super) fn listen(
        &mut self,
        doing: Doing<'_>,
        listener: &mut dyn Listener,
    ) -> Result<(), DriveError> {
        let heard = self.take(doing, listener);
        if heard.is_err() {
            self.leash.cancel();
        }
        heard
    }

    fn take(&mut self, doing: Doing<'_>, listener: &mut dyn Listener) -> Result<(), DriveError> {
        let Some(stamp) = self.mailbox.has_news() else { return Ok(()) };
        let (ids, now) = (&mut *self.ids, self.clock.now());
        // Whoever gives an id says when; these only say when the loop found them.
        let mut mint = || format!("loop-{}", ids.ulid(now));
        let path = self.mailbox.path.clone();
        let sent = match self.plan.store().read_commands(&path, &mut mint)? {
            Commands::Queue(sent) => sent,
            Commands::Damaged(why) => return self.damaged(stamp, &why, listener),
        };
        (self.mailbox.seen, self.mailbox.suspect) = (Some(stamp), None);
        let (mut fresh, mut done) = (Vec::new(), BTreeSet::new());
        for Sent { id, read } in sent {
            if self.mailbox.held.iter().any(|(held, _)| *held == id) {
                continue;
            }
            match read {
                Err(why) => {
                    self.refuse(&format!("a command was ignored: {why}"), listener)?;
                    done.insert(id);
                }
                Ok(command) if self.history.commands.contains(&id) => {
                    // A crash came between its record and its end.
                    let again = effect(&command, doing);
                    let redone = again.is_redone();
                    if !redone || self.carry_out(&id, again, listener)? {
                        done.insert(id);
                    }
                }
                Ok(command) => fresh.push((id, command)),
            }
        }
        self.write_down(&fresh)?;
        self.mailbox.spoken |= !fresh.is_empty();
        for (n, (id, command)) in fresh.into_iter().enumerate() {
            crate::crash::point();
            let doing = if self.is_of_this_run(&id) { now_doing(doing) } else { doing };
            if n < TOLD {
                self.tell(&command, doing, listener);
            }
            if self.carry_out(&id, effect(&command, doing), listener)? {
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
    fn write_down(&mut self, fresh: &[(String, Command)]) -> Result<(), DriveError> {
        for (n, (id, command)) in fresh.iter().enumerate() {
            let last = n + 1 == fresh.len();
            let durability = if last { Durability::Synced } else { Durability::Eventual };
            let (id, word) = (id.clone(), command.word().to_owned());
            let record = Record::Command { id, command: word, argument: command.argument() };
            self.record(record, durability)?;
        }
        Ok(())
    }

    fn record(&mut self, record: Record, durability: Durability) -> Result<(), DriveError> {
        self.plan.wait(std::mem::take(self.plan_syncing))?;
        let entry = self.journal.append(self.clock.stamp(), record, durability)?;
        self.history.add(&entry);
        for event in event_of(&entry, self.history) {
            self.log.line(LogLevel::Info, &event.timestamp, &event.message);
        }
        // That views cannot be written is no reason to stop, and told with the next record.
        let _problems = Views::of(self.project).show(&entry, self.history);
        Ok(())
    }

    /// Do it. Whether it is done; what is held is not.
    fn carry_out(
        &mut self,
        id: &str,
        effect: Effect,
        listener: &mut dyn Listener,
    ) -> Result<bool, DriveError> {
        match effect {
            Effect::Noted | Effect::Nothing(_) => {}
            Effect::Stop => self.mailbox.stop = true,
            Effect::End => self.leash.kill(),
            Effect::Skip(task) => self.skip(&task, listener)?,
            Effect::Retry(task) => {
                self.change_plan(&task, "retried", |plan| verbs::retry(plan, &task), listener)?;
            }
            Effect::EndThenSkip(task) => {
                self.leash.kill();
                self.mailbox.held.push((id.to_owned(), Effect::Skip(task)));
                return Ok(false);
            }
            held @ Effect::Set(_) => {
                self.mailbox.held.push((id.to_owned(), held));
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn skip(&mut self, task: &Id, listener: &mut dyn Listener) -> Result<(), DriveError> {
        let at = self.clock.stamp();
        let verb = |plan: &Plan| verbs::skip(plan, task, Some("skipped by the operator"), &at);
        self.change_plan(task, "skipped", verb, listener)
    }

    /// Change the plan with a verb. That it is as wished already is no reason to complain.
    fn change_plan(
        &mut self,
        task: &Id,
        verb: &str,
        edits: impl FnOnce(&Plan) -> Result<Vec<Edit>, Refusal>,
        listener: &mut dyn Listener,
    ) -> Result<(), DriveError> {
        let mut refusal = None;
        self.plan.change(|plan, text| match edits(plan) {
            Ok(edits) => codec(plan.format).edit(text, &edits),
            Err(why) => {
                refusal = Some(why);
                Ok(text.to_owned())
            }
        })?;
        match refusal {
            Some(Refusal::WrongState { state, .. }) if state == verb || state == "pending" => {
                Ok(())
            }
            Some(Refusal::Buried { fate, .. }) if fate == verb => Ok(()),
            Some(why) => self.refuse(&format!("{task} is not {verb}: {why}"), listener),
            None => Ok(()),
        }
    }

    /// A file that cannot be read: half written, or damaged.
    fn damaged(
        &mut self,
        stamp: Stamp,
        why: &str,
        listener: &mut dyn Listener,
    ) -> Result<(), DriveError> {
        match self.mailbox.suspect {
            Some((known, since)) if known == stamp => {
                if since.elapsed() < PATIENCE {
                    return Ok(());
                }
            }
            _ => {
                self.mailbox.suspect = Some((stamp, Instant::now()));
                return Ok(());
            }
        }
        self.mailbox.suspect = None;
        let path = self.mailbox.path.clone();
        if let Some(place) = self.plan.store().set_commands_aside(&path)? {
            let shown = |path: &std::path::Path| {
                path.strip_prefix(self.project.root()).unwrap_or(path).display().to_string()
            };
            let (path, place) = (shown(&path), shown(&place));
            let message = format!("{path} cannot be read: {why}; it was moved to {place}");
            self.refuse(&message, listener)?;
        }
        Ok(())
    }

    /// What is not carried out is told and written down.
    fn refuse(&mut self, message: &str, listener: &mut dyn Listener) -> Result<(), DriveError> {
        self.log.line(LogLevel::Warn, &self.clock.stamp(), message);
        listener.hear(Notice::Warning(message));
        let (event, message) = ("command_ignored".into(), message.to_owned());
        let record = Record::Noted { event, message, details: json!({}) };
        self.record(record, Durability::Eventual)
    }

    fn tell(&self, command: &Command, doing: Doing<'_>, listener: &mut dyn Listener) {
        let argument = match command {
            Command::Note(text) => format!(" \"{text}\""),
            _ => String::new(),
        };
        let what = format!("{}{argument}: {}", command.word(), promise(command, doing));
        listener.hear(Notice::Said { who: "operator", what: &what });
    }
}

/// The same moment without the suspicion that a command is old.
fn now_doing(doing: Doing<'_>) -> Doing<'_> {
    if doing == Doing::Starting { Doing::Nothing } else { doing }
}

impl Session<'_> {
    /// Take commands between two things, and do what was held.
    pub(super) fn listen(&mut self, doing: Doing<'_>) -> Result<(), DriveError> {
        let (mut ear, listener) = self.ear();
        ear.listen(doing, listener)?;
        let held = std::mem::take(&mut self.mailbox.held);
        if held.is_empty() {
            return Ok(());
        }
        let mut done = BTreeSet::new();
        for (id, effect) in held {
            self.settled = None;
            match effect {
                Effect::Set(setting) => self.set(&setting)?,
                Effect::Skip(task) => {
                    let (mut ear, listener) = self.ear();
                    ear.skip(&task, listener)?;
                }
                _ => {}
            }
            done.insert(id);
        }
        crate::crash::point();
        Ok(self.plan.store().drop_commands(&self.mailbox.path, &done)?)
    }

    fn ear(&mut self) -> (Ear<'_>, &mut dyn Listener) {
        let Self {
            mailbox,
            journal,
            history,
            plan,
            plan_syncing,
            project,
            clock,
            ids,
            log,
            leash,
            ..
        } = self;
        let ear =
            Ear { mailbox, journal, history, plan, plan_syncing, project, clock, ids, log, leash };
        (ear, &mut *self.listener)
    }

    /// Before anything new begins: take commands, and wait while somebody wants the loop to.
    pub(super) fn heed_operator(&mut self) -> Result<(), DriveError> {
        self.listen(Doing::Nothing)?;
        self.wait_while_paused()?;
        self.mailbox.spoken = false;
        Ok(())
    }

    fn wait_while_paused(&mut self) -> Result<(), DriveError> {
        if !self.history.paused || self.mailbox.stop {
            return Ok(());
        }
        // Whoever paused may change things.
        self.settled = None;
        self.listener.hear(Notice::Paused);
        while self.history.paused && !self.mailbox.stop {
            if let Some(signal) = self.signals.first() {
                self.ending = Some(End::Interrupted(signal));
                break;
            }
            thread::sleep(NAP);
            self.listen(Doing::Nothing)?;
        }
        Ok(())
    }

    /// A setting of the loop that runs, and of the next ones.
    fn set(&mut self, setting: &Setting) -> Result<(), DriveError> {
        if let Err(why) = setting.apply(&mut self.config) {
            self.warn(&why);
            return Ok(());
        }
        if self.config.on_dirty == OnDirty::Refuse {
            self.warn(&format!(
                "{} is changed for this run only: ralph.toml may not be changed while \
                 on_dirty = \"refuse\"",
                setting.key
            ));
            return Ok(());
        }
        let path = self.project.ralph_toml();
        let store = self.plan.store().clone();
        let mut problem = None;
        store.update(&path, crate::store::Kind::Document, |bytes| {
            let old = String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
            let new = config::set("ralph.toml", &old, setting.key, &setting.value);
            let new = new.unwrap_or_else(|e| {
                problem = Some(e.to_string());
                old
            });
            Ok::<_, DriveError>((new, ()))
        })?;
        if let Some(why) = problem {
            self.warn(&format!("{} is changed for this run only: {why}", setting.key));
        }
        Ok(())
    }
}
