//! Files that are only views of something else: written at once, never synced, made again when lost.

use std::fs::{OpenOptions, Permissions, create_dir_all};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::atomic::TEMP_PREFIX;
use super::target::directory_of;
use crate::file_error::{Action, FileError};

/// Put `bytes` in the place of the file `path`, with the directories it needs. A reader sees the old
/// file or the new one; after a power failure it may be neither.
pub fn put_view(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    put(path, bytes).map_err(FileError::io(Action::Write, path))
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create_dir_all(directory_of(path))?;
    let mut temp = tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory_of(path))?;
    temp.write_all(bytes)?;
    temp.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// Add `bytes` to the end of the file `path`, with the directories it needs.
pub fn add_to_view(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let add = || {
        create_dir_all(directory_of(path))?;
        OpenOptions::new().append(true).create(true).open(path)?.write_all(bytes)
    };
    add().map_err(FileError::io(Action::Write, path))
}

/// Remove a view. One that is not there is removed already.
pub fn drop_view(path: &Path) -> Result<(), FileError> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(FileError::io(Action::Write, path)(e)),
        _ => Ok(()),
    }
}
