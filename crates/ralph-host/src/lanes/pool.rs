//! The pool: where the lanes of a repository are, and who has which.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_core::config::LaneSettings;

use super::error::LaneError;
use super::files;
use super::git_config::GitConfig;
use super::lane::Lane;
use super::over_home::OVER_HOME;
use crate::file_error::{FileAction, FileError};
use crate::git::{Repo, unlock_folder};
use crate::proc::mark::place_of;
use crate::store::{LockError, LockHolder, RunLock};

/// More lanes than any machine runs agents at once.
const MOST_LANES: u32 = 64;

/// The file in the folder of lanes that names the git directory they belong to.
pub(super) const OWNER_FILE: &str = "home";

/// The start of the names of files that only show whether a folder can be written to.
const PROBE: &str = ".ralph-probe-";

/// The user's checkout, as its lanes know it.
#[derive(Debug)]
pub(super) struct LaneHome<'a> {
    pub(super) repo: Repo<'a>,
    pub(super) settings: LaneSettings,
    pub(super) git_config: GitConfig,
    /// The folder that holds the lanes.
    pub(super) folder: PathBuf,
}

impl LaneHome<'_> {
    /// Ralph's git directory of a lane.
    pub(super) fn lane_git_dir(&self, number: u32) -> PathBuf {
        self.lane_git_dirs().join(number.to_string())
    }

    pub(super) fn lane_git_dirs(&self) -> PathBuf {
        self.repo.git_dir().join("ralph/lanes")
    }

    /// Return the folder with the files of a lane.
    pub(super) fn lane_top(&self, number: u32) -> PathBuf {
        match number {
            OVER_HOME => self.repo.top().to_owned(),
            _ => self.folder.join(format!("lane-{number}")),
        }
    }

    /// Remove a link in the place of the folder for lanes.
    pub(super) fn drop_link(&self) -> Result<(), LaneError> {
        match fs::symlink_metadata(&self.folder) {
            Ok(meta) if meta.is_symlink() => Ok(files::remove(&self.folder)?),
            _ => Ok(()),
        }
    }

    /// Take back the rights on the folder for lanes, which an agent can take away.
    pub(super) fn unlock_folder(&self) {
        unlock_folder(&self.folder);
    }

    /// Make the folder for lanes where it is gone or a link is in its place. Lanes below a link would be
    /// somebody else's files.
    pub(super) fn repair_folder(&self) -> Result<(), LaneError> {
        let is_real = || fs::canonicalize(&self.folder).is_ok_and(|real| real == self.folder);
        self.unlock_folder();
        if is_real() {
            return Ok(());
        }
        self.drop_link()?;
        claim_folder(&self.folder, self.repo.git_dir())?;
        if is_real() {
            return Ok(());
        }
        let source = std::io::Error::other("a link is in the place of a folder on the way to it");
        Err(LaneError::Folder { path: self.folder.clone(), source })
    }

    /// Take the lock of a lane; `None` when another process has it.
    pub(super) fn lock_lane(
        &self,
        number: u32,
        holder: &LockHolder,
    ) -> Result<Option<RunLock>, LaneError> {
        let (all, git_dir) = (self.lane_git_dirs(), self.lane_git_dir(number));
        let ralph_dir = self.repo.git_dir().join("ralph");
        // One level at a time: a git directory that is gone must not come back empty.
        for folder in [&ralph_dir, &all, &git_dir] {
            if !files::is_folder(folder) {
                files::remove(folder)?;
                match fs::create_dir(folder) {
                    Err(e) if !folder.is_dir() => {
                        return Err(FileError::io(FileAction::Write, folder)(e).into());
                    }
                    _ => {}
                }
            }
        }
        match RunLock::acquire(&git_dir, holder) {
            Ok(lock) => Ok(Some(lock)),
            Err(LockError::AlreadyRunning { .. }) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}

/// The lanes of one checkout of the user's.
#[derive(Clone, Debug)]
pub struct LanePool<'a> {
    pub(super) home: Arc<LaneHome<'a>>,
}

impl<'a> LanePool<'a> {
    /// The pool of `home`. Makes the folder for its lanes, and fails where lanes cannot work.
    pub fn open(home: &Repo<'a>, settings: &LaneSettings) -> Result<Self, LaneError> {
        let pool = Self::find(home, settings)?;
        pool.home.drop_link()?;
        pool.home.unlock_folder();
        claim_folder(pool.folder(), home.git_dir())?;
        Ok(pool)
    }

    /// The pool of `home`, to look at: nothing is made. Fails where lanes cannot work, as far as that can
    /// be told without writing.
    pub fn find(home: &Repo<'a>, settings: &LaneSettings) -> Result<Self, LaneError> {
        let git_config = GitConfig::read(home)?;
        if git_config.is_partial_clone() {
            return Err(LaneError::PartialClone);
        }
        let folder = match &settings.dir {
            Some(dir) => real_path(&configured_folder(&home.project_root(), dir)?),
            // Ralph makes the folder itself, so a link in its place is not followed.
            None => real_path(&cache_folder()?).join(folder_name(home.top())),
        };
        for inside in [home.top(), home.git_dir(), home.common_dir()] {
            if folder.starts_with(real_path(inside)) {
                return Err(LaneError::InsideHome(folder));
            }
        }
        let own = real_path(home.git_dir());
        if let Some(owner) = owner_of(&folder).filter(|owner| *owner != own && owner.exists()) {
            return Err(LaneError::SharedFolder { path: folder, owner });
        }
        let (repo, settings) = (home.reopen(), settings.clone());
        Ok(Self { home: Arc::new(LaneHome { repo, settings, git_config, folder }) })
    }

    /// Fail where nothing can be written to the folder for lanes. Makes nothing that stays.
    pub fn check_writable(&self) -> Result<(), LaneError> {
        let folder = self.folder();
        let failed = |source| LaneError::Folder { path: folder.to_owned(), source };
        // Of a folder that is not there yet, the nearest one above it is asked.
        let Some(there) = folder.ancestors().find(|above| above.exists()) else { return Ok(()) };
        if !there.is_dir() {
            return Err(failed(std::io::ErrorKind::NotADirectory.into()));
        }
        let probe = tempfile::Builder::new().prefix(PROBE).tempfile_in(there);
        probe.map(drop).map_err(failed)
    }

    /// The folder that holds the lanes.
    pub fn folder(&self) -> &Path {
        &self.home.folder
    }

    /// Take the first free lane. It is made, or repaired, as needed.
    pub fn take(&self, holder: &LockHolder) -> Result<Lane<'a>, LaneError> {
        for number in 1..=MOST_LANES {
            if let Some(lane) = self.take_number(number, holder)? {
                return Ok(lane);
            }
        }
        Err(LaneError::AllInUse(MOST_LANES))
    }

    /// Take the lane with this number; `None` when another process has it.
    pub fn take_number(
        &self,
        number: u32,
        holder: &LockHolder,
    ) -> Result<Option<Lane<'a>>, LaneError> {
        match self.home.lock_lane(number, holder)? {
            Some(lock) => Lane::prepare(self.home.clone(), number, lock).map(Some),
            None => Ok(None),
        }
    }
}

/// Make the folder for lanes, and write down whose it is.
fn claim_folder(folder: &Path, git_dir: &Path) -> Result<(), LaneError> {
    let failed = |source| LaneError::Folder { path: folder.to_owned(), source };
    fs::create_dir_all(folder).map_err(failed)?;
    let (file, own) = (folder.join(OWNER_FILE), real_path(git_dir));
    if owner_of(folder).as_ref() == Some(&own) {
        let probe = tempfile::Builder::new().prefix(PROBE).tempfile_in(folder);
        return probe.map(drop).map_err(failed);
    }
    files::put(&file, own.as_os_str().as_encoded_bytes()).map_err(|e| match e {
        FileError::Io { source, .. } => failed(source),
        other => other.into(),
    })
}

/// The git directory that the lanes in a folder belong to.
pub(super) fn owner_of(folder: &Path) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = fs::read(folder.join(OWNER_FILE)).ok().filter(|bytes| !bytes.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(&bytes)))
}

/// The folder that `[lane] dir` names: relative to the project, or to the user's own folder with `~`.
fn configured_folder(root: &Path, dir: &str) -> Result<PathBuf, LaneError> {
    match dir.strip_prefix("~/") {
        Some(below) => {
            let own = std::env::var_os("HOME").filter(|own| !own.is_empty());
            Ok(PathBuf::from(own.ok_or(LaneError::NoCache)?).join(below))
        }
        None => Ok(root.join(dir)),
    }
}

/// The folder that holds the lanes of all repositories, unless `[lane] dir` names another.
pub fn cache_folder() -> Result<PathBuf, LaneError> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    Ok(cache.ok_or(LaneError::NoCache)?.join("ralph"))
}

/// A name for people to recognise, and a hash of the whole path.
fn folder_name(top: &Path) -> String {
    let name =
        real_path(top).file_name().unwrap_or(OsStr::new("root")).to_string_lossy().into_owned();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).take(40).collect();
    format!("{}-{}", name.trim_start_matches('.'), place_of(top))
}

/// A path without links, also of something that is not there yet.
pub(super) fn real_path(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(above), path.strip_prefix(above)) {
            // `join` with nothing would add a slash.
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}
