//! Going on without an attempt that was interrupted and cannot be brought to its end.
//!
//! The tree stays exactly as it is: whoever asks for this looks at it with their own eyes. What is
//! there is kept under a ref first, and the attempt is written down as rolled back.

use ralph_core::cycle::{
    FailIntent, Failure, FailureKind, History, OpenAttempt, Phase, Record, ledger,
};
use ralph_core::plan::Id;

use super::error::DriveError;
use super::plan_file::{Missing, PlanFile};
use crate::clock::Clock;
use crate::git::{AttemptRef, LedgerPaths, Repo, Salvage};
use crate::proc::{Runner, mark};
use crate::project::Project;
use crate::store::{Durability, Journal, RunLock, Store};

/// What was forgotten.
#[derive(Debug)]
pub struct Forgotten {
    /// The attempt.
    pub attempt: OpenAttempt,
    /// What keeps the tree as it is; `None` when it is as in HEAD.
    pub kept: Option<Salvage>,
    /// What could not be done beside it.
    pub warnings: Vec<String>,
}

/// Close the open attempt of an interrupted run without touching a file. `None` when there is none.
pub fn forget(
    project: &Project,
    store: &Store,
    clock: Clock,
    runner: &Runner,
) -> Result<Option<Forgotten>, DriveError> {
    let Some(git_dir) = project.git_dir() else {
        return Err(DriveError::NoRepository(project.root().display().to_string()));
    };
    let _lock = RunLock::acquire(&project.state_dir(), store.holder())?;
    let (mut journal, history) = Journal::open(&project.state_dir())?;
    let Some(open) = history.open.clone() else { return Ok(None) };
    mark::kill_survivors(&open.started.run);
    let plan = plan_of(project, store, &history);
    let ledger = LedgerPaths::with_plan(&plan.shown);
    let repo = Repo::open(project.root(), git_dir, runner, &ledger)?;
    let started = &open.started;
    // The names of the checkpoint, as far as it can be read.
    let run = started.base.0["run"].as_str().unwrap_or(&started.run).to_owned();
    let kept = repo.keep_as_is(&AttemptRef { run, attempt: started.attempt.clone() })?;
    let mut warnings = Vec::new();
    let (now, task) = (clock.stamp(), Id::new(started.task.as_str()));
    if let Err(e) = plan.change(|plan, text| ledger::unmark(plan, text, &task, &now)) {
        warnings.push(format!("the plan may still say that {task} is being worked on: {e}"));
    }
    if !matches!(open.phase, Phase::RollingBack(_)) {
        let failure =
            Failure::new(FailureKind::Interrupted, "forgotten by `ralph recover --forget`");
        let intent = FailIntent {
            attempt: started.attempt.clone(),
            failure,
            context: String::new(),
            retries: started.retries,
        };
        journal.append(clock.stamp(), Record::FailIntent(intent), Durability::Eventual)?;
    }
    let salvage = kept.as_ref().map(|kept| kept.name.clone());
    let record = Record::RolledBack { attempt: started.attempt.clone(), salvage };
    journal.append(clock.stamp(), record, Durability::Synced)?;
    Ok(Some(Forgotten { attempt: open, kept, warnings }))
}

/// The plan that the run worked on.
fn plan_of(project: &Project, store: &Store, history: &History) -> PlanFile {
    let native = || project.plan_jsonl();
    let path = history.run.as_ref().map_or_else(native, |run| project.root().join(&run.plan));
    PlanFile::new(project.root(), path, store.clone(), Missing::Error)
}
