//! Files that a program needs for one run: made before it, gone after it, and nobody else's business.

use std::fs::{DirBuilder, OpenOptions, Permissions, create_dir_all, remove_dir_all};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use ralph_core::backend::ScratchFile;

use super::error::ProcError;

/// A private directory that goes away with this value.
#[derive(Debug)]
pub struct ScratchDirectory {
    path: PathBuf,
    state: ScratchDirectoryState,
}

/// Most runs only need the name of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScratchDirectoryState {
    Named,
    Made,
}

impl ScratchDirectory {
    /// A new directory below `parent`, which is made if it is not there.
    pub fn new(parent: &Path) -> Result<Self, ProcError> {
        let make = || {
            let parent = place(parent)?;
            let mut builder = tempfile::Builder::new();
            builder.prefix("run-").permissions(Permissions::from_mode(0o700)).tempdir_in(parent)
        };
        let made = make().map_err(failed(parent))?;
        Ok(Self { path: made.keep(), state: ScratchDirectoryState::Made })
    }

    /// The name of a directory below `parent` that nobody else uses; [`ScratchDirectory::make`] makes it.
    pub(super) fn named(parent: &Path, name: &str) -> Result<Self, ProcError> {
        let parent = place(parent).map_err(failed(parent))?;
        Ok(Self { path: parent.join(name), state: ScratchDirectoryState::Named })
    }

    /// Return the path of the directory, even if it is not made yet.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Make the directory, if that has not been done yet.
    pub fn make(&mut self) -> Result<(), ProcError> {
        if self.state == ScratchDirectoryState::Named {
            DirBuilder::new().mode(0o700).create(&self.path).map_err(failed(&self.path))?;
            self.state = ScratchDirectoryState::Made;
        }
        Ok(())
    }

    /// Make this file, which has to be below the directory.
    pub fn put(&mut self, file: &ScratchFile) -> Result<(), ProcError> {
        self.make()?;
        let path = Path::new(&file.path);
        self.write(path, &file.text).map_err(failed(path))
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let below = path.strip_prefix(self.path()).map_err(io::Error::other)?;
        if !below.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(io::Error::other("it is outside of the run's own directory"));
        }
        if let Some(directory) = path.parent() {
            create_dir_all(directory)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(path)?.write_all(text.as_bytes())
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        if self.state == ScratchDirectoryState::Made {
            // What is left is private and has a name that nobody uses again.
            let _left = remove_dir_all(&self.path);
        }
    }
}

/// The directory that others are made in, by a name that no change of the working directory moves.
fn place(parent: &Path) -> io::Result<PathBuf> {
    parent.canonicalize().or_else(|_| {
        create_dir_all(parent)?;
        parent.canonicalize()
    })
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> ProcError {
    let path = path.to_owned();
    |source| ProcError::Scratch { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path) -> ScratchFile {
        ScratchFile { path: path.to_str().unwrap().to_owned(), text: "secret".into() }
    }

    #[test]
    fn files_are_private_and_go_away() {
        let place = tempfile::tempdir().unwrap();
        let parent = place.path().join("state/scratch");
        let mut scratch = ScratchDirectory::new(&parent).unwrap();
        let path = scratch.path().join("deep/config.json");
        scratch.put(&file(&path)).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(scratch.path())), (0o600, 0o700));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "secret");
        drop(scratch);
        assert_eq!(std::fs::read_dir(&parent).unwrap().count(), 0);
    }

    #[test]
    fn files_elsewhere_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let mut scratch = ScratchDirectory::new(place.path()).unwrap();
        for path in [place.path().join("x"), scratch.path().join("../x")] {
            assert!(scratch.put(&file(&path)).is_err(), "{}", path.display());
        }
        assert!(!place.path().join("x").exists());
    }

    #[test]
    fn a_directory_that_is_only_named_is_made_with_its_first_file() {
        let place = tempfile::tempdir().unwrap();
        let entries = || std::fs::read_dir(place.path()).unwrap().count();
        drop(ScratchDirectory::named(place.path(), "run-1").unwrap());
        let mut scratch = ScratchDirectory::named(place.path(), "run-1").unwrap();
        assert_eq!(entries(), 0);
        scratch.put(&file(&scratch.path().join("config.json"))).unwrap();
        let mode = scratch.path().metadata().unwrap().permissions().mode();
        assert_eq!((entries(), mode & 0o777), (1, 0o700));
        drop(scratch);
        assert_eq!(entries(), 0);
    }
}
