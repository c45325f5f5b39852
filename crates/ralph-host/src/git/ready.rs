//! Whether the repository can be worked on, and locks that a crash left behind.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Repo;
use super::call::LOCK_WAIT;
use super::error::GitError;
use super::state::{GitFileStamp, GitFileTime};
use crate::proc::mark::survivors;

/// Greatest depth, below `refs/ralph/<keeper>`, at which ralph's own locks are searched.
const OWN_DEPTH: u32 = 2;

/// Result of removing stale locks on the index and on HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaleLockRemoval {
    None,
    /// One of our own calls had left it when ralph was killed; it is gone now.
    Removed,
    /// A lock of another program is there, and it stays.
    Foreign,
}

impl Repo<'_> {
    /// Refuse to start in the middle of something else. A lock of somebody else is waited for.
    pub fn readiness(&self) -> Result<(), GitError> {
        if let Some(operation) = self.operation() {
            return Err(GitError::InProgress(operation));
        }
        let until = Instant::now() + LOCK_WAIT;
        while self.index_lock().exists() {
            if Instant::now() >= until {
                return Err(GitError::Locked(self.index_lock()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        match self.status()?.unmerged() {
            unmerged if unmerged.is_empty() => Ok(()),
            unmerged => Err(GitError::Unmerged(unmerged)),
        }
    }

    /// Remove the locks that one of our own calls left behind when ralph was killed: on the index, on
    /// HEAD and on its branch. Call it after the processes of that run have been ended.
    pub fn remove_stale_lock(&self) -> Result<StaleLockRemoval, GitError> {
        let mut found = StaleLockRemoval::None;
        for lock in self.locks() {
            match self.remove_stale(&lock)? {
                StaleLockRemoval::None => {}
                StaleLockRemoval::Removed if found == StaleLockRemoval::Foreign => {}
                one => found = one,
            }
        }
        if found != StaleLockRemoval::Foreign {
            let _left = fs::remove_file(self.note());
        }
        Ok(found)
    }

    /// Remove locks on what is ralph's alone: the refs of this run or spec. Nobody else takes these, so after the processes of that run have been ended they are stale.
    pub fn remove_own_locks(&self, keeper: &str) {
        let refs = self.common_dir.join("refs/ralph").join(keeper);
        remove_locks(&refs, OWN_DEPTH);
    }

    /// The locks that a call which writes the index may take; a commit takes all of them.
    fn locks(&self) -> Vec<PathBuf> {
        let mut locks = vec![self.index_lock(), self.git_dir.join("HEAD.lock")];
        let head = fs::read_to_string(self.git_dir.join("HEAD")).unwrap_or_default();
        if let Some(branch) = head.trim_end().strip_prefix("ref: ") {
            locks.push(self.common_dir.join(format!("{branch}.lock")));
        }
        locks
    }

    /// A lock that is there now, and whether a call of ours left it when ralph was killed.
    pub(super) fn lock_in_the_way(&self) -> Option<(PathBuf, bool)> {
        let lock = self.locks().into_iter().find(|lock| lock.exists())?;
        let own = self.is_own(&lock);
        Some((lock, own))
    }

    /// Whether a call of ours made this lock, and nobody of its run is left.
    fn is_own(&self, lock: &Path) -> bool {
        let note = self.note();
        let made = |path: &Path| fs::metadata(path).map(|meta| GitFileTime::changed(&meta));
        let younger = matches!((made(lock), made(&note)), (Ok(lock), Ok(note)) if lock >= note);
        younger && self.noted_run().is_some_and(|run| survivors(&run).is_empty())
    }

    fn remove_stale(&self, lock: &Path) -> Result<StaleLockRemoval, GitError> {
        let Some(first) = GitFileStamp::of(lock) else { return Ok(StaleLockRemoval::None) };
        if !self.is_own(lock) {
            return Ok(StaleLockRemoval::Foreign);
        }
        // Somebody alive lets go of a lock soon, or takes it anew.
        let until = Instant::now() + LOCK_WAIT;
        while Instant::now() < until {
            std::thread::sleep(Duration::from_millis(100));
            match GitFileStamp::of(lock) {
                None => return Ok(StaleLockRemoval::None),
                Some(now) if now != first => return Ok(StaleLockRemoval::Foreign),
                Some(_) => {}
            }
        }
        match fs::remove_file(lock) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(GitError::io("remove", lock)(e)),
            _ => Ok(StaleLockRemoval::Removed),
        }
    }
}

/// Remove every `*.lock` in a directory and so many levels below it. What cannot be removed is met
/// again, with git's own words.
fn remove_locks(directory: &Path, levels: u32) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "lock") {
            let _left = fs::remove_file(&path);
        } else if levels > 0 && path.is_dir() {
            remove_locks(&path, levels - 1);
        }
    }
}
