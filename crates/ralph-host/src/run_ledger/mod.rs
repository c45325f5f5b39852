//! The ledger of an open run: a copy of home's ledger files in the git directory.
//!
//! # Theory of operation
//!
//! While a run is open, plan, knowledge index and progress log are in `<git-dir>/ralph/runs/<run>/`:
//! `run.json` says which run it is ([`OpenRun`]), `ledger/` has the files as the run has them, and
//! `seen/` has home's bytes as they were last taken over or arrived, and `doubted/` those of edits that a
//! backend may have made. Home's own files change only when
//! commits arrive. Files that git ignores never arrive, so they stay in home.
//!
//! `run.json` decides whether the run is open: it is written last when a run opens and removed first
//! when it closes. A directory without it is a leftover, which the next run removes.
//! [`crate::Project::ledger_file`] is the only place that resolves a path to a copy.

mod head;
mod home_edits;
mod lane_files;
mod resolve;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ralph_core::cycle::with_new_tasks;
use ralph_core::memory::index::{JSON_FILE, MARKDOWN_FILE};
use serde::{Deserialize, Serialize};

pub use head::HeadBranch;
pub use home_edits::HomeLedgerFile;
pub use lane_files::LedgerCommitKind;
pub(crate) use lane_files::read_from_lane;
pub(crate) use resolve::{find_open_run, is_copy_of_closed_run, shown_copy};

use crate::file_error::{FileAction, FileError};
use crate::git::LedgerPaths;
use crate::project::Project;
use crate::store::{self, LedgerStore, LedgerStoreError};

/// The directory of all runs, in the state directory.
const RUNS: &str = "runs";
/// The file that says that a run is open.
const RUN_FILE: &str = "run.json";
const COPIES: &str = "ledger";
const SEEN: &str = "seen";
/// Home's bytes that are not believed.
const DOUBTED: &str = "doubted";
/// The one shared ledger file that is the person's, and is written at once.
pub(crate) const INBOX: &str = "ralph/inbox.jsonl";

/// The folder in which attempts of a run work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunWorkspace {
    /// Lanes, which belong to ralph.
    Lane,
    /// Home itself, which ralph owns while the run is open.
    Checkout,
}

/// Content of `run.json`, which describes the open run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenRun {
    pub run: String,
    /// The branch on which its commits arrive; `None` for a detached HEAD.
    pub branch: Option<String>,
    /// The branch that home was on when the run started; `None` for a detached HEAD. It differs from
    /// `branch` when commits arrive on a branch that was named.
    #[serde(default)]
    pub home_branch: Option<String>,
    /// The plan in use, relative to the project.
    pub plan: String,
    /// The project's folder below the top of the work tree; empty for the top itself.
    #[serde(default)]
    pub folder: String,
    /// Ledger files that git ignores, relative to the project; they stay in home.
    #[serde(default)]
    pub ignored: Vec<String>,
    /// The folder in which its attempts work.
    pub workspace: RunWorkspace,
}

impl OpenRun {
    /// The files that have a copy, relative to the project.
    pub fn files(&self) -> Vec<String> {
        let files = ledger_files(&self.plan).into_iter();
        files.filter(|file| !self.ignored.contains(file)).collect()
    }
}

/// The files of a run's ledger: what belongs into the repository, except for the inbox. A plan outside
/// of the project is not among them.
pub fn ledger_files(plan: &str) -> Vec<String> {
    let paths = LedgerPaths::with_plan(plan);
    let files = paths.shared().iter().map(ToString::to_string);
    files.filter(|file| file != INBOX && is_inside(file)).collect()
}

fn is_inside(file: &str) -> bool {
    Path::new(file).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// The directory of a run's copies.
pub(crate) fn copies_in(run: &Path) -> PathBuf {
    run.join(COPIES)
}

/// The files with which a run begins.
#[derive(Clone, Copy, Debug)]
pub enum LedgerStart<'a> {
    /// Ledger files of home.
    Home,
    /// Those of another branch (`--branch`), by their path; home adds new tasks.
    Branch(&'a BTreeMap<String, Vec<u8>>),
}

/// The ledger of an open run.
#[derive(Debug)]
pub struct RunLedger {
    open_run: OpenRun,
    directory: PathBuf,
    home: PathBuf,
    git_dir: PathBuf,
    /// Bytes in home that were told to be left alone, so that they are told once.
    left_alone: Mutex<BTreeMap<String, Option<Vec<u8>>>>,
    commits: Mutex<LedgerCommits>,
}

/// The last commits with ledger files that this process made, as far as it knows.
#[derive(Debug, Default)]
struct LedgerCommits {
    /// Last commit on the tip.
    landed: CommittedFiles,
    /// Last commit that arrived in home.
    arrived: CommittedFiles,
}

/// The ledger files of a commit, with a digest of their bytes.
#[derive(Clone, Debug, Default)]
struct CommittedFiles {
    commit: String,
    files: BTreeMap<String, u64>,
}

/// A run's ledger that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RunLedgerError {
    /// The project is in no repository.
    #[error("{0} is not in a git repository")]
    NoRepository(String),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A ledger file is locked, or cannot be changed.
    #[error(transparent)]
    Store(#[from] LedgerStoreError),
}

impl RunLedgerError {
    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoRepository(_) => None,
            Self::File(e) => e.hint(),
            Self::Store(e) => e.hint(),
        }
    }
}

/// Result of closing a run's ledger.
#[derive(Debug)]
pub enum LedgerCloseResult {
    /// The run is no longer open.
    Closed,
    /// These copies have changes that did not arrive, so the run stays open.
    Changed(Box<RunLedger>, Vec<String>),
}

impl RunLedger {
    /// Open the ledger of a new run.
    pub fn open(
        project: &Project,
        mut open_run: OpenRun,
        start: LedgerStart<'_>,
    ) -> Result<Self, RunLedgerError> {
        // The index is read and written as one.
        let index = [MARKDOWN_FILE, JSON_FILE].map(str::to_owned);
        if index.iter().any(|file| open_run.ignored.contains(file)) {
            let missing = index.into_iter().filter(|file| !open_run.ignored.contains(file));
            open_run.ignored.extend(missing.collect::<Vec<_>>());
        }
        // A link leads to a file that the person keeps elsewhere.
        let links = ledger_files(&open_run.plan).into_iter();
        open_run.ignored.extend(links.filter(|file| project.root().join(file).is_symlink()));
        open_run.folder = resolve::folder_of(project);
        remove_leftovers(project);
        let directory = project.state_dir().join(RUNS).join(&open_run.run);
        remove_directory(&directory)?;
        store::make_directories(&directory)?;
        let ledger = Self::at(project, directory, open_run)?;
        for file in ledger.open_run.files() {
            for place in [ledger.copy_path(&file), ledger.seen_path(&file)] {
                store::make_directories(place.parent().unwrap_or(&place))?;
            }
            ledger.copy_in(&file, start)?;
        }
        ledger.save()?;
        Ok(ledger)
    }

    /// Copy one file when a run opens.
    fn copy_in(&self, file: &str, start: LedgerStart<'_>) -> Result<(), FileError> {
        let home = store::read(&self.home.join(file))?;
        let (copy, seen) = match start {
            LedgerStart::Home => (home.clone(), home),
            LedgerStart::Branch(files) => match files.get(file) {
                Some(branch) if file == self.open_run.plan => {
                    (Some(add_home_tasks(file, branch, home.as_deref())), Some(branch.clone()))
                }
                Some(branch) => (Some(branch.clone()), Some(branch.clone())),
                // A plan that the branch has not got yet is home's.
                None => (home.filter(|_| file == self.open_run.plan), None),
            },
        };
        for (path, bytes) in [(self.copy_path(file), copy), (self.seen_path(file), seen)] {
            if let Some(bytes) = bytes {
                store::replace(&path, &bytes)?;
            }
        }
        Ok(())
    }

    fn at(
        project: &Project,
        directory: PathBuf,
        open_run: OpenRun,
    ) -> Result<Self, RunLedgerError> {
        let home = project.root().to_owned();
        let Some(git_dir) = project.git_dir() else {
            return Err(RunLedgerError::NoRepository(home.display().to_string()));
        };
        let git_dir = git_dir.to_owned();
        let (left_alone, commits) = (Mutex::default(), Mutex::default());
        Ok(Self { open_run, directory, home, git_dir, left_alone, commits })
    }

    /// Find the open run of the branch that home is on.
    pub fn of_home(project: &Project) -> Option<Self> {
        let (directory, open_run) = find_open_run(project)?;
        Self::at(project, directory, open_run).ok()
    }

    /// Find the open run of a branch.
    pub fn of_branch(project: &Project, branch: Option<&str>) -> Option<Self> {
        let mut runs = resolve::open_runs(project).into_iter();
        let (directory, open_run) = runs.find(|(_, run)| run.branch.as_deref() == branch)?;
        Self::at(project, directory, open_run).ok()
    }

    /// List the open runs of the project, whatever branch they are on.
    pub fn all(project: &Project) -> Vec<Self> {
        let runs = resolve::open_runs(project).into_iter();
        runs.filter_map(|(directory, run)| Self::at(project, directory, run).ok()).collect()
    }

    /// Let the commits of the run arrive on another branch.
    pub(crate) fn aim_at(&mut self, branch: &str) -> Result<(), FileError> {
        self.open_run.branch = Some(branch.to_owned());
        self.save()
    }

    fn save(&self) -> Result<(), FileError> {
        let text = serde_json::to_string_pretty(&self.open_run).unwrap_or_default() + "\n";
        store::replace(&self.directory.join(RUN_FILE), text.as_bytes())
    }

    /// The run that the ledger belongs to.
    pub fn open_run(&self) -> &OpenRun {
        &self.open_run
    }

    /// Whether the run has its own copy of a file, and home's changes only when commits arrive.
    pub(crate) fn has_copy(&self, file: &str) -> bool {
        self.open_run.files().iter().any(|copied| copied == file)
    }

    /// The run's copy of a ledger file. It need not exist.
    pub fn copy_path(&self, file: &str) -> PathBuf {
        self.directory.join(COPIES).join(file)
    }

    fn seen_path(&self, file: &str) -> PathBuf {
        self.directory.join(SEEN).join(file)
    }

    fn doubted_path(&self, file: &str) -> PathBuf {
        self.directory.join(DOUBTED).join(file)
    }

    /// Read the run's copy of a file, or home's where it has none because git ignores it.
    pub fn read(&self, file: &str) -> Result<Option<Vec<u8>>, FileError> {
        match self.open_run.ignored.iter().any(|ignored| ignored == file) {
            true => store::read(&self.home.join(file)),
            false => store::read(&self.copy_path(file)),
        }
    }

    /// Read home's bytes of a file as they were last taken over or arrived.
    pub fn seen(&self, file: &str) -> Result<Option<Vec<u8>>, FileError> {
        store::read(&self.seen_path(file))
    }

    /// Write down that home has these bytes of a file now, because they were taken over or arrived. Not
    /// synced: when it is lost, home is merged once more with what the run has of it already.
    pub fn mark_seen(&self, file: &str, bytes: Option<&[u8]>) -> Result<(), FileError> {
        let path = self.seen_path(file);
        match bytes {
            Some(bytes) if store::read(&path)?.as_deref() == Some(bytes) => Ok(()),
            Some(bytes) => store::put_view(&path, bytes),
            None => store::drop_view(&path),
        }
    }

    /// Remember the bytes with which these files ride in a commit on the tip.
    pub(crate) fn note_commit(&self, commit: &str, files: BTreeMap<String, Vec<u8>>) {
        let files = files.into_iter().map(|(file, bytes)| (file, digest(&bytes))).collect();
        self.commits().landed = CommittedFiles { commit: commit.to_owned(), files };
    }

    /// Look at what arrived in home: files that are as the run or the commit `arrived` has them are known.
    /// `committed` reads a file of that commit.
    pub(crate) fn see_arrived<E: From<FileError>>(
        &self,
        arrived: &str,
        committed: impl Fn(&str) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<(), E> {
        let mut commits = self.commits();
        if commits.landed.commit == arrived {
            commits.arrived = commits.landed.clone();
        }
        drop(commits);
        for file in self.open_run.files() {
            // A folder in its place is no file.
            let home = store::read(&self.home.join(&file)).unwrap_or_default();
            let same = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(without_returns);
            let is_known = same(&home) == same(&self.read(&file)?)
                || home.as_ref().is_some_and(|home| self.is_as_committed(&file, home, arrived))
                || home != self.seen(&file)? && same(&home) == same(&committed(&file)?);
            if is_known {
                self.mark_seen(&file, home.as_deref())?;
            }
        }
        Ok(())
    }

    /// Whether these bytes of a file are those of `arrived`, the commit that home has. Then git brings
    /// the next ones, and the file does not have to ride.
    pub(crate) fn is_as_committed(&self, file: &str, bytes: &[u8], arrived: &str) -> bool {
        let known = &self.commits().arrived;
        known.commit == arrived && known.files.get(file) == Some(&digest(bytes))
    }

    fn commits(&self) -> MutexGuard<'_, LedgerCommits> {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// List the copies that differ from what home has seen, line ends aside.
    pub fn not_arrived(&self) -> Result<Vec<String>, FileError> {
        let mut changed = Vec::new();
        for file in self.open_run.files() {
            let (copy, seen) = (store::read(&self.copy_path(&file))?, self.seen(&file)?);
            if copy.as_deref().map(without_returns) != seen.as_deref().map(without_returns) {
                changed.push(file);
            }
        }
        Ok(changed)
    }

    /// Close the run if everything in its ledger has arrived. Commands cannot change the ledger
    /// meanwhile, and those that come later change home's files.
    pub fn close(self, store: &LedgerStore) -> Result<LedgerCloseResult, RunLedgerError> {
        let lock = store.lock().map_err(LedgerStoreError::from)?;
        let changed = self.not_arrived()?;
        if !changed.is_empty() {
            return Ok(LedgerCloseResult::Changed(Box::new(self), changed));
        }
        store::drop_view(&self.directory.join(RUN_FILE))?;
        drop(lock);
        remove_directory(&self.directory)?;
        Ok(LedgerCloseResult::Closed)
    }

    /// Close the run, whatever is in its ledger.
    pub fn discard(self, store: &LedgerStore) -> Result<(), RunLedgerError> {
        let lock = store.lock().map_err(LedgerStoreError::from)?;
        store::drop_view(&self.directory.join(RUN_FILE))?;
        drop(lock);
        Ok(remove_directory(&self.directory)?)
    }

    /// Whether home is on the run's branch, as far as can be told without git.
    pub fn is_home_on_branch(&self) -> bool {
        HeadBranch::read(&self.git_dir).is(self.open_run.branch.as_deref())
    }
}

/// A number that stands for these bytes as long as this process lives.
fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// Bytes without carriage returns: git may write other line ends into home.
pub(crate) fn without_returns(bytes: &[u8]) -> Vec<u8> {
    let mut text = bytes.to_vec();
    text.retain(|byte| *byte != b'\r');
    text
}

/// The plan of a branch with home's new tasks; as it is where they cannot be added.
fn add_home_tasks(name: &str, branch: &[u8], home: Option<&[u8]>) -> Vec<u8> {
    let text = std::str::from_utf8(branch).ok();
    let home = home.and_then(|home| std::str::from_utf8(home).ok());
    let merged = text.zip(home).and_then(|(text, home)| with_new_tasks(name, text, home).ok());
    merged.map_or_else(|| branch.to_vec(), String::into_bytes)
}

fn remove_directory(directory: &Path) -> Result<(), FileError> {
    match fs::remove_dir_all(directory) {
        Err(e) if e.kind() != ErrorKind::NotFound => {
            Err(FileError::io(FileAction::Write, directory)(e))
        }
        _ => Ok(()),
    }
}

/// Remove directories of runs that did not open or close completely.
fn remove_leftovers(project: &Project) {
    let open: BTreeSet<PathBuf> =
        resolve::run_directories(project).into_iter().filter(|dir| is_run(dir)).collect();
    for directory in resolve::run_directories(project) {
        if !open.contains(&directory) {
            // One that cannot be removed is in nobody's way.
            let _left = fs::remove_dir_all(directory);
        }
    }
}

fn is_run(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join(RUN_FILE)).is_ok()
}

#[cfg(test)]
#[path = "run_ledger_tests.rs"]
mod tests;
