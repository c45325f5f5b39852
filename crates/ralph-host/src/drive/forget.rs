//! Going on without an attempt that was interrupted and cannot be brought to its end.
//!
//! What is in its lane is kept under a ref first, and the attempt is written down as discarded.

use ralph_core::config::Config;
use ralph_core::cost_sum::CostSum;
use ralph_core::cycle::{
    AttemptBase, AttemptFailure, DiscardedAttempt, EventKind, FailIntent, FailureKind, History,
    JournalRecord, LoopEnd, LoopEvent, LoopSignal, OpenAttempt, RunEnd, exit_code, ledger,
    remaining,
};
use ralph_core::format::PlanFormat;
use ralph_core::plan::{Id, Plan};
use ralph_core::view::TaskTally;

use super::error::DriveError;
use super::guard::mend_ledger;
use super::listener::LoopListener;
use super::plan_file::{MissingPlanPolicy, PlanFile};
use super::run_lane::take_lane;
use super::views::LoopViewFiles;
use crate::clock::Clock;
use crate::git::{LedgerPaths, Repo, Salvage};
use crate::lanes::Lane;
use crate::proc::{JobRunner, mark};
use crate::project::Project;
use crate::store::{Durability, Journal, LedgerStore, RunLock};

/// Result of forgetting an open attempt.
#[derive(Debug)]
pub struct ForgottenAttempt {
    pub attempt: OpenAttempt,
    /// The ref that keeps its work; `None` when it had changed nothing.
    pub kept: Option<Salvage>,
    /// Problems beside it that did not stop the command.
    pub warnings: Vec<String>,
}

/// Close the open attempt of an interrupted run without touching a file. `None` when there is none.
pub fn forget(
    project: &Project,
    config: &Config,
    store: &LedgerStore,
    clock: Clock,
    runner: &JobRunner,
) -> Result<Option<ForgottenAttempt>, DriveError> {
    let Some(git_dir) = project.git_dir() else {
        return Err(DriveError::NoRepository(project.root().display().to_string()));
    };
    let mut warnings = WarningCollector::default();
    mend_ledger(project, store, &clock, &mut warnings)?;
    let WarningCollector(mut warnings) = warnings;
    let _lock = RunLock::acquire(&project.state_dir(), store.holder())?;
    let (mut journal, mut history) = Journal::open(&project.state_dir())?;
    let Some(open) = history.open.clone() else { return Ok(None) };
    mark::kill_survivors(&open.started.run);
    let plan = plan_of(project, store, &history);
    let ledger = LedgerPaths::with_plan(&plan.shown);
    let repo = Repo::open(project.root(), git_dir, runner, &ledger)?;
    let started = &open.started;
    let kept = keep_work(&take_lane(&repo, config, store.holder())?, &open.base)?;
    let (now, task) = (clock.stamp(), Id::new(started.task.as_str()));
    if let Err(e) = plan.change(|plan, text| ledger::unmark(plan, text, &task, &now)) {
        warnings.push(format!("the plan may still say that {task} is being worked on: {e}"));
    }
    let empty = || Plan::empty(PlanFormat::Jsonl).into();
    let plan = plan.read().map_or_else(|_| empty(), |loaded| loaded.plan);
    let salvage = kept.as_ref().map(|kept| kept.name.clone());
    for record in last_words(&history, &open, salvage, &plan) {
        let entry = journal.append(clock.stamp(), record, Durability::Synced)?;
        history.add(&entry);
        let problems =
            LoopViewFiles::of(project).publish(&entry, &history, None, &mut |_: &LoopEvent<'_>| {});
        warnings.extend(problems.iter().map(ToString::to_string));
    }
    Ok(Some(ForgottenAttempt { attempt: open, kept, warnings }))
}

/// Keep what an interrupted attempt left in its lane.
fn keep_work(lane: &Lane<'_>, base: &AttemptBase) -> Result<Option<Salvage>, DriveError> {
    if lane.check_intact(&base.commit).is_err() {
        return Ok(None);
    }
    lane.remove_submodule_repositories()?;
    let candidate = lane.repo().collect_again(&base.commit)?;
    let salvage = lane.repo().salvage_candidate(base, &candidate)?;
    lane.repo().forget_candidate(base)?;
    Ok(salvage)
}

/// Build the journal records that roll the attempt back and end the killed run.
fn last_words(
    history: &History,
    open: &OpenAttempt,
    salvage: Option<String>,
    plan: &Plan,
) -> Vec<JournalRecord> {
    let started = &open.started;
    let message = "forgotten by `ralph recover --forget`";
    let mut records = Vec::new();
    if open.failure.is_none() {
        records.push(JournalRecord::FailIntent(FailIntent {
            attempt: started.attempt.clone(),
            failure: AttemptFailure::new(FailureKind::Interrupted, message),
            retries: started.retries,
        }));
    }
    let attempt = started.attempt.clone();
    records.push(JournalRecord::RolledBack(DiscardedAttempt {
        attempt,
        salvage,
        tasks: TaskTally::of(plan),
        ..DiscardedAttempt::default()
    }));
    if let Some(run) = history.run.as_ref().filter(|_| history.run_end.is_none()) {
        let end = LoopEnd::Interrupted(LoopSignal::Interrupt);
        records.push(JournalRecord::RunEnded(RunEnd {
            exit_code: exit_code(&end),
            end,
            reason: message.to_owned(),
            command: run.command,
            remaining: remaining(plan),
            landed: 0,
            attempts: history.of_run().count(),
            cost: CostSum::of_last_run(history),
            took_ms: 0,
            needs: Vec::new(),
            removed: Vec::new(),
        }));
    }
    records
}

/// Keeps what a person should know.
#[derive(Default)]
pub struct WarningCollector(pub Vec<String>);

impl LoopListener for WarningCollector {
    fn on_event(&mut self, event: &LoopEvent<'_>) {
        use EventKind::{LedgerRestored, Recovered, Warning};
        if let Warning(remark) | Recovered(remark) | LedgerRestored(remark) = &event.kind {
            self.0.push(remark.text.clone());
        }
    }
}

/// The plan that the run worked on.
fn plan_of(project: &Project, store: &LedgerStore, history: &History) -> PlanFile {
    let native = || project.plan_jsonl();
    let path = history.run.as_ref().map_or_else(native, |run| project.root().join(&run.plan));
    PlanFile::new(project, &path, store.clone(), MissingPlanPolicy::Error)
}
