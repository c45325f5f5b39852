//! Git's lock on home's index.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::GitError;

/// Git's lock on home's index, held by ralph.
pub(super) struct IndexLock(PathBuf);

impl IndexLock {
    /// Take it, if nobody has it.
    pub(super) fn take(path: &Path) -> Result<Self, GitError> {
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
