//! One lane: made, repaired, and asked whether it is still whole.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::LaneError;
use super::files;
use super::pool::LaneHome;
use super::setup::SetupRecord;
use super::submodules::SubmoduleLane;
use crate::file_error::{FileAction, FileError};
use crate::git::{
    GitError, LaneDamage, LaneFolder, Oid, Repo, RepoPath, nul_fields, unlock_folder,
};
use crate::store::RunLock;

/// The `HEAD` of a lane that was never on a commit.
const UNBORN: &[u8] = b"ref: refs/ralph/none\n";

/// The `HEAD` file of a repository whose references are in tables.
const REFTABLE_HEAD: &[u8] = b"ref: refs/heads/.invalid\n";

/// The file in ralph's git directory of a lane that names the folder with its files.
pub(super) const LANE_FILE: &str = "lane";

/// The file in ralph's git directory of a lane that names the gates that have come to an end in it.
const WARM_FILE: &str = "warm";

/// The lock of a lane, which stays when its directory is made anew.
pub(super) const LOCK_FILE: &str = "run.lock";

/// A checkout in which a coding agent works. Dropping it gives its lock back.
#[derive(Debug)]
pub struct Lane<'a> {
    pub(super) home: Arc<LaneHome<'a>>,
    number: u32,
    top: PathBuf,
    pub(super) git_dir: PathBuf,
    pub(super) repo: Repo<'a>,
    /// The directory `top` as it was made or opened; nothing where home is the lane.
    folder: Option<Arc<LaneFolder>>,
    was_opened: bool,
    /// Copied and linked paths, from the top of the lane.
    pub(super) given: BTreeSet<RepoPath>,
    /// The commit whose files these are, as long as nothing has run here since that was seen.
    pub(super) has_files_of: RefCell<Option<Oid>>,
    /// The commit on which home was put last, where home is the lane.
    pub(super) given_back: RefCell<Option<Oid>>,
    /// Commits of others that home's branch lost, and that nobody was told of yet.
    pub(super) kept_commits: RefCell<Vec<Oid>>,
    _lock: RunLock,
}

impl LaneHome<'_> {
    /// Whether this is ralph's git directory of the lane in `top`, and complete.
    pub(super) fn is_lane_git_dir(&self, top: &Path, git_dir: &Path) -> bool {
        let says = |name: &str| fs::read(git_dir.join(name)).unwrap_or_default();
        let common = self.repo.common_dir().as_os_str().as_encoded_bytes();
        let head = says("HEAD");
        says("commondir").strip_suffix(b"\n") == Some(common)
            && says(LANE_FILE) == top.as_os_str().as_encoded_bytes()
            && (head.starts_with(b"ref: refs/") || Oid::parse(&head).is_some())
            && fs::symlink_metadata(git_dir.join("index")).map_or(true, |m| m.is_file())
    }
}

impl<'a> Lane<'a> {
    /// Make the lane usable, whatever an earlier use or somebody else left of it.
    pub(super) fn prepare(
        home: Arc<LaneHome<'a>>,
        number: u32,
        lock: RunLock,
    ) -> Result<Self, LaneError> {
        let (top, git_dir) = (home.lane_top(number), home.lane_git_dir(number));
        let repo = Repo::of_lane(&home.repo, &top, &git_dir);
        let given = BTreeSet::new();
        let (has_files_of, given_back, kept_commits) = Default::default();
        let (folder, was_opened) = (None, false);
        let mut lane = Self {
            home,
            number,
            top,
            git_dir,
            repo,
            folder,
            was_opened,
            given,
            has_files_of,
            given_back,
            kept_commits,
            _lock: lock,
        };
        lane.repair()?;
        lane.leave_out_of_snapshots();
        Ok(lane)
    }

    /// The number of the lane, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The top of the lane's working tree.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The folder of the project in the lane.
    pub fn root(&self) -> PathBuf {
        self.repo.project_root()
    }

    /// Remove a path of the project from the lane. Links of an agent are not followed.
    pub fn remove_path(&self, path: &str) -> Result<(), LaneError> {
        self.check_place()?;
        let root = self.root();
        let project = root.strip_prefix(&self.top).unwrap_or(Path::new(""));
        Ok(files::remove_below(&self.top, &project.join(path))?)
    }

    /// The lane's working tree with ralph's git directory for it. Copied and linked paths, and what
    /// setup made, are never part of its snapshots and commits.
    pub fn repo(&self) -> &Repo<'a> {
        &self.repo
    }

    /// The home that the lane belongs to.
    pub fn home(&self) -> &Repo<'a> {
        &self.home.repo
    }

    /// Make both folders of the lane where they are missing or damaged.
    pub(super) fn repair(&mut self) -> Result<(), LaneError> {
        if !self.is_home() {
            self.repair_folder()?;
        }
        if !self.has_git_dir() {
            self.clear_git_dir()?;
            let common = self.home.repo.common_dir().as_os_str().as_encoded_bytes();
            files::put(&self.git_dir.join("commondir"), &[common, b"\n"].concat())?;
            files::put(&self.git_dir.join(LANE_FILE), self.top.as_os_str().as_encoded_bytes())?;
            if self.home.git_config.has_reftable() {
                files::make_folder(&self.git_dir.join("reftable"))?;
                files::put(&self.git_dir.join("HEAD"), REFTABLE_HEAD)?;
            } else {
                files::put(&self.git_dir.join("HEAD"), UNBORN)?;
            }
        }
        self.remove_stale_locks()?;
        self.repo.detach_head()?;
        self.copy_sparse_rules()
    }

    /// Make the directory of the lane where it is gone or another than before, and keep it open. What somebody
    /// put in its place is not ralph's: a link goes, a directory is moved aside.
    fn repair_folder(&mut self) -> Result<(), LaneError> {
        self.home.repair_folder()?;
        let known = self.folder.take().filter(|folder| folder.check().is_ok());
        let was_opened = std::mem::replace(&mut self.was_opened, true);
        let is_there = files::is_folder(&self.top);
        if known.is_none() && (was_opened || !is_there) {
            match is_there {
                true => files::move_aside(&self.top)?,
                false => files::remove(&self.top)?,
            }
            files::make_folder(&self.top)?;
            SetupRecord::forget(&self.git_dir)?;
            files::remove(&self.git_dir.join(WARM_FILE))?;
        }
        let folder = match known {
            Some(folder) => folder,
            None => {
                unlock_folder(&self.top);
                let opened = LaneFolder::open(&self.top);
                Arc::new(opened.map_err(FileError::io(FileAction::Read, &self.top))?)
            }
        };
        self.folder = Some(folder);
        self.leave_out_of_snapshots();
        Ok(())
    }

    fn has_git_dir(&self) -> bool {
        self.home.is_lane_git_dir(&self.top, &self.git_dir)
    }

    /// Empty ralph's git directory, but for the lock that is held.
    fn clear_git_dir(&self) -> Result<(), LaneError> {
        files::make_folder(&self.git_dir)?;
        let failed = |e| FileError::io(FileAction::Read, &self.git_dir)(e);
        for entry in fs::read_dir(&self.git_dir).map_err(failed)?.flatten() {
            if entry.file_name() != LOCK_FILE {
                files::remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Remove the locks that a git call of ours left when it was killed. The lane is ours, so nobody
    /// else can have taken them.
    pub fn remove_stale_locks(&self) -> Result<(), LaneError> {
        let modules = SubmoduleLane::git_dirs(&self.git_dir);
        for dir in modules.iter().chain([&self.git_dir]) {
            for name in ["index.lock", "HEAD.lock", "reftable/tables.list.lock"] {
                let lock = dir.join(name);
                match fs::remove_file(&lock) {
                    Err(e)
                        if !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
                    {
                        return Err(FileError::io(FileAction::Write, &lock)(e).into());
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// A sparse home has sparse lanes.
    fn copy_sparse_rules(&self) -> Result<(), LaneError> {
        let home = self.home.repo.git_dir();
        for name in ["config.worktree", "info/sparse-checkout"] {
            let (from, to) = (files::read(&home.join(name))?, self.git_dir.join(name));
            if from == files::read(&to)? {
                continue;
            }
            // With other rules the index is not what `read-tree` would make.
            files::remove(&self.git_dir.join("index"))?;
            match from {
                Some(bytes) => {
                    files::make_folder(&self.git_dir.join("info"))?;
                    files::put(&to, &bytes)?;
                }
                None => files::remove(&to)?,
            }
        }
        Ok(())
    }

    /// The gates that have come to an end in this lane: what they build is there.
    pub fn warm_gates(&self) -> BTreeSet<String> {
        let names = fs::read_to_string(self.git_dir.join(WARM_FILE)).unwrap_or_default();
        names.lines().map(str::to_owned).collect()
    }

    /// Write down which gates have come to an end here.
    pub fn note_warm_gates(&self, gates: &BTreeSet<String>) -> Result<(), LaneError> {
        let names: String = gates.iter().map(|name| format!("{name}\n")).collect();
        Ok(files::put(&self.git_dir.join(WARM_FILE), names.as_bytes())?)
    }

    /// Paths that are no part of the agent's work: copied, linked, or made by setup.
    pub(super) fn foreign_paths(&self) -> BTreeSet<RepoPath> {
        let mut paths = SetupRecord::read(&self.git_dir).made;
        paths.extend(self.given.iter().cloned());
        paths
    }

    pub(super) fn leave_out_of_snapshots(&mut self) {
        let paths = self.foreign_paths();
        let repo = Repo::of_lane(&self.home.repo, &self.top, &self.git_dir);
        let repo = repo.leaving_out(paths);
        self.repo = match &self.folder {
            Some(folder) => repo.in_folder(folder.clone()),
            None => repo,
        };
    }

    /// Fail when the lane's files say nothing about an agent's work: when the lane is gone, was
    /// replaced, or has no file of `base` left. A snapshot of it would delete everything.
    pub fn check_intact(&self, base: &Oid) -> Result<(), LaneError> {
        self.check_folders()?;
        self.check_not_emptied(base)
    }

    /// Fail when the lane, or the project in it, is no folder any more.
    pub(crate) fn check_folders(&self) -> Result<(), LaneError> {
        self.check_place()?;
        if !files::is_folder(&self.root()) {
            return self.damaged(LaneDamage::ProjectGone);
        }
        Ok(())
    }

    /// Fail unless what ralph does in the lane happens in the directory that it opened: before each write and
    /// removal there, and after whatever has run there. Calls of git look for themselves.
    pub(crate) fn check_place(&self) -> Result<(), LaneError> {
        self.repo.check_folder().or_else(|e| match e {
            GitError::LaneDamaged { damage, .. } => self.damaged(damage),
            other => Err(other.into()),
        })?;
        let mut folder = self.top.clone();
        for name in self.repo.prefix().as_path() {
            folder.push(name);
            if fs::symlink_metadata(&folder).is_ok_and(|meta| !meta.is_dir()) {
                return self.damaged(LaneDamage::ProjectGone);
            }
        }
        Ok(())
    }

    /// Take back the rights that something took away from ralph on folders of the lane.
    pub(crate) fn unlock(&self) {
        if let Some(folder) = &self.folder {
            folder.unlock();
        }
    }

    fn damaged(&self, damage: LaneDamage) -> Result<(), LaneError> {
        Err(LaneError::Damaged { path: self.top.clone(), damage, by: None })
    }

    /// Fail when the lane has no file of `base` left.
    pub(crate) fn check_not_emptied(&self, base: &Oid) -> Result<(), LaneError> {
        // Most often a file at the top is there, and the long list is not needed.
        let list = |args: &[&str]| -> Result<Vec<RepoPath>, LaneError> {
            let all = ["ls-tree", "-z", "--full-tree"].iter().chain(args).copied();
            let out = self.repo.look(all.chain([base.as_str()])).ok()?;
            let blob = |line: &&[u8]| !line.starts_with(b"040000") && !line.starts_with(b"160000");
            let name = |line: &[u8]| line.splitn(2, |b| *b == b'\t').nth(1).map(RepoPath::new);
            Ok(nul_fields(&out).filter(blob).filter_map(name).collect())
        };
        let is_there = |path: &RepoPath| fs::symlink_metadata(self.repo.file(path)).is_ok();
        if list(&[])?.iter().any(is_there) {
            return Ok(());
        }
        let all = list(&["-r"])?;
        if all.is_empty() || all.iter().any(is_there) {
            return Ok(());
        }
        self.damaged(LaneDamage::Emptied)
    }
}
