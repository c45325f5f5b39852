//! What an earlier run left behind is brought to its end before anything new begins.

use ralph_core::choice::Limited;
use ralph_core::cycle::{
    Facts, LandedAttempt, OpenAttempt, Phase, Record, Recovery, TreeIs, recover,
};
use ralph_core::plan::{Id, Task};
use ralph_core::view::Tally;

use super::attempt::{Begun, Ended, from_value};
use super::error::DriveError;
use super::session::Session;
use super::specs::spec_keeper;
use super::survivors::end_survivors;
use super::views::Views;
use crate::git::{Aside, Changes, Checkpoint, Landing, OnBase};
use crate::store::Durability;

/// What recovery has to go by.
struct Found {
    facts: Facts,
    /// What the attempt has changed, where the journal does not know it all.
    now: Option<Changes>,
    /// Its work, where it is not in the tree.
    aside: Option<OnBase>,
}

impl Session<'_> {
    /// Recover, then make sure that the repository can be worked in.
    pub(super) fn recover(&mut self) -> Result<(), DriveError> {
        if self.history.run.is_some() && self.history.run_end.is_none() {
            Views::of(&self.project).rebuild_events(&self.project.state_dir())?;
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
        if let Some(open) = self.history.open.clone() {
            let settings = self.project.ralph_toml();
            let began_with = crate::store::read(&settings)?;
            self.recover_attempt(&open)?;
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
        self.repo.readiness()?;
        if let Some(wait) = self.history.wait.clone() {
            let since = self.clock.now().as_second();
            self.limited.insert(wait.backend, Limited { since, resets_at: Some(wait.until) });
            self.limit_said = wait.reason;
        }
        Ok(())
    }

    fn recover_attempt(&mut self, open: &OpenAttempt) -> Result<(), DriveError> {
        let base: Checkpoint = from_value(&open.base, "checkpoint")?;
        let changes: Option<Changes> =
            open.ended.as_ref().map(|_| from_value(&open.changes, "changes")).transpose()?;
        self.repo.remove_own_locks(&base.of.run);
        let Found { facts, now, aside } = self.look(&base, changes.as_ref())?;
        let begun = Begun {
            task: self.task_of(open)?,
            started: open.started.clone(),
            base,
            at: self.clock.now(),
        };
        let name = format!("iteration {} ({})", open.started.iteration, open.started.task);
        let ended = open.ended.clone().zip(now.or_else(|| changes.clone()));
        let ended = ended.map(|(end, changes)| Ended {
            end,
            changes,
            gates: None,
            damage: None,
            message: None,
        });
        match (recover(open, &facts), ended) {
            (Recovery::Finish { commit, intent }, _) => {
                self.recovered(&format!("{name} had landed as {commit}; the plan now says so"))?;
                self.finish_landing(&begun, &commit)?;
                self.write_landing(&begun, None, &intent)?;
                let attempt = open.started.attempt.clone();
                let tasks = Tally::of(&*self.known_plan()?);
                let (commit, remarks) = (Some(commit), Vec::new());
                let landed = LandedAttempt {
                    attempt,
                    commit,
                    remarks,
                    tasks,
                    ..self.arriving(&changes.clone().unwrap_or_default())?
                };
                self.record(Record::Landed(landed), Durability::Synced)
            }
            (Recovery::Land(_), Some(ended)) => {
                // The tree may have been touched since its gates were green, so they run again.
                self.recovered(&format!(
                    "{name} had passed its gates; they run again, then it lands"
                ))?;
                self.conclude(&begun, ended)
            }
            (Recovery::Judge, Some(ended)) => {
                self.recovered(&format!("{name} had ended; its work is judged now"))?;
                self.conclude(&begun, ended)
            }
            (Recovery::BringBack, Some(mut ended)) => {
                self.recovered(&format!(
                    "{name} had ended; its work is brought back and judged now"
                ))?;
                self.bring_back(&begun.base, aside.as_ref(), &mut ended)?;
                self.conclude(&begun, ended)
            }
            (Recovery::RollBack(intent), _) => {
                self.recovered(&format!("{name} was interrupted; the tree is put back"))?;
                if !matches!(open.phase, Phase::RollingBack(_)) {
                    return self.roll_back(&begun, changes.as_ref(), intent.failure);
                }
                self.roll_back_now(&begun, changes.as_ref(), &intent)
            }
            (Recovery::Ask { message }, _) => Err(DriveError::Ask {
                message,
                hint:
                    "`ralph show last` has the details; `ralph recover --forget` goes on without it"
                        .into(),
            }),
            (Recovery::Land(_) | Recovery::Judge | Recovery::BringBack, None) => {
                Err(DriveError::Ask {
                    message: format!("the journal says that {name} ended, and not how"),
                    hint: "please report this; `ralph recover --forget` goes on without it".into(),
                })
            }
        }
    }

    /// What the world is like.
    fn look(&mut self, base: &Checkpoint, before: Option<&Changes>) -> Result<Found, DriveError> {
        let (landed, rewritten) = match self.work_tree().landed(base)? {
            Landing::At(commit) => (Some(commit.to_string()), false),
            Landing::No => (None, false),
            Landing::Rewritten => (None, true),
        };
        let known = |tree| Found {
            facts: Facts { landed: landed.clone(), rewritten, tree },
            now: None,
            aside: None,
        };
        let Some(before) = before else { return Ok(known(TreeIs::Other)) };
        if landed.is_some() {
            return Ok(known(TreeIs::Result));
        }
        let now = self.work_tree().collect(base)?;
        let paths = |c: &Changes| c.paths.iter().map(|p| p.path.clone()).collect::<Vec<_>>();
        Ok(match self.work_tree().put_aside(base, &now)? {
            Aside::Never if paths(&now) == paths(before) => known(TreeIs::Result),
            Aside::Never if now.is_empty() => known(TreeIs::Base),
            Aside::Never => known(TreeIs::Other),
            // Its gates have run once, and may have changed files: what is there now counts.
            Aside::Back => {
                let now = Changes { moved: before.moved.clone(), ..now };
                Found { now: Some(now), ..known(TreeIs::Result) }
            }
            Aside::Still(aside) => Found { aside: Some(aside), ..known(TreeIs::Aside) },
        })
    }

    /// Put the work of an attempt back into the tree.
    fn bring_back(
        &mut self,
        base: &Checkpoint,
        aside: Option<&OnBase>,
        ended: &mut Ended,
    ) -> Result<(), DriveError> {
        let Some(aside) = aside else { return Ok(()) };
        if let Some(kept) = self.work_tree().reapply(base, aside)? {
            let name = &kept.of.attempt;
            self.warn(&format!(
                "what was in the tree instead is kept as {}; `ralph salvage diff {name}` shows it",
                kept.name
            ));
        }
        let now = self.work_tree().collect(base)?;
        ended.changes = Changes { moved: std::mem::take(&mut ended.changes.moved), ..now };
        Ok(())
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
