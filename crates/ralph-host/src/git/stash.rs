//! A spec that failed: its work goes out of the tree and into a stash entry, or under a ref.
//!
//! The spec's ref holds exactly its own difference, on top of the commit that it began from. That
//! difference is taken out of the tree with a three-way merge, so that whatever the user has done
//! meanwhile, committed or not, stays. Nothing is removed before it is kept; all of it may be repeated
//! after a crash.

use super::Repo;
use super::checkpoint::{AttemptRef, OnDirty, Target};
use super::error::GitError;
use super::merge::Merged;
use super::name::{Oid, RepoPath};

/// Where the work of a spec goes that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Into `git stash list`.
    Stash,
    /// Under a ref of ralph's own.
    Salvage,
}

/// A spec whose work is out of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenOut {
    /// There was none.
    Nothing,
    /// It is kept: a stash entry, or this ref.
    Kept(String),
    /// The user changed the same lines: it is kept, and still in these files.
    StillThere {
        /// Where it is kept.
        kept: String,
        /// The files.
        paths: Vec<RepoPath>,
    },
}

impl Repo<'_> {
    /// Take the work on the spec's ref out of the tree.
    pub fn take_out_spec(
        &self,
        run: &str,
        keep: Keep,
        message: &str,
    ) -> Result<TakenOut, GitError> {
        let name = format!("refs/ralph/{run}/spec");
        let Some(tip) = self.find_ref(&name)? else { return Ok(TakenOut::Nothing) };
        let head = self.head()?.commit;
        let base = match &head {
            Some(head) => Some(self.look(["merge-base", head.as_str(), tip.as_str()]).oid()?),
            None => None,
        };
        let kept = match (keep, &base) {
            (Keep::Stash, Some(base)) => self.stash_commit(base, &tip, message)?,
            _ => self.salvage_spec(run, &tip)?,
        };
        let of = AttemptRef { run: run.to_owned(), attempt: format!("out-{run}") };
        let now = self.checkpoint(&of, OnDirty::Snapshot, Target::Spec)?;
        let Some(tree) = &now.tree else { return Ok(TakenOut::Kept(kept)) };
        let before = match &base {
            Some(base) => base.to_string(),
            None => self.empty_tree()?.to_string(),
        };
        let out = match self.merge(tip.as_str(), tree.as_str(), &before)? {
            Merged::Clean(out) => out,
            Merged::Conflict(paths) => {
                self.forget(&now);
                return Ok(TakenOut::StillThere { kept, paths });
            }
        };
        self.move_tree_to(&now, tree, out.as_str())?;
        self.git(["update-ref", "-d", &name, tip.as_str()]).ok()?;
        self.git(["update-ref", "-d", &now.own_ref("before")]).ok()?;
        self.forget(&now);
        Ok(TakenOut::Kept(kept))
    }

    /// A stash entry with the difference from `base` to `tip`; the one that is there already counts.
    fn stash_commit(&self, base: &Oid, tip: &Oid, message: &str) -> Result<String, GitError> {
        let tree = self.look(["rev-parse", &format!("{tip}^{{tree}}")]).oid()?;
        let kept = "git stash list".to_owned();
        if let Some(last) = self.stash() {
            let last = self.look(["rev-parse", &format!("{last}^{{tree}}")]).oid()?;
            if last == tree {
                return Ok(kept);
            }
        }
        let before = self.look(["rev-parse", &format!("{base}^{{tree}}")]).oid()?;
        let index = self.commit_tree(&before, &[base], &format!("index on {message}"))?;
        let work = self.commit_tree(&tree, &[base, &index], message)?;
        self.git(["stash", "store", "-m", message, work.as_str()]).ok()?;
        Ok(kept)
    }

    fn salvage_spec(&self, run: &str, tip: &Oid) -> Result<String, GitError> {
        let short = tip.as_str().get(..12).unwrap_or(tip.as_str());
        let name = format!("refs/ralph/{run}/salvage/spec-{short}");
        self.git(["update-ref", &name, tip.as_str()]).ok()?;
        Ok(name)
    }

    /// Whether a spec has work on a ref of its own.
    pub fn has_spec(&self, run: &str) -> Result<bool, GitError> {
        Ok(self.find_ref(&format!("refs/ralph/{run}/spec"))?.is_some())
    }
}
