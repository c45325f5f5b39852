//! Read-only questions to git, for `ralph doctor`.

use std::path::{Path, PathBuf};

use ralph_core::backend::ProcessEnding;
use ralph_core::doctor::RepositoryFacts;

use super::Repo;
use super::call::STRIPPED;
use super::error::GitError;
use crate::proc::{Job, JobRunner};

/// Return the output of `git --version`, and whether git knows the committer in this directory.
pub fn introduce(root: &Path, runner: &JobRunner) -> Result<(String, bool), GitError> {
    let (code, said) = ask(root, runner, &["--version"])?;
    let (who, _) = ask(root, runner, &["var", "GIT_COMMITTER_IDENT"])?;
    Ok((if code == 0 { said } else { String::new() }, who == 0))
}

fn ask(root: &Path, runner: &JobRunner, args: &[&str]) -> Result<(i32, String), GitError> {
    let mut job = Job::new("git", root).args(args).env("LC_ALL", "C");
    job.env.extend(STRIPPED.iter().map(|name| (name.into(), None)));
    let (finished, said) = runner.output(&job)?;
    match finished.exit.ending {
        ProcessEnding::NotFound => Err(GitError::NotInstalled),
        ProcessEnding::Signal(signal) => Ok((128 + signal, String::new())),
        ProcessEnding::Code(code) => Ok((code, String::from_utf8_lossy(&said).trim().to_owned())),
    }
}

impl Repo<'_> {
    /// Collect the facts about the state of the repository.
    pub fn condition(&self) -> Result<RepositoryFacts, GitError> {
        let head = self.head()?;
        let name = |path: PathBuf| path.display().to_string();
        Ok(RepositoryFacts {
            branch: head.branch,
            has_commit: head.commit.is_some(),
            changed: self.dirty()?.len(),
            conflicts: self.status()?.unmerged().len(),
            unfinished: self.operation().map(|o| (o.to_string(), o.finish(), o.give_up())),
            lock: self.lock_in_the_way().map(|(path, ours)| (name(path), ours)),
        })
    }
}
