//! The only place that calls git.
//!
//! # Theory of operation
//!
//! ```text
//! in a lane, with ralph's own git directory of it (lanes/):
//!   candidate    add -A: the index is what an attempt leaves; put back after gates; salvage
//!   lane_commit  one commit of the index, with the ledger; the tip and other refs of ralph's
//!   spec_commit  a spec becomes one commit, merged with the tip in objects
//! in home, where a person works:
//!   arrival      commits reach the branch by git's own fast-forward, or wait
//!   home         only looks; commits for `on_dirty = "commit"` alone
//! ```
//!
//! Whatever does not land is kept under `refs/ralph/` (`salvage`, `kept`). Recovery needs what the
//! journal has ([`ralph_core::cycle::AttemptBase`], [`ralph_core::cycle::Candidate`]) and the index of the
//! lane.

mod arrival;
mod branch;
mod call;
mod candidate;
mod changes;
mod checkup;
mod error;
mod first_commit;
mod found;
mod home;
mod index;
mod kept;
mod landed;
mod lane;
mod lane_commit;
mod lane_folder;
mod ledger;
mod merge;
mod message;
mod ready;
mod salvage;
mod snapshot;
mod spec_commit;
mod stash;
mod state;
mod status;
mod texts;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use arrival::HomeQuietState;
pub use arrival::{
    ARRIVAL_VARIABLE, ArrivalError, ArrivalHost, ArrivalOutcome, LedgerMerge, RecoveredArrival,
    ReplayGateResult,
};
pub(crate) use call::{STRIPPED, nul_fields, nul_list};
pub use candidate::GateTraces;
pub use changes::{GitChange, GitChangeKind};
pub use checkup::introduce;
pub use error::GitError;
pub use first_commit::UnbornFiles;
pub use found::found;
pub(crate) use index::copy_index;
pub use kept::{AttemptLeftover, OngoingWork, RetiredWork, SalvageRetentionRule};
pub use lane_commit::LaneCommitError;
pub use lane_folder::LaneDamage;
pub(crate) use lane_folder::{LaneFolder, unlock_folder, unlock_folders};
pub use ledger::LedgerPaths;
pub use message::CommitMessage;
pub(crate) use message::{ATTEMPT, gate_trailers};
pub use ralph_core::git_names::{InvalidOid, Oid, RepoPath};
pub use ready::StaleLockRemoval;
pub use salvage::{AttemptRef, Salvage};
pub use spec_commit::ENTRY;
pub(crate) use spec_commit::{SpecTipMerge, spec_ref};
pub use stash::{FailedSpecStorage, KeptSpec};
pub use state::GitOperation;
pub use status::GitSideChange;

use ralph_core::git_names as name;

use crate::git_dir;
use crate::proc::JobRunner;

/// Longest time of a commit, including the hooks of the repository.
const HOOK_PATIENCE: Duration = Duration::from_secs(30 * 60);

/// Way in which git finds the repository of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckoutKind {
    /// Git finds it from the working tree.
    Found,
    /// Every call names a git directory of ralph's own and the working tree.
    Lane,
}

/// A working tree and its repository.
#[derive(Debug)]
pub struct Repo<'a> {
    /// Top of the working tree.
    top: PathBuf,
    /// Git directory of this worktree.
    git_dir: PathBuf,
    /// Git directory that all worktrees share.
    common_dir: PathBuf,
    kind: CheckoutKind,
    /// The directory of a lane in use, which has to be the same at each call.
    folder: Option<Arc<LaneFolder>>,
    /// The folder of the project, from `top`; empty when it is `top` itself.
    prefix: RepoPath,
    ledger: LedgerPaths,
    runner: &'a JobRunner,
    hook_patience: Duration,
    /// The directory of the hooks, once somebody asked.
    hooks: OnceLock<PathBuf>,
    quiet: Arc<Mutex<HomeQuietState>>,
}

impl<'a> Repo<'a> {
    /// The repository whose working tree holds `root`, the directory of the project. The paths of
    /// the ledger are relative to `root`.
    pub fn open(
        root: &Path,
        git_dir: &Path,
        runner: &'a JobRunner,
        ledger: &LedgerPaths,
    ) -> Result<Self, GitError> {
        let absolute = |path: &Path| std::path::absolute(path).map_err(GitError::io("find", path));
        let (root, git_dir) = (&absolute(root)?, &absolute(git_dir)?);
        let nowhere = || GitError::NoWorkingTree(root.to_owned());
        let has_git = |dir: &&Path| matches!(git_dir::of(dir), Ok(Some(_)));
        let top = root.ancestors().find(has_git).ok_or_else(nowhere)?;
        let prefix = root.strip_prefix(top).map_err(|_| nowhere())?;
        let prefix = RepoPath::new(prefix.as_os_str().as_encoded_bytes());
        let common_dir = match std::fs::read_to_string(git_dir.join("commondir")) {
            Ok(path) => git_dir.join(path.trim_end_matches('\n')),
            Err(_) => git_dir.to_owned(),
        };
        Ok(Self {
            top: top.to_owned(),
            git_dir: git_dir.to_owned(),
            common_dir,
            kind: CheckoutKind::Found,
            folder: None,
            ledger: ledger.below(&prefix),
            prefix,
            runner,
            hook_patience: HOOK_PATIENCE,
            hooks: OnceLock::new(),
            quiet: Arc::default(),
        })
    }

    /// The directory that [`RepoPath`]s are relative to.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The ledger as paths of the repository.
    pub fn ledger(&self) -> &LedgerPaths {
        &self.ledger
    }

    /// A path of the repository as a path of the file system.
    pub fn file(&self, path: &RepoPath) -> PathBuf {
        self.top.join(path.as_path())
    }
}
