//! A fetch into a branch that is checked out nowhere.
//!
//! A `git switch` to the branch reads its commit, writes that commit's files, and moves HEAD last. If the
//! branch moves between, home has the files of the old commit on the branch at the new one, and the next
//! commit would revert what arrived. Git does not prevent that. So nobody may be switching before, ralph
//! holds git's lock on the index meanwhile, and afterwards the branch goes back if somebody was switching.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::cycle::{ArrivalIntent, ArrivalWait, ArrivalWay, HomeHead, JournalRecord};

use super::super::Repo;
use super::super::call::GitOutput;
use super::fast_forward::first_lines;
use super::{Arrival, ArrivalError, ArrivalOutcome, GitError, Oid};
use crate::crash;

/// Longest wait for a person's command to end.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

/// Result of one fetch into a branch that is not checked out.
enum FetchResult {
    Moved,
    Refused(ArrivalWait),
    /// A person switched to the branch meanwhile, and it is where it was.
    Undone,
}

/// Git's lock on home's index, held by ralph.
struct IndexLock(PathBuf);

impl IndexLock {
    /// Take it, if nobody has it.
    fn take(path: &Path) -> Result<Self, GitError> {
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(_) => Ok(Self(path.to_owned())),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(GitError::Locked(path.into())),
            Err(e) => Err(GitError::io("write", path)(e)),
        }
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.0);
    }
}

impl Arrival<'_, '_, '_> {
    /// Move a branch that is checked out nowhere; git itself refuses it otherwise. `None` when a person
    /// switched to it meanwhile, so that it has to arrive in another way.
    pub(super) fn fetch(&mut self, new: &str) -> Result<Option<ArrivalOutcome>, ArrivalError> {
        if let Some(process) = self.repo.switching() {
            return self.wait(process).map(Some);
        }
        let old = self.branch_at()?;
        let intent = ArrivalIntent {
            way: ArrivalWay::Fetch,
            old: old.as_ref().map(Oid::to_string).unwrap_or_default(),
            new: new.to_owned(),
            ..ArrivalIntent::default()
        };
        self.record(JournalRecord::ArrivalIntent(intent))?;
        crash::point();
        match self.repo.writing_index(|| self.fetch_under_lock(old.as_ref(), new)) {
            Ok(FetchResult::Moved) => {}
            Ok(FetchResult::Refused(why)) => return self.wait(why).map(Some),
            Ok(FetchResult::Undone) => return self.wait(ArrivalWait::Unsettled).map(|_| None),
            Err(GitError::Locked(lock)) => {
                let lock = lock.display().to_string();
                return self.wait(ArrivalWait::Locked { lock }).map(Some);
            }
            Err(e) => return Err(e.into()),
        }
        crash::point();
        self.arrived(new)?;
        Ok(Some(ArrivalOutcome::Complete))
    }

    /// While the index is locked, a switch neither begins nor ends.
    fn fetch_under_lock(&self, old: Option<&Oid>, new: &str) -> Result<FetchResult, GitError> {
        let lock = IndexLock::take(&self.repo.index_lock())?;
        crash::point();
        let answer = self.repo.fetch_into(&self.branch_ref(), new)?;
        crash::point();
        if self.branch_at()?.is_none_or(|at| at.as_str() != new) {
            return Ok(FetchResult::Refused(refusal(&answer)));
        }
        // A switch that has begun meets the lock and ends, or has passed it and moves HEAD.
        let is_undone = self.is_checked_out_now()? && self.move_back(old, new);
        drop(lock);
        Ok(if is_undone { FetchResult::Undone } else { FetchResult::Moved })
    }

    /// Put the branch back. `false` when it was made by this arrival, or a person has moved it on.
    fn move_back(&self, old: Option<&Oid>, new: &str) -> bool {
        let old = old.filter(|old| old.as_str() != new);
        old.is_some_and(|old| self.repo.move_ref(&self.branch_ref(), old.as_str(), new).is_ok())
    }

    /// Whether a switch to the branch has ended since, or does not end.
    fn is_checked_out_now(&self) -> Result<bool, GitError> {
        let end = Instant::now() + PATIENCE;
        while self.repo.switching().is_some() {
            if Instant::now() > end {
                return Ok(true);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(self.repo.home_head(&self.line)? == HomeHead::OnBranch
            || self.repo.other_worktree_of(&self.branch_ref())?.is_some())
    }
}

impl Repo<'_> {
    fn fetch_into(&self, branch: &str, new: &str) -> Result<GitOutput, GitError> {
        // The commit is not the tip of a ref that a remote would offer.
        let settings = ["-c", "protocol.version=2", "-c", "protocol.file.allow=always"];
        let quiet = ["-c", "fetch.writeCommitGraph=false", "fetch", "-q", "--no-write-fetch-head"];
        let flags = ["--no-tags", "--no-prune", "--no-recurse-submodules", "."];
        let refs = format!("{new}:{branch}");
        let args = settings.into_iter().chain(quiet).chain(flags).chain([refs.as_str()]);
        self.arrival_call(args).run()
    }
}

/// Return the reason why git refused.
fn refusal(answer: &GitOutput) -> ArrivalWait {
    let place = answer.stderr.split("checked out at '").nth(1);
    match place.and_then(|rest| rest.split('\'').next()) {
        Some(place) => ArrivalWait::CheckedOutElsewhere { place: place.to_owned() },
        None => ArrivalWait::Refused { message: first_lines(&answer.stderr) },
    }
}
