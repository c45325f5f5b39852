//! Files that a program needs for one run: made before it, gone after it, and nobody else's business.

use std::fs::{OpenOptions, Permissions, create_dir_all};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path};

use ralph_core::backend::ScratchFile;
use tempfile::TempDir;

use super::error::ProcError;

/// A private directory that goes away with this value.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// A new directory below `parent`, which is made if it is not there.
    pub fn new(parent: &Path) -> Result<Self, ProcError> {
        let make = || {
            create_dir_all(parent)?;
            let parent = parent.canonicalize()?;
            let mut builder = tempfile::Builder::new();
            builder.prefix("run-").permissions(Permissions::from_mode(0o700)).tempdir_in(parent)
        };
        make().map(Self).map_err(|source| ProcError::Scratch { path: parent.to_owned(), source })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Make this file, which has to be below the directory.
    pub fn put(&self, file: &ScratchFile) -> Result<(), ProcError> {
        let path = Path::new(&file.path);
        self.write(path, &file.text)
            .map_err(|source| ProcError::Scratch { path: path.to_owned(), source })
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
        let scratch = Scratch::new(&parent).unwrap();
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
        let scratch = Scratch::new(place.path()).unwrap();
        for path in [place.path().join("x"), scratch.path().join("../x")] {
            assert!(scratch.put(&file(&path)).is_err(), "{}", path.display());
        }
        assert!(!place.path().join("x").exists());
    }
}
