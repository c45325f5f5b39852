//! The work on a spec that is not complete, for a person who wants it now.

use super::error::GitError;
use super::{Oid, Repo, RepoPath};

/// A tree with the work of a spec.
pub(crate) enum SpecTree {
    /// As the last attempt on the spec left it: its gates have seen it.
    Gated(Oid),
    /// Merged with what landed since. No gate has seen it.
    Merged(Oid),
    /// The two conflict in these paths.
    Conflict(Vec<RepoPath>),
}

impl Repo<'_> {
    /// The tree of `tip` with the work of a spec.
    pub(crate) fn tree_with_spec(&self, tip: &Oid, work: &Oid) -> Result<SpecTree, GitError> {
        let base = self.look(["merge-base", tip.as_str(), work.as_str()]).oid()?;
        if base == *tip {
            let tree = self.look(["rev-parse", "--verify", &format!("{work}^{{tree}}")]).oid()?;
            return Ok(SpecTree::Gated(tree));
        }
        let (tree, mixed) = self.merge_trees(base.as_str(), tip.as_str(), work.as_str())?;
        Ok(if mixed.is_empty() { SpecTree::Merged(tree) } else { SpecTree::Conflict(mixed) })
    }

    /// Make index and files of a lane those of a tree. `HEAD` stays.
    pub(crate) fn read_tree(&self, tree: &Oid) -> Result<(), GitError> {
        self.git(["read-tree", "--reset", "-u", tree.as_str()]).ok().map(drop)
    }

    /// The paths that differ between two commits, as the journal has them.
    pub(crate) fn changed_paths(&self, old: &Oid, new: &Oid) -> Result<Vec<String>, GitError> {
        let changes = self.touched(old.as_str(), new.as_str())?;
        Ok(changes.iter().map(|change| change.path.to_string()).collect())
    }
}
