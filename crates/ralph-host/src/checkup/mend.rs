//! Carrying out one remedy, and saying what was done.

use std::collections::BTreeSet;

use ralph_core::cycle::History;
use ralph_core::doctor::{Remedy, is_old};
use ralph_core::words::count;

use super::CheckupInputs;
use crate::FileError;
use crate::file_error::FileAction;
use crate::git::{GitError, StaleLockRemoval};
use crate::ids::IdSource;
use crate::lanes::{cache_folder, remove_orphaned_lanes};
use crate::proc::mark;
use crate::store::{
    self, CommandQueueContent, Journal, JournalError, LedgerFileKind, LedgerStoreError, RunLock,
};

/// Why something could not be mended.
#[derive(Debug, thiserror::Error)]
pub enum CheckupFixError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Store(#[from] LedgerStoreError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Leftover that the remedy could not remove, in a sentence.
    #[error("{0}")]
    Left(String),
}

impl CheckupInputs<'_> {
    /// Carry out a remedy. Returns what was done. The lock shows that no loop is at work.
    pub fn mend(
        &self,
        remedy: &Remedy,
        history: &History,
        ids: &mut IdSource,
        _no_loop: &RunLock,
    ) -> Result<String, CheckupFixError> {
        match remedy {
            Remedy::GitLocks => self.git_locks(history),
            Remedy::Processes => self.end_processes(history),
            Remedy::TornJournal => {
                // Whoever opens it cuts off what was never acknowledged.
                Journal::open(&self.project.state_dir())?;
                Ok("cut the unfinished last line of the journal off".into())
            }
            Remedy::TornRecords(file) => self.torn_records(file),
            Remedy::HeldInbox => {
                self.store.release(&self.project.inbox())?;
                Ok("the inbox is nobody's any more".into())
            }
            Remedy::Remains(files) => self.remove(files),
            Remedy::OldCommands => self.old_commands(ids),
            Remedy::DamagedCommands => {
                let aside = self.store.set_commands_aside(&self.project.commands_json())?;
                Ok(match aside {
                    Some(place) => format!("moved the damaged queue to {}", self.shown(&place)),
                    None => "the queue can be read again".into(),
                })
            }
            Remedy::OldSalvage => {
                let gone = self.repo.retired(self.retire, crate::drive::underway(history))?;
                self.repo.retire(&gone)?;
                let number = gone.salvages.len() + gone.others.len();
                Ok(format!("gave {} up that were old enough", count(number, "ref")))
            }
            Remedy::OrphanedLanes => {
                let removed = cache_folder().map(|cache| remove_orphaned_lanes(&cache));
                let folders = count(removed.unwrap_or_default().len(), "folder");
                Ok(format!("deleted {folders} of lanes whose repository is gone"))
            }
        }
    }

    fn git_locks(&self, history: &History) -> Result<String, CheckupFixError> {
        let stale = self.repo.remove_stale_lock()?;
        if let Some(run) = &history.run {
            self.repo.remove_own_locks(&run.run);
        }
        match stale {
            StaleLockRemoval::Foreign => {
                Err(CheckupFixError::Left("the lock is in use, or not ralph's; it stays".into()))
            }
            StaleLockRemoval::None | StaleLockRemoval::Removed => {
                Ok("removed the lock of a killed ralph".into())
            }
        }
    }

    fn end_processes(&self, history: &History) -> Result<String, CheckupFixError> {
        let crashed = history.run.as_ref().filter(|_| history.run_end.is_none());
        let of_run = crashed.map(|run| mark::kill_survivors(&run.run)).unwrap_or_default();
        let of_place = mark::kill_others_at(&self.place(), self.runner.run_id());
        let (killed, left) = (of_run.0 + of_place.0, of_run.1.max(of_place.1));
        match left {
            0 => Ok(format!("ended what an earlier run had left running ({killed})")),
            left => Err(CheckupFixError::Left(format!("{left} processes cannot be ended"))),
        }
    }

    fn torn_records(&self, file: &str) -> Result<String, CheckupFixError> {
        let path = self.project.ledger_file(file);
        let read =
            self.store.read(&path, LedgerFileKind::of(&path), |_| Ok::<_, LedgerStoreError>(()))?;
        Ok(match read.torn.and_then(|torn| torn.moved_to) {
            Some(place) => format!("moved the unfinished line to {}", self.shown(&place)),
            None => format!("{file} ends in a whole line"),
        })
    }

    fn remove(&self, files: &[String]) -> Result<String, CheckupFixError> {
        let _nobody_writes = self.store.lock().map_err(LedgerStoreError::from)?;
        for file in files {
            let path = self.project.root().join(file);
            if path.is_dir() {
                std::fs::remove_dir_all(&path).map_err(FileError::io(FileAction::Write, &path))?;
            } else {
                store::drop_view(&path)?;
            }
        }
        Ok(format!("removed {}", count(files.len(), "unfinished file")))
    }

    fn old_commands(&self, ids: &mut IdSource) -> Result<String, CheckupFixError> {
        let (path, now) = (self.project.commands_json(), self.clock.now());
        let mut mint = || format!("doctor-{}", ids.ulid(now));
        let CommandQueueContent::Queue(queue) = self.store.read_commands(&path, &mut mint)? else {
            return Err(CheckupFixError::Left("the queue cannot be read".into()));
        };
        let old: BTreeSet<String> =
            queue.iter().filter(|entry| is_old(entry)).map(|entry| entry.id.clone()).collect();
        self.store.drop_commands(&path, &old)?;
        Ok(format!("took {} out of the queue", count(old.len(), "old command")))
    }
}
