//! The directory of a lane, known by more than its name.
//!
//! Agents, gates, hooks and setup run beside ralph as the same user, and can put a link to the user's files where
//! a lane was. Ralph keeps the directory open that it made, and compares it with what has its name before each
//! git call, write and removal there.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Damage to a lane after which its files say nothing about the work of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneDamage {
    /// The folder is gone.
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

    /// Fail unless the path leads to the opened directory, and to nothing else, without a link.
    pub(crate) fn check(&self) -> Result<(), LaneDamage> {
        let there = match fs::symlink_metadata(&self.path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Err(LaneDamage::Gone),
            Err(_) => return Err(LaneDamage::Replaced),
            Ok(meta) if !meta.is_dir() => return Err(LaneDamage::Replaced),
            Ok(meta) => meta,
        };
        let is_same = self
            .opened
            .metadata()
            .is_ok_and(|own| (own.dev(), own.ino()) == (there.dev(), there.ino()));
        match fs::canonicalize(&self.path) {
            Ok(real) if real != self.path => Err(LaneDamage::Replaced),
            Ok(_) if is_same => Ok(()),
            _ => Err(LaneDamage::Exchanged),
        }
    }
}
