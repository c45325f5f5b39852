//! The only place that calls git: checkpoint, collect, land, roll back.
//!
//! # Theory of operation
//!
//! An attempt is bracketed by a [`Checkpoint`] and one of [`Repo::land`] and [`Repo::roll_back`].
//!
//! ```text
//! checkpoint  S0: HEAD, the index, the tree           clean: one `git status`, no object
//!   the backend runs
//! collect     S1: what it did is S0 → S1 ([`Changes`])   clean: one `git add`, its output says it
//!   gates run
//! land        exactly S0 → S1 becomes a commit          clean: one `git commit`
//! roll_back   what is there is kept under refs/ralph/, and S0 is put back
//! ```
//!
//! When the tree was clean, the user's own index is used and HEAD is S0: three calls of git for a
//! task. When it was not, S0 and S1 are trees made with *private* indexes under
//! `<git-dir>/ralph/attempts/`; the user's index is not touched before the commit is made, and then
//! only where the backend worked. The ledger ([`LedgerPaths`]) is in none of this.
//!
//! Nothing is removed that is not in an object first, and a file that changed after it was looked
//! at is never overwritten: `git read-tree -m -u` refuses, and the look is repeated.
//!
//! Everything that recovery needs is in [`Checkpoint`] and [`Changes`], which the journal keeps.

mod arrival;
mod branch;
mod call;
mod candidate;
mod changes;
mod checkpoint;
mod checkup;
mod collect;
mod desk;
mod error;
mod facts;
mod found;
mod gates;
mod home;
mod kept;
mod land;
mod land_merged;
mod landed;
mod lane;
mod lane_commit;
mod ledger;
mod merge;
mod message;
mod nested;
mod put_back;
mod raw;
mod ready;
mod roll_back;
mod salvage;
mod snapshot;
mod spec_commit;
mod stash;
mod state;
mod status;
mod texts;
mod worktree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

pub use arrival::{
    ARRIVAL_VARIABLE, ArrivalError, ArrivalHost, ArrivalOutcome, LedgerMerge, RecoveredArrival,
    ReplayGates,
};
pub(crate) use call::{STRIPPED, nul_fields, nul_list};
pub use candidate::GateTraces;
pub use changes::{Change, ChangeKind, Changes, Moved};
pub use checkpoint::{AttemptRef, Checkpoint, DirtyPath, LedgerFile, OnDirty, Target};
pub use checkup::introduce;
pub(crate) use desk::copy_index;
pub use error::GitError;
pub use facts::{Facts, Landing};
pub use found::found;
pub use gates::GateEffects;
pub use kept::{Leftover, Retire, Retired, Underway};
pub use land::{LandError, Landed, Way};
pub use ledger::LedgerPaths;
pub(crate) use message::ATTEMPT;
pub use message::CommitMessage;
pub use nested::NestedRepo;
pub use ralph_core::git_names::{NotAnOid, Oid, RepoPath};
pub use raw::Raw;
pub use ready::StaleLock;
pub use roll_back::{Aside, OnBase, RolledBack};
pub use salvage::Salvage;
pub use spec_commit::ENTRY;
pub(crate) use spec_commit::{SpecOnTip, spec_ref};
pub use stash::{Keep, KeptSpec};
pub use state::{Moment, Operation, Stamp};
pub use status::Side;

use ralph_core::git_names as name;

use crate::git_dir;
use crate::proc::Runner;

/// How long a commit may take, with the hooks of the repository.
const HOOK_PATIENCE: Duration = Duration::from_secs(30 * 60);

/// How git learns which repository a call is for.
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
    /// The directory that holds `.git`.
    top: PathBuf,
    /// Of this worktree.
    git_dir: PathBuf,
    /// Of all worktrees.
    common_dir: PathBuf,
    kind: CheckoutKind,
    /// The folder of the project, from `top`; empty when it is `top` itself.
    prefix: RepoPath,
    ledger: LedgerPaths,
    runner: &'a Runner,
    hook_patience: Duration,
    /// Ledger files that are known to be in the repository.
    tracked_ledger: Mutex<BTreeSet<RepoPath>>,
    /// Uncommitted files of the user whose bytes are kept already.
    kept_raw: Mutex<BTreeMap<RepoPath, (Stamp, Raw)>>,
    /// The directory of the hooks, once somebody asked.
    hooks: OnceLock<PathBuf>,
}

impl<'a> Repo<'a> {
    /// The repository whose working tree holds `root`, the directory of the project. The paths of
    /// the ledger are relative to `root`.
    pub fn open(
        root: &Path,
        git_dir: &Path,
        runner: &'a Runner,
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
            ledger: ledger.below(&prefix),
            prefix,
            runner,
            hook_patience: HOOK_PATIENCE,
            tracked_ledger: Mutex::default(),
            kept_raw: Mutex::default(),
            hooks: OnceLock::new(),
        })
    }

    /// With another limit for a commit and its hooks.
    #[must_use]
    pub fn with_hook_patience(mut self, limit: Duration) -> Self {
        self.hook_patience = limit;
        self
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
