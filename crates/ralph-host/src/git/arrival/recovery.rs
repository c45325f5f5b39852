//! Bring an arrival to its end that was killed.

use ralph_core::cycle::{
    ArrivalIntent, ArrivalLine, ArrivalRecovery, ArrivalWait, HomeHead, JournalRecord,
    KilledArrivalBranch, recover_arrival,
};

use super::super::{GitChange, Repo, StaleLockRemoval};
use super::{Arrival, ArrivalError, ArrivalHost, GitError, RepoPath, path_of};
use crate::crash;

/// Digits of a commit in the name of a salvage ref.
const SHORT: usize = 12;

/// Result of recovering an arrival that was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecoveredArrival {
    Nothing,
    /// The arrival, or the replay, had happened; the journal says so now.
    Finished,
    /// Home is as it was before. These files had been changed by the arrival.
    PutBack(Vec<RepoPath>),
}

impl Repo<'_> {
    /// Finish or undo the arrival that the journal has open. Call it after the processes of that run
    /// have ended, and [`Repo::arrive`] after it.
    pub fn recover_arrival(
        &self,
        line: &ArrivalLine,
        host: &mut dyn ArrivalHost,
    ) -> Result<RecoveredArrival, ArrivalError> {
        let mut arrival = Arrival { repo: self, line: line.clone(), host };
        let replay = arrival.recover_replay()?;
        match arrival.line.open_arrival.clone() {
            Some(intent) => arrival.recover(&intent),
            None => Ok(replay),
        }
    }
}

impl Arrival<'_, '_, '_> {
    /// A replay changes nothing but the tip.
    fn recover_replay(&mut self) -> Result<RecoveredArrival, ArrivalError> {
        let Some(replay) = self.line.open_replay.clone() else {
            return Ok(RecoveredArrival::Nothing);
        };
        let tip = self.repo.find_ref(&Repo::tip_ref(&self.line.run))?;
        if tip.is_some_and(|tip| tip.as_str() == replay.tip) {
            self.record(JournalRecord::Replayed(replay))?;
            return Ok(RecoveredArrival::Finished);
        }
        self.wait(ArrivalWait::Interrupted { put_back: Vec::new() })?;
        Ok(RecoveredArrival::PutBack(Vec::new()))
    }

    pub(super) fn recover(
        &mut self,
        intent: &ArrivalIntent,
    ) -> Result<RecoveredArrival, ArrivalError> {
        if self.repo.remove_stale_lock()? == StaleLockRemoval::Foreign {
            return Err(GitError::Locked(self.repo.index_lock()).into());
        }
        self.undo_or_finish(intent)
    }

    /// The same right after a call of git's that failed, which leaves no lock.
    pub(super) fn undo_or_finish(
        &mut self,
        intent: &ArrivalIntent,
    ) -> Result<RecoveredArrival, ArrivalError> {
        let branch = self.killed_branch(intent)?;
        let head = self.repo.home_head(&self.line)?;
        let changes = match intent.old.is_empty() {
            true => Vec::new(),
            false => self.repo.touched(&intent.old, &intent.new)?,
        };
        let at_old = (branch, head) == (KilledArrivalBranch::AtOld, HomeHead::OnBranch);
        let facts = match at_old {
            true => self.repo.path_facts(&changes, &intent.old, &intent.new)?,
            false => Vec::new(),
        };
        let put_back = match recover_arrival(intent, branch, head, &facts) {
            ArrivalRecovery::Finish => {
                self.repo.write_rides(&intent.rides, &intent.new)?;
                crash::point();
                self.arrived(&intent.new)?;
                return Ok(RecoveredArrival::Finished);
            }
            ArrivalRecovery::PutBack { paths } => {
                self.put_back(intent, &changes, &paths)?;
                paths
            }
            ArrivalRecovery::PutBackEntries => {
                self.repo.put_entries_back(&intent.rides, &changes)?;
                Vec::new()
            }
            ArrivalRecovery::Leave => Vec::new(),
        };
        crash::point();
        self.wait(ArrivalWait::Interrupted { put_back: put_back.clone() })?;
        Ok(RecoveredArrival::PutBack(put_back.iter().map(|path| path_of(path)).collect()))
    }

    fn killed_branch(&self, intent: &ArrivalIntent) -> Result<KilledArrivalBranch, GitError> {
        Ok(match self.branch_at()? {
            None if intent.old.is_empty() => KilledArrivalBranch::AtOld,
            Some(at) if at.as_str() == intent.old => KilledArrivalBranch::AtOld,
            Some(at) if self.repo.is_ancestor(&intent.new, at.as_str())? => {
                KilledArrivalBranch::HasNew
            }
            _ => KilledArrivalBranch::Elsewhere,
        })
    }

    /// Keep what is there, then put the files and the index back.
    pub(super) fn put_back(
        &self,
        intent: &ArrivalIntent,
        changes: &[GitChange],
        paths: &[String],
    ) -> Result<(), GitError> {
        let paths: Vec<RepoPath> = paths.iter().map(|path| path_of(path)).collect();
        if !paths.is_empty() {
            let short = intent.new.get(..SHORT).unwrap_or(&intent.new);
            let name = format!("refs/ralph/{}/salvage/arrival-{short}", self.line.run);
            self.repo.keep_files(&name, &intent.old, &paths)?;
            crash::point();
            self.repo.put_files_back(changes, &intent.old, &paths)?;
            crash::point();
        }
        let ridden = |change: &&GitChange| {
            intent.rides.iter().any(|ride| path_of(&ride.file.path) == change.path)
        };
        let merged: Vec<GitChange> = changes.iter().filter(|c| !ridden(c)).cloned().collect();
        self.repo.put_merged_entries_back(&merged)?;
        crash::point();
        self.repo.put_entries_back(&intent.rides, changes)
    }
}
