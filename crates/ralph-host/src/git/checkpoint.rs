//! S0: what an attempt starts from, and goes back to.

use serde::{Deserialize, Serialize};

use super::Repo;
use super::desk::copy_index;
use super::error::GitError;
use super::name::{Oid, RepoPath};
use super::nested::NestedRepo;
use super::raw::Raw;
use super::state::{Moment, Stamp};
use super::status::{Entry, Side, Status};

/// The message of the commit that `on_dirty = "commit"` makes.
const USERS_OWN: &str = "ralph: auto-commit before orchestration start";

/// Which attempt of which run. Both become parts of refs and file names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRef {
    /// The run.
    pub run: String,
    /// The attempt, a ULID.
    pub attempt: String,
}

/// What to do when the tree has changes of the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDirty {
    /// Keep them as they are, through success and failure.
    Snapshot,
    /// Commit them first, in a commit of their own.
    Commit,
    /// Do not start.
    Refuse,
}

/// Where an attempt that counts is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// On HEAD, at once.
    Head,
    /// On a ref of the run, until the spec is complete.
    Spec,
}

/// A path of the user's that is in no commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirtyPath {
    /// The path.
    pub path: RepoPath,
    /// From HEAD to the index.
    pub index: Side,
    /// From the index to the file.
    pub file: Side,
    /// The file itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
}

/// A shared ledger file at the time of the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerFile {
    /// The path.
    pub path: RepoPath,
    /// `None` when it was not there.
    pub stamp: Option<Stamp>,
    /// What is not committed of it; nothing for an ignored one.
    pub file: Side,
}

/// S0. Everything that landing, rolling back and recovery need; the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Which attempt.
    #[serde(flatten)]
    pub of: AttemptRef,
    /// Where it is to land.
    pub target: Target,
    /// The commit of HEAD; `None` before the first one.
    pub head: Option<Oid>,
    /// The full name of the branch; `None` when HEAD is detached.
    pub branch: Option<String>,
    /// The newest commit of the spec's ref, which is then what the attempt lands on.
    pub spec_tip: Option<Oid>,
    /// The tree S0. `None` for a clean tree: then it is HEAD's.
    pub tree: Option<Oid>,
    /// The user's uncommitted paths; the prompt names them.
    pub dirty: Vec<DirtyPath>,
    /// The shared ledger files.
    pub ledger: Vec<LedgerFile>,
    /// Submodules and nested repositories.
    pub nested: Vec<NestedRepo>,
    /// When the attempt began, by the clock of the file system.
    pub started: Moment,
    /// The size of HEAD's log.
    pub log_of_head: u64,
    /// The newest stash.
    pub stash: Option<Oid>,
    /// The user's index.
    pub index: Option<Stamp>,
    /// The repository's own ignore rules.
    pub exclude: Option<Stamp>,
}

impl Checkpoint {
    /// Whether the tree was clean, the ledger aside.
    pub fn is_clean(&self) -> bool {
        self.tree.is_none()
    }

    pub(super) fn nested_paths(&self) -> Vec<RepoPath> {
        self.nested.iter().map(|n| n.path.clone()).collect()
    }

    pub(super) fn own_ref(&self, what: &str) -> String {
        format!("refs/ralph/{}/{what}", self.of.run)
    }
}

impl Repo<'_> {
    /// Remember how everything is.
    pub fn checkpoint(
        &self,
        of: &AttemptRef,
        on_dirty: OnDirty,
        target: Target,
    ) -> Result<Checkpoint, GitError> {
        if let Some(operation) = self.operation() {
            return Err(GitError::InProgress(operation));
        }
        let desk = self.desk(&of.attempt);
        let started = desk.clear()?;
        copy_index(&self.user_index(), &desk.saved())?;
        let head = self.head()?;
        let mut checkpoint = Checkpoint {
            of: of.clone(),
            target,
            head: head.commit,
            branch: head.branch,
            spec_tip: None,
            tree: None,
            dirty: Vec::new(),
            ledger: Vec::new(),
            nested: Vec::new(),
            started,
            log_of_head: self.log_of_head(),
            stash: self.stash(),
            index: Stamp::of(&self.user_index()),
            exclude: Stamp::of(&self.common_dir.join("info/exclude")),
        };
        let status = self.status()?;
        match status.unmerged() {
            unmerged if unmerged.is_empty() => {}
            unmerged => return Err(GitError::Unmerged(unmerged)),
        }
        checkpoint.ledger = self.ledger_files(&status);
        checkpoint.nested = self.nested(&status)?;
        if target == Target::Spec {
            checkpoint.spec_tip = self.find_ref(&checkpoint.own_ref("spec"))?;
        }
        let dirty: Vec<&Entry> = status.entries.iter().filter(|e| self.is_users(e)).collect();
        if dirty.is_empty() && target == Target::Head {
            return Ok(checkpoint);
        }
        let theirs = !dirty.is_empty() && checkpoint.spec_tip.is_none();
        if theirs && on_dirty != OnDirty::Snapshot {
            let paths: Vec<RepoPath> = dirty.iter().map(|e| e.path.clone()).collect();
            if on_dirty == OnDirty::Refuse {
                return Err(GitError::Dirty(paths));
            }
            self.commit_users_own(&checkpoint)?;
            return self.checkpoint(of, OnDirty::Snapshot, target);
        }
        self.snapshot_before(checkpoint, &dirty)
    }

    /// S0 of an attempt that begins right after the one of `last` has landed as `commit`. That landing
    /// looked at the tree a moment ago and took all there was, so nobody has to look again: whoever
    /// writes a file between that look and the next one writes it during an attempt. `None` when
    /// something else may have happened, and a look is due.
    pub fn checkpoint_after(
        &self,
        last: &Checkpoint,
        commit: &str,
        of: &AttemptRef,
    ) -> Result<Option<Checkpoint>, GitError> {
        let head = self.head()?;
        let as_left = head.commit.as_ref().is_some_and(|c| c.as_str() == commit)
            && head.branch == last.branch
            && self.stash() == last.stash;
        let plain = last.is_clean() && last.target == Target::Head && last.nested.is_empty();
        if !as_left || !plain || self.operation().is_some() || self.any_hook()? {
            return Ok(None);
        }
        let (desk, index) = (self.desk(&of.attempt), self.user_index());
        let started = match desk.link(&index) {
            Some(now) => now,
            None => {
                let now = desk.clear()?;
                copy_index(&index, &desk.saved())?;
                now
            }
        };
        Ok(Some(Checkpoint {
            of: of.clone(),
            head: head.commit,
            ledger: self.ledger_files(&Status::default()),
            started,
            log_of_head: self.log_of_head(),
            index: Stamp::of(&self.user_index()),
            exclude: Stamp::of(&self.common_dir.join("info/exclude")),
            ..last.clone()
        }))
    }

    /// The way of the tree that is not clean: make S0.
    fn snapshot_before(
        &self,
        mut checkpoint: Checkpoint,
        dirty: &[&Entry],
    ) -> Result<Checkpoint, GitError> {
        let desk = self.desk(&checkpoint.of.attempt);
        let index = desk.before();
        copy_index(&desk.saved(), &index)?;
        let mut nested = checkpoint.nested_paths();
        let added = self.add_all(Some(&index), &nested)?;
        nested.extend(added.unborn);
        let tree = self.write_tree(&index)?;
        let name = checkpoint.own_ref("before");
        self.git(["update-ref", &name, tree.as_str()]).ok()?;
        let entries = dirty.iter().filter(|e| !e.nested && !nested.contains(&e.path));
        checkpoint.dirty = entries
            .map(|e| DirtyPath { path: e.path.clone(), index: e.index, file: e.file, raw: None })
            .collect();
        if let Some(tip) = &checkpoint.spec_tip {
            // What the run's own attempts have left in the tree is not the user's.
            let users = self.diff(tip.as_str(), &tree)?;
            checkpoint.dirty.retain(|d| users.iter().any(|change| change.path == d.path));
        }
        self.keep_raw(&mut checkpoint.dirty, checkpoint.started)?;
        checkpoint.tree = Some(tree);
        Ok(checkpoint)
    }

    /// Whether an entry makes the tree one that is not clean. A changed ledger file does not, but a
    /// staged one does: the clean way would lose what is staged.
    pub(super) fn is_users(&self, entry: &Entry) -> bool {
        let staged = !matches!(entry.index, Side::Same | Side::Untracked);
        staged || !self.ledger.contains(&entry.path)
    }

    /// The user's uncommitted files, as a checkpoint would find them. Changes nothing.
    pub fn dirty(&self) -> Result<Vec<RepoPath>, GitError> {
        let entries = self.status()?.entries.into_iter();
        let users = entries.filter(|entry| self.is_users(entry) && !entry.nested);
        Ok(users.map(|entry| entry.path).collect())
    }

    fn ledger_files(&self, status: &Status) -> Vec<LedgerFile> {
        let side = |path: &RepoPath| {
            let found = status.entries.iter().find(|e| e.path == *path);
            // Staged is not committed either.
            found.map_or(Side::Same, |e| if e.file == Side::Same { e.index } else { e.file })
        };
        let files = self.ledger.shared().iter().map(|path| LedgerFile {
            path: path.clone(),
            stamp: Stamp::of(&self.file(path)),
            file: side(path),
        });
        files.collect()
    }

    /// Commit what the user has not committed, as `on_dirty = "commit"` asks for.
    pub(crate) fn commit_dirty(&self) -> Result<(), GitError> {
        let nested = self.nested(&self.status()?)?;
        let nested: Vec<RepoPath> = nested.into_iter().map(|nested| nested.path).collect();
        self.add_all(None, &nested)?;
        let call = self.git(["commit", "-q", "-m", USERS_OWN]).patience(self.hook_patience);
        self.writing_index(|| call.ok().map(drop))
    }

    fn commit_users_own(&self, checkpoint: &Checkpoint) -> Result<(), GitError> {
        self.add_all(None, &checkpoint.nested_paths())?;
        let call = self.git(["commit", "-q", "-m", USERS_OWN]).patience(self.hook_patience);
        self.writing_index(|| call.ok().map(drop))
    }

    /// Where a ref points, if it is there.
    pub(super) fn find_ref(&self, name: &str) -> Result<Option<Oid>, GitError> {
        let answer = self.look(["rev-parse", "-q", "--verify", name]).run()?;
        Ok(Oid::parse(&answer.stdout).filter(|_| answer.code == 0))
    }

    /// The attempt is over and journalled: its private files can go.
    pub fn forget(&self, checkpoint: &Checkpoint) {
        self.desk(&checkpoint.of.attempt).remove();
    }
}
