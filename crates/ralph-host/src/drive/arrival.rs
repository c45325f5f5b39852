//! Landed commits arrive in home, and the run's own ledger is closed when all of them have.
//!
//! After each landing, at the start of a run and at its end. The decisions and the git commands are those
//! of [`crate::git`]; here are the journal, the gates and the ledger that they need.

use std::collections::BTreeSet;

use ralph_core::config::LedgerCommitPolicy;
use ralph_core::cycle::{
    ArrivalLine, ArrivalTarget, ArrivalWait, ArrivedCommits, GateTree, JournalRecord, LedgerCommit,
    MissingWorkAnswer, RunState, TakenOverFile, UnarrivedCommits, merged_ledger,
};
use ralph_core::format;
use ralph_core::gate::{self, Gate, GateRunResult};
use ralph_core::merge::merge_text;
use ralph_core::plan::{Id, TaskState, TombstoneKind};
use ralph_core::words::short;

use super::error::DriveError;
use super::land::LandReport;
use super::run_lane::RunLane;
use super::session::RunSession;
use crate::crash;
use crate::git::{
    ATTEMPT, ArrivalError, ArrivalHost, ArrivalOutcome, CommitMessage, GitError, LaneCommitError,
    LedgerMerge, Oid, ReplayGateResult, Repo,
};
use crate::lanes::LaneError;
use crate::run_ledger::{self, RunLedger};
use crate::store::Durability;

/// Logs of the gates that look at replayed commits.
const LOGS: &str = ".ralph/logs/validation/replay";

/// A session as an arrival sees it.
struct RunArrivalHost<'s, 'a> {
    session: &'s mut RunSession<'a>,
    report: &'s mut LandReport,
}

impl ArrivalHost for RunArrivalHost<'_, '_> {
    fn record(&mut self, record: JournalRecord) -> Result<(), ArrivalError> {
        if let Some(line) = &self.session.history.arrival {
            self.report.count(&record, line.waiting().len());
        }
        let replay = match &record {
            JournalRecord::ReplayIntent(replay) => Some(replay.clone()),
            _ => None,
        };
        let durability = durability_of(&record);
        self.session.record(record, durability).map_err(host_error)?;
        // Before the tip moves: killed in between, a task is pending whose commit the tip still has, and
        // never done without it.
        replay.map_or(Ok(()), |replay| self.session.follow_replay(&replay).map_err(host_error))
    }

    fn merge_ledger(&mut self, merge: &LedgerMerge<'_>) -> Result<Vec<u8>, ArrivalError> {
        Ok(merged_ledger_file(merge, &self.session.plan.shown, &self.session.clock.stamp()))
    }

    fn gate_replay(&mut self, commit: &Oid) -> Result<ReplayGateResult, ArrivalError> {
        let red = self.session.gate_commit(commit).map_err(host_error)?;
        Ok(match red {
            None => ReplayGateResult::Red(vec!["the gates were ended".to_owned()]),
            Some(red) if red.is_empty() => ReplayGateResult::Green,
            Some(red) => ReplayGateResult::Red(red),
        })
    }

    fn accepted_tasks(&mut self, commit: &Oid) -> Result<BTreeSet<String>, ArrivalError> {
        Ok(accepted_tasks_in(&self.session.repo, commit, &self.session.plan.shown)?)
    }
}

/// What a person has to know also when the next arrival succeeds: another branch stays moved.
pub(super) fn lasting_trouble(outcome: &ArrivalOutcome) -> Option<&str> {
    match outcome {
        ArrivalOutcome::Waits(not) => match not.why {
            ArrivalWait::WrongBranchMoved { .. } => Some(&not.sentence),
            _ => None,
        },
        ArrivalOutcome::Complete => None,
    }
}

pub(super) fn host_error(error: DriveError) -> ArrivalError {
    ArrivalError::Host(Box::new(error))
}

/// How safe a record about an arrival has to be before the next step.
pub(super) fn durability_of(record: &JournalRecord) -> Durability {
    match record {
        // The branch shows it too.
        JournalRecord::Arrived(_) => Durability::Eventual,
        _ => Durability::Synced,
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
    let accepted = parsed.tasks.iter().filter(|task| task.state == TaskState::Accepted);
    let mut tasks: BTreeSet<String> = accepted.map(|task| task.id.to_string()).collect();
    let stones = parsed.buried().filter(|stone| stone.kind == TombstoneKind::Accept);
    tasks.extend(stones.map(|stone| stone.id.to_string()));
    Ok(tasks)
}

impl<'a> RunSession<'a> {
    /// Bring what has landed to home, as far as that is possible now.
    pub(super) fn arrive(&mut self) -> Result<(), DriveError> {
        self.work.arrival_is_due.set(false);
        if self.work.lane.is_home() {
            return self.move_home_to_tip();
        }
        if !self.config.auto_commit && !self.branch_has_tip()? {
            return Ok(());
        }
        let outcome =
            self.bring_waiting_commits(MissingWorkAnswer::Wait, &mut LandReport::default())?;
        if let Some(sentence) = outcome.as_ref().and_then(lasting_trouble) {
            self.warn(sentence);
        }
        Ok(())
    }

    /// Whether the branch has everything already, also what the journal does not know: commits of the person.
    fn branch_has_tip(&self) -> Result<bool, DriveError> {
        let Some(line) = self.history.arrival.as_ref().filter(|line| !line.is_settled()) else {
            return Ok(false);
        };
        Ok(match self.repo.find_commit(&format!("refs/heads/{}", line.branch))? {
            Some(branch) => self.repo.contains(&branch, &self.work.tip)?,
            None => false,
        })
    }

    /// Bring what waits. `None` when nothing ever landed.
    pub(super) fn bring_waiting_commits(
        &mut self,
        on_missing: MissingWorkAnswer,
        report: &mut LandReport,
    ) -> Result<Option<ArrivalOutcome>, DriveError> {
        self.arrive_with(report, |home, line, host| home.arrive(line, on_missing, host))
    }

    /// Let `act` do something with the commits that wait, and the ledger follow what came of it.
    pub(super) fn arrive_with<T>(
        &mut self,
        report: &mut LandReport,
        act: impl FnOnce(&Repo<'a>, &ArrivalLine, &mut dyn ArrivalHost) -> Result<T, ArrivalError>,
    ) -> Result<Option<T>, DriveError> {
        let Some(line) = self.history.arrival.clone() else { return Ok(None) };
        let home = self.repo.reopen();
        let mut host = RunArrivalHost { session: self, report };
        let done = act(&home, &line, &mut host);
        let done = done.map_err(drive_error)?;
        self.adopt_arrival_record()?;
        Ok(Some(done))
    }

    /// Home is the lane: its branch and its index follow the tip.
    fn move_home_to_tip(&mut self) -> Result<(), DriveError> {
        self.work.lane.give_home_back(&self.work.tip, self.work.branch.as_deref())?;
        let branch = self.work.target_name().to_owned();
        for (commit, name) in self.work.lane.take_kept_commits() {
            self.warn(&format!(
                "a commit that ralph did not make is no longer on {branch}, because ralph owns this checkout; its \
                 changes may be in ralph's next commit, and {name} keeps it: `git show {}`",
                short(commit.as_str())
            ));
        }
        let Some(line) = &self.history.arrival else { return Ok(()) };
        let commits = line.waiting().len();
        let (branch, commit) = (line.branch.clone(), self.work.tip.to_string());
        if line.arrived == commit {
            return Ok(());
        }
        let arrived = ArrivedCommits { branch, commit, commits };
        self.record(JournalRecord::Arrived(arrived), Durability::Eventual)?;
        self.adopt_arrival_record()
    }

    /// An arrival that a crash interrupted is finished or undone.
    pub(super) fn recover_arrival(&mut self) -> Result<(), DriveError> {
        if self.work.lane.is_home() {
            return self.move_home_to_tip();
        }
        self.note_unknown_commit()?;
        let report = &mut LandReport::default();
        self.arrive_with(report, |home, line, host| home.recover_arrival(line, host))?;
        Ok(())
    }

    /// The tip and the ledger follow what the journal says about the arrival.
    fn adopt_arrival_record(&mut self) -> Result<(), DriveError> {
        let Some(line) = &self.history.arrival else { return Ok(()) };
        if let Some(tip) = Oid::parse(line.tip.as_bytes()) {
            self.work.tip = tip;
        }
        see_arrived(&self.repo, &self.work, line)
    }

    /// Run the gates on a commit that no attempt has left. Returns the names of those that fail and do not
    /// fail on the branch in the same way; `None` when somebody wants an end first.
    pub(super) fn gate_commit(&mut self, commit: &Oid) -> Result<Option<Vec<String>>, DriveError> {
        let (gates, mut known) = (self.gates.clone(), self.baselines.clone());
        let runs = match self.run_gates_on_commit(commit, &gates) {
            Err(DriveError::Lane(LaneError::Setup { .. })) => {
                return Ok(Some(vec!["the setup of the lane".to_owned()]));
            }
            Err(error) if error.lane_damage().is_some() => {
                return Ok(error.lane_damage().map(|damage| vec![damage]));
            }
            other => other?,
        };
        let Some(runs) = runs else { return Ok(None) };
        let wanted = known.wanted(&runs);
        let is_wanted = |gate: &&Gate| wanted.iter().any(|run| run.check.name == gate.name);
        let unknown: Vec<Gate> = gates.iter().filter(is_wanted).cloned().collect();
        let branch = format!("refs/heads/{}", self.work.target_name());
        if !unknown.is_empty()
            && let Some(base) = self.repo.find_commit(&branch)?
        {
            let Some(ran) = self.run_gates_on_commit(&base, &unknown)? else { return Ok(None) };
            ran.iter().for_each(|run| known.record(run));
        }
        let verdict = gate::judge("", &runs, &known, Vec::new(), self.config.judges);
        Ok(Some(verdict.blocking().map(|check| check.name.clone()).collect()))
    }

    fn run_gates_on_commit(
        &mut self,
        commit: &Oid,
        gates: &[Gate],
    ) -> Result<Option<Vec<GateRunResult>>, DriveError> {
        if gates.is_empty() {
            return Ok(Some(Vec::new()));
        }
        self.work.lane.put_on(commit)?;
        self.announce_setup()?;
        self.work.lane.furnish(self.project.root(), &|job| job)?;
        self.open_lane_to_backend()?;
        let (logs, running) = (self.project.root().join(LOGS), self.after_last_attempt());
        self.run_all(gates, &logs, GateTree::Alone, &running)
    }

    /// The run ends: what is left of its ledger becomes a commit on the tip, and everything arrives. Says why
    /// commits wait.
    pub(super) fn finish_arrivals(&mut self) -> Result<Option<String>, DriveError> {
        self.arrive()?;
        self.commit_ledger_on_tip()?;
        self.arrive()?;
        self.record_held_back_commits()?;
        let Some(line) = &self.history.arrival else { return Ok(None) };
        let wait = line.waits_for(RunState::Ended);
        Ok(wait.map(|wait| wait.reason(line.waiting_commits())))
    }

    /// Without `auto_commit` nothing arrives by itself: the journal says so.
    fn record_held_back_commits(&mut self) -> Result<(), DriveError> {
        let line = self.history.arrival.as_ref().filter(|line| !line.is_settled());
        let Some(line) = line.filter(|_| !self.config.auto_commit) else { return Ok(()) };
        let (why, waiting) = (ArrivalWait::AutoCommitOff, line.waiting_commits());
        let (sentence, commits) = (why.to_sentence(waiting), waiting.count);
        let not = UnarrivedCommits { why, sentence, commits };
        self.record(JournalRecord::NotArrived(not), Durability::Synced)
    }

    /// Commit the ledger files that the tip does not have yet. Do nothing while an attempt or a spec is
    /// open, because it still changes them.
    pub(super) fn commit_ledger_on_tip(&mut self) -> Result<(), DriveError> {
        if self.history.open.is_some() || self.has_open_spec()? {
            return Ok(());
        }
        self.take_over_edits()?;
        let tip = self.work.tip.clone();
        if !self.has_new_ledger(&tip)? {
            return self.note_answered_edits();
        }
        self.work.lane.put_on(&tip)?;
        let riding = self.write_riding_files(run_ledger::LedgerCommitKind::End, None)?;
        let attempt = self.ids.ulid(self.clock.now());
        let message = CommitMessage { subject: self.ledger_subject(), ..CommitMessage::default() };
        let commit = match self.commit_on_tip(&tip, message.of_attempt(&attempt), riding) {
            Ok(commit) => commit,
            Err(LaneCommitError::Nothing) => return Ok(()),
            Err(e) => {
                self.warn(&format!("ralph's own files are not committed: {e}"));
                return Ok(());
            }
        };
        crash::point();
        let taken_over = self.taken_over()?;
        self.ledger_committed(attempt, &commit, taken_over)
    }

    fn ledger_subject(&self) -> String {
        format!("{}: ledger", self.config.commit_prefix)
    }

    /// Whether a file that rides is not in this commit as the run has it.
    fn has_new_ledger(&self, tip: &Oid) -> Result<bool, DriveError> {
        for file in self.riding_files(run_ledger::LedgerCommitKind::End) {
            if self.repo.project_file_at(tip, &file)? != self.riding_bytes(&file)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn ledger_committed(
        &mut self,
        attempt: String,
        commit: &Oid,
        taken_over: Vec<TakenOverFile>,
    ) -> Result<(), DriveError> {
        let paths = self.repo.paths_of(commit)?.iter().map(ToString::to_string).collect();
        let committed = LedgerCommit { attempt, commit: commit.to_string(), paths, taken_over };
        self.record(JournalRecord::LedgerCommitted(committed), Durability::Synced)
    }

    /// The tip has the whole ledger, also where that is all that became of a person's edit: a status that was
    /// not believed. The waiting commit has to know these files, or it would wait for them for ever.
    fn note_answered_edits(&mut self) -> Result<(), DriveError> {
        let last = self.history.arrival.as_ref().and_then(|line| line.waiting().last());
        let Some(last) = last.filter(|last| last.commit == self.work.tip.as_str()).cloned() else {
            return Ok(());
        };
        let taken_over = self.taken_over_in(&self.work.tip)?;
        if taken_over == last.taken_over {
            return Ok(());
        }
        let (attempt, commit, paths) = (last.attempt, last.commit, last.paths);
        let committed = LedgerCommit { attempt, commit, paths, taken_over };
        self.record(JournalRecord::LedgerCommitted(committed), Durability::Synced)
    }

    /// Write a commit of the ledger down that is the tip and that the journal does not know: a crash came
    /// between the two.
    fn note_unknown_commit(&mut self) -> Result<(), DriveError> {
        let (Some(line), tip) = (&self.history.arrival, self.work.tip.clone()) else {
            return Ok(());
        };
        let is_known = line.landed.iter().any(|landed| landed.commit == tip.as_str());
        if is_known || line.arrived == tip.as_str() || self.history.open.is_some() {
            return Ok(());
        }
        let message = self.repo.message_of(&tip)?;
        let attempt =
            message.lines().find_map(|line| line.strip_prefix(ATTEMPT)?.strip_prefix(": "));
        let is_ledger = message.lines().next() == Some(&self.ledger_subject());
        let Some(attempt) = attempt.filter(|_| is_ledger).map(str::to_owned) else {
            return Ok(());
        };
        // What was taken over since is in no commit yet.
        let taken_over = match self.has_new_ledger(&tip)? {
            true => Vec::new(),
            false => self.taken_over_in(&tip)?,
        };
        self.ledger_committed(attempt, &tip, taken_over)
    }

    /// The run is over: its own ledger is closed when nothing of it waits.
    pub(super) fn close_run(&mut self) -> Result<(), DriveError> {
        let settled = self.history.arrival.as_ref().is_none_or(ArrivalLine::is_settled);
        let settled = settled && self.history.open.is_none() && !self.has_open_spec()?;
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
        } else if self.config.commit_ledger == LedgerCommitPolicy::Never
            && work.target() == ArrivalTarget::HomeBranch
        {
            kept = ledger.write_home()?;
        } else {
            ledger.put_doubted_back()?;
        }
        for file in kept {
            self.warn(&format!("{file} was changed in home meanwhile, and stays as it is there"));
        }
        // Before the ledger that names it, so that no crash leaves it behind.
        self.repo.delete_ref(&tip)?;
        crash::point();
        ledger.close(self.plan.store())?;
        Ok(())
    }
}

/// What the ledger of the run knows of home follows what arrived.
pub(super) fn see_arrived(
    home: &Repo<'_>,
    work: &RunLane<'_>,
    line: &ArrivalLine,
) -> Result<(), DriveError> {
    let Some(arrived) = Oid::parse(line.arrived.as_bytes()) else { return Ok(()) };
    let ledger = &work.ledger;
    if ledger.is_home_on_branch() {
        let committed = |file: &str| Ok::<_, DriveError>(home.project_file_at(&arrived, file)?);
        return ledger.see_arrived(&line.arrived, committed);
    }
    if work.target() == ArrivalTarget::NamedBranch {
        // Home does not have these files; the branch does.
        for file in ledger.not_arrived()? {
            let bytes = home.project_file_at(&arrived, &file)?;
            ledger.mark_seen(&file, bytes.as_deref())?;
        }
    }
    Ok(())
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
