//! Decisions about waiting commits other than their arrival, and what the ledger says afterwards.

use std::collections::BTreeSet;

use ralph_core::cycle::{ArrivalLine, OnMissing};
use ralph_core::plan::Id;

use super::HomeLanding;
use crate::drive::arrival::drive_error;
use crate::drive::error::DriveError;
use crate::git::ArrivalOutcome;

/// The tasks of the commits that wait.
fn waiting_tasks(line: &ArrivalLine) -> BTreeSet<Id> {
    line.waiting().iter().filter_map(|landed| landed.task.as_deref().map(Id::new)).collect()
}

impl HomeLanding<'_> {
    /// `ralph land --branch NAME`. The tasks are done there, and pending on the branch of home.
    pub(super) fn put_on_branch(&mut self, name: &str) -> Result<(), DriveError> {
        self.commit_ledger()?;
        let Some(line) = self.line() else { return Ok(()) };
        let home = self.repo.reopen();
        home.land_on_branch(&line, name, self).map_err(drive_error)?;
        // The branch that was gone is there again, with everything.
        if name == line.branch {
            return self.follow_home();
        }
        self.forget_commits(&line)
    }

    /// `ralph land --discard`. The tasks are pending again.
    pub(super) fn give_up(&mut self) -> Result<(), DriveError> {
        self.take_over()?;
        let Some(line) = self.line() else { return Ok(()) };
        if line.is_settled() {
            return self.bring(OnMissing::Wait);
        }
        let home = self.repo.reopen();
        home.give_up(&line, self).map_err(drive_error)?;
        self.forget_commits(&line)
    }

    /// `ralph land --no-commit`.
    pub(super) fn bring_uncommitted(&mut self) -> Result<(), DriveError> {
        self.commit_ledger()?;
        let Some(line) = self.line() else { return Ok(()) };
        if line.is_settled() {
            return Ok(());
        }
        let home = self.repo.reopen();
        if let ArrivalOutcome::Waits(not) =
            home.land_without_commit(&line, self).map_err(drive_error)?
        {
            self.report.waits = Some(not);
        }
        self.follow_home()
    }

    /// The ledger no longer counts the commits that waited on `line`.
    fn forget_commits(&mut self, line: &ArrivalLine) -> Result<(), DriveError> {
        let branch = self.repo.find_commit(&format!("refs/heads/{}", line.branch))?;
        if branch.is_none() {
            // There is no branch on which a ledger could arrive.
            return match self.ledger.take() {
                Some(ledger) => Ok(ledger.discard(&self.setup.store)?),
                None => Ok(()),
            };
        }
        self.rewind_ledger(&line.arrived, &waiting_tasks(line))?;
        self.bring(OnMissing::Wait)
    }
}
