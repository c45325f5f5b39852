//! Decisions about waiting commits other than their arrival, and what the ledger says afterwards.

use std::collections::BTreeSet;

use ralph_core::cycle::{ArrivalLine, OnMissing};
use ralph_core::plan::Id;

use super::HomeLanding;
use crate::crash;
use crate::drive::arrival::drive_error;
use crate::drive::error::DriveError;
use crate::git::{ArrivalError, ArrivalOutcome, Repo};

/// The tasks of the commits that wait.
fn waiting_tasks(line: &ArrivalLine) -> BTreeSet<Id> {
    let tasks = line.waiting().iter().flat_map(|landed| &landed.tasks);
    tasks.map(|task| Id::new(task.as_str())).collect()
}

impl HomeLanding<'_> {
    /// `ralph land --branch NAME`. The tasks are done there, and pending on the branch of home.
    pub(super) fn put_on_branch(&mut self, name: &str) -> Result<(), DriveError> {
        self.commit_ledger()?;
        let Some(line) = self.line() else { return Ok(()) };
        if line.is_settled() {
            return self.bring(OnMissing::Wait);
        }
        if name == line.branch {
            // The branch that was gone is there again, with everything.
            let home = self.repo.reopen();
            home.land_on_branch(&line, name, self).map_err(drive_error)?;
            return self.follow_home();
        }
        self.settle(&line, |home, landing| home.land_on_branch(&line, name, landing))
    }

    /// `ralph land --discard`. The tasks are pending again.
    pub(super) fn give_up(&mut self) -> Result<(), DriveError> {
        self.take_over()?;
        let Some(line) = self.line() else { return Ok(()) };
        if line.is_settled() {
            return self.bring(OnMissing::Wait);
        }
        self.settle(&line, |home, landing| home.give_up(&line, landing).map(drop))
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

    /// Let go of the commits that wait on `line`. The ledger is changed first: killed between the two, a
    /// task is pending whose commit still waits, and never done without it.
    fn settle(
        &mut self,
        line: &ArrivalLine,
        decide: impl FnOnce(&Repo<'_>, &mut Self) -> Result<(), ArrivalError>,
    ) -> Result<(), DriveError> {
        let before = self.ledger_copies()?;
        self.rewind_ledger(&line.arrived, &waiting_tasks(line))?;
        crash::point();
        let home = self.repo.reopen();
        if let Err(e) = decide(&home, self) {
            self.restore_copies(before)?;
            return Err(drive_error(e));
        }
        if self.repo.find_commit(&format!("refs/heads/{}", line.branch))?.is_some() {
            return self.bring(OnMissing::Wait);
        }
        // There is no branch on which a ledger could arrive.
        match self.ledger.take() {
            Some(ledger) => Ok(ledger.discard(&self.setup.store)?),
            None => Ok(()),
        }
    }
}
