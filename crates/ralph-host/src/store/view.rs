//! Files that are only views of something else: written at once, never synced, made again when lost.

use std::fs::{Metadata, OpenOptions, Permissions, create_dir_all, rename, symlink_metadata};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ralph_core::dashboard::redact::OpenPemKey;
use rustix::fs::{CWD, OFlags, RenameFlags, renameat, renameat_with};
use rustix::io::Errno;

use super::atomic::TEMP_PREFIX;
use super::target::directory_of;
use crate::file_error::{FileAction, FileError};
use crate::redaction::{hide_lines, redactor};

/// Names that are tried before one is used twice.
const MOST_NAMES: u32 = 1000;

/// Flag of `open` that refuses to follow a link.
const NO_LINKS: i32 = OFlags::NOFOLLOW.bits().cast_signed();

/// Ending of the names of files that [`swap_view`] keeps to write over.
const SPARE: &str = ".spare";

/// Whether a temporary file is one that is used again and again.
pub fn is_spare(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(SPARE.as_bytes())
}

/// Put `bytes` in the place of the file `path`, with the directories it needs. A reader sees the old
/// file or the new one; after a power failure it may be neither.
pub fn put_view(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    put(path, bytes).map_err(FileError::io(FileAction::Write, path))
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temp = with_directory(path, || {
        tempfile::Builder::new()
            .prefix(TEMP_PREFIX)
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory_of(path))
    })?;
    temp.write_all(bytes)?;
    temp.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// The same for a file that changes often: the one that was there stays beside it and is written over
/// the next time, so that no file is made or removed, which some file systems are slow at. A reader
/// still sees the old file or the new one, unless it takes as long as until the next but one.
pub fn swap_view(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    // Whatever else somebody put there is not ours to write over.
    if symlink_metadata(path).is_ok_and(|found| !is_ours(&found)) {
        return put_view(path, bytes);
    }
    let mut spare = directory_of(path).join(TEMP_PREFIX).into_os_string();
    spare.push(path.file_name().unwrap_or_default());
    spare.push(SPARE);
    let spare = PathBuf::from(spare);
    write_over(&spare, bytes)?;
    let swapped = renameat_with(CWD, &spare, CWD, path, RenameFlags::EXCHANGE);
    // There is none yet, or the system cannot do that.
    swapped
        .or_else(|_| renameat(CWD, &spare, CWD, path))
        .map_err(|e| FileError::io(FileAction::Write, path)(e.into()))
}

/// Whether this is a file and nothing else, and has no other name.
fn is_ours(found: &Metadata) -> bool {
    found.is_file() && found.nlink() == 1
}

/// Add lines to the end of the log `path`, with the directories it needs: without secrets, and for its
/// owner alone.
pub fn add_to_view(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let bytes = hide_lines(bytes, &redactor(), &mut OpenPemKey::default());
    let open = || OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    let added = with_directory(path, open).and_then(|mut file| file.write_all(&bytes));
    added.map_err(FileError::io(FileAction::Write, path))
}

/// Write `bytes` over what is in the file `path`, with the directories it needs. For notes of one
/// length that change often: no file is made or removed, which some file systems are slow at. A
/// reader may come in the middle, so it has to know sense from nonsense. A link that somebody put there
/// is replaced: what it leads to is not ours.
pub fn write_over(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let open = || {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).custom_flags(NO_LINKS).open(path)
    };
    let plain = || {
        let file = with_directory(path, open)?;
        let found = file.metadata()?;
        Ok::<_, io::Error>(is_ours(&found).then_some((file, found.len())))
    };
    let write = || {
        let (mut file, was) = match plain() {
            Ok(Some(plain)) => plain,
            Err(e) if e.raw_os_error() != Some(Errno::LOOP.raw_os_error()) => return Err(e),
            Ok(None) | Err(_) => {
                std::fs::remove_file(path)?;
                (open()?, 0)
            }
        };
        file.write_all(bytes)?;
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if was > length { file.set_len(length) } else { Ok(()) }
    };
    write().map_err(FileError::io(FileAction::Write, path))
}

/// Make a note that is written over say nothing. It stays, and is not even empty: to make, to remove
/// and to fill a file is what costs.
pub(super) fn blank(path: &Path) -> Result<(), FileError> {
    match symlink_metadata(path) {
        Ok(found) if found.len() > 1 => write_over(path, b"\n"),
        _ => Ok(()),
    }
}

/// Make something at `path`; its directories are made when they turn out to be missing.
fn with_directory<T>(path: &Path, make: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match make() {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            create_dir_all(directory_of(path))?;
            make()
        }
        made => made,
    }
}

/// Move whatever is at `path` to `aside`, or to a free name like it. Returns where it is now.
#[expect(clippy::disallowed_methods, reason = "the store is where files are moved")]
pub fn put_aside(path: &Path, aside: &Path) -> Result<PathBuf, FileError> {
    let free = free_name(aside);
    let move_it = || {
        create_dir_all(directory_of(&free))?;
        rename(path, &free)
    };
    move_it().map_err(FileError::io(FileAction::Write, path))?;
    Ok(free)
}

/// This name, or the first like it that nothing has.
pub fn free_name(path: &Path) -> PathBuf {
    let numbered = |n: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("-{n}"));
        PathBuf::from(name)
    };
    let is_free = |path: &PathBuf| symlink_metadata(path).is_err();
    let mut names = std::iter::once(path.to_owned()).chain((2..MOST_NAMES).map(numbered));
    names.find(is_free).unwrap_or_else(|| path.to_owned())
}

/// Remove a view. One that is not there is removed already.
pub fn drop_view(path: &Path) -> Result<(), FileError> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(FileError::io(FileAction::Write, path)(e))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{hard_link, read_dir, read_to_string};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_a_link_leads_to_is_never_written_over() {
        let place = tempfile::tempdir().unwrap();
        let (theirs, view) = (place.path().join("theirs"), place.path().join("state.json"));
        put_view(&theirs, b"precious").unwrap();
        let links: [fn(&Path, &Path) -> io::Result<()>; 2] =
            [|a, b| hard_link(a, b), |a, b| symlink(a, b)];
        for link in links {
            for write in [swap_view, write_over] {
                drop_view(&view).unwrap();
                link(&theirs, &view).unwrap();
                for text in ["one", "two", "three"] {
                    write(&view, text.as_bytes()).unwrap();
                    assert_eq!(read_to_string(&view).unwrap(), text);
                }
                assert_eq!(read_to_string(&theirs).unwrap(), "precious");
                assert_eq!(std::fs::metadata(&theirs).unwrap().nlink(), 1);
            }
        }
        let spare = place.path().join(".ralph-tmp-state.json.spare");
        drop_view(&spare).unwrap();
        symlink(&theirs, &spare).unwrap();
        swap_view(&view, b"four").unwrap();
        assert_eq!(read_to_string(&view).unwrap(), "four");
        assert_eq!(read_to_string(&theirs).unwrap(), "precious");
    }

    #[test]
    fn a_view_that_changes_often_is_always_whole_and_makes_no_third_file() {
        let place = tempfile::tempdir().unwrap();
        let view = place.path().join("made/state.json");
        let mut before = None;
        for text in ["first", "the second is longer", "3", "fourth", ""] {
            swap_view(&view, text.as_bytes()).unwrap();
            assert_eq!(read_to_string(&view).unwrap(), text);
            let file = std::fs::metadata(&view).unwrap().ino();
            assert_ne!(before.replace(file), Some(file), "it was written over under a reader");
        }
        assert_eq!(read_dir(place.path().join("made")).unwrap().count(), 2);
        std::fs::remove_file(&view).unwrap();
        swap_view(&view, b"anew").unwrap();
        assert_eq!(read_to_string(&view).unwrap(), "anew");
    }

    #[test]
    fn a_note_is_exactly_what_was_written_last_in_the_same_file() {
        let place = tempfile::tempdir().unwrap();
        let note = place.path().join("state/note");
        write_over(&note, b"a long first note").unwrap();
        let file = || std::fs::metadata(&note).unwrap().ino();
        let first = file();
        for text in ["short", "-----", "longer again"] {
            write_over(&note, text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&note).unwrap(), text);
        }
        assert_eq!(file(), first);
    }
}
