//! A spec that failed: its work goes out of the tree and into a stash entry, or under a ref.
//!
//! The spec's ref holds exactly its own difference, on top of the commit that it began from. That
//! difference is taken out of the tree with a three-way merge, so that whatever the user has done
//! meanwhile, committed or not, stays. Nothing is removed before it is kept; all of it may be repeated
//! after a crash.

use super::Repo;
use super::checkpoint::{AttemptRef, OnDirty, Target};
use super::error::GitError;
use super::name::{Oid, RepoPath};

/// Where the work of a spec goes that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Into `git stash list`.
    Stash,
    /// Under a ref of ralph's own.
    Salvage,
}

/// The work of a spec that is out of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenOut {
    /// Where it is kept, in words.
    pub kept: String,
    /// The commit of the stash entry, when it is one.
    pub stash: Option<Oid>,
    /// Files in which the user changed the same lines: those are as the user left them.
    pub mixed: Vec<RepoPath>,
}

impl Repo<'_> {
    /// Take the work on the spec's ref out of the tree; `None` when there is none.
    pub fn take_out_spec(
        &self,
        run: &str,
        keep: Keep,
        message: &str,
    ) -> Result<Option<TakenOut>, GitError> {
        let name = format!("refs/ralph/{run}/spec");
        let Some(tip) = self.find_ref(&name)? else { return Ok(None) };
        let head = self.head()?.commit;
        let base = match &head {
            Some(head) => Some(self.look(["merge-base", head.as_str(), tip.as_str()]).oid()?),
            None => None,
        };
        let kept = match (keep, &base) {
            (Keep::Stash, Some(base)) => self.stash_commit(base, &tip, message)?,
            _ => self.salvage_spec(run, base.as_ref(), &tip)?,
        };
        let stash = self.stash().filter(|_| keep == Keep::Stash && base.is_some());
        crate::crash::point();
        let of = AttemptRef { run: run.to_owned(), attempt: format!("out-{run}") };
        let now = self.checkpoint(&of, OnDirty::Snapshot, Target::Spec)?;
        let before = match &base {
            Some(base) => base.to_string(),
            None => self.empty_tree()?.to_string(),
        };
        let mut mixed = Vec::new();
        if let Some(tree) = &now.tree {
            let spare = self.desk(&now.of.attempt).spare();
            let (out, unclear) = self.merge_for_us(&spare, tip.as_str(), tree, &before)?;
            self.move_tree_to(&now, tree, out.as_str())?;
            mixed = unclear;
        }
        crate::crash::point();
        self.git(["update-ref", "-d", &name, tip.as_str()]).ok()?;
        self.git(["update-ref", "-d", &now.own_ref("before")]).ok()?;
        self.forget(&now);
        Ok(Some(TakenOut { kept, stash, mixed }))
    }

    /// A stash entry with the difference from `base` to `tip`; one that is there already counts.
    fn stash_commit(&self, base: &Oid, tip: &Oid, message: &str) -> Result<String, GitError> {
        let tree = self.look(["rev-parse", &format!("{tip}^{{tree}}")]).oid()?;
        if !self.is_stashed(&tree, message)? {
            let before = self.look(["rev-parse", &format!("{base}^{{tree}}")]).oid()?;
            let index = self.commit_tree(&before, &[base], &format!("index on {message}"))?;
            let work = self.commit_tree(&tree, &[base, &index], message)?;
            self.git(["stash", "store", "-m", message, work.as_str()]).ok()?;
        }
        Ok(format!("`git stash list` has it as \"{message}\""))
    }

    /// Whether there is an entry of these words with this tree.
    fn is_stashed(&self, tree: &Oid, message: &str) -> Result<bool, GitError> {
        if self.stash().is_none() {
            return Ok(false);
        }
        let out = self.look(["log", "-g", "--format=%T %s", "refs/stash", "--"]).ok()?;
        let wanted = format!("{tree} {message}");
        Ok(out.split(|byte| *byte == b'\n').any(|line| line == wanted.as_bytes()))
    }

    /// Keep the work of a spec under a ref of ralph's own, as one difference.
    pub(super) fn salvage_spec(
        &self,
        run: &str,
        base: Option<&Oid>,
        tip: &Oid,
    ) -> Result<String, GitError> {
        let short = tip.as_str().get(..12).unwrap_or(tip.as_str());
        let name = format!("refs/ralph/{run}/salvage/spec-{short}");
        if self.find_ref(&name)?.is_none() {
            let tree = self.look(["rev-parse", &format!("{tip}^{{tree}}")]).oid()?;
            let parents: Vec<&Oid> = base.into_iter().collect();
            let commit = self.commit_tree(&tree, &parents, &format!("ralph: salvage of {run}"))?;
            self.git(["update-ref", &name, commit.as_str()]).ok()?;
        }
        Ok(format!("`ralph salvage diff spec-{short}` shows it"))
    }
}
