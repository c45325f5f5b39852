//! The index of a repository: copies of it, and the note that says that a call of ours writes it.
//!
//! An index remembers when each file was last seen unchanged, relative to its own time stamp. A copy
//! must keep that stamp, or a file changed in the same instant would look unchanged.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Repo;
use super::error::GitError;
use crate::store;

impl Repo<'_> {
    fn state_dir(&self) -> PathBuf {
        self.git_dir.join("ralph")
    }

    pub(super) fn user_index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    pub(super) fn index_lock(&self) -> PathBuf {
        self.git_dir.join("index.lock")
    }

    /// A note that says which run writes the user's index, and blanks while none does. If ralph is
    /// killed meanwhile, the note says that a lock left behind is ours.
    pub(super) fn note(&self) -> PathBuf {
        self.state_dir().join("writes-index")
    }

    /// The run that the note names, if it names one.
    pub(super) fn noted_run(&self) -> Option<String> {
        let note = fs::read_to_string(self.note()).ok()?;
        let run = note.trim_end();
        let plain = run.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        (plain && !run.is_empty()).then(|| run.to_owned())
    }

    /// Do something that writes the user's index.
    pub(super) fn writing_index<T>(
        &self,
        work: impl FnOnce() -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        let (note, run) = (self.note(), self.runner.run_id());
        store::write_over(&note, run.as_bytes())?;
        let done = work();
        if matches!(done, Err(GitError::Killed { .. })) {
            // A lock that the dead git left is ours, and the note says so.
            return done;
        }
        // Blanked and not removed: some file systems are slow to make and remove files in turn.
        let _left = store::write_over(&note, " ".repeat(run.len()).as_bytes());
        done
    }
}

/// Copy an index with its time; when there is none, there is no copy either.
pub(crate) fn copy_index(from: &Path, to: &Path) -> Result<(), GitError> {
    let failed = |e| GitError::io("copy", from)(e);
    match fs::read(from) {
        Ok(bytes) => {
            let modified = fs::metadata(from).and_then(|m| m.modified()).map_err(failed)?;
            put_whole(to, &bytes, modified)
        }
        Err(e) if e.kind() == ErrorKind::NotFound => match fs::remove_file(to) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(failed(e)),
            _ => Ok(()),
        },
        Err(e) => Err(failed(e)),
    }
}

/// Write an index so that there is never a part of one: neither after a crash nor on a full disk.
#[expect(clippy::disallowed_methods, reason = "a new index beside the old one")]
fn put_whole(path: &Path, bytes: &[u8], modified: SystemTime) -> Result<(), GitError> {
    let new = path.with_extension("new");
    put(&new, bytes)?.set_modified(modified).map_err(GitError::io("write", &new))?;
    fs::rename(&new, path).map_err(GitError::io("write", path))
}

/// Write a file whole and return it open, so that the caller can set its time.
fn put(path: &Path, bytes: &[u8]) -> Result<File, GitError> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(path);
    let written = file.and_then(|mut file| file.write_all(bytes).map(|()| file));
    written.map_err(GitError::io("write", path))
}
