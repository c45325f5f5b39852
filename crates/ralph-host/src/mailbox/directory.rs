//! The private directory of the sockets of one place.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::LONGEST_PATH;
use crate::file_error::{FileAction, FileError};
use crate::proc::mark::place_of;

/// The name of a socket has so many bytes: the id of an attempt.
const NAME_LENGTH: usize = 26;

/// A directory of sockets; it is removed when this is dropped.
#[derive(Debug)]
pub struct MailboxDirectory(PathBuf);

impl MailboxDirectory {
    /// Make the directory of a place. What an earlier run left there goes. Call it with the run's lock held.
    pub fn open(git_dir: &Path) -> Result<Self, FileError> {
        let path = path_of(git_dir);
        let failed = || FileError::io(FileAction::Write, &path);
        if let Ok(found) = fs::symlink_metadata(&path) {
            if found.uid() != rustix::process::geteuid().as_raw() {
                let why = "it belongs to another user; set XDG_RUNTIME_DIR to a directory of yours";
                return Err(failed()(std::io::Error::other(why)));
            }
            let removed = match found.is_dir() {
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
            removed.map_err(failed())?;
        }
        DirBuilder::new().mode(0o700).create(&path).map_err(failed())?;
        Ok(Self(path))
    }

    /// The path of the socket of an attempt.
    pub(super) fn socket(&self, attempt: &str) -> PathBuf {
        // An attempt's id is a name and never a path.
        self.0.join(Path::new(attempt).file_name().unwrap_or_default())
    }

    /// Return the path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for MailboxDirectory {
    fn drop(&mut self) {
        // The next run removes it.
        let _left = fs::remove_dir_all(&self.0);
    }
}

/// The directory of a place: in the user's runtime directory, else in the temporary one.
fn path_of(git_dir: &Path) -> PathBuf {
    let name = format!("ralph-{}", place_of(git_dir));
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty());
    let wanted = runtime.map(PathBuf::from).filter(|dir| dir.is_dir());
    let wanted = [wanted, Some(std::env::temp_dir())];
    let fits = |dir: &PathBuf| {
        dir.as_os_str().len() + name.len() + NAME_LENGTH + 3 <= LONGEST_PATH && dir.is_absolute()
    };
    let base = wanted.into_iter().flatten().find(fits);
    base.unwrap_or_else(|| PathBuf::from("/tmp")).join(name)
}
