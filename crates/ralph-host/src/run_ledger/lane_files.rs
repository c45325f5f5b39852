//! The ledger in a lane, and the files of it that ride in commits.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path};

use ralph_core::config::LedgerCommitPolicy;

use super::RunLedger;
use crate::file_error::{FileAction, FileError};
use crate::store::{self, drop_view, put_view};

/// Largest file that is read back from a lane, in bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// A commit in which ledger files may ride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerCommitKind {
    /// The commit of a landed attempt.
    Landing,
    /// The commit with which a run ends.
    End,
}

impl RunLedger {
    /// Write the ledger into a lane, where the project is at `lane_root`, with further files of home
    /// that the prompt names. Files that neither the run nor home has are removed there.
    pub fn write_into(&self, lane_root: &Path, named: &[String]) -> Result<(), FileError> {
        let files = super::ledger_files(&self.open_run.plan);
        for file in files {
            put_into(lane_root, &file, self.read(&file)?.as_deref())?;
        }
        for file in named {
            put_into(lane_root, file, store::read(&self.home.join(file))?.as_deref())?;
        }
        Ok(())
    }

    /// List the files that ride in a commit, relative to the project.
    pub fn riding_files(
        &self,
        setting: LedgerCommitPolicy,
        commit: LedgerCommitKind,
    ) -> Vec<String> {
        let rides = match (setting, commit) {
            (LedgerCommitPolicy::WithTask, _)
            | (LedgerCommitPolicy::AtEnd, LedgerCommitKind::End) => true,
            (LedgerCommitPolicy::AtEnd, LedgerCommitKind::Landing)
            | (LedgerCommitPolicy::Never, _) => false,
        };
        let files = self.open_run.files().into_iter();
        files.filter(|file| rides && self.copy_path(file).is_file()).collect()
    }

    /// Write the copies to home at the end of a run whose ledger is not committed. A file that a person
    /// changed and that was not taken over stays; these are returned.
    pub fn write_home(&self) -> Result<Vec<String>, FileError> {
        let mut kept = Vec::new();
        for file in self.not_arrived()? {
            let path = self.home.join(&file);
            if store::read(&path)? != self.seen(&file)? {
                kept.push(file);
                continue;
            }
            self.write_home_file(&file)?;
        }
        Ok(kept)
    }

    /// Make a file of home what the run's copy is.
    pub(super) fn write_home_file(&self, file: &str) -> Result<(), FileError> {
        let (path, copy) = (self.home.join(file), store::read(&self.copy_path(file))?);
        match &copy {
            Some(bytes) => {
                store::make_directories(path.parent().unwrap_or(&self.home))?;
                store::replace(&path, bytes)?;
            }
            None => drop_view(&path)?,
        }
        self.mark_seen(file, copy.as_deref())
    }
}

/// Read a file that an agent wrote below the root of its lane. Links are not followed: they may lead out
/// of it.
pub(crate) fn read_from_lane(root: &Path, file: &str) -> Result<Option<Vec<u8>>, FileError> {
    let mut place = root.to_owned();
    for part in Path::new(file).components() {
        place.push(part);
        match fs::symlink_metadata(&place) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(FileError::io(FileAction::Read, &place)(e)),
            Ok(meta) if meta.is_symlink() => {
                return Err(FileError::NotAFile { action: FileAction::Read, path: place });
            }
            Ok(meta) if meta.is_file() && meta.len() > LARGEST => {
                let why = io::Error::other(format!("it has more than {LARGEST} bytes"));
                return Err(FileError::io(FileAction::Read, &place)(why));
            }
            Ok(_) => {}
        }
    }
    store::read(&place)
}

/// Make a file below `root` have these bytes, or none. Links on the way are removed: a lane is ralph's,
/// and a file must not be written outside of it.
fn put_into(root: &Path, file: &str, bytes: Option<&[u8]>) -> Result<(), FileError> {
    let path = root.join(file);
    let mut place = root.to_owned();
    let parts: Vec<Component<'_>> = Path::new(file).components().collect();
    let inside = parts.iter().all(|part| matches!(part, Component::Normal(_)));
    if !inside {
        // A plan outside of the project is not in the lane.
        return Ok(());
    }
    for part in parts.iter().take(parts.len().saturating_sub(1)) {
        place.push(part);
        if fs::symlink_metadata(&place).is_ok_and(|meta| !meta.is_dir()) {
            fs::remove_file(&place).map_err(FileError::io(FileAction::Write, &place))?;
        }
    }
    let found = fs::symlink_metadata(&path);
    if found.as_ref().is_ok_and(fs::Metadata::is_dir) {
        fs::remove_dir_all(&path).map_err(FileError::io(FileAction::Write, &path))?;
    } else if found.is_ok_and(|meta| meta.is_file())
        && bytes.is_some()
        && store::read(&path)?.as_deref() == bytes
    {
        return Ok(());
    }
    match bytes {
        Some(bytes) => put_view(&path, bytes),
        None => match fs::remove_file(&path) {
            Err(e) if !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Err(FileError::io(FileAction::Write, &path)(e))
            }
            _ => Ok(()),
        },
    }
}
