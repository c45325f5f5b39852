//! Between two things the whole session is at hand: what was held is done, and a pause is waited for.

use std::collections::BTreeSet;
use std::thread;

use ralph_core::config::{self, OnDirty};
use ralph_core::control::{Doing, Effect, Setting};
use ralph_core::cycle::{End, EventKind, NoDetails};

use super::ear;
use crate::drive::backend_mailbox::Running;
use crate::drive::error::{DriveError, Halt};
use crate::drive::session::Session;
use crate::drive::wait::NAP;

impl Session<'_> {
    /// Take commands between two things, and do what was held.
    pub(in crate::drive) fn listen(&mut self, doing: Doing<'_>) -> Result<(), DriveError> {
        let nothing = Running::default();
        ear!(self, &nothing).listen(doing)?;
        let held = std::mem::take(&mut self.mailbox.held);
        if held.is_empty() {
            return Ok(());
        }
        let mut done = BTreeSet::new();
        for (id, effect) in held {
            match effect {
                Effect::Set(setting) => self.set(&setting)?,
                Effect::Skip(task) => ear!(self, &nothing).skip(&task)?,
                _ => {}
            }
            done.insert(id);
        }
        crate::crash::point();
        Ok(self.plan.store().drop_commands(&self.mailbox.path, &done)?)
    }

    /// Before anything new begins: take commands, and wait while somebody wants the loop to.
    pub(in crate::drive) fn heed_operator(&mut self) -> Result<(), Halt> {
        self.listen(Doing::Nothing)?;
        let paused = self.wait_while_paused();
        self.mailbox.spoken = false;
        paused
    }

    fn wait_while_paused(&mut self) -> Result<(), Halt> {
        if !self.history.paused || self.mailbox.stop {
            return Ok(());
        }
        self.arrive_if_due()?;
        // Whoever paused may change things.
        self.tell(EventKind::Paused(NoDetails {}));
        while self.history.paused && !self.mailbox.stop {
            if let Some(signal) = self.signals.first() {
                return Err(Halt::End(End::Interrupted(signal)));
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
