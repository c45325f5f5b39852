//! The run's ledger after a replay, and after a decision about the commits that wait.

use std::collections::BTreeSet;

use ralph_core::cycle::{CommitReplay, HomeEdit, merged_ledger, take_over_plan, take_over_text};
use ralph_core::plan::Id;

use crate::drive::error::DriveError;
use crate::drive::session::RunSession;
use crate::file_error::FileError;
use crate::git::Oid;
use crate::store::{self, LedgerFileKind, LedgerStoreError};

/// Content and name of ledger files.
pub(super) type LedgerCopies = Vec<(Option<Vec<u8>>, String)>;

impl RunSession<'_> {
    /// The run's ledger gets what a replay changes: the person's edits of it on the branch, and tasks
    /// that the branch lacks are pending again. May be repeated.
    pub(in crate::drive) fn follow_replay(&self, replay: &CommitReplay) -> Result<(), DriveError> {
        let (Some(old), Some(new)) =
            (Oid::parse(replay.old_tip.as_bytes()), Oid::parse(replay.tip.as_bytes()))
        else {
            return Ok(());
        };
        let line = self.history.arrival.as_ref();
        let landed = line.into_iter().flat_map(|line| &line.landed);
        let landed = landed.filter(|one| !replay.missing.contains(&one.attempt));
        let landed = landed.flat_map(|one| &one.tasks).map(|task| Id::new(task.as_str())).collect();
        for file in self.work.ledger.open_run().files() {
            let base = self.repo.project_file_at(&old, &file)?;
            if let Some(theirs) = self.repo.project_file_at(&new, &file)? {
                self.follow_file(&file, base.as_deref(), &theirs, &landed)?;
            }
        }
        Ok(())
    }

    /// Take over what a replay changed in one file.
    fn follow_file(
        &self,
        file: &str,
        base: Option<&[u8]>,
        theirs: &[u8],
        landed: &BTreeSet<Id>,
    ) -> Result<(), DriveError> {
        let ledger = &self.work.ledger;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (base, theirs, at) = (base.map(text), text(theirs), self.clock.stamp());
        let path = ledger.copy_path(file);
        self.plan.store().update(&path, LedgerFileKind::of(&path), |copy| {
            let Some(copy) = copy.map(text) else { return Ok((theirs.clone(), ())) };
            let edit = HomeEdit { shown: file, copy: &copy, seen: base.as_deref(), home: &theirs };
            let taken = match file == ledger.open_run().plan {
                true => take_over_plan(&edit, landed, &at),
                false => take_over_text(&edit),
            };
            Ok::<_, LedgerStoreError>((taken.text.unwrap_or(copy), ()))
        })?;
        Ok(())
    }

    /// The run's ledger goes back to what home has, because the waiting commits no longer count: their
    /// tasks are pending. New tasks and the failures of other tasks stay.
    pub(super) fn rewind_ledger(
        &self,
        arrived: &str,
        undone: &BTreeSet<Id>,
    ) -> Result<(), DriveError> {
        let ledger = &self.work.ledger;
        let arrived = Oid::parse(arrived.as_bytes());
        for file in ledger.open_run().files() {
            let seen = ledger.seen(&file)?;
            if file == ledger.open_run().plan {
                let base = match &arrived {
                    Some(commit) => self.repo.project_file_at(commit, &file)?,
                    None => None,
                };
                if let Some(home) = seen {
                    self.rewind_plan(&file, base.as_deref(), &home, undone)?;
                }
                continue;
            }
            let path = ledger.copy_path(&file);
            match seen {
                Some(bytes) => store::replace(&path, &bytes)?,
                None => store::drop_view(&path)?,
            }
        }
        Ok(())
    }

    /// The tasks `undone` get the status that home's plan gives them.
    fn rewind_plan(
        &self,
        file: &str,
        base: Option<&[u8]>,
        home: &[u8],
        undone: &BTreeSet<Id>,
    ) -> Result<(), DriveError> {
        let ledger = &self.work.ledger;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (base, home, at) = (base.map(text), text(home), self.clock.stamp());
        let path = ledger.copy_path(file);
        self.plan.store().update(&path, LedgerFileKind::of(&path), |copy| {
            let copy = copy.map(text).unwrap_or_default();
            let merged = merged_ledger(file, base.as_deref(), &home, &copy, undone, &at);
            Ok::<_, LedgerStoreError>((merged.unwrap_or(copy), ()))
        })?;
        Ok(())
    }

    /// The run's copies of its ledger files.
    pub(super) fn ledger_copies(&self) -> Result<LedgerCopies, DriveError> {
        let ledger = &self.work.ledger;
        let files = ledger.open_run().files().into_iter();
        let copies = files.map(|file| Ok((store::read(&ledger.copy_path(&file))?, file)));
        Ok(copies.collect::<Result<_, FileError>>()?)
    }

    /// Put the run's copies back to these.
    pub(super) fn restore_copies(&self, copies: LedgerCopies) -> Result<(), DriveError> {
        let ledger = &self.work.ledger;
        for (bytes, file) in copies {
            let path = ledger.copy_path(&file);
            match bytes {
                Some(bytes) => store::replace(&path, &bytes)?,
                None => store::drop_view(&path)?,
            }
        }
        Ok(())
    }
}
