//! The file that a path really means: symbolic links followed, everything but files refused.

use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::file_error::{FileAction, FileError};

/// As many links as Linux follows.
const MOST_LINKS: usize = 40;

/// File that a path leads to after all links.
#[derive(Debug)]
pub(super) struct LinkTarget {
    /// Path without links.
    pub(super) path: PathBuf,
    /// Metadata of the file; `None` when it does not exist.
    pub(super) meta: Option<Metadata>,
}

impl LinkTarget {
    /// Follow `path` to a regular file, or to a place where one can be made. A link to nothing is
    /// an error: more likely a disk is missing than somebody wants a new file there.
    pub(super) fn resolve(action: FileAction, path: &Path) -> Result<Self, FileError> {
        let mut place = path.to_owned();
        for links in 0..=MOST_LINKS {
            let meta = match fs::symlink_metadata(&place) {
                Ok(meta) => meta,
                Err(e) if e.kind() == ErrorKind::NotFound && links == 0 => {
                    return Ok(Self { path: place, meta: None });
                }
                Err(e) if e.kind() == ErrorKind::NotFound => {
                    let link = path.to_owned();
                    return Err(FileError::DanglingLink { action, link, target: place });
                }
                Err(e) => return Err(FileError::io(action, path)(e)),
            };
            if meta.is_file() {
                return Ok(Self { path: place, meta: Some(meta) });
            }
            if meta.is_dir() {
                return Err(FileError::Directory { action, path: path.to_owned() });
            }
            if !meta.is_symlink() {
                return Err(FileError::NotAFile { action, path: path.to_owned() });
            }
            let next = fs::read_link(&place).map_err(FileError::io(action, path))?;
            place = directory_of(&place).join(next);
        }
        Err(FileError::LinkLoop { action, path: path.to_owned() })
    }

    /// The directory the file is in.
    pub(super) fn directory(&self) -> &Path {
        directory_of(&self.path)
    }
}

/// The directory part of a path; the current one for a bare name.
pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// All bytes of a file; `None` when there is no such file.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    let target = LinkTarget::resolve(FileAction::Read, path)?;
    let Some(meta) = target.meta else { return Ok(None) };
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
    match File::open(&target.path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => Ok(Some(bytes)),
        // Removed since we looked.
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(FileError::io(FileAction::Read, path)(e)),
    }
}
