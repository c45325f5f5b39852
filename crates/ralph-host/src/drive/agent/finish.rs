//! The end of a spec: one commit, or its work kept aside. Each may be repeated.

use ralph_core::config::FailurePolicy;
use ralph_core::construct::apply;
use ralph_core::cycle::{JournalRecord, SpecFailure, SpecLanding};
use ralph_core::inbox::{InboxChange, InboxEntry, InboxStatus};
use ralph_core::notify::ProjectEventKind;
use ralph_core::plan::TombstoneKind;

use super::{AgentLoop, duration};
use crate::drive::error::DriveError;
use crate::drive::session::RunSession;
use crate::drive::spec_landing::{FinishedSpec, SpecTipCheck, done_tasks};
use crate::git::{CommitMessage, ENTRY, FailedSpecStorage, KeptSpec};
use crate::store::Durability;

impl RunSession<'_> {
    /// The spec is satisfied: the inbox says so, and all of it is one commit.
    pub(super) fn complete_spec(
        &mut self,
        agent: &mut AgentLoop,
        entry: &InboxEntry,
    ) -> Result<(), DriveError> {
        if entry.status != InboxStatus::Done {
            let at = self.clock.stamp();
            self.change_inbox(&entry.id, &InboxChange::Done { at })?;
        }
        crate::crash::point();
        self.log_progress()?;
        let message = self.spec_message(agent, entry)?;
        match self.commit_spec(entry, &message)? {
            Ok(commit) => {
                let what = match &commit {
                    Some(commit) => commit.get(..7).unwrap_or(commit),
                    None => "nothing to commit",
                };
                self.log_line(&format!("COMMIT: {what} \"{}\"", message.subject));
                if commit.is_none() {
                    let (spec, subject) = (Some(entry.spec.clone()), message.subject.clone());
                    let landed = SpecLanding { spec, subject, ..SpecLanding::default() };
                    self.record(JournalRecord::SpecLanded(landed), Durability::Eventual)?;
                }
                let happened = self.notify_done(agent, entry, commit.clone())?;
                self.notify(agent, happened);
                self.request_spec_review(agent, entry, &message);
                self.spec_done(agent)
            }
            Err(why) => {
                self.log_line(&format!("COMMIT: failed twice: {why}"));
                self.fail_spec(agent, entry, &format!("the commit failed: {why}"))
            }
        }
    }

    fn notify_done(
        &mut self,
        agent: &AgentLoop,
        entry: &InboxEntry,
        commit: Option<String>,
    ) -> Result<ProjectEventKind, DriveError> {
        let took_ms = agent.state.seconds_of_spec(&self.clock.stamp()).saturating_mul(1000);
        let spent = self.history.cost - agent.state.cost_at_spec;
        Ok(ProjectEventKind::SpecDone {
            spec: entry.spec.clone(),
            commit,
            tasks: self.tasks_completed(entry)?,
            cost: (!self.history.cost_unknown || spent > 0.0).then_some(spent),
            took_ms,
        })
    }

    fn tasks_completed(&mut self, entry: &InboxEntry) -> Result<usize, DriveError> {
        let plan = self.read_plan()?.plan;
        let accepted = plan.buried().filter(|stone| {
            stone.kind == TombstoneKind::Accept && stone.spec.as_deref() == Some(&entry.spec)
        });
        Ok(accepted.count())
    }

    /// The inbox says that a spec is done, and a crash came. Its commit is made, unless it is there.
    pub(super) fn settle_done(
        &mut self,
        agent: &mut AgentLoop,
        entry: &InboxEntry,
    ) -> Result<(), DriveError> {
        let tip = self.work.tip.clone();
        if let Some(commit) = self.repo.commit_with_trailer(&tip, ENTRY, &entry.id)? {
            // Says so in the journal too, and brings it to its branch.
            let message = self.spec_message(agent, entry)?;
            self.commit_spec(entry, &message)?.ok();
            let commit = commit.to_string();
            let short = commit.get(..7).unwrap_or(&commit);
            self.log_line(&format!("COMMIT: {short} was made before the interruption"));
            agent.state.branch = None;
            return self.spec_done(agent);
        }
        match self.fit_spec_to_tip(&Self::keeper_of(entry))? {
            SpecTipCheck::Proven => self.complete_spec(agent, entry),
            SpecTipCheck::Broken(why) => self.fail_spec(agent, entry, &why),
            SpecTipCheck::Stopped => Ok(()),
        }
    }

    fn spec_done(&mut self, agent: &mut AgentLoop) -> Result<(), DriveError> {
        crate::crash::point();
        agent.state.specs_completed += 1;
        agent.state.consecutive_failures = 0;
        self.spec_over(agent)
    }

    /// One commit with the spec's work and the ledger; the ledger alone when nothing had to be changed.
    /// Twice at most. The inner error is the refusal, in words.
    fn commit_spec(
        &mut self,
        entry: &InboxEntry,
        message: &CommitMessage,
    ) -> Result<Result<Option<String>, String>, DriveError> {
        let finished = FinishedSpec {
            keeper: Self::keeper_of(entry),
            spec: Some(entry.spec.clone()),
            entry: Some(entry.id.clone()),
            tasks: done_tasks(&*self.known_plan()?, Some(&entry.spec)),
            message: message.clone(),
        };
        let landed = match self.land_spec(&finished)? {
            Ok(commit) => Ok(commit),
            Err(_) => self.land_spec(&finished)?,
        };
        self.arrive()?;
        Ok(landed)
    }

    fn spec_message(
        &mut self,
        agent: &AgentLoop,
        entry: &InboxEntry,
    ) -> Result<CommitMessage, DriveError> {
        let tasks = self.tasks_completed(entry)?;
        let seconds = agent.state.seconds_of_spec(&self.clock.stamp());
        let spent = self.history.cost - agent.state.cost_at_spec;
        let cost = match self.history.cost_unknown && spent <= 0.0 {
            true => "unknown".to_owned(),
            false => format!("${:.2}", spent.max(0.0)),
        };
        let path = self.project.specs_dir().join(&entry.spec);
        let file = if path.exists() { self.relative(&path) } else { entry.spec.clone() };
        Ok(CommitMessage {
            subject: format!("{}: complete {}", self.config.commit_prefix, name(&entry.spec)),
            body: format!(
                "Spec: {file}\nTasks completed: {tasks}\nDuration: {}\nCost: {cost}",
                duration(i64::try_from(seconds).unwrap_or(i64::MAX))
            ),
            trailers: vec![
                (ENTRY.into(), entry.id.clone()),
                ("Ralph-Run".into(), self.run_id().to_owned()),
            ],
        })
    }

    /// The spec failed: the inbox says why, its work is kept aside, and the plan is as it was before it.
    pub(super) fn fail_spec(
        &mut self,
        agent: &mut AgentLoop,
        entry: &InboxEntry,
        why: &str,
    ) -> Result<(), DriveError> {
        let (at, error) = (self.clock.stamp(), why.to_owned());
        self.change_inbox(&entry.id, &InboxChange::Failed { at, error })?;
        crate::crash::point();
        let message = format!("{}: failed {}", self.config.commit_prefix, name(&entry.spec));
        self.log_line(&format!("FAILED: {}: {why}", entry.spec));
        let out = self.take_out_work(agent, entry, &message)?;
        let kept = out.as_ref().map(|out| out.place.clone());
        let stash = out.as_ref().and_then(|out| out.stash.as_ref()).map(ToString::to_string);
        let failed = SpecFailure { spec: entry.spec.clone(), why: why.to_owned(), kept: stash };
        self.record(JournalRecord::SpecFailed(failed), Durability::Eventual)?;
        let (spec, told) = (entry.spec.clone(), why.to_owned());
        self.notify(agent, ProjectEventKind::SpecFailed { spec, why: told, kept });
        if let Some(out) = out {
            self.log_line(&format!("FAILED: its work is kept; {}", out.place));
        }
        agent.state.specs_failed += 1;
        agent.state.consecutive_failures += 1;
        self.spec_over(agent)
    }

    /// Keep the work of a spec aside, and put its records in the plan back; `None` when there was none.
    pub(super) fn take_out_work(
        &mut self,
        agent: &mut AgentLoop,
        entry: &InboxEntry,
        message: &str,
    ) -> Result<Option<KeptSpec>, DriveError> {
        let keep = match self.config.agent.on_failure {
            FailurePolicy::Stash => FailedSpecStorage::Stash,
            FailurePolicy::Reset => FailedSpecStorage::Salvage,
        };
        let tip = self.work.tip.clone();
        let out = self.repo.keep_spec(&Self::keeper_of(entry), &tip, keep, message)?;
        crate::crash::point();
        self.undo_plan(entry)?;
        self.leave_spec_branch(agent)?;
        Ok(out)
    }

    /// Restore the part of the plan that is about the spec, because the code of the spec was discarded.
    fn undo_plan(&mut self, entry: &InboxEntry) -> Result<(), DriveError> {
        let Some(before) = self.plan_copy(entry)? else { return Ok(()) };
        let spec = entry.spec.as_str();
        self.plan.change(|_, text| {
            Ok(apply::undone(text, &before, spec).unwrap_or_else(|_| text.to_owned()))
        })?;
        crate::crash::point();
        Ok(())
    }

    pub(super) fn spec_over(&mut self, agent: &mut AgentLoop) -> Result<(), DriveError> {
        let id = agent.state.current_spec_id.take();
        self.save(agent)?;
        self.forget_copies(id.as_deref());
        Ok(())
    }
}

/// A spec as commits call it.
pub(super) fn name(spec: &str) -> &str {
    spec.strip_suffix(".md").unwrap_or(spec)
}
