//! Landed commits arrive in home, and the run's own ledger is closed when all of them have.
//!
//! After each landing, at the start of a run and at its end. The decisions and the git commands are those
//! of [`crate::git`]; here are the journal, the gates and the ledger that they need.

use std::collections::BTreeSet;

use ralph_core::config::CommitLedger;
use ralph_core::cycle::{
    ArrivalTarget, ArrivalWait, ArrivedCommits, LedgerCommit, NotArrived, On, OnMissing, Record,
    RunState, merged_ledger,
};
use ralph_core::format;
use ralph_core::gate;
use ralph_core::merge::merge_text;
use ralph_core::plan::{Id, State, TombstoneKind};

use super::error::DriveError;
use super::session::Session;
use crate::crash;
use crate::git::{
    ArrivalError, ArrivalHost, ArrivalOutcome, CommitMessage, GitError, LandError, LedgerMerge,
    Oid, ReplayGates, Repo,
};
use crate::run_ledger::{self, LedgerClose, RunLedger};
use crate::store::Durability;

/// Logs of the gates that look at replayed commits.
const LOGS: &str = ".ralph/logs/validation/replay";

/// A session as an arrival sees it.
struct ArrivingSession<'s, 'a>(&'s mut Session<'a>);

pub(super) fn host_error(error: impl Into<DriveError>) -> ArrivalError {
    ArrivalError::Host(Box::new(error.into()))
}

impl ArrivalHost for ArrivingSession<'_, '_> {
    fn record(&mut self, record: Record) -> Result<(), ArrivalError> {
        self.0.record(record, Durability::Synced).map_err(host_error)
    }

    fn merge_ledger(&mut self, merge: &LedgerMerge<'_>) -> Result<Vec<u8>, ArrivalError> {
        Ok(merged_ledger_file(merge, &self.0.plan.shown, &self.0.clock.stamp()))
    }

    fn gate_replay(&mut self, commit: &Oid) -> Result<ReplayGates, ArrivalError> {
        self.0.gate_commit(commit).map_err(host_error)
    }

    fn accepted_tasks(&mut self, commit: &Oid) -> Result<BTreeSet<String>, ArrivalError> {
        Ok(accepted_tasks_in(&self.0.repo, commit, &self.0.plan.shown)?)
    }
}

/// The bytes of a ledger file in a replayed commit; `plan` is the plan in use.
pub(super) fn merged_ledger_file(merge: &LedgerMerge<'_>, plan: &str, at: &str) -> Vec<u8> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (base, theirs) = (merge.base.as_deref().map(text), text(&merge.theirs));
    let Some(ours) = merge.ours.as_deref().map(text) else { return merge.theirs.clone() };
    let name = merge.path.to_string();
    let merged = if name.ends_with(plan) {
        let tasks = merge.missing.iter().flat_map(|landed| &landed.tasks);
        let missing: BTreeSet<Id> = tasks.map(|task| Id::new(task.as_str())).collect();
        merged_ledger(&name, base.as_deref(), &ours, &theirs, &missing, at).ok()
    } else {
        merge_text(&name, base.as_deref().unwrap_or_default(), &ours, &theirs)
    };
    merged.unwrap_or(theirs).into_bytes()
}

/// The tasks that the plan in a commit says are accepted.
pub(super) fn accepted_tasks_in(
    repo: &Repo<'_>,
    commit: &Oid,
    plan: &str,
) -> Result<BTreeSet<String>, GitError> {
    let Some(bytes) = repo.project_file_at(commit, plan)? else { return Ok(BTreeSet::new()) };
    let text = String::from_utf8_lossy(&bytes);
    let parsed =
        format::detect(plan, &text).ok().and_then(|format| format::codec(format).parse(&text).ok());
    let Some(parsed) = parsed else { return Ok(BTreeSet::new()) };
    let accepted = parsed.tasks.iter().filter(|task| task.state == State::Accepted);
    let mut tasks: BTreeSet<String> = accepted.map(|task| task.id.to_string()).collect();
    let stones = parsed.buried().filter(|stone| stone.kind == TombstoneKind::Accept);
    tasks.extend(stones.map(|stone| stone.id.to_string()));
    Ok(tasks)
}

impl<'a> Session<'a> {
    /// Bring what has landed to home, as far as that is possible now.
    pub(super) fn arrive(&mut self) -> Result<(), DriveError> {
        if self.work.lane.is_home() {
            return self.follow_tip();
        }
        if !self.config.auto_commit {
            return Ok(());
        }
        let Some(line) = self.history.arrival.clone() else { return Ok(()) };
        let home = self.repo.reopen();
        let outcome = home.arrive(&line, OnMissing::Wait, &mut ArrivingSession(self));
        let outcome = outcome.map_err(drive_error)?;
        self.follow_line()?;
        if let ArrivalOutcome::Waits(not) = outcome
            && let ArrivalWait::WrongBranchMoved { .. } = not.why
        {
            // The next arrival succeeds, and the other branch stays moved.
            self.warn(&not.sentence);
        }
        Ok(())
    }

    /// Home is the lane: its branch and its index follow the tip.
    fn follow_tip(&mut self) -> Result<(), DriveError> {
        self.write_private_repository()?;
        let Some(line) = &self.history.arrival else { return Ok(()) };
        let commits = line.waiting().len();
        let (branch, commit) = (line.branch.clone(), self.work.tip.to_string());
        if line.arrived == commit {
            return Ok(());
        }
        let arrived = ArrivedCommits { branch, commit, commits };
        self.record(Record::Arrived(arrived), Durability::Eventual)?;
        self.follow_line()
    }

    /// An arrival that a crash interrupted is finished or undone.
    pub(super) fn recover_arrival(&mut self) -> Result<(), DriveError> {
        if self.work.lane.is_home() {
            return self.follow_tip();
        }
        let Some(line) = self.history.arrival.clone() else { return Ok(()) };
        let home = self.repo.reopen();
        let recovered = home.recover_arrival(&line, &mut ArrivingSession(self));
        recovered.map_err(drive_error)?;
        self.follow_line()
    }

    /// The tip and the ledger follow what the journal says about the arrival.
    fn follow_line(&mut self) -> Result<(), DriveError> {
        let line = self.history.arrival.as_ref();
        let tip = line.and_then(|line| Oid::parse(line.tip.as_bytes()));
        let work = &mut self.work;
        if let Some(tip) = tip {
            work.tip = tip;
        }
        if let Some(line) = line.filter(|_| work.target() == ArrivalTarget::NamedBranch)
            && !work.ledger.is_home_on_branch()
            && let Some(arrived) = Oid::parse(line.arrived.as_bytes())
        {
            // Home does not have these files; the branch does.
            for file in work.ledger.not_arrived()? {
                let bytes = self.repo.project_file_at(&arrived, &file)?;
                work.ledger.mark_seen(&file, bytes.as_deref())?;
            }
        } else if work.ledger.is_home_on_branch() {
            for file in work.ledger.open_run().files() {
                let home = crate::store::read(&self.project.root().join(&file))?;
                let same =
                    |bytes: &Option<Vec<u8>>| bytes.as_deref().map(run_ledger::without_returns);
                if same(&home) == same(&work.ledger.read(&file)?) {
                    work.ledger.mark_seen(&file, home.as_deref())?;
                }
            }
        }
        Ok(())
    }

    fn gate_commit(&mut self, commit: &Oid) -> Result<ReplayGates, DriveError> {
        Ok(match self.gate_alone(commit)? {
            None => ReplayGates::Red(vec!["the gates were ended".to_owned()]),
            Some(red) if red.is_empty() => ReplayGates::Green,
            Some(red) => ReplayGates::Red(red),
        })
    }

    /// Run the gates on a commit that no attempt has left. Returns the names of those that fail; `None`
    /// when somebody wants an end first.
    pub(super) fn gate_alone(&mut self, commit: &Oid) -> Result<Option<Vec<String>>, DriveError> {
        if self.gates.is_empty() {
            return Ok(Some(Vec::new()));
        }
        self.work.lane.put_on(commit)?;
        self.work.lane.furnish(self.project.root(), &|job| job)?;
        self.let_in()?;
        let (gates, logs) = (self.gates.clone(), self.project.root().join(LOGS));
        let root = self.work_root();
        let Some(runs) = self.run_all(&gates, &logs, On::Alone, &root)? else { return Ok(None) };
        let verdict = gate::judge("", &runs, &self.baselines, Vec::new(), self.config.judges);
        Ok(Some(verdict.blocking().map(|check| check.name.clone()).collect()))
    }

    /// The run ends: what is left of its ledger becomes a commit on the tip, and everything arrives. Says why
    /// commits wait.
    pub(super) fn bring_home(&mut self) -> Result<Option<String>, DriveError> {
        self.arrive()?;
        self.commit_ledger_on_tip()?;
        self.arrive()?;
        self.record_unsent()?;
        let Some(line) = &self.history.arrival else { return Ok(None) };
        let wait = line.waits_for(RunState::Ended);
        Ok(wait.map(|wait| wait.reason(line.waiting_commits())))
    }

    /// Without `auto_commit` nothing arrives by itself: the journal says so.
    fn record_unsent(&mut self) -> Result<(), DriveError> {
        let line = self.history.arrival.as_ref().filter(|line| !line.is_settled());
        let Some(line) = line.filter(|_| !self.config.auto_commit) else { return Ok(()) };
        let (why, waiting) = (ArrivalWait::AutoCommitOff, line.waiting_commits());
        let (sentence, commits) = (why.to_sentence(waiting), waiting.count);
        let not = NotArrived { why, sentence, commits };
        self.record(Record::NotArrived(not), Durability::Synced)
    }

    /// What is left of the ledger, as a commit on the tip.
    fn commit_ledger_on_tip(&mut self) -> Result<(), DriveError> {
        let tip = self.work.tip.clone();
        self.work.lane.put_on(&tip)?;
        if self.has_open_spec()? {
            return Ok(());
        }
        let riding = self.ride(run_ledger::LedgerCommit::End)?;
        if riding.is_empty() {
            return Ok(());
        }
        let attempt = self.ids.ulid(self.clock.now());
        let subject = format!("{}: ledger", self.config.commit_prefix);
        let message = CommitMessage { subject, ..CommitMessage::default() };
        let commit = match self.work_tree().commit_index(message.of_attempt(&attempt), &riding) {
            Ok(commit) => commit,
            Err(LandError::Nothing) => return Ok(()),
            Err(e) => {
                self.warn(&format!("ralph's own files are not committed: {e}"));
                return Ok(());
            }
        };
        crash::point();
        self.move_tip(&tip, &commit)?;
        let committed = LedgerCommit {
            attempt,
            commit: commit.to_string(),
            paths: riding.iter().map(ToString::to_string).collect(),
            taken_over: self.taken_over()?,
        };
        self.record(Record::LedgerCommitted(committed), Durability::Synced)
    }

    /// The run is over: its own ledger is closed when nothing of it waits.
    pub(super) fn close_run(&mut self) -> Result<(), DriveError> {
        let settled = self.history.arrival.as_ref().is_none_or(|line| line.is_settled());
        let settled = settled && !self.has_open_spec()?;
        let work = &self.work;
        work.lane.forget_index()?;
        if !settled {
            return Ok(());
        }
        let tip = work.tip_ref();
        let Some(ledger) = RunLedger::of_branch(&self.project, work.branch.as_deref()) else {
            return Ok(());
        };
        let mut kept = Vec::new();
        if work.lane.is_home() {
            ledger.write_into(self.project.root(), &[])?;
            for file in ledger.open_run().files() {
                let bytes = ledger.read(&file)?;
                ledger.mark_seen(&file, bytes.as_deref())?;
            }
        } else if self.config.commit_ledger == CommitLedger::Never
            && work.target() == ArrivalTarget::HomeBranch
        {
            kept = ledger.write_home()?;
        }
        for file in kept {
            self.warn(&format!("{file} was changed in home meanwhile, and stays as it is there"));
        }
        match ledger.close(self.plan.store())? {
            LedgerClose::Closed => Ok(self.repo.delete_ref(&tip)?),
            LedgerClose::Changed(..) => Ok(()),
        }
    }
}

pub(super) fn drive_error(error: ArrivalError) -> DriveError {
    match error {
        ArrivalError::Git(e) => e.into(),
        ArrivalError::Host(e) => match e.downcast::<DriveError>() {
            Ok(e) => *e,
            Err(e) => DriveError::Ask { message: e.to_string(), hint: String::new() },
        },
    }
}
