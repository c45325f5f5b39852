//! The lanes that are there, what they use of the disk, and how they are removed.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::error::LaneError;
use super::files;
use super::lane::LANE_FILE;
use super::pool::{LanePool, OWNER_FILE, owner_of};
use crate::file_error::{FileAction, FileError};
use crate::git::{Oid, Repo};
use crate::store::{LockHolder, who_runs};

/// Use and condition of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneState {
    Free,
    /// Lane that this process uses.
    InUse(LockHolder),
    /// Incomplete lane, with the reason. The next use makes it again.
    Damaged(&'static str),
}

/// Description of one lane of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneSummary {
    /// The number of the lane, from 1.
    pub number: u32,
    /// Folder with the files of the lane.
    pub path: PathBuf,
    /// Size on disk in bytes.
    pub bytes: u64,
    /// Whether it is in use or damaged.
    pub state: LaneState,
    /// The commit that it is on, unless it was never on one.
    pub commit: Option<Oid>,
}

/// The result of pruning a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrunedLanes {
    /// Lanes that were removed, with the space that they used.
    pub removed: Vec<LaneSummary>,
    /// Lanes that are in use and stay.
    pub kept: Vec<LaneSummary>,
}

impl LanePool<'_> {
    /// The lanes of this pool in the order of their numbers.
    pub fn list(&self) -> Result<Vec<LaneSummary>, LaneError> {
        let folders = numbers_in(self.folder(), "lane-")?;
        let used = |number: &u32| self.home.lane_git_dir(*number).join(LANE_FILE).exists();
        let known = numbers_in(&self.home.lane_git_dirs(), "")?;
        let numbers: BTreeSet<u32> =
            folders.into_iter().chain(known.into_iter().filter(used)).collect();
        Ok(numbers.into_iter().map(|number| self.summary(number)).collect())
    }

    fn summary(&self, number: u32) -> LaneSummary {
        let (path, git_dir) = (self.home.lane_top(number), self.home.lane_git_dir(number));
        let repo = Repo::of_lane(&self.home.repo, &path, &git_dir);
        let has_git_dir = self.home.is_lane_git_dir(&path, &git_dir);
        let state = match who_runs(&git_dir) {
            Some(holder) => LaneState::InUse(holder),
            None if fs::symlink_metadata(&path).is_err() => {
                LaneState::Damaged("its folder is gone")
            }
            None if !files::is_folder(&path) => LaneState::Damaged("its folder was replaced"),
            None if !has_git_dir => LaneState::Damaged("its git directory is damaged"),
            None => LaneState::Free,
        };
        let commit = has_git_dir.then(|| repo.head_commit().ok().flatten()).flatten();
        LaneSummary { number, bytes: files::disk_use(&path), path, state, commit }
    }

    /// Remove every lane that is not in use. That costs their preparation and nothing else.
    pub fn prune(&self, holder: &LockHolder) -> Result<PrunedLanes, LaneError> {
        let mut pruned = PrunedLanes::default();
        self.home.drop_link()?;
        self.home.unlock_folder();
        for lane in self.list()? {
            match self.home.lock_lane(lane.number, holder)? {
                None => pruned.kept.push(lane),
                Some(lock) => {
                    files::remove(&lane.path)?;
                    // The lock file stays: two processes must not lock two files of one name.
                    let git_dir = self.home.lane_git_dir(lane.number);
                    for entry in fs::read_dir(&git_dir).into_iter().flatten().flatten() {
                        if entry.file_name() != super::lane::LOCK_FILE {
                            files::remove(&entry.path())?;
                        }
                    }
                    drop(lock);
                    pruned.removed.push(lane);
                }
            }
        }
        Ok(pruned)
    }
}

/// The numbers after `start` in the names of what is in a folder. One that is not there has none.
fn numbers_in(folder: &Path, start: &str) -> Result<Vec<u32>, LaneError> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(FileError::io(FileAction::Read, folder))?,
    };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter_map(|name| name.strip_prefix(start)?.parse().ok()).collect())
}

/// Find the folders of lanes in ralph's cache folder ([`cache_folder`](super::cache_folder)) whose home
/// is gone.
pub fn orphaned_lanes(cache: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(cache).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        folders.filter(|folder| files::is_folder(folder) && is_orphaned(folder)).collect();
    found.sort_unstable();
    found
}

/// Delete the lanes in ralph's cache folder whose home is gone. Returns the folders that were deleted;
/// what cannot be deleted stays for the next time.
pub fn remove_orphaned_lanes(cache: &Path) -> Vec<PathBuf> {
    orphaned_lanes(cache).into_iter().filter(|folder| remove_lanes(folder)).collect()
}

fn is_orphaned(folder: &Path) -> bool {
    owner_of(folder).is_some_and(|git_dir| {
        fs::symlink_metadata(&git_dir).is_err_and(|e| e.kind() == ErrorKind::NotFound)
    })
}

/// Delete a folder of lanes, and nothing in it that is not ralph's.
fn remove_lanes(folder: &Path) -> bool {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_lane = entry.file_name().as_encoded_bytes().starts_with(b"lane-");
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if (is_lane || is_link) && files::remove(&entry.path()).is_err() {
            return false;
        }
    }
    // The name of the owner goes last, so that a part that is left is found again.
    fs::remove_file(folder.join(OWNER_FILE)).is_ok() && fs::remove_dir(folder).is_ok()
}
