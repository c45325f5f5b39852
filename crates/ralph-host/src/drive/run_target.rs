//! The branch on which the commits of a run arrive, and asking for a review of it.

use std::time::Duration;

use ralph_core::config::{BranchPolicy, Config};
use ralph_core::cycle::{ArrivalLine, ArrivalTarget, JournalRecord, RunCommand, TipStart};

use super::error::DriveError;
use super::session::{RunOptions, RunSession};
use super::specs::slug;
use crate::notify::unwell;
use crate::proc::Job;
use crate::project::Project;
use crate::store::Durability;

/// Longest time that asking for a review may take.
const REQUEST: Duration = Duration::from_secs(300);

/// The script that `pull_request = "gh"` stands for.
const GH: &str = r#"
remote=$(git config "branch.$RALPH_BASE.remote" || git remote | head -n 1)
[ -n "$remote" ] || { echo "there is no remote to push to" >&2; exit 1; }
command -v gh >/dev/null || { echo "gh is not installed" >&2; exit 1; }
git push --quiet --set-upstream "$remote" "$RALPH_BRANCH" &&
gh pr create --head "$RALPH_BRANCH" --base "$RALPH_BASE" --title "$RALPH_TITLE" --body "$RALPH_BODY"
"#;

/// The branch that a run asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunTarget {
    /// The branch that home has checked out.
    Home,
    /// This branch; home stays where it is.
    Named(String),
}

impl RunTarget {
    /// The target of a loop, from what was typed and configured.
    pub(super) fn of(
        kind: RunCommand,
        options: &RunOptions,
        config: &Config,
        spec: Option<&str>,
        plan: &str,
    ) -> Self {
        match (kind, &options.branch) {
            (RunCommand::Build | RunCommand::Construct | RunCommand::Land, Some(name)) => {
                Self::Named(name.clone())
            }
            (RunCommand::Build | RunCommand::Construct, None)
                if config.land.branch == BranchPolicy::Spec =>
            {
                let spec = options.spec.as_deref().or(spec).unwrap_or(plan);
                let name = spec.rsplit('/').next().unwrap_or(spec);
                let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
                Self::Named(format!("ralph/{}", slug(name)))
            }
            _ => Self::Home,
        }
    }

    /// The target of an agent, which goes on with that of the session that was interrupted.
    pub(super) fn of_agent(config: &Config, project: &Project, line: Option<&ArrivalLine>) -> Self {
        let goes_on = config.agent.branch == BranchPolicy::Spec && project.agent_session().exists();
        let named = line.filter(|line| goes_on && line.target == ArrivalTarget::NamedBranch);
        named.map_or(Self::Home, |line| Self::Named(line.branch.clone()))
    }
}

/// A request for a review of a branch.
pub(super) struct BranchReview<'r> {
    pub(super) branch: &'r str,
    /// The branch that it is to go into.
    pub(super) base: &'r str,
    pub(super) spec: &'r str,
    pub(super) title: &'r str,
    pub(super) body: &'r str,
}

impl RunSession<'_> {
    /// Let the commits from now on arrive on this branch. Says whether they do: commits that wait for
    /// another branch have to arrive there first.
    pub(super) fn set_arrival_branch(&mut self, branch: &str) -> Result<bool, DriveError> {
        let settled = self.history.arrival.as_ref().is_none_or(ArrivalLine::is_settled);
        let work = &mut self.work;
        if work.branch.as_deref() == Some(branch) {
            return Ok(true);
        }
        if !settled {
            return Ok(false);
        }
        work.ledger.aim_at(branch)?;
        work.branch = Some(branch.to_owned());
        let tip = work.tip.to_string();
        let start = TipStart {
            run: work.ledger.open_run().run.clone(),
            branch: branch.to_owned(),
            target: work.target(),
            arrived: tip.clone(),
            tip,
        };
        crate::crash::point();
        self.record(JournalRecord::TipStarted(start), Durability::Synced)?;
        Ok(true)
    }

    /// Ask for a review as `pull_request` says. A request that fails is told and stops nobody.
    pub(super) fn ask_for_review(&mut self, command: &str, review: &BranchReview<'_>) {
        let script = if command == "gh" { GH } else { command };
        let mut job = Job::new("sh", self.project.root()).args(["-c", script]);
        for (variable, value) in [
            ("RALPH_BRANCH", review.branch),
            ("RALPH_BASE", review.base),
            ("RALPH_SPEC", review.spec),
            ("RALPH_TITLE", review.title),
            ("RALPH_BODY", review.body),
        ] {
            job = job.env(variable, value);
        }
        job.bounds.timeout = Some(REQUEST);
        let problem = match self.runner.output(&job) {
            Ok((done, said)) => match unwell(done.exit) {
                None => {
                    let link = last_line(&String::from_utf8_lossy(&said));
                    return self.log_line(&format!("PULL REQUEST: {link}"));
                }
                Some(why) => format!("{why} ({})", last_line(&done.stderr_tail)),
            },
            Err(why) => why.to_string(),
        };
        self.warn(&format!(
            "no pull request was made for {}: {problem}; its commits are on {}",
            review.spec, review.branch
        ));
    }

    /// The run is over: ask for a review of the branch that it was asked for, if commits arrived on it.
    pub(super) fn request_run_review(&mut self) {
        let Some(command) = self.config.land.pull_request.clone() else { return };
        let Some(line) = self.history.arrival.clone() else { return };
        let has_commits = line.arrived_commits().iter().any(|landed| !landed.tasks.is_empty());
        let named = line.target == ArrivalTarget::NamedBranch;
        let Some(base) = self.work.ledger.open_run().home_branch.clone() else { return };
        if self.kind == RunCommand::Agent || !named || !has_commits || !line.is_settled() {
            return;
        }
        let spec = self.options.spec.clone().or_else(|| self.current_spec.clone());
        let spec = spec.unwrap_or_else(|| self.plan.shown.clone());
        let tasks: Vec<String> =
            line.arrived_commits().iter().flat_map(|landed| landed.tasks.clone()).collect();
        let title = format!("{}: {spec}", self.config.commit_prefix);
        let body = format!("Tasks completed: {}", tasks.join(", "));
        let review = BranchReview {
            branch: &line.branch,
            base: &base,
            spec: &spec,
            title: &title,
            body: &body,
        };
        self.ask_for_review(&command, &review);
    }
}

fn last_line(text: &str) -> String {
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
}
