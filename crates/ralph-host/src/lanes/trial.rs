//! A lane outside of a run, to try gates in: `ralph init` and `ralph doctor --compare`.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_core::config::LaneSettings;

use super::error::LaneError;
use super::furnish::FurnishReport;
use super::lane::Lane;
use super::pool::LanePool;
use crate::git::Repo;
use crate::proc::EnvChange;
use crate::store::LockHolder;

/// Largest file that is searched for a path to home.
const LARGEST_POINTER: u64 = 1024 * 1024;

/// A lane on home's commit, with everything that gates find there.
#[derive(Debug)]
pub struct LaneTrial<'a> {
    lane: Lane<'a>,
    /// Paths that were copied or linked, and whether setup ran.
    pub furnished: FurnishReport,
}

impl<'a> LaneTrial<'a> {
    /// Take a lane and make it ready for gates; `None` when home has no commit yet.
    pub fn open(
        home: &Repo<'a>,
        settings: &LaneSettings,
        holder: &LockHolder,
    ) -> Result<Option<Self>, LaneError> {
        let (branch, commit) = home.branch_and_commit()?;
        let Some(commit) = commit else { return Ok(None) };
        let mut lane = LanePool::open(home, settings)?.take(holder)?;
        lane.put_on(&commit)?;
        let furnished = lane.furnish(&home.project_root(), &|job| job)?;
        lane.write_private_repository(&commit, branch.as_deref())?;
        Ok(Some(Self { lane, furnished }))
    }

    /// The folder of the project in the lane.
    pub fn root(&self) -> PathBuf {
        self.lane.root()
    }

    /// Changes to the environment of everything that runs there.
    pub fn environment(&self) -> Vec<EnvChange> {
        self.lane.environment(std::env::vars_os())
    }

    /// Those of these paths of the project that the lane does not have; a folder may end in `/`.
    pub fn absent(&self, paths: &[String]) -> Vec<String> {
        let root = self.lane.root();
        let is_absent =
            |path: &&String| fs::symlink_metadata(root.join(path.trim_end_matches('/'))).is_err();
        paths.iter().filter(is_absent).cloned().collect()
    }
}

/// The virtual environment that is active, when it is outside of `home` and has a package installed as a
/// link to it. Gates that use it would test home's files wherever they run.
pub fn environment_of_home(home: &Path) -> Option<PathBuf> {
    let environment = PathBuf::from(std::env::var_os("VIRTUAL_ENV")?);
    if environment.starts_with(home) {
        return None;
    }
    let home = home.to_str()?;
    let versions = fs::read_dir(environment.join("lib")).ok()?.flatten();
    let packages = versions.map(|version| version.path().join("site-packages"));
    let entries = packages.filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten();
    let leads_home = |path: &Path| {
        let small = fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= LARGEST_POINTER);
        small && fs::read_to_string(path).is_ok_and(|text| text.contains(home))
    };
    let mut pointers =
        entries.map(|entry| entry.path()).filter_map(|path| match path.extension()?.to_str()? {
            "pth" | "egg-link" => Some(path),
            "dist-info" => Some(path.join("direct_url.json")),
            _ => None,
        });
    pointers.any(|path| leads_home(&path)).then_some(environment)
}
