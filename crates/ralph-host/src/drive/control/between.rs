//! Between two things the whole session is at hand: what was held is done, and a pause is waited for.

use std::collections::BTreeSet;
use std::thread;

use ralph_core::config::{self, DirtyPolicy};
use ralph_core::control::{CheckedSetting, CommandEffect, LoopActivity};
use ralph_core::cycle::{EventKind, LoopEnd, NoDetails};

use super::ear;
use crate::drive::backend_mailbox::RunningProcesses;
use crate::drive::error::{DriveError, LoopHalt};
use crate::drive::session::RunSession;
use crate::drive::wait::NAP;

impl RunSession<'_> {
    /// Take commands between two things, and do what was held.
    pub(in crate::drive) fn take_commands(
        &mut self,
        doing: LoopActivity<'_>,
    ) -> Result<(), DriveError> {
        let nothing = RunningProcesses::default();
        ear!(self, &nothing).listen(doing)?;
        let held = std::mem::take(&mut self.mailbox.held);
        if held.is_empty() {
            return Ok(());
        }
        let mut done = BTreeSet::new();
        for (id, effect) in held {
            match effect {
                CommandEffect::Set(setting) => self.apply_setting(&setting)?,
                CommandEffect::Skip(task) => ear!(self, &nothing).skip(&task)?,
                _ => {}
            }
            done.insert(id);
        }
        crate::crash::point();
        Ok(self.plan.store().drop_commands(&self.mailbox.path, &done)?)
    }

    /// Before anything new begins: take commands, and wait while somebody wants the loop to.
    pub(in crate::drive) fn apply_operator_commands(&mut self) -> Result<(), LoopHalt> {
        self.take_commands(LoopActivity::Nothing)?;
        let paused = self.wait_while_paused();
        self.mailbox.spoken = false;
        paused
    }

    fn wait_while_paused(&mut self) -> Result<(), LoopHalt> {
        if !self.history.paused || self.mailbox.stop {
            return Ok(());
        }
        self.arrive_if_due()?;
        // Whoever paused may change things.
        self.tell(EventKind::Paused(NoDetails {}));
        while self.history.paused && !self.mailbox.stop {
            if let Some(signal) = self.signals.first() {
                return Err(LoopHalt::End(LoopEnd::Interrupted(signal)));
            }
            thread::sleep(NAP);
            self.take_commands(LoopActivity::Nothing)?;
        }
        Ok(())
    }

    /// A setting of the loop that runs, and of the next ones.
    fn apply_setting(&mut self, setting: &CheckedSetting) -> Result<(), DriveError> {
        if let Err(why) = setting.apply(&mut self.config) {
            self.warn(&why);
            return Ok(());
        }
        if self.config.on_dirty == DirtyPolicy::Refuse {
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
        store.update(&path, crate::store::LedgerFileKind::Document, |bytes| {
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
