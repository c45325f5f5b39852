//! Recovery: finish the work of an interrupted run before anything new begins.

use ralph_core::choice::BackendUsageLimit;
use ralph_core::config::CommitScope;
use ralph_core::cycle::{
    AttemptBase, AttemptFacts, AttemptRecovery, CandidateState, JournalRecord, LandedAttempt,
    LoopEnd, OpenAttempt, recover,
};
use ralph_core::plan::{Id, Task};
use ralph_core::view::TaskTally;

use super::attempt::AttemptRun;
use super::backend_mailbox::RunningProcesses;
use super::error::{DriveError, LoopHalt};
use super::session::RunSession;
use super::specs::{scope_of_keeper, spec_keeper};
use super::survivors::end_survivors;
use super::views::LoopViewFiles;
use super::working_tree::CollectedWork;
use crate::git::{Oid, spec_ref};
use crate::store::Durability;

impl RunSession<'_> {
    /// Recover, then make sure that the repository can be worked in. Returns what ends the run, if something
    /// does.
    pub(super) fn recover(&mut self) -> Result<Option<LoopEnd>, DriveError> {
        if self.history.run.is_some() && self.history.run_end.is_none() {
            LoopViewFiles::of(&self.project).rebuild_events(&self.project.state_dir())?;
        }
        for record in end_survivors(&self.history, self.runner) {
            self.record(record, Durability::Eventual)?;
        }
        // Also without an open attempt: the ledger is committed after the last one.
        self.repo.remove_stale_lock()?;
        if let Some(run) = &self.history.run {
            let spec = Some(&self.history.construct.spec).filter(|spec| !spec.is_empty());
            let specs = spec.into_iter().chain(&self.current_spec).map(|spec| spec_keeper(spec));
            for keeper in specs.chain([run.run.clone(), spec_keeper("all")]) {
                self.repo.remove_own_locks(&keeper);
            }
        }
        if self.history.open.is_some() {
            self.start_tip()?;
        }
        if self.history.arrival.as_ref().is_some_and(|line| line.open_arrival.is_some()) {
            // Beside the attempt that is open: until home is whole again, nothing there is a person's edit.
            self.start_tip()?;
            self.recover_arrival()?;
        }
        let mut end = None;
        if let Some(open) = self.history.open.clone() {
            let settings = self.project.ralph_toml();
            let began_with = crate::store::read(&settings)?;
            end = LoopHalt::end_of(self.recover_attempt(&open))?;
            // A backend's own gates must not outlive its attempt.
            if crate::store::read(&settings)? != began_with {
                return Err(DriveError::SettingsMoved);
            }
        }
        self.recover_consultation()?;
        if self.history.arrival.as_ref().is_some_and(|line| !line.is_settled()) {
            self.start_tip()?;
            self.recover_arrival()?;
        }
        if let Some(wait) = self.history.wait.clone() {
            let since = self.clock.now().as_second();
            let (resets_at, reason) = (Some(wait.until), wait.reason);
            self.limited.insert(wait.backend, BackendUsageLimit { since, resets_at, reason });
        }
        Ok(end)
    }

    fn recover_attempt(&mut self, open: &OpenAttempt) -> Result<(), LoopHalt> {
        let base = open.base.clone();
        self.repo.remove_own_locks(&base.keeper);
        self.work.lane.remove_stale_locks()?;
        let landed = self.find_landing(&base)?.map(|commit| commit.to_string());
        let candidate = match (&landed, &open.ended) {
            (None, Some(_)) => self.bring_candidate_back(&base)?,
            _ => CandidateState::Lost,
        };
        let (task, now) = (self.task_of(open)?, self.clock.now());
        let (lane, started) = (&self.work.lane, &open.started);
        let running = RunningProcesses::new(lane, &self.signals, &started.attempt, &started.task);
        let mut run = AttemptRun::new(open.started.clone(), task, base, now, running);
        let name = format!("iteration {} ({})", open.started.iteration, open.started.task);
        match recover(open, &AttemptFacts { landed, candidate }) {
            AttemptRecovery::Finish { commit, intent } => {
                self.recovered(&format!("{name} had landed as {commit}; the plan now says so"))?;
                self.finish_landing(&run, &commit)?;
                self.write_landing(&run, &intent)?;
                let attempt = open.started.attempt.clone();
                let tasks = TaskTally::of(&*self.known_plan()?);
                let arriving = self.arriving(&run.base, &open.candidate)?;
                let commit = Some(commit);
                let landed = LandedAttempt { attempt, commit, tasks, ..arriving };
                Ok(self.record(JournalRecord::Landed(landed), Durability::Synced)?)
            }
            AttemptRecovery::Judge => {
                self.recovered(&format!("{name} had ended; its work is judged now"))?;
                run.end.clone_from(&open.ended);
                run.work = Some(CollectedWork::Candidate(open.candidate.clone()));
                self.conclude(&mut run)
            }
            AttemptRecovery::RollBack(intent) => {
                self.recovered(&format!("{name} was interrupted; its work is kept aside"))?;
                if candidate == CandidateState::Kept {
                    run.work = Some(CollectedWork::Candidate(open.candidate.clone()));
                }
                if open.failure.is_none() {
                    return Ok(self.roll_back(&run, intent.failure)?);
                }
                Ok(self.roll_back_now(&run, &intent)?)
            }
        }
    }

    /// The commit of an attempt: on the tip, on its spec's ref, or in the lane alone.
    fn find_landing(&self, base: &AttemptBase) -> Result<Option<Oid>, DriveError> {
        let on_ref = match scope_of_keeper(&base.keeper) {
            CommitScope::Task => Some(self.work.tip.clone()),
            CommitScope::Spec => self.repo.find_commit(&spec_ref(&base.keeper))?,
        };
        for end in on_ref.into_iter().chain(self.work_tree().head_commit()?) {
            if let Some(commit) = self.repo.find_landed(base, &end)? {
                return Ok(Some(commit));
            }
        }
        Ok(None)
    }

    /// Put the lane of a submitted attempt on its candidate, which is in the lane's index or under a ref.
    fn bring_candidate_back(&mut self, base: &AttemptBase) -> Result<CandidateState, DriveError> {
        let tree = self.work_tree();
        if tree.head_commit()?.as_ref() != Some(&base.commit) {
            return Ok(CandidateState::Lost);
        }
        self.work.lane.remove_submodule_repositories()?;
        let aside = tree.find_candidate(base)?;
        let Some(candidate) = aside.or_else(|| tree.index_tree().ok()) else {
            return Ok(CandidateState::Lost);
        };
        tree.check_out_tree(candidate.as_str())?;
        tree.forget_candidate(base)?;
        Ok(CandidateState::Kept)
    }

    /// The task of an open attempt, as the plan has it or as it was remembered.
    fn task_of(&mut self, open: &OpenAttempt) -> Result<Task, DriveError> {
        let id = Id::new(open.started.task.clone());
        let plan = self.read_plan()?.plan;
        let known = plan.task(&id).cloned();
        let remembered = open.intent.as_ref().map(|intent| intent.task.clone());
        let task = known.or(remembered).unwrap_or_else(|| Task {
            id,
            name: open.started.name.clone(),
            ..Task::default()
        });
        Ok(Task { retries: open.started.retries, ..task })
    }
}
