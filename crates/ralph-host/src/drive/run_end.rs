//! The end of a run: everything arrives, and what was kept for long enough goes.

use jiff::Timestamp;
use ralph_core::config::Config;
use ralph_core::cost_sum::CostSum;
use ralph_core::cycle::{
    ArrivalTarget, AttemptState, History, JournalRecord, LoopEnd, RunCommand, RunEnd, exit_code,
    ledger, remaining,
};
use ralph_core::inbox::Inbox;
use ralph_core::needs::{LoopProcess, Need, NeedSources, needs};
use ralph_core::plan::Plan;
use ralph_core::text::shell_word;
use ralph_core::view::{TaskTally, other_specs};
use ralph_core::words::count;

use super::error::DriveError;
use super::session::RunSession;
use crate::git::{OngoingWork, SalvageRetentionRule};
use crate::plan_store;
use crate::store::Durability;

/// Return the rule that decides which kept work is too old at this moment.
pub fn retirement(config: &Config, now: Timestamp) -> SalvageRetentionRule {
    let age = i64::try_from(config.retention.salvage.get().as_secs()).unwrap_or(i64::MAX);
    SalvageRetentionRule::Before(now.as_second().saturating_sub(age))
}

/// Return whether an attempt is open, as the cleanup of kept work needs it.
pub fn underway(history: &History) -> OngoingWork {
    if history.open.is_some() { OngoingWork::Attempt } else { OngoingWork::Nothing }
}

impl RunSession<'_> {
    /// The loop ends: say so, and leave the plan committed. Returns the end as it was told, which is
    /// another one where nothing proves what landed or where commits wait. `exit` is the exit code of a loop
    /// that has one of its own.
    pub(super) fn finish(
        &mut self,
        end: &LoopEnd,
        reason: &str,
        exit: Option<u8>,
    ) -> Result<RunEnd, DriveError> {
        let loaded = self.read_plan()?;
        let remaining = remaining(&loaded.plan);
        if *end == LoopEnd::Complete && self.kind == RunCommand::Build {
            self.plan.change(ledger::complete)?;
        }
        let told = end.clone().unless_unproven(&self.history, &loaded.plan);
        let mut reason = if told == *end { reason.to_owned() } else { told.reason() };
        if told == LoopEnd::Complete
            && TaskTally::of(&loaded.plan).total() == 0
            && self.kind == RunCommand::Build
        {
            reason = format!("{} has no tasks", self.plan.shown);
        }
        let failed = TaskTally::of(&loaded.plan).failed;
        if told == LoopEnd::Complete && failed > 0 && self.kind == RunCommand::Build {
            reason = format!("nothing is left to do; given up: {}", count(failed, "task"));
        }
        if let Some(remark) = other_specs(&loaded.plan).filter(|_| told == LoopEnd::Complete) {
            reason = format!("{reason}; {remark}");
        }
        let (mut landed, mut attempts) = (0, 0);
        for view in self.history.of_run() {
            attempts += 1;
            landed += usize::from(matches!(view.fate, AttemptState::Landed { .. }));
        }
        let began = self.history.run_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
        let took = began.map_or(0, |began| self.clock.now().duration_since(began).as_millis());
        let removed = self.history.open_amendments().filter(|row| row.outcome.is_removal());
        let mut run_end = RunEnd {
            exit_code: exit.unwrap_or_else(|| exit_code(&told)),
            end: told,
            reason,
            command: self.kind,
            remaining,
            landed,
            attempts,
            cost: CostSum::of_last_run(&self.history),
            took_ms: u64::try_from(took).unwrap_or(0),
            needs: Vec::new(),
            removed: removed.collect(),
        };
        // What needs a person follows from how the run ended.
        self.history.end_run(run_end.clone());
        self.log_progress()?;
        // Verifiers have accepted it after its last landing.
        let refused = match run_end.end {
            LoopEnd::Complete if self.kind != RunCommand::Plan => self.land_finished_specs()?,
            _ => None,
        };
        if let Some(why) = self.finish_arrivals()?.or(refused) {
            let limit = exit_code(&LoopEnd::Stopped);
            let waits = LoopEnd::Waiting { why };
            // An error goes before commits that wait, and they go before a limit.
            if run_end.exit_code == limit {
                run_end.reason = format!("{}; {}", run_end.reason, waits.reason());
                run_end.exit_code = exit_code(&waits);
            } else if run_end.exit_code == 0 {
                run_end.exit_code = exit_code(&waits);
                run_end.reason = waits.reason();
                run_end.end = waits;
            }
            self.history.end_run(run_end.clone());
        }
        run_end.needs = self.needs_after(&loaded.plan);
        self.delete_old_salvage();
        self.record(JournalRecord::RunEnded(run_end.clone()), Durability::Synced)?;
        self.request_run_review();
        self.tell_way_back(remaining)?;
        self.close_run()?;
        Ok(run_end)
    }

    /// Home is on another branch by now than the run's: say where the work is, and clear the way back, which
    /// files block that git knows on the run's branch alone.
    fn tell_way_back(&mut self, remaining: usize) -> Result<(), DriveError> {
        let (Some(branch), Some(here)) = (self.work.branch.clone(), self.project.branch()) else {
            return Ok(());
        };
        let has_landed = self.history.of_run().any(|view| view.fate.is_landed());
        if branch == here || self.work.target() != ArrivalTarget::HomeBranch || !has_landed {
            return Ok(());
        }
        let name = shell_word(&branch);
        self.warn(&format!(
            "what landed is on branch {branch}, and you are on {here}: `git switch {name}` goes back to it, \
             `git merge {name}` brings it here"
        ));
        for file in self.files_in_the_way_to(&branch)? {
            let aside = match remaining {
                0 => self.work.ledger.put_aside(&file)?,
                _ => None,
            };
            let shown = shell_word(&file);
            self.warn(&match aside {
                Some(copy) => format!(
                    "{file} was in no commit of {here}, and is on {branch} now: it was moved to {copy}, so \
                     that `git switch {name}` works"
                ),
                None => format!(
                    "{file} is in no commit of {here}, and on {branch} it is, so git refuses to switch: \
                     `mv {shown} {shown}.bak && git switch {name}` works"
                ),
            });
        }
        Ok(())
    }

    /// Files of the ledger that git does not know here and that are on `branch`.
    fn files_in_the_way_to(&self, branch: &str) -> Result<Vec<String>, DriveError> {
        let mut files = Vec::new();
        let Some(there) = self.repo.find_commit(&format!("refs/heads/{branch}"))? else {
            return Ok(files);
        };
        for file in self.work.ledger.open_run().files() {
            let is_in_home = self.project.root().join(&file).is_file();
            if is_in_home
                && self.repo.staged_project_file(&file)?.is_none()
                && self.repo.project_file_at(&there, &file)?.is_some()
            {
                files.push(file);
            }
        }
        Ok(files)
    }

    /// Collect the points that need a person after the end of the run.
    fn needs_after(&self, plan: &Plan) -> Vec<Need> {
        let inbox = self.project.inbox();
        let text = plan_store::peek(&inbox, "").ok().flatten().unwrap_or_default();
        // A queue that cannot be read was told before.
        let inbox = Inbox::parse(&text).map(|inbox| inbox.entries().to_vec()).unwrap_or_default();
        needs(&NeedSources {
            plan,
            plan_file: &self.plan.shown,
            history: &self.history,
            inbox: &inbox,
            running: &LoopProcess::Nobody,
            damage: &[],
        })
    }

    /// Let go of old salvage. What cannot be removed is no reason to fail.
    pub(super) fn delete_old_salvage(&mut self) {
        let rule = retirement(&self.config, self.clock.now());
        let done = self
            .repo
            .retired(rule, underway(&self.history))
            .and_then(|retired| self.repo.retire(&retired));
        if let Err(e) = done {
            self.warn(&format!("old salvage is still there: {e}"));
        }
    }
}
