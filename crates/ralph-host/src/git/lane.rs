//! A repository seen through a git directory of ralph's own, for the checkout in a lane.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::error::GitError;
use super::{CheckoutKind, HOOK_PATIENCE, LaneFolder, LedgerPaths, Repo, RepoPath};
use crate::proc::JobRunner;

impl<'a> Repo<'a> {
    /// The repository of `home` with another working tree: `top`, whose `HEAD` and index are in
    /// `git_dir`. The ledger and the folder of the project are those of `home`.
    pub fn of_lane(home: &Self, top: &Path, git_dir: &Path) -> Self {
        Self {
            prefix: home.prefix.clone(),
            ledger: home.ledger.clone().of_lane(),
            ..Self::explicit(top, git_dir, &home.common_dir, home.runner)
        }
    }

    /// The same, whose calls fail once `folder` is not at its place any more.
    #[must_use]
    pub(crate) fn in_folder(mut self, folder: Arc<LaneFolder>) -> Self {
        self.folder = Some(folder);
        self
    }

    /// The index and the objects without the files, which may be gone.
    pub(crate) fn without_files(&self) -> Self {
        Self { top: self.git_dir.clone(), folder: None, ..self.reopen() }
    }

    /// Fail unless the directory of the lane is the one that was opened.
    pub(crate) fn check_folder(&self) -> Result<(), GitError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let failed = |damage| GitError::LaneDamaged { path: self.top.clone(), damage };
        folder.check().map_err(failed)
    }

    /// The same with more paths that are never part of a snapshot or a commit.
    #[must_use]
    pub(crate) fn leaving_out(mut self, paths: impl IntoIterator<Item = RepoPath>) -> Self {
        self.ledger = paths.into_iter().fold(self.ledger, LedgerPaths::and_runtime);
        self
    }

    /// A working tree whose git directory every call names. It has no ledger of its own.
    pub(crate) fn explicit(
        top: &Path,
        git_dir: &Path,
        common_dir: &Path,
        runner: &'a JobRunner,
    ) -> Self {
        Self {
            top: top.to_owned(),
            git_dir: git_dir.to_owned(),
            common_dir: common_dir.to_owned(),
            kind: CheckoutKind::Lane,
            folder: None,
            prefix: RepoPath::new(""),
            ledger: LedgerPaths::none(),
            runner,
            hook_patience: HOOK_PATIENCE,
            hooks: OnceLock::new(),
            quiet: Arc::default(),
        }
    }

    /// A second value for the same working tree, with a life of its own.
    pub(crate) fn reopen(&self) -> Self {
        Self {
            kind: self.kind,
            folder: self.folder.clone(),
            prefix: self.prefix.clone(),
            ledger: self.ledger.clone(),
            hook_patience: self.hook_patience,
            quiet: self.quiet.clone(),
            ..Self::explicit(&self.top, &self.git_dir, &self.common_dir, self.runner)
        }
    }

    /// Whether this is the checkout in a lane.
    pub fn is_lane(&self) -> bool {
        self.kind == CheckoutKind::Lane
    }

    /// The git directory of this working tree.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git directory with the objects and references, which all working trees share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The folder of the project, seen from the top of the working tree; empty for the top itself.
    pub fn prefix(&self) -> &RepoPath {
        &self.prefix
    }

    /// Return the folder of the project in this checkout.
    pub fn project_root(&self) -> PathBuf {
        self.file(&self.prefix)
    }

    pub(crate) fn runner(&self) -> &'a JobRunner {
        self.runner
    }
}
