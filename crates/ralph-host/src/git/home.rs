//! Home's own repository: what a person has not committed there, and, where ralph owns the checkout, its
//! way back after an agent used git in it.

use std::collections::BTreeSet;

use super::Repo;
use super::error::GitError;
use super::name::{Oid, RepoPath};
use super::status::{GitSideChange, GitStatusEntry};

/// The message of the commit that `on_dirty = "commit"` makes.
const USERS_OWN: &str = "ralph: auto-commit before orchestration start";

impl Repo<'_> {
    /// The uncommitted files that keep a run from owning the checkout: all but the ledger, and new files
    /// that people write for ralph.
    pub(crate) fn unclean(&self) -> Result<Vec<RepoPath>, GitError> {
        let is_new_source = |entry: &GitStatusEntry| {
            entry.file == GitSideChange::Untracked && self.ledger.is_source(&entry.path)
        };
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
    /// without touching a file. Commits that would be lost get a ref below `keep`; `known` is in the history
    /// of the commit.
    pub(crate) fn return_to(
        &self,
        commit: &Oid,
        branch: Option<&str>,
        keep: &str,
        known: Option<&Oid>,
    ) -> Result<Vec<Oid>, GitError> {
        let mut kept = Vec::new();
        if let Some(operation) = self.operation() {
            self.git(operation.forget()).run()?;
        }
        let (head, full) = (self.head()?, branch.map(|name| format!("refs/heads/{name}")));
        let at = match &full {
            Some(name) => self.find_ref(name)?,
            None => head.commit.clone(),
        };
        let found: BTreeSet<&Oid> = [&at, &head.commit].into_iter().flatten().collect();
        for found in found {
            if found != commit && Some(found) != known && !self.contains(commit, found)? {
                self.git(["update-ref", &format!("{keep}/{found}"), found.as_str()]).ok()?;
                kept.push(found.clone());
            }
        }
        if at.as_ref() != Some(commit) {
            let name = full.as_deref().unwrap_or("HEAD");
            let args = ["update-ref", "--no-deref", "-m", "ralph: land", name, commit.as_str()];
            self.git(args).ok()?;
        }
        if let Some(name) = full.filter(|name| head.branch.as_ref() != Some(name)) {
            self.git(["symbolic-ref", "-m", "ralph: back on the branch", "HEAD", &name]).ok()?;
        }
        Ok(kept)
    }

    /// Whether an entry makes the tree one that is not clean. A changed ledger file does not, but a
    /// staged one does: the clean way would lose what is staged.
    pub(super) fn is_users(&self, entry: &GitStatusEntry) -> bool {
        let staged = !matches!(entry.index, GitSideChange::Same | GitSideChange::Untracked);
        staged || !self.ledger.contains(&entry.path)
    }

    /// The user's uncommitted files, as a checkpoint would find them. Changes nothing.
    pub fn dirty(&self) -> Result<Vec<RepoPath>, GitError> {
        let entries = self.status()?.entries.into_iter();
        let users = entries.filter(|entry| self.is_users(entry) && !entry.nested);
        Ok(users.map(|entry| entry.path).collect())
    }

    /// Commit what the user has not committed, as `on_dirty = "commit"` asks for.
    pub(crate) fn commit_dirty(&self) -> Result<(), GitError> {
        let nested = self.status()?.entries.into_iter().filter(|entry| entry.nested);
        let nested: Vec<RepoPath> = nested.map(|entry| entry.path).collect();
        self.add_all(None, &nested)?;
        let call = self.git(["commit", "-q", "-m", USERS_OWN]).patience(self.hook_patience);
        self.writing_index(|| call.ok().map(drop))
    }

    /// Return the object that a ref points to, if the ref exists.
    pub(super) fn find_ref(&self, name: &str) -> Result<Option<Oid>, GitError> {
        if let Some(known) = self.ref_by_looking(name) {
            return Ok(known);
        }
        let answer = self.look(["rev-parse", "-q", "--verify", name]).run()?;
        Ok(Oid::parse(&answer.stdout).filter(|_| answer.code == 0))
    }
}
