//! What an earlier run left behind is brought to its end before anything new begins.

use ralph_core::choice::Limited;
use ralph_core::cycle::{Facts, OpenAttempt, Phase, Record, Recovery, TreeIs, recover};
use ralph_core::plan::{Id, Task};

use super::attempt::{Begun, Ended, from_value};
use super::error::DriveError;
use super::notice::Notice;
use super::session::Session;
use crate::git::{Changes, Checkpoint, Landing};
use crate::proc::mark;
use crate::store::Durability;

impl Session<'_> {
    /// Recover, then make sure that the repository can be worked in.
    pub(super) fn recover(&mut self) -> Result<(), DriveError> {
        let crashed = self.history.run.clone().filter(|_| self.history.run_end.is_none());
        if let Some(run) = crashed {
            let (killed, left) = mark::kill_survivors(&run.run);
            if killed > 0 {
                self.tell(&format!("ended {killed} processes of the interrupted run"));
            }
            if left > 0 {
                self.warn(&format!("{left} processes of the interrupted run cannot be ended"));
            }
        }
        // Also without an open attempt: the ledger is committed after the last one.
        self.repo.remove_stale_lock()?;
        if let Some(run) = &self.history.run {
            self.repo.remove_own_locks(&run.run);
        }
        if let Some(open) = self.history.open.clone() {
            self.recover_attempt(&open)?;
        }
        self.recover_consultation()?;
        self.recover_index()?;
        self.repo.readiness()?;
        if let Some(wait) = self.history.wait.clone() {
            let since = self.clock.now().as_second();
            self.limited.insert(wait.backend, Limited { since, resets_at: Some(wait.until) });
            self.limit_said = wait.reason;
        }
        Ok(())
    }

    fn tell(&mut self, text: &str) {
        self.listener.hear(Notice::Recovered(text));
    }

    fn recover_attempt(&mut self, open: &OpenAttempt) -> Result<(), DriveError> {
        let base: Checkpoint = from_value(&open.started.base, "checkpoint")?;
        let changes: Option<Changes> =
            open.ended.as_ref().map(|end| from_value(&end.changes, "changes")).transpose()?;
        self.repo.remove_own_locks(&base.of.run);
        let facts = self.facts(&base, changes.as_ref())?;
        let begun = Begun {
            task: self.task_of(open)?,
            started: open.started.clone(),
            base,
            at: self.clock.now(),
        };
        let name = format!("iteration {} ({})", open.started.iteration, open.started.task);
        let ended = open.ended.clone().zip(changes);
        let ended = ended.map(|(end, changes)| Ended { end, changes });
        match (recover(open, &facts), ended) {
            (Recovery::Finish { commit, intent }, _) => {
                self.tell(&format!("{name} had landed as {commit}; the plan now says so"));
                self.repo.finish_landing(&begun.base)?;
                self.write_landing(&begun, None, &intent)?;
                let attempt = open.started.attempt.clone();
                self.record(Record::Landed { attempt, commit: Some(commit) }, Durability::Synced)
            }
            (Recovery::Land(_), Some(ended)) => {
                // The tree may have been touched since its gates were green, so they run again.
                self.tell(&format!("{name} had passed its gates; they run again, then it lands"));
                self.conclude(&begun, ended)
            }
            (Recovery::Judge, Some(ended)) => {
                self.tell(&format!("{name} had ended; its work is judged now"));
                self.conclude(&begun, ended)
            }
            (Recovery::RollBack(intent), ended) => {
                self.tell(&format!("{name} was interrupted; the tree is put back"));
                if !matches!(open.phase, Phase::RollingBack(_)) {
                    let changes = ended.as_ref().map(|ended| &ended.changes);
                    return self.roll_back(&begun, changes, intent.failure, intent.context);
                }
                self.roll_back_now(&begun, ended.as_ref().map(|e| &e.changes), &intent)
            }
            (Recovery::Ask { message }, _) => Err(DriveError::Ask {
                message,
                hint:
                    "`ralph show last` has the details; `ralph recover --forget` goes on without it"
                        .into(),
            }),
            (Recovery::Land(_) | Recovery::Judge, None) => Err(DriveError::Ask {
                message: format!("the journal says that {name} ended, and not how"),
                hint: "please report this; `ralph recover --forget` goes on without it".into(),
            }),
        }
    }

    fn facts(&mut self, base: &Checkpoint, changes: Option<&Changes>) -> Result<Facts, DriveError> {
        let (landed, rewritten) = match self.repo.landed(base)? {
            Landing::At(commit) => (Some(commit.to_string()), false),
            Landing::No => (None, false),
            Landing::Rewritten => (None, true),
        };
        let tree = match changes {
            _ if landed.is_some() => TreeIs::Result,
            None => TreeIs::Other,
            Some(before) => {
                let now = self.repo.collect(base)?;
                let paths =
                    |c: &Changes| c.paths.iter().map(|p| p.path.clone()).collect::<Vec<_>>();
                match paths(&now) {
                    now if now == paths(before) => TreeIs::Result,
                    now if now.is_empty() => TreeIs::Base,
                    _ => TreeIs::Other,
                }
            }
        };
        Ok(Facts { landed, rewritten, tree })
    }

    /// The task of an open attempt, as the plan has it or as it was remembered.
    fn task_of(&mut self, open: &OpenAttempt) -> Result<Task, DriveError> {
        let id = Id::new(open.started.task.clone());
        let plan = self.read_plan()?.plan;
        let known = plan.task(&id).cloned();
        let remembered = match &open.phase {
            Phase::Landing(intent) => Some(intent.task.clone()),
            _ => None,
        };
        let task = known.or(remembered).unwrap_or_else(|| Task {
            id,
            name: open.started.name.clone(),
            ..Task::default()
        });
        Ok(Task { retries: open.started.retries, ..task })
    }
}
