//! Decisions about waiting commits other than their arrival, and what the ledger says afterwards.

use std::collections::BTreeSet;

use ralph_core::cycle::{ArrivalLine, MissingWorkAnswer};
use ralph_core::plan::Id;

use super::LandReport;
use crate::crash;
use crate::drive::error::DriveError;
use crate::drive::session::RunSession;
use crate::git::{ArrivalError, ArrivalHost, ArrivalOutcome, Oid, Repo};
use crate::run_ledger::RunLedger;

/// The tasks of the commits that wait.
fn waiting_tasks(line: &ArrivalLine) -> BTreeSet<Id> {
    let tasks = line.waiting().iter().flat_map(|landed| &landed.tasks);
    tasks.map(|task| Id::new(task.as_str())).collect()
}

impl<'a> RunSession<'a> {
    /// `ralph land --branch NAME`. The tasks are done there, and pending on the branch of home.
    pub(super) fn put_on_branch(
        &mut self,
        name: &str,
        report: &mut LandReport,
    ) -> Result<(), DriveError> {
        let there = self.repo.find_commit(&format!("refs/heads/{name}"))?;
        // A call that was killed has made the branch.
        let is_made = there.as_ref().is_some_and(|at| *at == self.work.tip);
        if !is_made {
            self.commit_ledger_on_tip()?;
        }
        let Some(line) = self.history.arrival.clone() else { return Ok(()) };
        let is_put = there.is_some() && line.let_go.as_deref() == there.as_ref().map(Oid::as_str);
        if line.is_settled() || is_put {
            return self.bring_all(MissingWorkAnswer::Wait, report);
        }
        if name == line.branch {
            // The branch that was gone is there again, with everything.
            self.arrive_with(report, |home, line, host| home.land_on_branch(line, name, host))?;
            return Ok(());
        }
        if there.is_some() && !is_made {
            let message = format!("a branch named {name} already exists");
            let hint = "name a new one; or merge the commits there yourself: ".to_owned();
            let hint = format!("{hint}`git switch {name} && git merge {}`", self.work.tip_ref());
            return Err(DriveError::Ask { message, hint });
        }
        self.settle(&line, report, |home, line, host| home.land_on_branch(line, name, host))
    }

    /// `ralph land --discard`. The tasks are pending again.
    pub(super) fn give_up(&mut self, report: &mut LandReport) -> Result<(), DriveError> {
        self.take_over_edits()?;
        let Some(line) = self.history.arrival.clone() else { return Ok(()) };
        if line.is_settled() {
            return self.bring_all(MissingWorkAnswer::Wait, report);
        }
        self.settle(&line, report, |home, line, host| home.give_up(line, host).map(drop))
    }

    /// Carry out `ralph land --no-commit`: bring the commits as uncommitted changes.
    pub(super) fn bring_uncommitted(&mut self, report: &mut LandReport) -> Result<(), DriveError> {
        self.commit_ledger_on_tip()?;
        if self.history.arrival.as_ref().is_none_or(ArrivalLine::is_settled) {
            return Ok(());
        }
        let outcome =
            self.arrive_with(report, |home, line, host| home.land_without_commit(line, host))?;
        if let Some(ArrivalOutcome::Waits(not)) = outcome {
            report.waits = Some(not);
        }
        Ok(())
    }

    /// Let go of the commits that wait on `line`. The ledger is changed first: killed between the two, a
    /// task is pending whose commit still waits, and never done without it.
    fn settle(
        &mut self,
        line: &ArrivalLine,
        report: &mut LandReport,
        decide: impl FnOnce(&Repo<'a>, &ArrivalLine, &mut dyn ArrivalHost) -> Result<(), ArrivalError>,
    ) -> Result<(), DriveError> {
        let before = self.ledger_copies()?;
        self.rewind_ledger(&line.arrived, &waiting_tasks(line))?;
        crash::point();
        if let Err(e) = self.arrive_with(report, decide) {
            self.restore_copies(before)?;
            return Err(e);
        }
        if self.repo.find_commit(&format!("refs/heads/{}", line.branch))?.is_some() {
            return self.bring_all(MissingWorkAnswer::Wait, report);
        }
        // There is no branch on which a ledger could arrive.
        match RunLedger::of_branch(&self.project, Some(&line.branch)) {
            Some(ledger) => Ok(ledger.discard(self.plan.store())?),
            None => Ok(()),
        }
    }
}
