//! Finding the open run that a path of the project belongs to.

use std::fs;
use std::path::{Path, PathBuf};

use super::{COPIES, HeadBranch, OpenRun, RUN_FILE, RUNS, is_run};
use crate::project::Project;

/// The open run of the branch that home is on, or on which home was when it started, with its directory; for a
/// detached HEAD the newest one. For a run itself: its own.
pub(crate) fn find_open_run(project: &Project) -> Option<(PathBuf, OpenRun)> {
    let runs = open_runs(project);
    if runs.is_empty() {
        return None;
    }
    if let Some(own) = project.run() {
        return runs.into_iter().find(|(_, run)| run.run == own);
    }
    let head = HeadBranch::read(project.git_dir()?);
    let mine = |branch: &Option<String>| head.is(branch.as_deref());
    let is_mine = |run: &OpenRun| mine(&run.branch) || mine(&run.home_branch);
    let place = runs.iter().position(|(_, run)| is_mine(run));
    // A detached HEAD has no ledger of its own: a rebase or a look at an old commit leaves the run's.
    let place = place.or((head == HeadBranch::Detached).then_some(0))?;
    runs.into_iter().nth(place)
}

/// The open runs of a project, newest first.
pub(super) fn open_runs(project: &Project) -> Vec<(PathBuf, OpenRun)> {
    let directories = run_directories(project);
    if directories.is_empty() {
        return Vec::new();
    }
    let folder = folder_of(project);
    let runs = directories.into_iter().rev().filter_map(|directory| {
        let bytes = fs::read(directory.join(RUN_FILE)).ok()?;
        let run: OpenRun = serde_json::from_slice(&bytes).ok()?;
        (run.folder == folder).then_some((directory, run))
    });
    runs.collect()
}

/// The directories of runs, open or not, in the order of their names.
pub(super) fn run_directories(project: &Project) -> Vec<PathBuf> {
    if project.git_dir().is_none() {
        return Vec::new();
    }
    let entries = fs::read_dir(project.state_dir().join(RUNS)).into_iter().flatten();
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort_unstable();
    found
}

/// The project's folder below the top of the work tree.
pub(super) fn folder_of(project: &Project) -> String {
    let root = project.root();
    let top = root.ancestors().find(|dir| fs::symlink_metadata(dir.join(".git")).is_ok());
    let folder = top.and_then(|top| root.strip_prefix(top).ok());
    folder.map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Whether a path is in the ledger of a run that was closed.
pub(crate) fn is_copy_of_closed_run(state_dir: &Path, path: &Path) -> bool {
    let runs = state_dir.join(RUNS);
    let in_runs = path.strip_prefix(&runs).ok();
    let run = in_runs.and_then(|rest| rest.components().next());
    run.is_some_and(|run| !is_run(&runs.join(run)))
}

/// The path in the project of a file in a run's ledger; `None` for any other file.
pub(crate) fn shown_copy<'p>(project: &Project, path: &'p Path) -> Option<&'p Path> {
    let in_run = path.strip_prefix(project.state_dir().join(RUNS)).ok()?;
    let mut parts = in_run.components();
    parts.next()?;
    parts.as_path().strip_prefix(COPIES).ok()
}
