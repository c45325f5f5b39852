//! The lanes that are there, what they use of the disk, and how they are removed.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::LaneError;
use super::files;
use super::pool::{LanePool, OWNER_FILE, owner_of};
use crate::file_error::{Action, FileError};
use crate::store::{Holder, who_runs};

/// One lane of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneSummary {
    /// The number of the lane, from 1.
    pub number: u32,
    /// The folder with its files.
    pub path: PathBuf,
    /// Bytes on disk.
    pub bytes: u64,
    /// The process that uses it, if one does.
    pub used_by: Option<Holder>,
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
        let folder = self.folder();
        let entries = fs::read_dir(folder).map_err(FileError::io(Action::Read, folder))?;
        let number = |name: &str| name.strip_prefix("lane-")?.parse::<u32>().ok();
        let numbers = entries.flatten().filter_map(|e| number(&e.file_name().to_string_lossy()));
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_unstable();
        let summary = |number: u32| {
            let path = self.home.lane_top(number);
            let used_by = who_runs(&self.home.lane_git_dir(number));
            LaneSummary { number, bytes: files::disk_use(&path), path, used_by }
        };
        Ok(numbers.into_iter().map(summary).collect())
    }

    /// Remove every lane that is not in use. That costs their preparation and nothing else.
    pub fn prune(&self, holder: &Holder) -> Result<PrunedLanes, LaneError> {
        let mut pruned = PrunedLanes::default();
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

/// Delete the lanes in ralph's cache folder ([`cache_folder`](super::cache_folder)) whose home is gone.
/// Returns the folders that were deleted; what cannot be deleted stays for the next time.
pub fn remove_orphaned_lanes(cache: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(cache).into_iter().flatten().flatten().map(|entry| entry.path());
    folders.filter(|folder| files::is_folder(folder) && remove_if_orphaned(folder)).collect()
}

/// Delete a folder of lanes, and nothing in it that is not ralph's.
fn remove_if_orphaned(folder: &Path) -> bool {
    let is_orphaned = owner_of(folder).is_some_and(|git_dir| {
        fs::symlink_metadata(&git_dir).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound)
    });
    if !is_orphaned {
        return false;
    }
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
