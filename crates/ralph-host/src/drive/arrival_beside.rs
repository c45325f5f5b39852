//! Arrivals beside a backend: nobody waits for a fast-forward in home while an agent works in its lane.
//!
//! # Theory of operation
//!
//! ```text
//! landed ──▶ the branch is unmoved? ── no ──▶ arrives now, between two attempts (super::arrival)
//!                    └ yes ──▶ due ──▶ the next backend has started, or something else that takes long
//! ```
//!
//! Beside a backend the tip, the plan and the lane stay as they are: git fast-forwards or fetches, or the
//! commits wait. When the branch has moved meanwhile, the arrival stays due until the next attempt begins.
//! A kill in between loses nothing: the journal has the landing, and the next start brings what waits.

use std::collections::BTreeSet;

use ralph_core::cycle::{JournalRecord, Remark};

use super::arrival::{
    accepted_tasks_in, drive_error, durability_of, host_error, lasting_trouble, merged_ledger_file,
    see_arrived,
};
use super::backend_mailbox::RunningProcesses;
use super::control::{CommandListener, ear};
use super::error::DriveError;
use super::run_lane::RunLane;
use super::session::RunSession;
use crate::git::{ArrivalError, ArrivalHost, LedgerMerge, Oid, ReplayGateResult, Repo};
use crate::store::Durability;

impl RunSession<'_> {
    /// Commits have landed: leave their arrival for the next run of a backend if it changes nothing that an
    /// attempt starts from, else let them arrive now.
    pub(super) fn arrive_soon(&mut self) -> Result<(), DriveError> {
        let line = self.history.arrival.as_ref();
        let line = line.filter(|_| !self.work.lane.is_home() && self.config.auto_commit);
        let is_unmoved = line.map(|line| self.repo.is_branch_unmoved(line)).transpose()?;
        match is_unmoved {
            Some(true) => self.work.arrival_is_due.set(true),
            _ => self.arrive()?,
        }
        Ok(())
    }

    /// An attempt begins: what is due and would move the tip arrives now.
    pub(super) fn arrive_before_attempt(&mut self) -> Result<(), DriveError> {
        match self.work.arrival_is_due.get() {
            true => self.arrive_soon(),
            false => Ok(()),
        }
    }

    /// Between two attempts something begins that may take long: what is due arrives now.
    pub(super) fn arrive_if_due(&mut self) -> Result<(), DriveError> {
        match self.work.arrival_is_due.get() {
            true => self.arrive(),
            false => Ok(()),
        }
    }

    /// The same anywhere: the tip stays where it is.
    pub(super) fn arrive_beside(&mut self) -> Result<(), DriveError> {
        let nothing = RunningProcesses::default();
        ear!(self, &nothing).arrive(&self.repo, &self.work)
    }
}

impl CommandListener<'_> {
    /// Let arrive what is due, as far as the tip can stay where it is. An error ends what runs.
    pub(super) fn arrive(&mut self, home: &Repo<'_>, work: &RunLane<'_>) -> Result<(), DriveError> {
        let arrived = match work.arrival_is_due.take() {
            true => self.bring(home, work),
            false => Ok(()),
        };
        if arrived.is_err() {
            self.running.leash.cancel();
        }
        arrived
    }

    fn bring(&mut self, home: &Repo<'_>, work: &RunLane<'_>) -> Result<(), DriveError> {
        let Some(line) = self.history.arrival.clone() else { return Ok(()) };
        let mut host = ArrivalBeside { ear: self, home };
        let outcome = home.arrive_beside(&line, &mut host).map_err(drive_error)?;
        work.arrival_is_due.set(outcome.is_none());
        if let Some(line) = &self.history.arrival {
            see_arrived(home, work, line)?;
        }
        match outcome.as_ref().and_then(lasting_trouble) {
            Some(sentence) => {
                self.record(JournalRecord::Warned(Remark::new(sentence)), Durability::Eventual)
            }
            None => Ok(()),
        }
    }
}

/// The part of a session that is not lent out, as an arrival sees it.
struct ArrivalBeside<'s, 'e, 'r> {
    ear: &'s mut CommandListener<'e>,
    home: &'s Repo<'r>,
}

impl ArrivalHost for ArrivalBeside<'_, '_, '_> {
    fn record(&mut self, record: JournalRecord) -> Result<(), ArrivalError> {
        let durability = durability_of(&record);
        self.ear.record(record, durability).map_err(host_error)
    }

    fn merge_ledger(&mut self, merge: &LedgerMerge<'_>) -> Result<Vec<u8>, ArrivalError> {
        Ok(merged_ledger_file(merge, &self.ear.plan.shown, &self.ear.clock.stamp()))
    }

    fn gate_replay(&mut self, _commit: &Oid) -> Result<ReplayGateResult, ArrivalError> {
        Ok(ReplayGateResult::Red(vec!["no gates run beside a backend".to_owned()]))
    }

    fn accepted_tasks(&mut self, commit: &Oid) -> Result<BTreeSet<String>, ArrivalError> {
        Ok(accepted_tasks_in(self.home, commit, &self.ear.plan.shown)?)
    }
}
