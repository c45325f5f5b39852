//! The lane over home: with `workspace = "checkout"` attempts work in the user's own checkout, which
//! ralph owns while the run is open.
//!
//! Ralph works there as in any lane, with a git directory of its own. The agent has home's repository,
//! so whatever it did with git there is undone before the next backend, gate or hook runs, and the files
//! that can run or redirect git are compared around every attempt.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_core::config::LaneSettings;

use super::error::LaneError;
use super::files;
use super::git_config::GitConfig;
use super::lane::Lane;
use super::pool::{LaneHome, LanePool};
use crate::git::{Oid, Repo, RepoPath, copy_index};
use crate::store::LockHolder;

/// The number of the lane over home.
pub(super) const OVER_HOME: u32 = 0;

/// Prefix of the refs that keep commits which an agent made in home.
const KEPT: &str = "refs/ralph/kept";

/// Files of a git directory that can run programs or lead git elsewhere.
const SETTINGS: [&str; 5] =
    ["config", "config.worktree", "info/attributes", "info/exclude", "info/sparse-checkout"];

/// The content of the files that can run or redirect git.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitSettings(BTreeMap<PathBuf, Vec<u8>>);

impl GitSettings {
    /// The files that are not as in `before`.
    pub fn changed_since(&self, before: &Self) -> Vec<PathBuf> {
        let mut paths: Vec<&PathBuf> = self.0.keys().chain(before.0.keys()).collect();
        paths.sort_unstable();
        paths.dedup();
        paths.into_iter().filter(|path| self.0.get(*path) != before.0.get(*path)).cloned().collect()
    }
}

impl<'a> LanePool<'a> {
    /// Take the lane whose folder is home itself.
    pub fn take_home(
        home: &Repo<'a>,
        settings: &LaneSettings,
        holder: &LockHolder,
    ) -> Result<Lane<'a>, LaneError> {
        let git_config = GitConfig::read(home)?;
        let (repo, folder) = (home.reopen(), home.top().to_owned());
        let home = Arc::new(LaneHome { repo, settings: settings.clone(), git_config, folder });
        let Some(lock) = home.lock_lane(OVER_HOME, holder)? else {
            return Err(LaneError::AllInUse(1));
        };
        let lane = Lane::prepare(home, OVER_HOME, lock)?;
        let index = lane.git_dir.join("index");
        if !index.is_file() {
            // Without it git would write every file anew.
            copy_index(&lane.home.repo.git_dir().join("index"), &index)?;
        }
        Ok(lane)
    }
}

impl Lane<'_> {
    /// Whether the lane is home itself.
    pub fn is_home(&self) -> bool {
        self.number() == OVER_HOME
    }

    /// The files of home that can run or redirect git; of a lane of ralph's own there are none.
    pub fn git_settings(&self) -> GitSettings {
        let mut found = BTreeMap::new();
        if !self.is_home() {
            return GitSettings(found);
        }
        let home = &self.home.repo;
        for dir in [home.git_dir(), home.common_dir()] {
            for name in SETTINGS {
                add_file(&dir.join(name), &mut found);
            }
            for entry in fs::read_dir(dir.join("hooks")).into_iter().flatten().flatten() {
                add_file(&entry.path(), &mut found);
            }
        }
        GitSettings(found)
    }

    /// Undo what somebody did with git in home: HEAD is on the branch, the branch is at `tip`, nothing
    /// is unfinished, and the index is that of the lane. Commits that would be lost stay under a ref.
    pub(crate) fn give_home_back(&self, tip: &Oid, branch: Option<&str>) -> Result<(), LaneError> {
        let home = &self.home.repo;
        // The tip only grows.
        let last = self.given_back.replace(Some(tip.clone()));
        let kept = home.return_to(tip, branch, KEPT, last.as_ref())?;
        self.kept_commits.borrow_mut().extend(kept);
        let (index, own) = (home.git_dir().join("index"), self.git_dir.join("index"));
        files::remove(&home.git_dir().join("index.lock"))?;
        if files::read(&index)? != files::read(&own)? {
            copy_index(&own, &index)?;
        }
        Ok(())
    }

    /// Take the commits that home's branch lost since the last call, with the refs that keep them.
    pub(crate) fn take_kept_commits(&self) -> Vec<(Oid, String)> {
        let kept = self.kept_commits.take().into_iter();
        kept.map(|commit| (commit.clone(), format!("{KEPT}/{commit}"))).collect()
    }

    /// The run is over: the next one begins with home's index as the user leaves it.
    pub fn forget_index(&self) -> Result<(), LaneError> {
        match self.is_home() {
            true => Ok(files::remove(&self.git_dir.join("index"))?),
            false => Ok(()),
        }
    }

    /// Paths of home that are never cleaned: ralph's own, and what people write for it.
    pub(super) fn kept_in_home(&self) -> Vec<RepoPath> {
        match self.is_home() {
            true => self.repo.ledger().all().cloned().collect(),
            false => Vec::new(),
        }
    }
}

fn add_file(path: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    if let Ok(bytes) = fs::read(path) {
        found.insert(path.to_owned(), bytes);
    }
}
