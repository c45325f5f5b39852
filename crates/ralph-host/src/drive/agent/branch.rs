//! Where a spec's commit goes: on the branch that is checked out, or on one of its own.
//!
//! A spec's own branch begins where the last one ended, so that what is proven later is proven
//! together with what was proven before. One that fails leaves no branch.

use std::time::Duration;

use ralph_core::config::BranchFor;
use ralph_core::inbox::Entry;

use super::Agent;
use super::finish::name;
use crate::drive::error::DriveError;
use crate::drive::session::Session;
use crate::drive::specs::slug;
use crate::git::CommitMessage;
use crate::notify::unwell;
use crate::proc::Job;

/// How long asking for a review may take.
const REQUEST: Duration = Duration::from_secs(300);

/// What `pull_request = "gh"` stands for.
const GH: &str = r#"
remote=$(git config "branch.$RALPH_BASE.remote" || git remote | head -n 1)
[ -n "$remote" ] || { echo "there is no remote to push to" >&2; exit 1; }
command -v gh >/dev/null || { echo "gh is not installed" >&2; exit 1; }
git push --quiet --set-upstream "$remote" "$RALPH_BRANCH" &&
gh pr create --head "$RALPH_BRANCH" --base "$RALPH_BASE" --title "$RALPH_TITLE" --body "$RALPH_BODY"
"#;

impl Session<'_> {
    /// A spec begins, or goes on: onto its branch, if it is to have one.
    pub(super) fn enter_spec_branch(
        &mut self,
        agent: &mut Agent,
        entry: &Entry,
    ) -> Result<(), DriveError> {
        let own = self.config.agent.branch == BranchFor::Spec && self.config.auto_commit;
        if agent.state.branch.is_none() && own {
            let word = slug(name(&entry.spec));
            agent.state.branch = Some(self.repo.plan_branch(&word)?);
            self.save(agent)?;
        }
        let Some(branch) = agent.state.branch.clone() else { return Ok(()) };
        match self.repo.enter_branch(&branch) {
            Ok(()) => self.say(&format!("BRANCH: {}, on {}", branch.name, branch.base)),
            Err(why) => {
                agent.state.branch = None;
                self.warn(&format!(
                    "{} could not be made, so the spec stays on {}: {why}",
                    branch.name, branch.base
                ));
            }
        }
        crate::crash::point();
        Ok(())
    }

    /// The spec failed, and its work is out of the tree: back to the branch before.
    pub(super) fn leave_spec_branch(&mut self, agent: &mut Agent) -> Result<(), DriveError> {
        let Some(branch) = agent.state.branch.clone() else { return Ok(()) };
        if !self.repo.leave_branch(&branch)? {
            self.warn(&format!(
                "somebody committed on {}, so it stays checked out; `git switch {}` goes back",
                branch.name, branch.base
            ));
        }
        agent.state.branch = None;
        crate::crash::point();
        Ok(())
    }

    /// The spec is committed on its branch: ask for its review, where somebody is to be asked.
    pub(super) fn offer(&mut self, agent: &mut Agent, entry: &Entry, message: &CommitMessage) {
        let (branch, command) = (agent.state.branch.take(), self.config.agent.pull_request.clone());
        let (Some(branch), Some(command)) = (branch, command) else { return };
        let script = if command == "gh" { GH } else { &command };
        let mut job = Job::new("sh", self.project.root()).args(["-c", script]);
        for (variable, value) in [
            ("RALPH_BRANCH", &branch.name),
            ("RALPH_BASE", &branch.base),
            ("RALPH_SPEC", &entry.spec),
            ("RALPH_TITLE", &message.subject),
            ("RALPH_BODY", &message.body),
        ] {
            job = job.env(variable, value);
        }
        job.bounds.timeout = Some(REQUEST);
        let problem = match self.runner.output(&job) {
            Ok((done, said)) => match unwell(done.exit) {
                None => {
                    let link = last_line(&String::from_utf8_lossy(&said));
                    return self.say(&format!("PULL REQUEST: {link}"));
                }
                Some(why) => format!("{why} ({})", last_line(&done.stderr_tail)),
            },
            Err(why) => why.to_string(),
        };
        self.warn(&format!(
            "no pull request was made for {}: {problem}; its commit is on {}",
            entry.spec, branch.name
        ));
    }
}

fn last_line(text: &str) -> String {
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
}
