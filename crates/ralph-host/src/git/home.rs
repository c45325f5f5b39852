//! Home's own repository: what a person has not committed there, and, where ralph owns the checkout, its
//! way back after an agent used git in it.

use super::Repo;
use super::error::GitError;
use super::name::{Oid, RepoPath};
use super::status::{Entry, Side};

impl Repo<'_> {
    /// The uncommitted files that keep a run from owning the checkout: all but the ledger, and new files
    /// that people write for ralph.
    pub(crate) fn unclean(&self) -> Result<Vec<RepoPath>, GitError> {
        let is_new_source =
            |entry: &Entry| entry.file == Side::Untracked && self.ledger.is_source(&entry.path);
        let entries = self.status()?.entries.into_iter();
        let found = entries.filter(|entry| self.is_users(entry) && !is_new_source(entry));
        Ok(found.map(|entry| entry.path).collect())
    }

    /// Submodules with changes of any kind.
    pub(crate) fn dirty_submodules(&self) -> Result<Vec<RepoPath>, GitError> {
        if !self.top().join(".gitmodules").exists() {
            return Ok(Vec::new());
        }
        let entries = self.status()?.entries.into_iter();
        Ok(entries.filter(|entry| entry.nested).map(|entry| entry.path).collect())
    }

    /// Put HEAD on the branch, or on the commit where there is none, and the branch on the commit,
    /// without touching a file. Commits that would be lost get a ref below `keep`.
    pub(crate) fn return_to(
        &self,
        commit: &Oid,
        branch: Option<&str>,
        keep: &str,
    ) -> Result<(), GitError> {
        if let Some(operation) = self.operation() {
            self.git(operation.forget()).run()?;
        }
        let (head, full) = (self.head()?, branch.map(|name| format!("refs/heads/{name}")));
        let at = match &full {
            Some(name) => self.find_ref(name)?,
            None => head.commit.clone(),
        };
        for found in [&at, &head.commit].into_iter().flatten() {
            if found != commit && !self.contains(commit, found)? {
                self.git(["update-ref", &format!("{keep}/{found}"), found.as_str()]).ok()?;
            }
        }
        if at.as_ref() != Some(commit) {
            let name = full.as_deref().unwrap_or("HEAD");
            let args = ["update-ref", "--no-deref", "-m", "ralph: land", name, commit.as_str()];
            self.git(args).ok()?;
        }
        match full {
            Some(name) if head.branch.as_ref() != Some(&name) => {
                self.git(["symbolic-ref", "-m", "ralph: back on the branch", "HEAD", &name])
                    .ok()?;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
