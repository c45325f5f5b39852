//! Waiting: for a usage limit, between two runs, never without an end and never deaf to signals.

use std::thread;
use std::time::{Duration, Instant};

use ralph_core::choice::{BackendSelection, BackendUsageLimit};
use ralph_core::control::LoopActivity;
use ralph_core::cycle::{
    DiscardedAttempt, EventKind, JournalRecord, LoopEnd, UsageWait, WaitTick, ledger,
};
use ralph_core::view::TaskTally;

use super::attempt::AttemptRun;
use super::error::{DriveError, LoopHalt};
use super::session::RunSession;
use crate::choice::StageBackends;
use crate::store::Durability;

/// Time between two looks of a waiting loop.
pub(super) const NAP: Duration = Duration::from_millis(200);

impl RunSession<'_> {
    /// A backend for code that is not limited, by its place.
    pub(super) fn free_backend(&mut self) -> Result<usize, LoopHalt> {
        let choice = self.choice.clone();
        self.free_backend_of(&choice)?.ok_or(LoopHalt::LookAgain)
    }

    /// The same among those of any stage; `None` after a wait.
    pub(super) fn free_backend_of(
        &mut self,
        choice: &StageBackends,
    ) -> Result<Option<usize>, LoopHalt> {
        let now = self.clock.now().as_second();
        let (backend, until) = match choice.next(&self.limited, now) {
            BackendSelection::Run(backend) => return Ok(Some(choice.place_of(&backend.name))),
            BackendSelection::Wait { backend, until } => (backend, until),
        };
        self.wait_for_limit(&backend.name, until)?;
        Ok(None)
    }

    /// The backend met its limit: the tree goes back, nothing is counted, and it is left alone until
    /// the limit is lifted.
    pub(super) fn end_limited_attempt(
        &mut self,
        run: &AttemptRun,
        until: Option<i64>,
        reason: &str,
    ) -> Result<(), DriveError> {
        self.journal.settle()?;
        let salvage = self.discard_work(&run.base, run.candidate())?;
        let since = self.clock.now().as_second();
        let salvage = salvage.map(|kept| kept.name);
        let now = self.clock.stamp();
        self.plan.change(|plan, text| ledger::unmark(plan, text, &run.task.id, &now))?;
        let attempt = run.started.attempt.clone();
        let tasks = TaskTally::of(&*self.known_plan()?);
        let discarded = DiscardedAttempt { attempt, salvage, tasks, ..Default::default() };
        self.record(JournalRecord::RolledBack(discarded), Durability::Eventual)?;
        self.remember_limit(&run.started.backend, since, until, reason);
        Ok(())
    }

    /// Remember that a backend has met its limit, and tell it.
    pub(super) fn remember_limit(
        &mut self,
        backend: &str,
        since: i64,
        resets_at: Option<i64>,
        reason: &str,
    ) {
        let limited = BackendUsageLimit { since, resets_at, reason: reason.to_owned() };
        self.limited.insert(backend.to_owned(), limited);
        self.warn(&format!("{backend} has met its usage limit: {reason}"));
    }

    /// Wait until a limit is lifted, or end the loop when nobody wants to wait. The wait is written
    /// down, so that a restart goes on with it.
    fn wait_for_limit(&mut self, backend: &str, until: i64) -> Result<(), LoopHalt> {
        self.arrive_beside()?;
        let limited = self.limited.get(backend);
        let reason = limited.map(|limited| limited.reason.clone()).unwrap_or_default();
        let attempt = self.history.attempts.last().map(|v| v.started.attempt.clone());
        if self.options.no_wait {
            let when = jiff::Timestamp::from_second(until).map(|t| t.to_string());
            let reason = format!("{reason}; lifted at {}", when.unwrap_or_default());
            return Err(LoopHalt::End(LoopEnd::UsageLimit { reason }));
        }
        if self.history.wait.is_none() {
            let (backend, reason) = (backend.to_owned(), reason.clone());
            let attempt = attempt.unwrap_or_default();
            let wait = UsageWait { attempt, until, backend, reason };
            self.record(JournalRecord::Waiting(wait), Durability::Synced)?;
        }
        // By a clock that nobody can set back, and by the one on the wall: a machine that slept has
        // waited too.
        let patience = u64::try_from(until.saturating_sub(self.clock.now().as_second()));
        let patience = Duration::from_secs(patience.unwrap_or(0));
        let (began, mut told) = (Instant::now(), u64::MAX);
        while let Some(left) = patience.checked_sub(began.elapsed()) {
            self.take_commands(LoopActivity::Nothing)?;
            let lifted = self.clock.now().as_second() >= until;
            if self.signals.first().is_some() || self.mailbox.stop_asked() || lifted {
                break;
            }
            if left.as_secs() != told {
                told = left.as_secs();
                let reason = format!("usage limit of {backend}: {reason}");
                self.tell(EventKind::Tick(WaitTick { reason: &reason, seconds: told }));
            }
            thread::sleep(NAP.min(left));
        }
        match self.signals.first() {
            Some(signal) => Err(LoopHalt::End(LoopEnd::Interrupted(signal))),
            None if self.mailbox.stop_asked() => Err(LoopHalt::End(LoopEnd::Stopped)),
            None => {
                self.limited.remove(backend);
                Ok(self.record(JournalRecord::Waited, Durability::Eventual)?)
            }
        }
    }

    /// The configured pause between two backend runs.
    pub(super) fn pause_between(&mut self) -> Result<(), LoopHalt> {
        let first = self.history.of_run().next().is_none();
        let mut left = self.config.min_delay;
        if !left.is_zero() {
            self.arrive_beside()?;
        }
        while !first && !left.is_zero() && self.signals.first().is_none() {
            let reason = "the pause between two runs (min_delay)";
            self.tell(EventKind::Tick(WaitTick { reason, seconds: left.as_secs() }));
            let nap = left.min(NAP);
            thread::sleep(nap);
            left -= nap;
            self.take_commands(LoopActivity::Nothing)?;
            if self.mailbox.stop_asked() || self.history.paused || self.stop_signal().is_some() {
                return Err(LoopHalt::LookAgain);
            }
        }
        Ok(())
    }
}
