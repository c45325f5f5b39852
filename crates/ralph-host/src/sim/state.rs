//! Counters of the sim's attempts, in small files.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::git_dir;

/// The variable that names the directory of the counters.
const VARIABLE: &str = "RALPH_SIM_STATE";

/// Counters of attempts, one file each.
pub(super) struct SimCounters {
    /// Without a place every attempt is the first.
    dir: Option<PathBuf>,
}

impl SimCounters {
    /// The counters for the current directory.
    pub(super) fn find(scratch: Option<&Path>) -> Self {
        let given = std::env::var_os(VARIABLE).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        // In a lane the git directory ends with the attempt; the scratch directory is in that of home.
        let state = scratch.and_then(Path::parent).filter(|dir| {
            let is_git = dir.parent().is_some_and(|git| git.join("HEAD").exists());
            is_git && dir.ends_with("ralph")
        });
        let state = state.map(|dir| dir.join("sim"));
        let here = || {
            let dir = std::env::current_dir().ok()?;
            Some(git_dir::find(&dir).ok()??.join("ralph/sim"))
        };
        Self { dir: given.or(state).or_else(here).or_else(|| scratch.map(|dir| dir.join("sim"))) }
    }

    pub(super) fn dir(&self) -> PathBuf {
        self.dir.clone().unwrap_or_default()
    }

    /// Return the count of `name`; 0 when it was never counted.
    pub(super) fn get(&self, name: &str) -> u64 {
        let text = self.file(name).and_then(|file| fs::read_to_string(file).ok());
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    /// Write the count. Whole or not at all, since the sim is made to be killed.
    pub(super) fn set(&self, name: &str, count: u64) -> io::Result<()> {
        let (Some(dir), Some(file)) = (&self.dir, self.file(name)) else { return Ok(()) };
        fs::create_dir_all(dir)?;
        let mut new = tempfile::NamedTempFile::new_in(dir)?;
        writeln!(new, "{count}")?;
        new.persist(file)?;
        Ok(())
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        self.dir.as_ref().map(|dir| dir.join(name))
    }
}
