//! Errors of a single file, with messages for people.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Operation that failed on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// Looking at it or reading it.
    Read,
    /// Create or change the file.
    Write,
}

impl fmt::Display for FileAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// A file that cannot be read or written: which one and why.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A directory is in its place.
    #[error("cannot {action} {}: it is a directory", path.display())]
    Directory { action: FileAction, path: PathBuf },
    /// A pipe, a socket or a device is in its place.
    #[error("cannot {action} {}: it is not a regular file", path.display())]
    NotAFile { action: FileAction, path: PathBuf },
    /// A symbolic link that leads nowhere.
    #[error("cannot {action} {}: it is a link to {}, which does not exist", link.display(), target.display())]
    DanglingLink {
        action: FileAction,
        /// The file that was asked for.
        link: PathBuf,
        target: PathBuf,
    },
    /// Symbolic links that point at each other.
    #[error("cannot {action} {}: it is a link that leads back to itself", path.display())]
    LinkLoop {
        action: FileAction,
        /// The file that was asked for.
        path: PathBuf,
    },
    #[error("cannot {action} {}: {}", path.display(), words(source))]
    Io { action: FileAction, path: PathBuf, source: io::Error },
}

impl FileError {
    /// Adapter for `map_err`: what was being done to which file.
    pub fn io(action: FileAction, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Directory { path, .. } => {
                Some(format!("move the directory {} away", path.display()))
            }
            Self::NotAFile { .. } => Some("name a regular file instead".to_owned()),
            Self::DanglingLink { link, target, .. } => {
                Some(format!("create {}, or remove the link {}", target.display(), link.display()))
            }
            Self::LinkLoop { path, .. } => Some(format!("remove the link {}", path.display())),
            Self::Io { path, source, action } => io_hint(*action, path, source),
        }
    }
}

/// Return a hint for an error of the operating system, if one is known.
pub(crate) fn io_hint(action: FileAction, path: &Path, source: &io::Error) -> Option<String> {
    let dir = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (source.kind(), action) {
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, _) => {
            Some("make room on that disk and try again; nothing was changed".to_owned())
        }
        (ErrorKind::PermissionDenied, FileAction::Write) => Some(format!(
            "check who owns {} and its directory, and whether you may write there",
            path.display()
        )),
        (ErrorKind::PermissionDenied, FileAction::Read) => {
            Some(format!("check who owns {} and whether you may read it", path.display()))
        }
        (ErrorKind::ReadOnlyFilesystem, _) => {
            Some(format!("{} is on a disk that is mounted read-only", dir.display()))
        }
        (ErrorKind::NotFound, FileAction::Write) => {
            Some(format!("create the directory {} first", dir.display()))
        }
        _ => None,
    }
}

/// Whether an error means that this user cannot write there.
pub(crate) fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// The cause in plain words, without error numbers.
pub(crate) fn words(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::StorageFull => "the disk is full".to_owned(),
        ErrorKind::QuotaExceeded => "your share of the disk is used up".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the disk is read-only".to_owned(),
        ErrorKind::NotFound => "no such file or directory".to_owned(),
        ErrorKind::NotADirectory => "a part of the path is a file, not a directory".to_owned(),
        _ => {
            let text = error.to_string();
            let text = text.split(" (os error ").next().unwrap_or_default();
            let mut letters = text.chars();
            letters.next().map_or_else(String::new, |first| {
                first.to_lowercase().chain(letters).collect::<String>()
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_file_and_the_cause_without_error_numbers() {
        let full = FileError::io(FileAction::Write, Path::new("ralph/plan.jsonl"))(
            io::Error::from_raw_os_error(28),
        );
        assert_eq!(full.to_string(), "cannot write ralph/plan.jsonl: the disk is full");
        assert!(full.hint().is_some_and(|h| h.contains("make room")));
        let other =
            FileError::io(FileAction::Read, Path::new("x"))(io::Error::from_raw_os_error(5));
        assert!(!other.to_string().contains("os error"), "{other}");
    }
}
