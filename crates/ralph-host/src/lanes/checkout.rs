//! Putting a lane on a commit: tracked files exactly, untracked ones gone, ignored ones kept.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;

use super::error::LaneError;
use super::files;
use super::lane::Lane;
use crate::git::{GitError, Oid, Repo, RepoPath, unlock_folders};

impl Lane<'_> {
    /// Put the lane on a commit. Untracked files and nested repositories go; ignored files and what
    /// setup made stay. A lane that is there already is only looked at.
    pub fn put_on(&mut self, commit: &Oid) -> Result<(), LaneError> {
        self.repair()?;
        self.remove_submodule_repositories()?;
        let head = HeadWriter { reftable: self.home.git_config.has_reftable() };
        let is_there = self.has_files_of.take().as_ref() == Some(commit);
        if !(is_there && head.is_at(&self.repo, commit)?) {
            let mut keep: Vec<RepoPath> = self.foreign_paths().into_iter().collect();
            keep.extend(self.kept_in_home());
            put_tree_on(&self.repo, &head, commit, &keep)?;
        }
        if self.is_home() { Ok(()) } else { self.check_out_submodules(commit) }
    }

    /// Do not look at the files before the lane is put on this commit: they were just compared with the
    /// index that became it, and no program has run in the lane since.
    pub(crate) fn trust_files(&self, commit: Oid) {
        self.has_files_of.replace(Some(commit));
    }

    /// Put the files and the index of the lane on one commit, and its `HEAD` on another: what is to be
    /// committed, and the commit on which it is to be.
    pub(crate) fn stage_on(&mut self, staged: &Oid, parent: &Oid) -> Result<(), LaneError> {
        self.put_on(staged)?;
        let head = HeadWriter { reftable: self.home.git_config.has_reftable() };
        head.write(&self.repo, parent)
    }
}

/// Writes the `HEAD` of a lane, which is always detached.
pub(super) struct HeadWriter {
    pub(super) reftable: bool,
}

impl HeadWriter {
    fn read(&self, repo: &Repo<'_>) -> Result<Option<Oid>, LaneError> {
        if self.reftable {
            let answer = repo.look(["rev-parse", "-q", "--verify", "HEAD^{commit}"]).run()?;
            return Ok(Oid::parse(&answer.stdout).filter(|_| answer.code == 0));
        }
        let head = files::read(&repo.git_dir().join("HEAD"))?;
        Ok(head.and_then(|bytes| Oid::parse(&bytes)))
    }

    /// Whether the lane has an index, and its `HEAD` is this commit.
    fn is_at(&self, repo: &Repo<'_>, commit: &Oid) -> Result<bool, LaneError> {
        Ok(repo.git_dir().join("index").is_file() && self.read(repo)?.as_ref() == Some(commit))
    }

    fn write(&self, repo: &Repo<'_>, commit: &Oid) -> Result<(), LaneError> {
        if self.reftable {
            repo.git(["update-ref", "--no-deref", "HEAD", commit.as_str()]).ok()?;
            return Ok(());
        }
        Ok(files::put(&repo.git_dir().join("HEAD"), format!("{commit}\n").as_bytes())?)
    }
}

/// Put one working tree on a commit, keeping these untracked paths.
pub(super) fn put_tree_on(
    repo: &Repo<'_>,
    head: &HeadWriter,
    commit: &Oid,
    keep: &[RepoPath],
) -> Result<(), LaneError> {
    if head.is_at(repo, commit)? && matches!(is_clean(repo), Ok(true)) {
        return Ok(());
    }
    head.write(repo, commit)?;
    let read_tree = || repo.git(["read-tree", "-u", "--reset", commit.as_str()]).ok();
    let mut clean: Vec<OsString> = ["clean", "-ffdq"].map(OsString::from).to_vec();
    clean.extend(keep.iter().flat_map(|path| [OsString::from("-e"), ignore_pattern(path)]));
    let clean = || repo.git(&clean).ok();
    let done = read_tree().and_then(|_| clean());
    if !matches!(done, Err(GitError::Failed { .. })) {
        return Ok(done.map(drop)?);
    }
    // An index that is damaged, or folders that an agent made unwritable.
    unlock_folders(repo.top());
    let _none = fs::remove_file(repo.git_dir().join("index"));
    read_tree()?;
    clean()?;
    Ok(())
}

/// Whether nothing differs from HEAD, apart from the ledger and what is no part of the work.
fn is_clean(repo: &Repo<'_>) -> Result<bool, LaneError> {
    let args = ["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all", "--"];
    let specs = repo.ledger().everything_else();
    let args = args.iter().map(OsStr::new).chain(specs.iter().map(OsString::as_os_str));
    Ok(repo.look(args).ok()?.is_empty())
}

/// A pattern of ignore rules that matches exactly this path.
fn ignore_pattern(path: &RepoPath) -> OsString {
    let mut pattern = vec![b'/'];
    for byte in path.as_bytes() {
        if matches!(byte, b'*' | b'?' | b'[' | b'\\' | b' ') {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    OsString::from_vec(pattern)
}
