//! How a spec ends: one commit, or its work taken out of the tree. Each may be repeated.

use ralph_core::config::OnFailure;
use ralph_core::construct::apply;
use ralph_core::cycle::{On, Record, SpecFailed, SpecLanded};
use ralph_core::gate;
use ralph_core::inbox::{Change, Entry, Status};
use ralph_core::notify::What;
use ralph_core::plan::TombstoneKind;

use super::{Agent, duration};
use crate::drive::error::DriveError;
use crate::drive::session::Session;
use crate::git::{CommitMessage, ENTRY, Keep, LandError, TakenOut};
use crate::store::Durability;

/// How a spec stands that is satisfied, on what HEAD is now.
pub(super) enum Standing {
    /// As its gates saw it.
    Proven,
    /// Others have committed meanwhile, and with that it does not work: why.
    Broken(String),
    /// Somebody wants an end before that is known.
    Unknown,
}

impl Session<'_> {
    /// Whether what is about to be committed is what the gates saw. Somebody may have moved HEAD while
    /// the spec was worked on; then they run once more.
    pub(super) fn stands_on_head(&mut self, entry: &Entry) -> Result<Standing, DriveError> {
        let others = self.repo.others_since_spec(&Self::keeper_of(entry))?;
        if others.is_empty() || self.gates.is_empty() {
            return Ok(Standing::Proven);
        }
        self.say(&format!(
            "GATES: HEAD has moved ({} of other people's files), so they run again",
            others.len()
        ));
        let logs = self.project.root().join(".ralph/logs/validation").join(&entry.id);
        let (gates, root) = (self.gates.clone(), self.project.root().to_owned());
        let Some(runs) = self.run_all(&gates, &logs, On::Result, &root)? else {
            return Ok(Standing::Unknown);
        };
        let verdict = gate::judge("", &runs, &self.baselines, Vec::new(), self.config.judges);
        let red: Vec<&str> = verdict.blocking().map(|check| check.name.as_str()).collect();
        Ok(match red.as_slice() {
            [] => Standing::Proven,
            red => Standing::Broken(format!(
                "HEAD was moved meanwhile, and on it these gates fail: {}",
                red.join(", ")
            )),
        })
    }

    /// The spec is satisfied: the inbox says so, and all of it is one commit.
    pub(super) fn complete_spec(
        &mut self,
        agent: &mut Agent,
        entry: &Entry,
    ) -> Result<(), DriveError> {
        if entry.status != Status::Done {
            let at = self.clock.stamp();
            self.change_inbox(&entry.id, &Change::Done { at })?;
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
                self.say(&format!("COMMIT: {what} \"{}\"", message.subject));
                let landed = SpecLanded {
                    spec: Some(entry.spec.clone()),
                    commit: commit.clone(),
                    subject: message.subject.clone(),
                };
                self.record(Record::SpecLanded(landed), Durability::Eventual)?;
                let happened = self.done_happened(agent, entry, commit.clone())?;
                self.notify(agent, happened);
                self.offer(agent, entry, &message);
                self.spec_done(agent)
            }
            Err(why) => {
                self.say(&format!("COMMIT: failed twice: {why}"));
                self.fail_spec(agent, entry, &format!("the commit failed: {why}"))
            }
        }
    }

    fn done_happened(
        &mut self,
        agent: &Agent,
        entry: &Entry,
        commit: Option<String>,
    ) -> Result<What, DriveError> {
        let took_ms = agent.state.seconds_of_spec(&self.clock.stamp()).saturating_mul(1000);
        let spent = self.history.cost - agent.state.cost_at_spec;
        Ok(What::SpecDone {
            spec: entry.spec.clone(),
            commit,
            tasks: self.tasks_completed(entry)?,
            cost: (!self.history.cost_unknown || spent > 0.0).then_some(spent),
            took_ms,
        })
    }

    fn tasks_completed(&mut self, entry: &Entry) -> Result<usize, DriveError> {
        let plan = self.read_plan()?.plan;
        let accepted = plan.buried().filter(|stone| {
            stone.kind == TombstoneKind::Accept && stone.spec.as_deref() == Some(&entry.spec)
        });
        Ok(accepted.count())
    }

    /// The inbox says that a spec is done, and a crash came. Its commit is made, unless it is there.
    pub(super) fn settle_done(
        &mut self,
        agent: &mut Agent,
        entry: &Entry,
    ) -> Result<(), DriveError> {
        let Some(commit) = self.repo.commit_of_entry(&entry.id)? else {
            return self.complete_spec(agent, entry);
        };
        self.repo.finish_spec(&Self::keeper_of(entry))?;
        let commit = commit.to_string();
        let short = commit.get(..7).unwrap_or(&commit);
        self.say(&format!("COMMIT: {short} was made before the interruption"));
        agent.state.branch = None;
        self.spec_done(agent)
    }

    fn spec_done(&mut self, agent: &mut Agent) -> Result<(), DriveError> {
        crate::crash::point();
        agent.state.specs_completed += 1;
        agent.state.consecutive_failures = 0;
        self.spec_over(agent)
    }

    /// Twice at most. The inner error is git's refusal, in words.
    fn commit_spec(
        &mut self,
        entry: &Entry,
        message: &CommitMessage,
    ) -> Result<Result<Option<String>, String>, DriveError> {
        let keeper = Self::keeper_of(entry);
        if !self.config.auto_commit {
            self.repo.set_spec_aside(&keeper)?;
            return Ok(Ok(None));
        }
        let mut why = String::new();
        for _ in 0..2 {
            match self.commit_once(&keeper, message) {
                Ok(commit) => return Ok(Ok(commit)),
                Err(refusal) => why = refusal.to_string(),
            }
        }
        Ok(Err(why))
    }

    /// The spec's work and the ledger; the ledger alone when nothing had to be changed.
    fn commit_once(
        &self,
        keeper: &str,
        message: &CommitMessage,
    ) -> Result<Option<String>, LandError> {
        let landed = match self.repo.land_spec(keeper, message)? {
            Some(landed) => Some(landed),
            None => match self.repo.commit_ledger(message) {
                Err(LandError::Nothing) => None,
                landed => landed?,
            },
        };
        Ok(landed.map(|landed| landed.commit.to_string()))
    }

    fn spec_message(&mut self, agent: &Agent, entry: &Entry) -> Result<CommitMessage, DriveError> {
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
                ("Ralph-Run".into(), self.run.clone()),
            ],
        })
    }

    /// The spec failed: the inbox says why, and its work goes out of the tree and out of the plan.
    pub(super) fn fail_spec(
        &mut self,
        agent: &mut Agent,
        entry: &Entry,
        why: &str,
    ) -> Result<(), DriveError> {
        let (at, error) = (self.clock.stamp(), why.to_owned());
        self.change_inbox(&entry.id, &Change::Failed { at, error })?;
        crate::crash::point();
        let message = format!("{}: failed {}", self.config.commit_prefix, name(&entry.spec));
        self.say(&format!("FAILED: {}: {why}", entry.spec));
        let out = self.take_out_work(agent, entry, &message)?;
        let kept = out.as_ref().map(|out| out.kept.clone());
        let stash = out.as_ref().and_then(|out| out.stash.as_ref()).map(ToString::to_string);
        let failed = SpecFailed { spec: entry.spec.clone(), why: why.to_owned(), kept: stash };
        self.record(Record::SpecFailed(failed), Durability::Eventual)?;
        let (spec, told) = (entry.spec.clone(), why.to_owned());
        self.notify(agent, What::SpecFailed { spec, why: told, kept });
        if let Some(out) = out {
            self.say(&format!("FAILED: its work is out of the tree; {}", out.kept));
        }
        agent.state.specs_failed += 1;
        agent.state.consecutive_failures += 1;
        self.spec_over(agent)
    }

    /// Take a spec's work out of the tree and out of the plan; `None` when there was none.
    pub(super) fn take_out_work(
        &mut self,
        agent: &mut Agent,
        entry: &Entry,
        message: &str,
    ) -> Result<Option<TakenOut>, DriveError> {
        let keep = match self.config.agent.on_failure {
            OnFailure::Stash => Keep::Stash,
            OnFailure::Reset => Keep::Salvage,
        };
        let out = self.repo.take_out_spec(&Self::keeper_of(entry), keep, message)?;
        let mixed = out.iter().flat_map(|out| &out.mixed);
        let mixed: Vec<String> = mixed.map(ToString::to_string).collect();
        if !mixed.is_empty() {
            self.warn(&format!(
                "you changed the same lines as {} in {}: there they are as you left them",
                entry.spec,
                mixed.join(", ")
            ));
        }
        crate::crash::point();
        self.undo_plan(entry)?;
        self.leave_spec_branch(agent)?;
        Ok(out)
    }

    /// What the plan says about the spec is what it said before: its code is gone.
    fn undo_plan(&mut self, entry: &Entry) -> Result<(), DriveError> {
        let Some(before) = self.plan_copy(entry)? else { return Ok(()) };
        let spec = entry.spec.as_str();
        self.plan.change(|_, text| {
            Ok(apply::undone(text, &before, spec).unwrap_or_else(|_| text.to_owned()))
        })?;
        crate::crash::point();
        Ok(())
    }

    pub(super) fn spec_over(&mut self, agent: &mut Agent) -> Result<(), DriveError> {
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
