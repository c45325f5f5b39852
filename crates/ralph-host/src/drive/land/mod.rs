//! `ralph land`: bring the commits that wait, or decide about them otherwise, without a backend.
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
//! It is a session like that of a loop, which runs no attempt: landings, arrivals and the ledger are the
//! same code.

mod decide;
mod ledger;
mod spec;

use ralph_core::config::{DirtyPolicy, Workspace};
use ralph_core::cycle::{
    ArrivalLine, History, JournalRecord, MissingWorkAnswer, RunCommand, SettlementWay,
    UnarrivedCommits,
};

use super::error::DriveError;
use super::listener::LoopListener;
use super::session::{RunSession, RunSetup};
use super::survivors::end_survivors;
use crate::git::ArrivalOutcome;
use crate::project::Project;
use crate::run_ledger::{RunLedger, RunWorkspace};
use crate::store::{Durability, Journal};

/// A decision of a person about commits that wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandAction {
    /// Bring them to their branch.
    Bring(MissingWorkAnswer),
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
    /// Decision about the commits that did not arrive, and their number.
    pub settled: Option<(SettlementWay, usize)>,
    pub waits: Option<UnarrivedCommits>,
    /// The attempt that is still open, as its task: the next loop brings it to its end.
    pub open_attempt: Option<String>,
}

impl LandReport {
    /// Count what a record does about so many commits that wait.
    pub(super) fn count(&mut self, record: &JournalRecord, waiting: usize) {
        match record {
            JournalRecord::Arrived(arrived) => self.arrived += arrived.commits,
            JournalRecord::Taken(_) => self.arrived += waiting,
            JournalRecord::Settled(settled) => self.settled = Some((settled.way.clone(), waiting)),
            _ => {}
        }
    }
}

/// Carry out what a person decides about the commits that wait. No loop may be at work.
pub fn land(
    mut setup: RunSetup,
    action: &LandAction,
    listener: &mut dyn LoopListener,
) -> Result<LandReport, DriveError> {
    let history = Journal::open(&setup.project.state_dir())?.1;
    let line = waiting_line(&setup.project, &history);
    let ledger = match line {
        Some(line) => RunLedger::of_branch(&setup.project, Some(&line.branch)),
        None => RunLedger::of_home(&setup.project),
    };
    let open_attempt = history.open.as_ref().map(|open| open.started.task.clone());
    if let Some(task) = &open_attempt
        && !matches!(action, LandAction::Bring(_))
    {
        return Err(DriveError::Ask {
            message: format!("an attempt on {task} was interrupted"),
            hint: "`ralph build` brings it to its end; `ralph recover --forget` goes on without it"
                .into(),
        });
    }
    let mut report = LandReport { open_attempt, ..LandReport::default() };
    match &ledger {
        Some(ledger) if ledger.open_run().workspace == RunWorkspace::Checkout => {
            return Err(DriveError::Ask {
                message:
                    "the interrupted run worked in this checkout itself (workspace = \"checkout\")"
                        .into(),
                hint: "`ralph build` brings it to its end".into(),
            });
        }
        Some(ledger) => setup.plan = setup.project.root().join(&ledger.open_run().plan),
        None if line.is_some() || matches!(action, LandAction::PartialSpec(_)) => {}
        None => return Ok(report),
    }
    // Whatever home has uncommitted is no business of an arrival's.
    setup.config.on_dirty = DirtyPolicy::Leave;
    setup.config.workspace = Workspace::Lane;
    // No backend runs; this one needs no installation.
    setup.options.backend = Some("sim".to_owned());
    let branch = line.map(|line| line.branch.clone());
    setup.options.branch = branch.or_else(|| ledger?.open_run().branch.clone());
    let runner = super::runner(&mut setup);
    let mut session = RunSession::open(setup, RunCommand::Land, &runner, listener)?;
    report.branch = Some(session.work.target_name().to_owned());
    session.carry_out(action, &mut report)?;
    Ok(report)
}

/// The commits that wait for home's branch, else those of the last run, else any.
fn waiting_line<'h>(project: &Project, history: &'h History) -> Option<&'h ArrivalLine> {
    let lines = || history.arrival.iter().chain(&history.left_arrivals);
    let waiting = || lines().filter(|line| !line.is_settled());
    let home = RunLedger::of_home(project);
    let branch = home.as_ref().and_then(|ledger| ledger.open_run().branch.as_deref());
    waiting().find(|line| Some(line.branch.as_str()) == branch).or_else(|| waiting().next())
}

impl RunSession<'_> {
    fn carry_out(
        &mut self,
        action: &LandAction,
        report: &mut LandReport,
    ) -> Result<(), DriveError> {
        for record in end_survivors(&self.history, self.runner) {
            self.record(record, Durability::Eventual)?;
        }
        self.repo.remove_stale_lock()?;
        if let LandAction::PartialSpec(spec) = action {
            self.find_spec(spec)?;
        }
        self.start_tip()?;
        self.recover_arrival()?;
        match action {
            LandAction::Bring(on_missing) => self.bring_all(*on_missing, report)?,
            LandAction::NewBranch(name) => self.put_on_branch(name, report)?,
            LandAction::Uncommitted => self.bring_uncommitted(report)?,
            LandAction::GiveUp => self.give_up(report)?,
            LandAction::PartialSpec(spec) => self.land_partial_spec(spec, report)?,
        }
        self.close_run()
    }

    /// Bring what waits, with what a person changed in home's ledger files.
    fn bring_all(
        &mut self,
        on_missing: MissingWorkAnswer,
        report: &mut LandReport,
    ) -> Result<(), DriveError> {
        self.bring_reported(on_missing, report)?;
        let before = self.work.tip.clone();
        self.commit_ledger_on_tip()?;
        match self.work.tip == before {
            true => Ok(()),
            false => self.bring_reported(on_missing, report),
        }
    }

    fn bring_reported(
        &mut self,
        on_missing: MissingWorkAnswer,
        report: &mut LandReport,
    ) -> Result<(), DriveError> {
        report.waits = match self.bring_waiting_commits(on_missing, report)? {
            Some(ArrivalOutcome::Waits(not)) => Some(not),
            _ => None,
        };
        Ok(())
    }
}
