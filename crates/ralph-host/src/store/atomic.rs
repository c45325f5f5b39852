//! Two ways to change a file that survive a crash: put a whole new one in place, or add to its end.

use std::fs::{File, Metadata, OpenOptions, Permissions, remove_file};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use tempfile::NamedTempFile;

use super::sync::{self, BackgroundSync};
use super::target::{LinkTarget, directory_of};
use crate::file_error::{FileAction, FileError};

/// Prefix of the names of unfinished files, for ignore rules. A crash may leave such a file behind;
/// nothing reads it.
pub const TEMP_PREFIX: &str = ".ralph-tmp-";

/// Permission bits, with the special ones.
const MODE_BITS: u32 = 0o7777;

/// Put `bytes` in the place of the file `path`, all at once. Links are followed and stay; the
/// permissions of the old file stay. On error nothing has changed.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut renamed = replace_when(path, bytes, || Ok(()))?;
    renamed.wait().map_err(FileError::io(FileAction::Write, path))
}

/// The same in two steps. The new bytes go to the disk while `ready` waits for what has to be there
/// before them; once the file is in its place, its name goes there while the caller goes on.
pub(super) fn replace_when(
    path: &Path,
    bytes: &[u8],
    ready: impl FnOnce() -> Result<(), FileError>,
) -> Result<BackgroundSync, FileError> {
    let target = LinkTarget::resolve(FileAction::Write, path)?;
    let new =
        FileReplacement::new(&target, bytes).map_err(FileError::io(FileAction::Write, path))?;
    ready()?;
    new.put(&target).map_err(FileError::io(FileAction::Write, path))
}

/// A new file beside the one whose place it is to take.
struct FileReplacement {
    file: NamedTempFile,
    directory: File,
    syncing: BackgroundSync,
}

impl FileReplacement {
    fn put(mut self, target: &LinkTarget) -> io::Result<BackgroundSync> {
        self.syncing.wait()?;
        self.file.persist(&target.path).map_err(|e| e.error)?;
        BackgroundSync::directory(self.directory)
    }

    fn new(target: &LinkTarget, bytes: &[u8]) -> io::Result<Self> {
        let mode = match &target.meta {
            Some(old) => {
                // A rename needs no permission on the file itself, but whoever took away the
                // permission to write meant it.
                OpenOptions::new().write(true).open(&target.path)?;
                old.mode() & MODE_BITS
            }
            None => 0o666,
        };
        // Opened before anything changes: what cannot be synced is not started.
        let directory = File::open(target.directory())?;
        let mut temp = tempfile::Builder::new()
            .prefix(TEMP_PREFIX)
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(target.directory())?;
        temp.write_all(bytes)?;
        if let Some(old) = &target.meta {
            keep_owner_and_mode(temp.as_file(), old)?;
        }
        let syncing = BackgroundSync::data(temp.as_file())?;
        Ok(Self { file: temp, directory, syncing })
    }
}

/// Make the new file look like the old one. Only root may give files away, so a refusal is not an
/// error; without this, one `sudo ralph` would lock the user out of the plan.
fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if new.gid() != old.gid() {
        let _refused = fchown(file, None, Some(old.gid()));
    }
    if new.uid() != old.uid() {
        let _refused = fchown(file, Some(old.uid()), None);
    }
    file.set_permissions(Permissions::from_mode(old.mode() & MODE_BITS))
}

/// Add `bytes` to the end of the file `path`, making it if it is not there. On error the file is
/// as long as it was.
pub fn append(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let target = LinkTarget::resolve(FileAction::Write, path)?;
    append_target(&target, bytes).map_err(FileError::io(FileAction::Write, path))
}

fn append_target(target: &LinkTarget, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(&target.path)?;
    let old_length = file.metadata()?.len();
    let written = file.write_all(bytes).and_then(|()| sync::data(&file));
    if let Err(e) = written {
        // Should this fail as well, a torn last line is left, which the next reader moves away.
        let _torn = file.set_len(old_length).and_then(|()| sync::data(&file));
        if target.meta.is_none() {
            let _empty = remove_file(&target.path);
        }
        return Err(e);
    }
    if target.meta.is_none() { sync_directory(target.directory()) } else { Ok(()) }
}

/// Make the directory that `path` is to be in, if only that one is missing. More missing levels
/// are more likely a mistyped path.
pub(super) fn make_directory_for(path: &Path) -> Result<(), FileError> {
    let directory = directory_of(path);
    match std::fs::create_dir(directory) {
        Ok(()) => sync_directory(directory_of(directory)),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e),
    }
    .map_err(FileError::io(FileAction::Write, path))
}

/// Make a directory and those above it that are missing, so that they survive a crash.
pub fn make_directories(directory: &Path) -> Result<(), FileError> {
    let missing: Vec<&Path> = directory.ancestors().take_while(|dir| !dir.exists()).collect();
    for dir in missing.into_iter().rev() {
        match std::fs::create_dir(dir) {
            Ok(()) => sync_directory(directory_of(dir)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(e) => Err(e),
        }
        .map_err(FileError::io(FileAction::Write, dir))?;
    }
    Ok(())
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    sync::directory(&File::open(directory)?)
}

#[cfg(test)]
#[path = "atomic_tests.rs"]
mod tests;
