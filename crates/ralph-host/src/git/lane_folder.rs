//! The directory of a lane, known by more than its name.
//!
//! Agents, gates, hooks and setup run beside ralph as the same user, and can put a link to the user's files where
//! a lane was. Ralph keeps the directory open that it made, and compares it with what has its name before each
//! git call, write and removal there.

use std::fmt;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What the owner of a folder needs to work in it.
const OWNER_ALL: u32 = 0o700;

/// Damage to a lane after which its files say nothing about the work of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneDamage {
    Gone,
    /// The folder was replaced by a link or a file.
    Replaced,
    /// Another directory is in its place.
    Exchanged,
    /// The folder of the project inside the lane is gone.
    ProjectGone,
    /// No file of the base commit is left.
    Emptied,
}

impl fmt::Display for LaneDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Gone => "was deleted",
            Self::Replaced => "was replaced by a link or a file",
            Self::Exchanged => "was replaced by another directory",
            Self::ProjectGone => "has lost the folder of the project",
            Self::Emptied => "has lost every file of the base commit",
        })
    }
}

/// An opened directory. While it is open no other directory has its inode.
#[derive(Debug)]
pub(crate) struct LaneFolder {
    /// Without links.
    path: PathBuf,
    opened: File,
}

impl LaneFolder {
    /// Open the directory at a path without links.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let folder = Self { path: path.to_owned(), opened: File::open(path)? };
        folder.check().map_err(|damage| io::Error::other(damage.to_string()))?;
        Ok(folder)
    }

    /// Fail unless the path leads to the opened directory, and to nothing else, without a link. Takes back the
    /// rights that somebody took away from ralph.
    pub(crate) fn check(&self) -> Result<(), LaneDamage> {
        let look = || fs::symlink_metadata(&self.path);
        let there = look().or_else(|e| match self.path.parent() {
            Some(parent) if e.kind() == ErrorKind::PermissionDenied => {
                unlock_folder(parent);
                look()
            }
            _ => Err(e),
        });
        let there = match there {
            Err(e) if e.kind() == ErrorKind::NotFound => return Err(LaneDamage::Gone),
            Err(_) => return Err(LaneDamage::Replaced),
            Ok(meta) if !meta.is_dir() => return Err(LaneDamage::Replaced),
            Ok(meta) => meta,
        };
        let is_same = |own: fs::Metadata| (own.dev(), own.ino()) == (there.dev(), there.ino());
        match fs::canonicalize(&self.path) {
            Ok(real) if real != self.path => return Err(LaneDamage::Replaced),
            Ok(_) if self.opened.metadata().is_ok_and(is_same) => {}
            _ => return Err(LaneDamage::Exchanged),
        }
        unlock_folder(&self.path);
        Ok(())
    }

    /// Take back the rights on every folder of the lane.
    pub(crate) fn unlock(&self) {
        if self.check().is_ok() {
            unlock_folders(&self.path);
        }
    }
}

/// Give the owner all rights on one folder.
pub(crate) fn unlock_folder(folder: &Path) {
    let Ok(meta) = fs::symlink_metadata(folder) else { return };
    let mode = meta.permissions().mode();
    if meta.is_dir() && mode & OWNER_ALL != OWNER_ALL {
        let _met_again = fs::set_permissions(folder, Permissions::from_mode(mode | OWNER_ALL));
    }
}

/// Give the owner all rights on a folder and those below it. What cannot be changed is met again by
/// whoever needs it.
pub(crate) fn unlock_folders(folder: &Path) {
    if !fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir()) {
        return;
    }
    unlock_folder(folder);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock_folders(&entry.path());
        }
    }
}
