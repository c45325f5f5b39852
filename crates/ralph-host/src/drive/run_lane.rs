//! The lane of a run, with the ledger and the tip that its work goes through.

use std::collections::BTreeMap;

use ralph_core::config::{Config, OnDirty, Workspace};

use super::error::DriveError;
use crate::git::{GitError, Oid, Repo};
use crate::lanes::{GitSettings, Lane, LanePool};
use crate::project::Project;
use crate::run_ledger::{LedgerStart, OpenRun, RunLedger, RunWorkspace};
use crate::store::Holder;

/// A lane and the run whose work goes through it.
pub(super) struct RunLane<'a> {
    pub(super) lane: Lane<'a>,
    /// The run's own copy of the ledger.
    pub(super) ledger: RunLedger,
    /// The branch on which commits arrive; `None` where HEAD is detached and home is the lane.
    pub(super) branch: Option<String>,
    /// The branch and everything that has landed.
    pub(super) tip: Oid,
    /// Whether the journal knows where this run's tip starts.
    pub(super) has_started: bool,
    /// Files of the ledger and sources, as the last agent found them in the lane.
    pub(super) given: BTreeMap<String, Option<Vec<u8>>>,
    /// Files that can run or redirect git, as the last agent found them.
    pub(super) git_settings: GitSettings,
}

/// Whether the last run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastRun {
    Ended,
    /// It left an attempt open, so its work is still in the lane.
    Interrupted,
}

impl<'a> RunLane<'a> {
    /// Take a lane, and open the ledger of the run or go on with that of an earlier one.
    pub(super) fn open(
        project: &Project,
        home: &Repo<'a>,
        config: &Config,
        last: LastRun,
        plan: &str,
        holder: &Holder,
    ) -> Result<Self, DriveError> {
        if last == LastRun::Ended {
            make_clean(home, config)?;
        }
        let (branch, commit) = home.branch_and_commit()?;
        let Some(commit) = commit else { return Err(DriveError::NoCommit) };
        let (lane, workspace) = match config.workspace {
            Workspace::Lane if branch.is_none() => return Err(DriveError::DetachedHead),
            Workspace::Lane => {
                (LanePool::open(home, &config.lane)?.take(holder)?, RunWorkspace::Lane)
            }
            Workspace::Checkout => {
                (LanePool::take_home(home, &config.lane, holder)?, RunWorkspace::Checkout)
            }
        };
        let run = home.runner().run_id();
        let (ledger, tip) = match RunLedger::of_branch(project, branch.as_deref()) {
            Some(earlier) => {
                let old = tip_ref(&earlier.open_run().run);
                let tip = home.find_commit(&old)?;
                (earlier.adopt(run)?, tip.unwrap_or(commit))
            }
            None => {
                let open_run = OpenRun {
                    run: run.to_owned(),
                    branch: branch.clone(),
                    plan: plan.to_owned(),
                    folder: String::new(),
                    ignored: home.ignored_ledger()?,
                    workspace,
                };
                (RunLedger::open(project, open_run, LedgerStart::Home)?, commit)
            }
        };
        Ok(Self {
            lane,
            ledger,
            branch,
            tip,
            has_started: false,
            given: BTreeMap::new(),
            git_settings: GitSettings::default(),
        })
    }

    /// The lane's working tree, with ralph's own git directory.
    pub(super) fn repo(&self) -> &Repo<'a> {
        self.lane.repo()
    }

    /// The reference of the tip.
    pub(super) fn tip_ref(&self) -> String {
        tip_ref(&self.ledger.open_run().run)
    }

    /// The name of the target in the journal.
    pub(super) fn target_name(&self) -> &str {
        self.branch.as_deref().unwrap_or("HEAD")
    }
}

/// Treat uncommitted changes as `on_dirty` says. Whoever owns the checkout needs it clean.
fn make_clean(home: &Repo<'_>, config: &Config) -> Result<(), DriveError> {
    let dirty = home.dirty()?;
    match config.on_dirty {
        _ if dirty.is_empty() => {}
        OnDirty::Leave => {}
        OnDirty::Commit => home.commit_dirty()?,
        OnDirty::Refuse => return Err(GitError::Dirty(dirty).into()),
    }
    match home.unclean()? {
        unclean if config.workspace == Workspace::Checkout && !unclean.is_empty() => {
            Err(GitError::Dirty(unclean).into())
        }
        _ => Ok(()),
    }
}

/// The reference of the tip of a run.
pub(super) fn tip_ref(run: &str) -> String {
    format!("refs/ralph/{run}/tip")
}

/// The reference that holds what has landed of a spec.
pub(super) fn spec_ref(keeper: &str) -> String {
    format!("refs/ralph/{keeper}/spec")
}
