//! Making a file that must not be there yet.

use std::fs::{File, Permissions, create_dir_all};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::atomic::TEMP_PREFIX;
use super::sync;
use super::target::directory_of;
use crate::file_error::{FileAction, FileError};

/// Result of creating a file that must not be overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCreation {
    New,
    /// Something was there already, and still is as it was.
    AlreadyThere,
}

/// Make the file `path` with these bytes and the directories it needs. Whatever has that name
/// already, also a link that leads nowhere, stays as it is: there is no moment in which this could
/// replace what somebody else has just written.
pub fn create(path: &Path, bytes: &[u8]) -> Result<FileCreation, FileError> {
    create_dir_all(directory_of(path)).map_err(|e| {
        let in_the_way = e.kind() == ErrorKind::AlreadyExists;
        let e = if in_the_way { ErrorKind::NotADirectory.into() } else { e };
        FileError::io(FileAction::Write, path)(e)
    })?;
    match put(path, bytes) {
        Ok(()) => Ok(FileCreation::New),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(FileCreation::AlreadyThere),
        Err(e) => Err(FileError::io(FileAction::Write, path)(e)),
    }
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Opened before anything changes: what cannot be synced is not started.
    let directory = File::open(directory_of(path))?;
    let mut temp = tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory_of(path))?;
    temp.write_all(bytes)?;
    sync::data(temp.as_file())?;
    temp.persist_noclobber(path).map_err(|e| e.error)?;
    sync::directory(&directory)
}

#[cfg(test)]
#[path = "create_tests.rs"]
mod tests;
