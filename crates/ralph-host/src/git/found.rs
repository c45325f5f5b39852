//! A new repository, for the demo and the tutorial: it needs nothing that a machine may lack or have otherwise.

use std::path::Path;

use ralph_core::backend::{BackendExit, ProcessEnding};

use super::Repo;
use super::error::GitError;
use super::ledger::LedgerPaths;
use crate::git_dir;
use crate::proc::{Job, JobRunner};

/// Settings of the new repository. Neither a missing name nor hooks and keys of the user's own
/// configuration get in the way.
const SETTINGS: [(&str, &str); 4] = [
    ("user.name", "ralph demo"),
    ("user.email", "demo@localhost"),
    ("commit.gpgSign", "false"),
    ("core.hooksPath", ".git/hooks"),
];

/// Make `root` a repository with all that is in it as its first commit.
pub fn found(root: &Path, runner: &JobRunner, subject: &str) -> Result<(), GitError> {
    let mut init = Job::new("git", root).args(["init", "--quiet", "--initial-branch=main"]);
    init.env.extend(super::call::STRIPPED.iter().map(|name| (name.into(), None)));
    let (finished, _) = runner.output(&init)?;
    if finished.exit.ending == ProcessEnding::NotFound {
        return Err(GitError::NotInstalled);
    }
    let git_dir = git_dir::of(root).ok().flatten();
    let Some(git_dir) = git_dir.filter(|_| finished.exit == BackendExit::code(0)) else {
        let message = finished.stderr_tail.trim().to_owned();
        return Err(GitError::Failed { command: "init".into(), code: 1, message });
    };
    let repo = Repo::open(root, &git_dir, runner, &LedgerPaths::with_plan("ralph/plan.jsonl"))?;
    for (name, value) in SETTINGS {
        repo.git(["config", name, value]).ok()?;
    }
    repo.git(["add", "--all"]).ok()?;
    repo.git(["commit", "--quiet", "-m", subject]).ok()?;
    Ok(())
}

impl Repo<'_> {
    /// The newest commits, one line each, newest first.
    pub fn recent(&self, most: usize) -> Result<Vec<String>, GitError> {
        let most = format!("--max-count={most}");
        let lines = self.look(["log", "--format=%h %s", &most]).ok()?;
        Ok(String::from_utf8_lossy(&lines).lines().map(str::to_owned).collect())
    }
}
