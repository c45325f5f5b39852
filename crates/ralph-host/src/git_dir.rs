//! Finding the git directory by looking, without starting git.
//!
//! # Theory of operation
//!
//! A working directory has a `.git` entry: the git directory itself, or a file whose only line
//! `gitdir: PATH` points at it (linked worktrees and submodules). Which one it is decides where
//! ralph keeps its locks, so that each worktree has its own. The environment (`GIT_DIR` and its
//! relatives) is not asked: a git hook that calls ralph would make it see another repository.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// More than any path can be long; a bigger `.git` file is not one of git's.
const LONGEST_GIT_FILE: u64 = 64 * 1024;

/// A `.git` that cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum GitDirError {
    /// `.git` points to something that is not a git directory.
    #[error("{} points to {}, which is not a git directory", dot_git.display(), target.display())]
    Nowhere { dot_git: PathBuf, target: PathBuf },
    /// `.git` is a file that does not name a git directory.
    #[error("{} is a file that does not say where the git directory is", dot_git.display())]
    Unreadable { dot_git: PathBuf },
    #[error("cannot read {}: {}", dot_git.display(), crate::file_error::words(source))]
    Io { dot_git: PathBuf, source: io::Error },
}

impl GitDirError {
    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Nowhere { .. } => Some(
                "the repository was moved or removed: `git worktree repair` or \
                 `git submodule update --init` mends the link; otherwise remove the .git file"
                    .to_owned(),
            ),
            Self::Unreadable { dot_git } => {
                Some(format!("remove {} if it is not needed", dot_git.display()))
            }
            Self::Io { .. } => None,
        }
    }
}

/// The git directory of the nearest repository at or above `dir`.
pub(crate) fn find(dir: &Path) -> Result<Option<PathBuf>, GitDirError> {
    for dir in dir.ancestors() {
        if let Some(found) = of(dir)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The git directory that the `.git` entry of `dir` is or points at.
pub(crate) fn of(dir: &Path) -> Result<Option<PathBuf>, GitDirError> {
    let dot_git = dir.join(".git");
    let meta = match fs::metadata(&dot_git) {
        Ok(meta) => meta,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return match fs::read_link(&dot_git) {
                Ok(target) => Err(GitDirError::Nowhere { dot_git, target }),
                Err(_) => Ok(None),
            };
        }
        // A directory that may not even be searched has no repository for this user.
        Err(e) if e.kind() == ErrorKind::PermissionDenied => return Ok(None),
        Err(source) => return Err(GitDirError::Io { dot_git, source }),
    };
    if meta.is_file() {
        return follow(dir, dot_git).map(Some);
    }
    // Like git: a directory called .git without a repository in it does not count. One that may not
    // be looked into does, or two users would take their locks in two places.
    Ok((is_git_dir(&dot_git) || is_closed(&dot_git)).then_some(dot_git))
}

/// Whether `dir` is itself a git directory.
pub(crate) fn is_git_dir(dir: &Path) -> bool {
    // HEAD may be a link to a branch that does not exist yet, so it is not followed.
    fs::symlink_metadata(dir.join("HEAD")).is_ok()
        && (dir.join("commondir").is_file()
            || (dir.join("objects").is_dir() && dir.join("refs").is_dir()))
}

fn is_closed(dir: &Path) -> bool {
    fs::symlink_metadata(dir.join("HEAD")).is_err_and(|e| e.kind() == ErrorKind::PermissionDenied)
}

/// Read a `.git` file and go where it points.
fn follow(dir: &Path, dot_git: PathBuf) -> Result<PathBuf, GitDirError> {
    let mut text = Vec::new();
    File::open(&dot_git)
        .and_then(|file| file.take(LONGEST_GIT_FILE).read_to_end(&mut text))
        .map_err(|source| GitDirError::Io { dot_git: dot_git.clone(), source })?;
    while text.last().is_some_and(|b| matches!(b, b'\n' | b'\r')) {
        text.pop();
    }
    let Some(target) = text.strip_prefix(b"gitdir: ").filter(|t| !t.is_empty()) else {
        return Err(GitDirError::Unreadable { dot_git });
    };
    let target = dir.join(OsStr::from_bytes(target));
    match fs::canonicalize(&target) {
        Ok(found) if is_git_dir(&found) => Ok(found),
        _ => Err(GitDirError::Nowhere { dot_git, target }),
    }
}
