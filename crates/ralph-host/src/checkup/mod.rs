//! Checks and repairs of `ralph doctor`.
//!
//! # Theory of operation
//!
//! [`CheckupInputs`] only reads. It hands facts to `ralph_core::doctor`, which says what they mean.
//! [`CheckupInputs::mend`] carries out one remedy, and only for a caller that holds the lock of the run.
//! Then no loop is at work here, so a leftover is really a leftover. The next start of a loop does
//! everything that a remedy does, or the remedy can be repeated without harm.

mod mend;

use std::path::{Path, PathBuf};

pub use mend::CheckupFixError;

use ralph_core::control::{CommandQueue, QueueError, QueuedCommand};
use ralph_core::cycle::History;
use ralph_core::doctor::RunLeftovers;

use crate::FileError;
use crate::clock::Clock;
use crate::git::{GitError, Repo, SalvageRetentionRule};
use crate::proc::{JobRunner, mark};
use crate::project::Project;
use crate::store::{self, HeldFileState, LedgerFileKind, LedgerStore, TEMP_PREFIX, is_torn};

/// A temporary file that is younger may be somebody's who is at work.
const YOUNG: i64 = 600;

/// Inputs of the checks of `ralph doctor`.
pub struct CheckupInputs<'a> {
    pub project: &'a Project,
    pub store: &'a LedgerStore,
    pub clock: Clock,
    pub runner: &'a JobRunner,
    pub repo: &'a Repo<'a>,
    pub plan: &'a Path,
    /// Rule that decides which kept work is old enough to be deleted.
    pub retire: SalvageRetentionRule,
}

impl CheckupInputs<'_> {
    /// Collect the leftovers of an earlier crash. The result has no meaning while a loop is at work.
    pub fn leftovers(&self, history: &History) -> Result<RunLeftovers, GitError> {
        let name = |path: PathBuf| self.shown(&path);
        let retired = self.repo.retired(self.retire, crate::drive::underway(history))?;
        let records = [self.plan.to_owned(), self.project.inbox()];
        Ok(RunLeftovers {
            processes: self.processes(history),
            remains: self.remains().into_iter().map(name).collect(),
            torn: records.into_iter().filter(|path| has_torn_line(path)).map(name).collect(),
            torn_journal: is_torn(&self.project.state_dir()).unwrap_or(false),
            held_inbox: self.store.is_held(&self.project.inbox()).map(|i| i == HeldFileState::Yes),
            watched_plan: self.store.watched().is_some(),
            put_aside: self.put_aside().into_iter().map(name).collect(),
            // Those of an open attempt are not old whatever their age.
            old_salvage: retired.salvages.len() + retired.others.len(),
        })
    }

    fn processes(&self, history: &History) -> Vec<(i32, String)> {
        let crashed = history.run.as_ref().filter(|_| history.run_end.is_none());
        let mut found = crashed.map(|run| mark::survivors(&run.run)).unwrap_or_default();
        found.extend(mark::others_at(&self.place(), self.runner.run_id()));
        let mut all: Vec<_> = found.into_iter().map(|one| (one.pid, one.name)).collect();
        all.sort();
        all.dedup();
        all
    }

    fn place(&self) -> String {
        mark::place_of(self.project.git_dir().unwrap_or(self.project.root()))
    }

    /// Files that were never put in place, and directories that only a run needs.
    fn remains(&self) -> Vec<PathBuf> {
        let (root, state) = (self.project.root(), self.project.state_dir());
        let below = ["", "ralph", "ralph/specs", ".ralph", ".ralph/control", ".ralph/logs"];
        let places = below.map(|folder| root.join(folder)).into_iter().chain([state.clone()]);
        let mut found: Vec<PathBuf> = places
            .flat_map(|place| entries(&place))
            .filter(|path| starts(path, TEMP_PREFIX) && !store::is_spare(path) && self.is_old(path))
            .chain(entries(&state).filter(|p| starts(p, "run-") && p.is_dir() && self.is_old(p)))
            .collect();
        found.sort();
        found
    }

    fn is_old(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        let now = self.clock.now().as_second();
        std::fs::symlink_metadata(path).is_ok_and(|meta| now - meta.mtime() > YOUNG)
    }

    /// Return the files into which damaged text was moved.
    fn put_aside(&self) -> Vec<PathBuf> {
        let beside = |path: &Path, end: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        let journal = store::journal_file(&self.project.state_dir());
        let all = [
            beside(self.plan, ".torn"),
            beside(&self.project.inbox(), ".torn"),
            beside(&journal, ".torn"),
            beside(&self.project.commands_json(), ".damaged"),
        ];
        all.into_iter().filter(|path| path.exists()).collect()
    }

    fn shown(&self, path: &Path) -> String {
        self.project.relative_path(path)
    }
}

/// Read the commands that wait in the queue. Entries without an id get one in the result only.
pub fn queue(path: &Path) -> Result<Result<Vec<QueuedCommand>, QueueError>, FileError> {
    let bytes = store::read(path)?.unwrap_or_default();
    let mut number = 0;
    let mut mint = || {
        number += 1;
        format!("entry-{number}")
    };
    let text = String::from_utf8_lossy(&bytes);
    Ok(CommandQueue::parse(&text).map(|mut queue| {
        queue.name_all(&mut mint);
        queue.entries()
    }))
}

/// Return the number of bytes that an unprivileged user can still write at this place.
pub fn free_space(place: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(place).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Whether the last line of a file of records was never finished.
fn has_torn_line(path: &Path) -> bool {
    let LedgerFileKind::Records(torn) = LedgerFileKind::of(path) else { return false };
    let Ok(Some(bytes)) = store::read(path) else { return false };
    torn(&bytes).is_some_and(|at| at < bytes.len())
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

fn starts(path: &Path, start: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
}
