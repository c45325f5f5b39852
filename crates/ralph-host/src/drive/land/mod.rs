//! `ralph land`: bring the commits that wait, without a loop and without a backend.
//!
//! # Theory of operation
//!
//! ```text
//! lock → end survivors → recover a killed arrival → what was asked for → close the run
//! bring:   arrive → take over edits in home → `ralph: ledger` on the tip → arrive
//! branch, no-commit, discard:  the person decides about the commits → the ledger follows → bring
//! spec:    the spec's ref as one commit on the tip → bring
//! ```
//!
//! The git commands and the journal records are those of the arrivals of a loop ([`crate::git`]). A lane
//! is taken only when something has to be committed or gated.

mod commit;
mod decide;
mod gates;
mod spec;

use std::collections::BTreeSet;

use ralph_core::config::{CommitLedger, Config};
use ralph_core::cycle::{
    ArrivalLine, ArrivalTarget, CommitReplay, History, NotArrived, OnMissing, Record, Remark,
    SettlementWay, TipStart,
};
use ralph_core::gate::Gate;

use commit::LedgerState;

use super::arrival::{accepted_tasks_in, drive_error, host_error, merged_ledger_file};
use super::error::DriveError;
use super::listener::Listener;
use super::run_lane::tip_ref;
use super::survivors::end_survivors;
use super::views::Views;
use crate::clock::Clock;
use crate::git::{
    ArrivalError, ArrivalHost, ArrivalOutcome, LedgerMerge, LedgerPaths, Oid, ReplayGates, Repo,
};
use crate::ids::Ids;
use crate::lanes::Lane;
use crate::proc::Runner;
use crate::project::Project;
use crate::run_ledger::{
    LedgerClose, LedgerStart, OpenRun, RunLedger, RunWorkspace, without_returns,
};
use crate::store::{self, Durability, Journal, RunLock, Store};

/// Dependencies and settings of one `ralph land`.
#[expect(missing_docs, reason = "the names of the fields say it all")]
pub struct LandSetup {
    pub project: Project,
    pub config: Config,
    pub gates: Vec<Gate>,
    /// The plan in use, relative to the project.
    pub plan: String,
    pub clock: Clock,
    pub ids: Ids,
    pub store: Store,
}

/// A decision of a person about commits that wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandAction {
    /// Bring them to their branch.
    Bring(OnMissing),
    /// Put them on a new branch.
    NewBranch(String),
    /// Bring them as uncommitted changes.
    Uncommitted,
    /// Give them up. A ref keeps them.
    GiveUp,
    /// Land what is done of a spec as one commit, and bring it.
    PartialSpec(String),
}

/// The result of one `ralph land`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LandReport {
    /// The branch on which commits arrive; `None` when nothing waited.
    pub branch: Option<String>,
    /// The number of commits that arrived.
    pub arrived: usize,
    /// What was decided about commits instead, and about how many.
    pub settled: Option<(SettlementWay, usize)>,
    /// Why commits still wait.
    pub waits: Option<NotArrived>,
    /// The attempt that is still open, as its task: the next loop brings it to its end.
    pub open_attempt: Option<String>,
}

/// Carry out what a person decides about the commits that wait. No loop may be at work.
pub fn land(
    mut setup: LandSetup,
    action: &LandAction,
    listener: &mut dyn Listener,
) -> Result<LandReport, DriveError> {
    let place = setup.project.git_dir().unwrap_or(setup.project.root());
    let runner = Runner::new(setup.ids.ulid(setup.clock.now())).at(place);
    let done = HomeLanding::open(setup, &runner, listener)?.run(action);
    runner.rest();
    done
}

/// The run whose commits wait, else that of home's branch.
fn open_run(project: &Project, history: &History) -> Option<RunLedger> {
    match history.arrival.as_ref().filter(|line| !line.is_settled()) {
        Some(line) => RunLedger::of_branch(project, Some(&line.branch)),
        None => RunLedger::of_home(project),
    }
}

/// One `ralph land` under way.
struct HomeLanding<'a> {
    setup: LandSetup,
    runner: &'a Runner,
    repo: Repo<'a>,
    journal: Journal,
    history: History,
    /// The ledger of the run whose commits wait.
    ledger: Option<RunLedger>,
    /// Taken when it is first needed.
    lane: Option<Lane<'a>>,
    listener: &'a mut dyn Listener,
    /// Replays since the ledger last followed them.
    replays: Vec<CommitReplay>,
    report: LandReport,
    _lock: RunLock,
}

impl<'a> HomeLanding<'a> {
    fn open(
        mut setup: LandSetup,
        runner: &'a Runner,
        listener: &'a mut dyn Listener,
    ) -> Result<Self, DriveError> {
        let project = &setup.project.clone();
        let Some(git_dir) = project.git_dir() else {
            return Err(DriveError::NoRepository(project.root().display().to_string()));
        };
        let lock = RunLock::acquire(&project.state_dir(), setup.store.holder())?;
        let (journal, history) = Journal::open(&project.state_dir())?;
        if let Some(open_run) = open_run(project, &history) {
            setup.plan = open_run.open_run().plan.clone();
        }
        let plan = LedgerPaths::with_plan(&setup.plan);
        let repo = Repo::open(project.root(), git_dir, runner, &plan)?;
        let open = history.open.as_ref();
        let report = LandReport {
            open_attempt: open.map(|open| open.started.task.clone()),
            ..LandReport::default()
        };
        Ok(Self {
            setup,
            runner,
            repo,
            journal,
            history,
            ledger: None,
            lane: None,
            listener,
            replays: Vec::new(),
            report,
            _lock: lock,
        })
    }

    fn run(mut self, action: &LandAction) -> Result<LandReport, DriveError> {
        for record in end_survivors(&self.history, self.runner) {
            self.record(record, Durability::Eventual)?;
        }
        self.repo.remove_stale_lock()?;
        if let Some(task) = &self.report.open_attempt
            && !matches!(action, LandAction::Bring(_))
        {
            return Err(DriveError::Ask {
                message: format!("an attempt on {task} was interrupted"),
                hint: "`ralph build` brings it to its end; `ralph recover --forget` goes on without it"
                    .into(),
            });
        }
        if let LandAction::PartialSpec(spec) = action {
            self.find_spec(spec)?;
        }
        if !self.find_run(action)? {
            return Ok(self.report);
        }
        self.recover()?;
        match action {
            LandAction::Bring(on_missing) => self.bring(*on_missing)?,
            LandAction::NewBranch(name) => self.put_on_branch(name)?,
            LandAction::Uncommitted => self.bring_uncommitted()?,
            LandAction::GiveUp => self.give_up()?,
            LandAction::PartialSpec(spec) => self.land_partial_spec(spec)?,
        }
        self.close()?;
        Ok(self.report)
    }

    /// Find the run whose commits wait. Says whether there is anything to do.
    fn find_run(&mut self, action: &LandAction) -> Result<bool, DriveError> {
        self.ledger = open_run(&self.setup.project, &self.history);
        let over_home = |ledger: &RunLedger| ledger.open_run().workspace == RunWorkspace::Checkout;
        if self.ledger.as_ref().is_some_and(over_home) {
            return Err(DriveError::Ask {
                message:
                    "the interrupted run worked in this checkout itself (workspace = \"checkout\")"
                        .into(),
                hint: "`ralph build` brings it to its end".into(),
            });
        }
        if let Some(line) = self.history.arrival.as_ref().filter(|line| !line.is_settled()) {
            self.report.branch = Some(line.branch.clone());
            return Ok(true);
        }
        if self.ledger.is_none() && !matches!(action, LandAction::PartialSpec(_)) {
            return Ok(false);
        }
        let (home_branch, home_commit) = self.repo.branch_and_commit()?;
        let named = self.ledger.as_ref().and_then(|ledger| ledger.open_run().branch.clone());
        let Some(branch) = named.or_else(|| home_branch.clone()) else {
            return Err(DriveError::DetachedHead);
        };
        let commit = self.repo.find_commit(&format!("refs/heads/{branch}"))?;
        let Some(commit) = commit.or(home_commit) else { return Err(DriveError::NoCommit) };
        self.report.branch = Some(branch.clone());
        if !self.is_tip_at(&branch, &commit)? {
            self.start_tip(branch, home_branch, &commit)?;
        }
        Ok(true)
    }

    /// Whether the last line of commits is on this branch, whose commit is its tip.
    fn is_tip_at(&self, branch: &str, commit: &Oid) -> Result<bool, DriveError> {
        let Some(line) = self.line().filter(|line| line.branch == branch) else { return Ok(false) };
        let tip = self.repo.find_commit(&tip_ref(&line.run))?;
        Ok(line.tip == commit.as_str() && tip.as_ref() == Some(commit))
    }

    /// Begin a line of commits at the branch, for a ledger or a spec that no open line has.
    fn start_tip(
        &mut self,
        branch: String,
        home_branch: Option<String>,
        commit: &Oid,
    ) -> Result<(), DriveError> {
        if self.ledger.is_none() {
            let open_run = OpenRun {
                run: self.runner.run_id().to_owned(),
                branch: Some(branch.clone()),
                home_branch,
                plan: self.setup.plan.clone(),
                folder: String::new(),
                ignored: self.repo.ignored_ledger()?,
                workspace: RunWorkspace::Lane,
            };
            let ledger = RunLedger::open(&self.setup.project, open_run, LedgerStart::Home)?;
            self.ledger = Some(ledger);
        }
        let Some(ledger) = &self.ledger else { return Ok(()) };
        let run = ledger.open_run().run.clone();
        let name = tip_ref(&run);
        let known = self.repo.find_commit(&name)?;
        if known.as_ref() != Some(commit) {
            self.repo.advance_ref(&name, commit, known.as_ref())?;
        }
        let target = match ledger.open_run().home_branch.as_ref() == Some(&branch) {
            true => ArrivalTarget::HomeBranch,
            false => ArrivalTarget::NamedBranch,
        };
        let (arrived, tip) = (commit.to_string(), commit.to_string());
        let start = TipStart { run, branch, target, arrived, tip };
        self.record(Record::TipStarted(start), Durability::Synced)
    }

    /// Bring an arrival that was killed to its end.
    fn recover(&mut self) -> Result<(), DriveError> {
        let Some(line) = self.line() else { return Ok(()) };
        let home = self.repo.reopen();
        home.recover_arrival(&line, self).map_err(drive_error)?;
        self.note_unknown_commit()?;
        self.follow_home()
    }

    /// Bring what waits, with what a person changed in home's ledger files.
    fn bring(&mut self, on_missing: OnMissing) -> Result<(), DriveError> {
        self.arrive(on_missing)?;
        match self.commit_ledger()? {
            LedgerState::Committed => self.arrive(on_missing),
            LedgerState::Unchanged => Ok(()),
        }
    }

    fn arrive(&mut self, on_missing: OnMissing) -> Result<(), DriveError> {
        let Some(line) = self.line() else { return Ok(()) };
        let home = self.repo.reopen();
        let outcome = home.arrive(&line, on_missing, self).map_err(drive_error)?;
        self.report.waits = match outcome {
            ArrivalOutcome::Complete => None,
            ArrivalOutcome::Waits(not) => Some(not),
        };
        self.follow_replays()?;
        self.follow_home()
    }

    /// The line of commits that wait, with the tip as git has it.
    fn line(&self) -> Option<ArrivalLine> {
        self.history.arrival.clone()
    }

    /// The tip, as git has it.
    fn tip(&self) -> Result<Option<Oid>, DriveError> {
        let Some(line) = self.line() else { return Ok(None) };
        let tip = self.repo.find_commit(&tip_ref(&line.run))?;
        Ok(tip.or_else(|| Oid::parse(line.tip.as_bytes())))
    }

    /// Files that are in home as the run has them have arrived.
    fn follow_home(&mut self) -> Result<(), DriveError> {
        let Some(ledger) = self.ledger.as_ref().filter(|ledger| ledger.is_home_on_branch()) else {
            return Ok(());
        };
        for file in ledger.open_run().files() {
            let home = store::read(&self.setup.project.root().join(&file))?;
            let plain = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(without_returns);
            if plain(&home) == plain(&ledger.read(&file)?) {
                ledger.mark_seen(&file, home.as_deref())?;
            }
        }
        Ok(())
    }

    /// Close the run's ledger when nothing waits. An attempt that is open still needs it.
    fn close(&mut self) -> Result<(), DriveError> {
        let Some(line) = self.line() else { return Ok(()) };
        let is_open = self.report.open_attempt.is_some() || self.has_open_spec()?;
        if !line.is_settled() || is_open {
            return Ok(());
        }
        let Some(ledger) = self.ledger.take() else { return Ok(()) };
        if self.setup.config.commit_ledger == CommitLedger::Never {
            for file in ledger.write_home()? {
                let text = "was changed in home meanwhile, and stays as it is there";
                self.warn(format!("{file} {text}"))?;
            }
        }
        match ledger.close(&self.setup.store)? {
            LedgerClose::Closed => Ok(self.repo.delete_ref(&tip_ref(&line.run))?),
            LedgerClose::Changed(..) => Ok(()),
        }
    }

    fn warn(&mut self, text: String) -> Result<(), DriveError> {
        self.record(Record::Warned(Remark::new(text)), Durability::Eventual)
    }

    /// Write a record to the journal, and bring the views up to date.
    fn record(&mut self, record: Record, durability: Durability) -> Result<(), DriveError> {
        self.count(&record);
        let entry = self.journal.append(self.setup.clock.stamp(), record, durability)?;
        self.history.add(&entry);
        let views = Views::of(&self.setup.project);
        // A view that cannot be written is made again by the next loop.
        let _problems = views.publish(&entry, &self.history, None, self.listener);
        Ok(())
    }

    /// Count what a record does, with the line as it is before the record.
    fn count(&mut self, record: &Record) {
        let Some(line) = &self.history.arrival else { return };
        match record {
            Record::Arrived(arrived) => self.report.arrived += arrived.commits,
            Record::Taken(_) => self.report.arrived += line.waiting().len(),
            Record::Settled(settled) => {
                self.report.settled = Some((settled.way.clone(), line.waiting().len()));
            }
            Record::Replayed(replay) => self.replays.push(replay.clone()),
            _ => {}
        }
    }
}

impl ArrivalHost for HomeLanding<'_> {
    fn record(&mut self, record: Record) -> Result<(), ArrivalError> {
        HomeLanding::record(self, record, Durability::Synced).map_err(host_error)
    }

    fn merge_ledger(&mut self, merge: &LedgerMerge<'_>) -> Result<Vec<u8>, ArrivalError> {
        Ok(merged_ledger_file(merge, &self.setup.plan, &self.setup.clock.stamp()))
    }

    fn gate_replay(&mut self, commit: &Oid) -> Result<ReplayGates, ArrivalError> {
        self.gate_commit(commit).map_err(host_error)
    }

    fn accepted_tasks(&mut self, commit: &Oid) -> Result<BTreeSet<String>, ArrivalError> {
        Ok(accepted_tasks_in(&self.repo, commit, &self.setup.plan)?)
    }
}
