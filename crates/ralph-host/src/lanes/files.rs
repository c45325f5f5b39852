//! Files of lanes: written, copied and removed without ever following a link.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use crate::file_error::{FileAction, FileError};
use crate::git::unlock_folders;

/// The size of the blocks that `st_blocks` counts.
const BLOCK: u64 = 512;

/// Write a file whole, over what is there. Not synced: every file of a lane can be made again.
pub(super) fn put(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).custom_flags(no_follow());
    let written = options.open(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(FileError::io(FileAction::Write, path))
}

fn no_follow() -> i32 {
    i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default()
}

/// The content of a file; `None` when there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(FileError::io(FileAction::Read, path)(e)),
    }
}

/// Make a folder and those above it.
pub(super) fn make_folder(path: &Path) -> Result<(), FileError> {
    fs::create_dir_all(path).map_err(FileError::io(FileAction::Write, path))
}

/// Whether there is a folder here that is not a link to one.
pub(super) fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// Remove a file, a link or a whole folder, also one that an agent made unwritable.
pub(super) fn remove(path: &Path) -> Result<(), FileError> {
    let failed = |e: io::Error| match e.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(()),
        _ => Err(FileError::io(FileAction::Write, path)(e)),
    };
    match fs::symlink_metadata(path) {
        Err(e) => failed(e),
        Ok(meta) if !meta.is_dir() => fs::remove_file(path).or_else(failed),
        Ok(_) => fs::remove_dir_all(path)
            .or_else(|_| {
                unlock_folders(path);
                fs::remove_dir_all(path)
            })
            .or_else(failed),
    }
}

/// Remove what is at `relative` below `top`. A link or a file on the way to it is removed instead, and what the
/// link leads to stays.
pub(super) fn remove_below(top: &Path, relative: &Path) -> Result<(), FileError> {
    let mut place = top.to_owned();
    for part in relative.components() {
        place.push(part);
        if !is_folder(&place) {
            break;
        }
    }
    remove(&place)
}

/// Move a folder out of the way, to a name that is free beside it.
pub(super) fn move_aside(folder: &Path) -> Result<(), FileError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let named = |n: u32| folder.with_file_name(format!("replaced-{name}-{n}"));
    let free = (1..1000).map(named).find(|path| fs::symlink_metadata(path).is_err());
    rustix::fs::rename(folder, free.unwrap_or_else(|| named(0)))
        .map_err(|e| FileError::io(FileAction::Write, folder)(e.into()))
}

/// Make the folder `relative` below `top`, replacing links and files on the way to it.
pub(super) fn make_folder_below(top: &Path, relative: &Path) -> Result<PathBuf, FileError> {
    let mut folder = top.to_owned();
    for part in relative.components() {
        let Component::Normal(name) = part else { continue };
        folder.push(name);
        if !is_folder(&folder) {
            remove(&folder)?;
            fs::create_dir(&folder).map_err(FileError::io(FileAction::Write, &folder))?;
        }
    }
    Ok(folder)
}

/// Make room for `relative` below `top`: its folder is there, and nothing is in its place.
pub(super) fn make_room_below(top: &Path, relative: &Path) -> Result<PathBuf, FileError> {
    make_folder_below(top, relative.parent().unwrap_or(Path::new("")))?;
    let path = top.join(relative);
    remove(&path)?;
    Ok(path)
}

/// Copy a file, a link as a link, or a whole folder, to where nothing is.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), FileError> {
    let meta = fs::symlink_metadata(from).map_err(FileError::io(FileAction::Read, from))?;
    if meta.is_symlink() {
        let target = fs::read_link(from).map_err(FileError::io(FileAction::Read, from))?;
        return symlink(target, to).map_err(FileError::io(FileAction::Write, to));
    }
    if meta.is_dir() {
        fs::create_dir(to).map_err(FileError::io(FileAction::Write, to))?;
        for entry in fs::read_dir(from).map_err(FileError::io(FileAction::Read, from))? {
            let entry = entry.map_err(FileError::io(FileAction::Read, from))?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if !meta.is_file() {
        // A socket or a pipe belongs to a running program.
        return Ok(());
    }
    fs::copy(from, to).map(drop).map_err(FileError::io(FileAction::Write, to))
}

/// Bytes on disk of everything at and below a path; a file with several names counts once.
pub(super) fn disk_use(path: &Path) -> u64 {
    fn add(path: &Path, seen: &mut BTreeSet<(u64, u64)>) -> u64 {
        let Ok(meta) = fs::symlink_metadata(path) else { return 0 };
        if meta.nlink() > 1 && !meta.is_dir() && !seen.insert((meta.dev(), meta.ino())) {
            return 0;
        }
        let own = meta.blocks() * BLOCK;
        if !meta.is_dir() {
            return own;
        }
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.fold(own, |sum, entry| sum + add(&entry.path(), seen))
    }
    add(path, &mut BTreeSet::new())
}
