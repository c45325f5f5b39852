//! The branch of a spec: the one of home, or one of its own.
//!
//! A spec's own branch begins where the last one ended, so that what is proven later is proven together
//! with what was proven before. Home stays on the branch that it is on. A spec that fails leaves no branch.

use ralph_core::agent_session::SpecBranch;
use ralph_core::config::BranchPolicy;
use ralph_core::inbox::InboxEntry;

use super::AgentLoop;
use super::finish::name;
use crate::drive::error::DriveError;
use crate::drive::run_target::BranchReview;
use crate::drive::session::RunSession;
use crate::drive::specs::slug;
use crate::git::CommitMessage;

impl RunSession<'_> {
    /// A spec begins, or goes on: its commit is to arrive on its branch, if it is to have one.
    pub(super) fn enter_spec_branch(
        &mut self,
        agent: &mut AgentLoop,
        entry: &InboxEntry,
    ) -> Result<(), DriveError> {
        let own = self.config.agent.branch == BranchPolicy::Spec && self.config.auto_commit;
        if agent.state.branch.is_none()
            && own
            && let Some(base) = self.work.branch.clone()
        {
            let name = self.repo.free_branch(&slug(name(&entry.spec)))?;
            agent.state.branch = Some(SpecBranch { name, base });
            self.save(agent)?;
        }
        let Some(branch) = agent.state.branch.clone() else { return Ok(()) };
        match self.set_arrival_branch(&branch.name)? {
            true => self.log_line(&format!("BRANCH: {}, on {}", branch.name, branch.base)),
            false => {
                agent.state.branch = None;
                self.warn(&format!(
                    "commits wait for {}, so this spec goes there too, and not to {}; `ralph land` \
                     brings them",
                    branch.base, branch.name
                ));
            }
        }
        crate::crash::point();
        Ok(())
    }

    /// The spec failed: the next commits arrive where those before it did.
    pub(super) fn leave_spec_branch(&mut self, agent: &mut AgentLoop) -> Result<(), DriveError> {
        let Some(branch) = agent.state.branch.take() else { return Ok(()) };
        self.set_arrival_branch(&branch.base)?;
        crate::crash::point();
        Ok(())
    }

    /// The spec is committed on its branch: ask for its review, where somebody is to be asked.
    pub(super) fn request_spec_review(
        &mut self,
        agent: &mut AgentLoop,
        entry: &InboxEntry,
        message: &CommitMessage,
    ) {
        let (branch, command) = (agent.state.branch.take(), self.config.agent.pull_request.clone());
        let (Some(branch), Some(command)) = (branch, command) else { return };
        if self.history.arrival.as_ref().is_some_and(|line| !line.is_settled()) {
            return;
        }
        let review = BranchReview {
            branch: &branch.name,
            base: &branch.base,
            spec: &entry.spec,
            title: &message.subject,
            body: &message.body,
        };
        self.ask_for_review(&command, &review);
    }
}
