//! Questions of a report: the landed commits that are still there, and the ledger files in git.

use std::collections::BTreeSet;

use super::Repo;
use super::call::nul_fields;
use super::error::GitError;

impl Repo<'_> {
    /// Return those of the commits that are on the checked-out branch. Commits that git no longer knows,
    /// for example after a rebase, are not among them.
    pub fn on_branch(&self, commits: &[&str]) -> Result<BTreeSet<String>, GitError> {
        if commits.is_empty() || self.head()?.commit.is_none() {
            return Ok(BTreeSet::new());
        }
        let list = |commits: &[&str]| commits.join("\n").into_bytes();
        let check = ["cat-file", "--batch-check=%(objecttype) %(objectname)"];
        let known = self.look(check).stdin(list(commits)).ok()?;
        let known = String::from_utf8_lossy(&known);
        let known: Vec<&str> =
            known.lines().filter_map(|line| line.strip_prefix("commit ")).collect();
        if known.is_empty() {
            return Ok(BTreeSet::new());
        }
        let elsewhere = self.look(["rev-list", "--stdin", "^HEAD"]).stdin(list(&known)).ok()?;
        let elsewhere = String::from_utf8_lossy(&elsewhere);
        let elsewhere: BTreeSet<&str> = elsewhere.lines().collect();
        let here = known.into_iter().filter(|commit| !elsewhere.contains(commit));
        Ok(here.map(str::to_owned).collect())
    }

    /// Files of the ledger in the last commit, as pathspecs that mean the same in every directory.
    pub fn ledger_in_git(&self) -> Result<Vec<String>, GitError> {
        match self.head()?.commit {
            Some(head) => self.ledger_in(head.as_str()),
            None => Ok(Vec::new()),
        }
    }

    /// The same for a branch; `None` when it is gone.
    pub fn ledger_on_branch(&self, branch: &str) -> Result<Option<Vec<String>>, GitError> {
        let commit = self.find_commit(&format!("refs/heads/{branch}"))?;
        commit.map(|commit| self.ledger_in(commit.as_str())).transpose()
    }

    fn ledger_in(&self, commit: &str) -> Result<Vec<String>, GitError> {
        let args = ["ls-tree", "-r", "-z", "--full-tree", "--name-only", commit, "--"];
        let paths = self.ledger.shared().iter().map(ToString::to_string);
        let call = self.look(args.map(str::to_owned).into_iter().chain(paths));
        let out = call.env("GIT_LITERAL_PATHSPECS", "1").ok()?;
        Ok(nul_fields(&out).map(|path| format!(":/{}", String::from_utf8_lossy(path))).collect())
    }
}
