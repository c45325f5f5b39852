//! The lane of a run, with the ledger and the tip that its work goes through.

use std::cell::Cell;
use std::collections::BTreeMap;

use ralph_core::config::{Config, DirtyPolicy, Workspace};
use ralph_core::cycle::{ArrivalLine, ArrivalTarget};

use super::error::DriveError;
use super::run_target::RunTarget;
use crate::git::{GitError, Oid, Repo};
use crate::lanes::{Lane, LaneError, LanePool, cache_folder, remove_orphaned_lanes};
use crate::project::Project;
use crate::run_ledger::{self, LedgerStart, OpenRun, RunLedger, RunWorkspace};
use crate::store::LockHolder;

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
    /// Whether commits have landed whose arrival was left for the next run of a backend.
    pub(super) arrival_is_due: Cell<bool>,
    /// Specs that were open when a commit was first made; a loop with a commit for each task opens none.
    pub(super) open_specs: Option<Vec<String>>,
}

/// The facts that a run starts from.
pub(super) struct RunStartFacts<'f> {
    pub(super) last: LastRunState,
    pub(super) plan: &'f str,
    pub(super) target: &'f RunTarget,
    /// The commits of the last run.
    pub(super) line: Option<&'f ArrivalLine>,
}

/// Whether the last run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastRunState {
    Ended,
    /// Run that left an attempt open. The work of the attempt is still in the lane.
    Interrupted,
}

impl<'a> RunLane<'a> {
    /// Take a lane, and open the ledger of the run or go on with that of an earlier one.
    pub(super) fn open(
        project: &Project,
        home: &Repo<'a>,
        config: &Config,
        facts: &RunStartFacts<'_>,
        holder: &LockHolder,
    ) -> Result<Self, DriveError> {
        let (home_branch, _) = home.branch_and_commit()?;
        let branch = match (facts.target, config.workspace) {
            (RunTarget::Home, _) => home_branch.clone(),
            (RunTarget::Named(_), Workspace::Checkout) => return Err(DriveError::BranchInCheckout),
            (RunTarget::Named(name), Workspace::Lane) if home.is_branch_name(name)? => {
                Some(name.clone())
            }
            (RunTarget::Named(name), _) => return Err(DriveError::BranchName(name.clone())),
        };
        if facts.last == LastRunState::Ended {
            make_clean(home, config)?;
        }
        let Some(home_commit) = home.branch_and_commit()?.1 else {
            return Err(DriveError::NoCommit);
        };
        let commit = match &branch {
            Some(name) if branch != home_branch => {
                home.find_commit(&format!("refs/heads/{name}"))?
            }
            _ => None,
        };
        let workspace = match config.workspace {
            Workspace::Lane if branch.is_none() => return Err(DriveError::DetachedHead),
            Workspace::Lane => RunWorkspace::Lane,
            Workspace::Checkout => RunWorkspace::Checkout,
        };
        let lane = take_lane(home, config, holder)?;
        let (ledger, tip) = match RunLedger::of_branch(project, branch.as_deref()) {
            Some(earlier) => {
                let run = &earlier.open_run().run;
                let mut tip = home.find_commit(&tip_ref(run))?;
                if let Some(line) = facts.line.filter(|line| line.run == *run)
                    && line.let_go.is_some()
                    && line.let_go.as_deref() == tip.as_ref().map(Oid::as_str)
                {
                    tip = Oid::parse(line.tip.as_bytes());
                }
                (earlier, tip.or(commit).unwrap_or(home_commit))
            }
            None => {
                let open_run = OpenRun {
                    run: home.runner().run_id().to_owned(),
                    branch: branch.clone(),
                    home_branch,
                    plan: facts.plan.to_owned(),
                    folder: String::new(),
                    ignored: home.ignored_ledger()?,
                    workspace,
                };
                let files = commit.as_ref().map(|commit| ledger_of(home, commit, facts.plan));
                let files = files.transpose()?;
                let start = files.as_ref().map_or(LedgerStart::Home, LedgerStart::Branch);
                (RunLedger::open(project, open_run, start)?, commit.unwrap_or(home_commit))
            }
        };
        let (has_started, arrival_is_due, open_specs) = (false, Cell::default(), None);
        Ok(Self { lane, ledger, branch, tip, has_started, arrival_is_due, open_specs })
    }

    /// The lane's working tree, with ralph's own git directory.
    pub(super) fn repo(&self) -> &Repo<'a> {
        self.lane.repo()
    }

    /// Write the ledger and these files of home into the lane.
    pub(super) fn write_ledger(&self, files: &[String]) -> Result<(), DriveError> {
        self.lane.check_place()?;
        let root = self.lane.root();
        if self.ledger.write_into(&root, files).is_err() {
            // An agent may have taken rights away.
            self.lane.unlock();
            self.ledger.write_into(&root, files)?;
        }
        Ok(())
    }

    /// Whether commits arrive on the branch that home had checked out.
    pub(super) fn target(&self) -> ArrivalTarget {
        match self.ledger.open_run().home_branch == self.branch {
            true => ArrivalTarget::HomeBranch,
            false => ArrivalTarget::NamedBranch,
        }
    }

    /// Return the name of the ref of the tip.
    pub(super) fn tip_ref(&self) -> String {
        tip_ref(&self.ledger.open_run().run)
    }

    /// The name of the target in the journal.
    pub(super) fn target_name(&self) -> &str {
        self.branch.as_deref().unwrap_or("HEAD")
    }
}

/// Take a lane, or home as the lane. Lanes of repositories that are gone go.
pub(super) fn take_lane<'a>(
    home: &Repo<'a>,
    config: &Config,
    holder: &LockHolder,
) -> Result<Lane<'a>, LaneError> {
    match config.workspace {
        Workspace::Lane => {
            if let Ok(cache) = cache_folder() {
                remove_orphaned_lanes(&cache);
            }
            LanePool::open(home, &config.lane)?.take(holder)
        }
        Workspace::Checkout => LanePool::take_home(home, &config.lane, holder),
    }
}

/// Treat uncommitted changes as `on_dirty` says. Whoever owns the checkout needs it clean.
fn make_clean(home: &Repo<'_>, config: &Config) -> Result<(), DriveError> {
    let dirty = home.dirty()?;
    match config.on_dirty {
        _ if dirty.is_empty() => {}
        DirtyPolicy::Leave => {}
        DirtyPolicy::Commit => home.commit_dirty()?,
        DirtyPolicy::Refuse => return Err(GitError::Dirty(dirty).into()),
    }
    match home.unclean()? {
        unclean if config.workspace == Workspace::Checkout && !unclean.is_empty() => {
            Err(GitError::Dirty(unclean).into())
        }
        _ => Ok(()),
    }
}

/// The ledger files of a commit, by their path in the project.
fn ledger_of(
    home: &Repo<'_>,
    commit: &Oid,
    plan: &str,
) -> Result<BTreeMap<String, Vec<u8>>, GitError> {
    let mut files = BTreeMap::new();
    for file in run_ledger::ledger_files(plan) {
        if let Some(bytes) = home.project_file_at(commit, &file)? {
            files.insert(file, bytes);
        }
    }
    Ok(files)
}

/// The reference of the tip of a run.
pub(super) fn tip_ref(run: &str) -> String {
    format!("refs/ralph/{run}/tip")
}
