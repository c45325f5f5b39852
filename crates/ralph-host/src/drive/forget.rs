//! Going on without an attempt that was interrupted and cannot be brought to its end.
//!
//! What is in its lane is kept under a ref first, and the attempt is written down as discarded.

use ralph_core::config::Config;
use ralph_core::cost_sum::CostSum;
use ralph_core::cycle::{
    AttemptBase, DiscardedAttempt, End, Event, EventKind, FailIntent, Failure, FailureKind,
    History, OpenAttempt, Record, RunEnd, Signal, exit_code, ledger, remaining,
};
use ralph_core::format::Format;
use ralph_core::plan::{Id, Plan};
use ralph_core::view::Tally;

use super::error::DriveError;
use super::guard::mend_ledger;
use super::listener::Listener;
use super::plan_file::{Missing, PlanFile};
use super::run_lane::take_lane;
use super::views::Views;
use crate::clock::Clock;
use crate::git::{LedgerPaths, Repo, Salvage};
use crate::lanes::Lane;
use crate::proc::{Runner, mark};
use crate::project::Project;
use crate::store::{Durability, Journal, RunLock, Store};

/// Result of forgetting an open attempt.
#[derive(Debug)]
pub struct Forgotten {
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
    store: &Store,
    clock: Clock,
    runner: &Runner,
) -> Result<Option<Forgotten>, DriveError> {
    let Some(git_dir) = project.git_dir() else {
        return Err(DriveError::NoRepository(project.root().display().to_string()));
    };
    let mut warnings = Warnings::default();
    mend_ledger(project, store, &clock, &mut warnings)?;
    let Warnings(mut warnings) = warnings;
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
    let empty = || Plan::empty(Format::Jsonl).into();
    let plan = plan.read().map_or_else(|_| empty(), |loaded| loaded.plan);
    let salvage = kept.as_ref().map(|kept| kept.name.clone());
    for record in last_words(&history, &open, salvage, &plan) {
        let entry = journal.append(clock.stamp(), record, Durability::Synced)?;
        history.add(&entry);
        let problems = Views::of(project).publish(&entry, &history, None, &mut |_: &Event<'_>| {});
        warnings.extend(problems.iter().map(ToString::to_string));
    }
    Ok(Some(Forgotten { attempt: open, kept, warnings }))
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
) -> Vec<Record> {
    let started = &open.started;
    let message = "forgotten by `ralph recover --forget`";
    let mut records = Vec::new();
    if open.failure.is_none() {
        records.push(Record::FailIntent(FailIntent {
            attempt: started.attempt.clone(),
            failure: Failure::new(FailureKind::Interrupted, message),
            retries: started.retries,
        }));
    }
    let attempt = started.attempt.clone();
    records.push(Record::RolledBack(DiscardedAttempt {
        attempt,
        salvage,
        tasks: Tally::of(plan),
        ..DiscardedAttempt::default()
    }));
    if let Some(run) = history.run.as_ref().filter(|_| history.run_end.is_none()) {
        let end = End::Interrupted(Signal::Interrupt);
        records.push(Record::RunEnded(RunEnd {
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
pub struct Warnings(pub Vec<String>);

impl Listener for Warnings {
    fn on_event(&mut self, event: &Event<'_>) {
        use EventKind::{LedgerRestored, Recovered, Warning};
        if let Warning(remark) | Recovered(remark) | LedgerRestored(remark) = &event.kind {
            self.0.push(remark.text.clone());
        }
    }
}

/// The plan that the run worked on.
fn plan_of(project: &Project, store: &Store, history: &History) -> PlanFile {
    let native = || project.plan_jsonl();
    let path = history.run.as_ref().map_or_else(native, |run| project.root().join(&run.plan));
    PlanFile::new(project, &path, store.clone(), Missing::Error)
}
