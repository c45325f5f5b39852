//! The run's ledger in `ralph land`: edits in home are taken over, and what the tip lacks is committed.

use std::collections::BTreeSet;

use ralph_core::cycle::{
    HomeEdit, LedgerCommit as CommittedLedger, Record, TakenOverFile, merged_ledger,
    take_over_plan, take_over_text,
};
use ralph_core::format::{self, codec};
use ralph_core::plan::{Id, Plan};

use super::HomeLanding;
use crate::crash;
use crate::drive::error::DriveError;
use crate::drive::run_lane::tip_ref;
use crate::drive::spec_landing::is_spec_open;
use crate::file_error::FileError;
use crate::git::{ATTEMPT, CommitMessage, LandError, Oid, RepoPath};
use crate::run_ledger::LedgerCommit;
use crate::store::{self, Durability, Kind, StoreError};

/// Content and name of ledger files.
pub(super) type LedgerCopies = Vec<(Option<Vec<u8>>, String)>;

/// The ledger on the tip after a look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LedgerState {
    /// The tip has it already.
    Unchanged,
    /// A new commit on the tip has it.
    Committed,
}

impl HomeLanding<'_> {
    /// Take over a person's edits of ledger files in home.
    pub(super) fn take_over(&mut self) -> Result<(), DriveError> {
        let Some(ledger) = &self.ledger else { return Ok(()) };
        let stamp = self.setup.clock.stamp();
        for remark in ledger.take_over(&self.setup.store, &self.landed_tasks(), &stamp)? {
            self.warn(remark)?;
        }
        Ok(())
    }

    /// Tasks whose work the tip contains.
    fn landed_tasks(&self) -> BTreeSet<Id> {
        let line = self.history.arrival.as_ref();
        let landed = line.into_iter().flat_map(|line| &line.landed);
        landed.flat_map(|landed| &landed.tasks).map(|task| Id::new(task.as_str())).collect()
    }

    /// Commit what the tip lacks of the ledger. An attempt that is open still changes it.
    pub(super) fn commit_ledger(&mut self) -> Result<LedgerState, DriveError> {
        if self.report.open_attempt.is_some() {
            return Ok(LedgerState::Unchanged);
        }
        self.take_over()?;
        if self.has_open_spec()? {
            return Ok(LedgerState::Unchanged);
        }
        let Some(tip) = self.tip()? else { return Ok(LedgerState::Unchanged) };
        if !self.has_new_ledger(&tip)? {
            return Ok(LedgerState::Unchanged);
        }
        self.lane()?.put_on(&tip)?;
        let subject = format!("{}: ledger", self.setup.config.commit_prefix);
        let message = CommitMessage { subject, ..CommitMessage::default() };
        let Some((attempt, commit)) = self.commit_lane(&message)? else {
            return Ok(LedgerState::Unchanged);
        };
        self.advance_tip(&tip, &commit)?;
        let committed = self.ledger_commit(attempt, &commit)?;
        self.record(Record::LedgerCommitted(committed), Durability::Synced)?;
        Ok(LedgerState::Committed)
    }

    /// Write a commit of the ledger down that is the tip and that the journal does not know: a crash came
    /// between the two.
    pub(super) fn note_unknown_commit(&mut self) -> Result<(), DriveError> {
        let (Some(line), Some(tip)) = (self.line(), self.tip()?) else { return Ok(()) };
        let is_known = line.landed.iter().any(|landed| landed.commit == tip.as_str());
        if is_known || line.arrived == tip.as_str() || self.report.open_attempt.is_some() {
            return Ok(());
        }
        let message = self.repo.message_of(&tip)?;
        let subject = format!("{}: ledger\n", self.setup.config.commit_prefix);
        let attempt =
            message.lines().find_map(|line| line.strip_prefix(ATTEMPT)?.strip_prefix(": "));
        let Some(attempt) = attempt.filter(|_| message.starts_with(&subject)) else {
            return Ok(());
        };
        let mut committed = self.ledger_commit(attempt.to_owned(), &tip)?;
        // What was taken over since is in no commit yet.
        committed.taken_over = match self.has_new_ledger(&tip)? {
            true => Vec::new(),
            false => committed.taken_over,
        };
        self.record(Record::LedgerCommitted(committed), Durability::Synced)
    }

    fn ledger_commit(&self, attempt: String, commit: &Oid) -> Result<CommittedLedger, DriveError> {
        let paths = self.repo.paths_of(commit)?;
        Ok(CommittedLedger {
            attempt,
            commit: commit.to_string(),
            paths: paths.iter().map(ToString::to_string).collect(),
            taken_over: self.taken_over_files()?,
        })
    }

    /// Whether a file that rides is not in this commit as the run has it.
    fn has_new_ledger(&self, tip: &Oid) -> Result<bool, DriveError> {
        let Some(ledger) = &self.ledger else { return Ok(false) };
        for file in ledger.riding_files(self.setup.config.commit_ledger, LedgerCommit::End) {
            if self.repo.project_file_at(tip, &file)? != ledger.read(&file)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Commit the index of the lane with the ledger. `None` when there is nothing to commit.
    pub(super) fn commit_lane(
        &mut self,
        message: &CommitMessage,
    ) -> Result<Option<(String, Oid)>, DriveError> {
        let attempt = self.setup.ids.ulid(self.setup.clock.now());
        let setting = self.setup.config.commit_ledger;
        let (Some(ledger), Some(lane)) = (&self.ledger, &self.lane) else { return Ok(None) };
        ledger.write_into(&lane.root(), &[])?;
        let prefix = lane.repo().prefix();
        let riding = ledger.riding_files(setting, LedgerCommit::End);
        let riding: Vec<RepoPath> =
            riding.iter().map(|file| prefix.join(&RepoPath::from(file.as_str()))).collect();
        match lane.repo().commit_index(message.of_attempt(&attempt), &riding) {
            Ok(commit) => Ok(Some((attempt, commit))),
            Err(LandError::Nothing) => Ok(None),
            Err(LandError::Git(e)) => Err(e.into()),
            Err(e) => {
                Err(DriveError::Ask { message: e.to_string(), hint: e.hint().unwrap_or_default() })
            }
        }
    }

    /// A commit of the lane becomes the tip.
    pub(super) fn advance_tip(&self, tip: &Oid, commit: &Oid) -> Result<(), DriveError> {
        crash::point();
        let Some(line) = self.line() else { return Ok(()) };
        self.repo.advance_ref(&tip_ref(&line.run), commit, Some(tip))?;
        crash::point();
        Ok(())
    }

    /// Whether the ledger says things that are in no commit, because a spec is not complete.
    pub(super) fn has_open_spec(&self) -> Result<bool, DriveError> {
        match self.read_plan()? {
            Some(plan) => Ok(is_spec_open(&self.setup.project, &self.repo, &plan)?),
            None => Ok(false),
        }
    }

    /// The run's plan, unless it cannot be read.
    pub(super) fn read_plan(&self) -> Result<Option<Plan>, DriveError> {
        let Some(ledger) = &self.ledger else { return Ok(None) };
        let name = &ledger.open_run().plan;
        let text = ledger.read(name)?.and_then(|bytes| String::from_utf8(bytes).ok());
        let format = text.as_ref().and_then(|text| format::detect(name, text).ok());
        let parsed = format.zip(text).and_then(|(format, text)| codec(format).parse(&text).ok());
        Ok(parsed)
    }

    /// Files of home whose bytes are part of what has just been committed.
    pub(super) fn taken_over_files(&self) -> Result<Vec<TakenOverFile>, DriveError> {
        let Some(ledger) = &self.ledger else { return Ok(Vec::new()) };
        let mut files = Vec::new();
        for file in ledger.riding_files(self.setup.config.commit_ledger, LedgerCommit::End) {
            if let Some(bytes) = ledger.seen(&file)? {
                let path = self.repo.prefix().join(&RepoPath::from(file.as_str()));
                let content = self.repo.content_id(&bytes)?.to_string();
                files.push(TakenOverFile { path: path.to_string(), content });
            }
        }
        Ok(files)
    }

    /// The run's ledger gets what a replay changed: the person's edits of it on the branch, and tasks
    /// that the branch lacks are pending again.
    pub(super) fn follow_replays(&mut self) -> Result<(), DriveError> {
        for replay in std::mem::take(&mut self.replays) {
            let (Some(old), Some(new)) =
                (Oid::parse(replay.old_tip.as_bytes()), Oid::parse(replay.tip.as_bytes()))
            else {
                continue;
            };
            let landed = self.landed_tasks();
            let Some(ledger) = &self.ledger else { continue };
            for file in ledger.open_run().files() {
                let base = self.repo.project_file_at(&old, &file)?;
                if let Some(theirs) = self.repo.project_file_at(&new, &file)? {
                    self.follow_file(&file, base.as_deref(), &theirs, &landed)?;
                }
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
        let Some(ledger) = &self.ledger else { return Ok(()) };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (base, theirs, at) = (base.map(text), text(theirs), self.setup.clock.stamp());
        let path = ledger.copy_path(file);
        self.setup.store.update(&path, Kind::of(&path), |copy| {
            let Some(copy) = copy.map(text) else { return Ok((theirs.clone(), ())) };
            let edit = HomeEdit { shown: file, copy: &copy, seen: base.as_deref(), home: &theirs };
            let taken = match file == ledger.open_run().plan {
                true => take_over_plan(&edit, landed, &at),
                false => take_over_text(&edit),
            };
            Ok::<_, StoreError>((taken.text.unwrap_or(copy), ()))
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
        let Some(ledger) = &self.ledger else { return Ok(()) };
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
        let Some(ledger) = &self.ledger else { return Ok(()) };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (base, home, at) = (base.map(text), text(home), self.setup.clock.stamp());
        let path = ledger.copy_path(file);
        self.setup.store.update(&path, Kind::of(&path), |copy| {
            let copy = copy.map(text).unwrap_or_default();
            let merged = merged_ledger(file, base.as_deref(), &home, &copy, undone, &at);
            Ok::<_, StoreError>((merged.unwrap_or(copy), ()))
        })?;
        Ok(())
    }

    /// The run's copies of its ledger files.
    pub(super) fn ledger_copies(&self) -> Result<LedgerCopies, DriveError> {
        let Some(ledger) = &self.ledger else { return Ok(LedgerCopies::new()) };
        let files = ledger.open_run().files().into_iter();
        let copies = files.map(|file| Ok((store::read(&ledger.copy_path(&file))?, file)));
        Ok(copies.collect::<Result<_, FileError>>()?)
    }

    /// Put the run's copies back to these.
    pub(super) fn restore_copies(&self, copies: LedgerCopies) -> Result<(), DriveError> {
        let Some(ledger) = &self.ledger else { return Ok(()) };
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
