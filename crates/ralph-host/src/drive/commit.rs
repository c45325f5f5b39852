//! The land half: a candidate becomes a commit on the tip, with the hooks of the user and the ledger.
//!
//! ```text
//! hooks in the private repository → ledger into the lane → commit in the lane → tip, or the spec's ref
//! ```

use std::collections::BTreeMap;

use ralph_core::config::CommitScope;
use ralph_core::cycle::{
    ArrivalLine, ArrivalTarget, AttemptFailure, FailureKind, LandingExtent, RunCommand,
    TakenOverFile,
};

use super::attempt::AttemptRun;
use super::error::DriveError;
use super::session::RunSession;
use super::specs::scope_of_keeper;
use crate::crash;
use crate::git::{GitError, LaneCommitError, Oid, RepoPath, spec_ref};
use crate::lanes::HookReport;
use crate::run_ledger::{self, LedgerCommitKind};

/// A landing that was not committed.
pub(super) enum LandingCommitError {
    /// Refusal by git or by a hook.
    Refused(LaneCommitError),
    Failed(DriveError),
}

impl From<LaneCommitError> for LandingCommitError {
    fn from(error: LaneCommitError) -> Self {
        Self::Refused(error)
    }
}

impl From<DriveError> for LandingCommitError {
    fn from(error: DriveError) -> Self {
        Self::Failed(error)
    }
}

/// The files of the ledger that ride in a commit, as they are in the lane.
#[derive(Default)]
pub(super) struct RidingFiles {
    paths: Vec<RepoPath>,
    /// Content of each file, by its path in the project.
    bytes: BTreeMap<String, Vec<u8>>,
}

/// The answer of the hooks to a commit.
pub(super) enum CommitHookResult {
    /// Message of the commit, as the hooks left it.
    Passed(Vec<u8>),
    /// They changed files, so the gates have to look again. Names the hooks, with what they printed.
    Changed(String),
    Refused(AttemptFailure),
}

impl RunSession<'_> {
    /// Run the hooks of the commit that is about to be made.
    pub(super) fn run_hooks(
        &mut self,
        run: &AttemptRun,
        landing: LandingExtent,
    ) -> Result<CommitHookResult, DriveError> {
        let summary = run.end.as_ref().map_or("", |end| &end.summary);
        let text = self.commit_message(run, landing, summary).of_attempt(&run.started.attempt);
        self.remove_prompt_files();
        let work = &self.work;
        let head = if work.lane.is_home() { &work.tip } else { &run.base.commit };
        let report = work.lane.run_hooks(head, work.branch.as_deref(), &text, &|job| job)?;
        Ok(match report {
            HookReport::Passed { message, changed, .. } if changed.is_empty() => {
                CommitHookResult::Passed(message)
            }
            HookReport::Passed { hooks, output, .. } => {
                CommitHookResult::Changed(format!("{}\n{output}", hooks.join(", ")))
            }
            HookReport::Refused { output, .. } => {
                let advice = self.advise_on_refusal(&output);
                let said = format!("{}{advice}", output.trim());
                CommitHookResult::Refused(AttemptFailure::new(FailureKind::Hook, said))
            }
        })
    }

    /// The way out where a hook complains about a file that ralph itself writes, such as a formatter that
    /// looks at all files; empty where it does not.
    fn advise_on_refusal(&mut self, output: &str) -> String {
        let own = self.repo.ledger().shared().iter().map(ToString::to_string);
        let own = own.chain([".ralph/".to_owned()]);
        let Some(named) = own.into_iter().find(|path| output.contains(path.as_str())) else {
            return String::new();
        };
        let advice = format!(
            "the hook looked at {named}, which ralph writes: {}",
            ralph_core::init::FORMATTER_ADVICE
        );
        self.warn(&advice);
        format!("\n{advice}")
    }

    /// Commit in the lane what its gates saw green, with the ledger, and move the tip or the spec's ref.
    pub(super) fn commit_in_lane(
        &mut self,
        run: &AttemptRun,
        message: Vec<u8>,
    ) -> Result<Option<String>, LandingCommitError> {
        let base = &run.base;
        let commit = match scope_of_keeper(&base.keeper) {
            CommitScope::Task => {
                let riding = self.write_riding_files(LedgerCommitKind::Landing, None)?;
                self.commit_on_tip(&base.commit, message, riding)
            }
            CommitScope::Spec => self.work_tree().commit_index(message, &[]),
        };
        let commit = match commit {
            Ok(commit) => commit,
            Err(LaneCommitError::Nothing) => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        crash::point();
        if scope_of_keeper(&base.keeper) == CommitScope::Spec {
            let advanced = self.advance_keeper(&base.keeper, &base.commit, &commit);
            advanced.map_err(DriveError::from)?;
        }
        if run.candidate().is_some_and(|candidate| candidate.unread.is_empty()) {
            // The gates' traces are gone, and nothing has run in the lane since.
            self.work.lane.trust_files(commit.clone());
        }
        Ok(Some(commit.to_string()))
    }

    /// Commit what the index of the lane holds on the tip, and move the tip.
    pub(super) fn commit_on_tip(
        &mut self,
        tip: &Oid,
        message: Vec<u8>,
        riding: RidingFiles,
    ) -> Result<Oid, LaneCommitError> {
        let work = &mut self.work;
        let commit = work.repo().commit_on_ref(&work.tip_ref(), tip, message, &riding.paths)?;
        work.ledger.note_commit(commit.as_str(), riding.bytes);
        work.tip = commit.clone();
        Ok(commit)
    }

    /// A landing whose commit is in the lane comes to its end.
    pub(super) fn finish_landing(
        &mut self,
        run: &AttemptRun,
        commit: &str,
    ) -> Result<(), DriveError> {
        let Some(commit) = Oid::parse(commit.as_bytes()) else { return Ok(()) };
        Ok(self.advance_keeper(&run.base.keeper, &run.base.commit, &commit)?)
    }

    /// A commit of the lane becomes the tip, or the end of its spec's ref. May be repeated.
    fn advance_keeper(&mut self, keeper: &str, old: &Oid, commit: &Oid) -> Result<(), GitError> {
        if scope_of_keeper(keeper) == CommitScope::Spec {
            let known = self.repo.find_commit(&spec_ref(keeper))?;
            if known.as_ref() != Some(commit) {
                self.repo.advance_spec(keeper, commit, known.as_ref(), old)?;
            }
            return Ok(());
        }
        if self.work.tip != *commit && !self.repo.contains(&self.work.tip, commit)? {
            self.move_tip(old, commit)?;
        }
        Ok(())
    }

    /// Move the tip, if nobody else did.
    fn move_tip(&mut self, old: &Oid, new: &Oid) -> Result<(), GitError> {
        self.repo.advance_ref(&self.work.tip_ref(), new, Some(old))?;
        self.work.tip = new.clone();
        Ok(())
    }

    /// Write the ledger into the lane, and name the files of it that ride in a commit on the tip. `landing` is
    /// the spec whose work the commit contains.
    pub(super) fn write_riding_files(
        &mut self,
        commit: LedgerCommitKind,
        landing: Option<&str>,
    ) -> Result<RidingFiles, DriveError> {
        self.take_over_edits()?;
        let open = self.open_tasks(landing)?;
        let (work, files) = (&self.work, self.riding_files(commit));
        let inbox: Vec<String> =
            files.iter().filter(|file| *file == run_ledger::INBOX).cloned().collect();
        work.write_ledger(&inbox)?;
        if !open.is_empty() {
            self.leave_statuses_out(&open)?;
        }
        let work = &self.work;
        let mut riding = RidingFiles::default();
        for file in files {
            riding.paths.push(work.repo().prefix().join(&RepoPath::from(file.as_str())));
            if let Some(bytes) = crate::store::read(&work.lane.root().join(&file))? {
                riding.bytes.insert(file, bytes);
            }
        }
        Ok(riding)
    }

    /// The files of the ledger that ride in a commit, relative to the project.
    pub(super) fn riding_files(&self, commit: LedgerCommitKind) -> Vec<String> {
        let mut riding = self.work.ledger.riding_files(self.config.commit_ledger, commit);
        if !riding.is_empty() && self.inbox_rides() {
            riding.push(run_ledger::INBOX.to_owned());
        }
        riding
    }

    /// The bytes of a file that rides. The inbox is home's own.
    pub(super) fn riding_bytes(&self, file: &str) -> Result<Option<Vec<u8>>, DriveError> {
        Ok(match file {
            run_ledger::INBOX => crate::store::read(&self.project.inbox())?,
            file => self.work.ledger.read(file)?,
        })
    }

    /// Whether the inbox is part of commits: an agent changes it, or has changed it in commits that wait, and
    /// git does not ignore it.
    fn inbox_rides(&self) -> bool {
        let ignored = &self.work.ledger.open_run().ignored;
        (self.kind == RunCommand::Agent || self.inbox_waits())
            && self.work.target() == ArrivalTarget::HomeBranch
            && !ignored.iter().any(|file| file == run_ledger::INBOX)
            && self.project.inbox().is_file()
    }

    fn inbox_waits(&self) -> bool {
        let inbox = self.repo_path(run_ledger::INBOX);
        let waiting = self.history.arrival.iter().flat_map(ArrivalLine::waiting);
        waiting.flat_map(|landed| &landed.paths).any(|path| *path == inbox)
    }

    /// Files of home whose bytes are part of what has just been committed, and that are not as in the
    /// commit that home has, as far as is known.
    pub(super) fn taken_over(&self) -> Result<Vec<TakenOverFile>, DriveError> {
        let inbox = self.work_root().join(run_ledger::INBOX);
        self.taken_over_with(|| Ok(crate::store::read(&inbox)?))
    }

    /// The same for a commit that need not be in the lane.
    pub(super) fn taken_over_in(&self, commit: &Oid) -> Result<Vec<TakenOverFile>, DriveError> {
        self.taken_over_with(|| Ok(self.repo.project_file_at(commit, run_ledger::INBOX)?))
    }

    fn taken_over_with(
        &self,
        inbox: impl FnOnce() -> Result<Option<Vec<u8>>, DriveError>,
    ) -> Result<Vec<TakenOverFile>, DriveError> {
        let (work, mut files) = (&self.work, Vec::new());
        let arrived = self.history.arrival.as_ref().map_or("", |line| &line.arrived);
        for file in work.ledger.riding_files(self.config.commit_ledger, LedgerCommitKind::End) {
            if let Some(bytes) = work.ledger.seen(&file)?
                && !work.ledger.is_as_committed(&file, &bytes, arrived)
            {
                files.push(self.taken_over_file(&file, &bytes)?);
            }
        }
        if self.inbox_rides()
            && let Some(bytes) = inbox()?
        {
            files.push(self.taken_over_file(run_ledger::INBOX, &bytes)?);
        }
        Ok(files)
    }

    /// The path of a file of the project as git has it.
    fn repo_path(&self, file: &str) -> String {
        self.work.repo().prefix().join(&RepoPath::from(file)).to_string()
    }

    fn taken_over_file(&self, file: &str, bytes: &[u8]) -> Result<TakenOverFile, DriveError> {
        let path = self.repo_path(file);
        Ok(TakenOverFile { path, content: self.repo.content_id(bytes)?.to_string() })
    }
}
