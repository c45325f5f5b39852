//! How a spec ends: one commit, or its work taken out of the tree. Each may be repeated.

use jiff::Timestamp;
use ralph_core::config::OnFailure;
use ralph_core::inbox::{Change, Entry, Status};
use ralph_core::plan::TombstoneKind;

use super::{Agent, duration};
use crate::drive::error::DriveError;
use crate::drive::session::Session;
use crate::git::{CommitMessage, Keep, LandError, TakenOut};

impl Session<'_> {
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
        let message = self.spec_message(agent, entry)?;
        match self.commit_spec(entry, &message)? {
            Ok(commit) => {
                let commit = commit.unwrap_or_else(|| "nothing to commit".into());
                let short = commit.get(..7).filter(|_| !commit.contains(' ')).unwrap_or(&commit);
                self.say(&format!("COMMIT: {short} \"{}\"", message.subject));
                crate::crash::point();
                agent.state.specs_completed += 1;
                agent.state.consecutive_failures = 0;
                self.spec_over(agent)
            }
            Err(why) => {
                self.say(&format!("COMMIT: failed twice: {why}"));
                self.fail_spec(agent, entry, &format!("the commit failed: {why}"))
            }
        }
    }

    /// Twice at most. The inner error is git's refusal, in words.
    fn commit_spec(
        &mut self,
        entry: &Entry,
        message: &CommitMessage,
    ) -> Result<Result<Option<String>, String>, DriveError> {
        if !self.config.auto_commit {
            return Ok(Ok(None));
        }
        let mut why = String::new();
        for _ in 0..2 {
            match self.repo.land_spec(&Self::keeper_of(entry), message) {
                Ok(Some(landed)) => return Ok(Ok(Some(landed.commit.to_string()))),
                // Nothing was changed for it, or a crash came after the commit.
                Ok(None) => {
                    let landed = self.repo.commit_ledger(message);
                    return Ok(Ok(landed.ok().flatten().map(|l| l.commit.to_string())));
                }
                Err(LandError::Git(e)) => why = e.to_string(),
                Err(refusal) => why = refusal.to_string(),
            }
        }
        Ok(Err(why))
    }

    fn spec_message(&mut self, agent: &Agent, entry: &Entry) -> Result<CommitMessage, DriveError> {
        let plan = self.read_plan()?.plan;
        let accepted = plan.buried().filter(|stone| {
            stone.kind == TombstoneKind::Accept && stone.spec.as_deref() == Some(&entry.spec)
        });
        let tasks = accepted.count();
        let began: Option<Timestamp> = entry.started_at.as_deref().and_then(|at| at.parse().ok());
        let seconds = began.map_or(0, |at| self.clock.now().duration_since(at).as_secs());
        let spent = self.history.cost - agent.state.cost_at_spec;
        let cost = match self.history.cost_unknown && spent <= 0.0 {
            true => "unknown".to_owned(),
            false => format!("${spent:.2}"),
        };
        let path = self.project.specs_dir().join(&entry.spec);
        let file = if path.exists() { self.relative(&path) } else { entry.spec.clone() };
        Ok(CommitMessage {
            subject: format!("{}: complete {}", self.config.commit_prefix, name(&entry.spec)),
            body: format!(
                "Spec: {file}\nTasks completed: {tasks}\nDuration: {}\nCost: {cost}",
                duration(seconds)
            ),
            trailers: vec![("Ralph-Run".into(), self.run.clone())],
        })
    }

    /// The spec failed: the inbox says why, and its work goes out of the tree.
    pub(super) fn fail_spec(
        &mut self,
        agent: &mut Agent,
        entry: &Entry,
        why: &str,
    ) -> Result<(), DriveError> {
        let (at, error) = (self.clock.stamp(), why.to_owned());
        self.change_inbox(&entry.id, &Change::Failed { at, error })?;
        crate::crash::point();
        let keep = match self.config.agent.on_failure {
            OnFailure::Stash => Keep::Stash,
            OnFailure::Reset => Keep::Salvage,
        };
        let message = format!("{}: failed {}", self.config.commit_prefix, name(&entry.spec));
        let keeper = Self::keeper_of(entry);
        match self.repo.take_out_spec(&keeper, keep, &message)? {
            TakenOut::Nothing => self.say(&format!("FAILED: {} {why}", entry.spec)),
            TakenOut::Kept(kept) => {
                self.say(&format!("FAILED: {} {why}; its work is kept: {kept}", entry.spec));
            }
            TakenOut::StillThere { kept, paths } => {
                let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
                return Err(DriveError::Ask {
                    message: format!(
                        "{} failed, and its work cannot be taken out of {} because you changed the \
                         same lines; it is kept: {kept}",
                        entry.spec,
                        paths.join(", ")
                    ),
                    hint: "make these files what they should be, then start the agent again".into(),
                });
            }
        }
        crate::crash::point();
        self.settled = None;
        agent.state.specs_failed += 1;
        agent.state.consecutive_failures += 1;
        self.spec_over(agent)
    }

    fn spec_over(&mut self, agent: &mut Agent) -> Result<(), DriveError> {
        agent.state.current_spec_id = None;
        self.save(agent)?;
        self.forget_copy();
        Ok(())
    }
}

/// A spec as commits call it.
fn name(spec: &str) -> &str {
    spec.strip_suffix(".md").unwrap_or(spec)
}
