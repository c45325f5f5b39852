//! Three-way merges of trees, without touching anything.

use super::Repo;
use super::call::nul_fields;
use super::error::GitError;
use super::name::{Oid, RepoPath};

/// Result of merging two trees without touching a file.
#[derive(Debug)]
pub(super) enum TreeMergeResult {
    Clean(Oid),
    Conflict(Vec<RepoPath>),
}

impl Repo<'_> {
    /// Put the difference from `base` to `theirs` on `ours`.
    pub(super) fn merge(
        &self,
        base: &str,
        ours: &str,
        theirs: &str,
    ) -> Result<TreeMergeResult, GitError> {
        let (tree, mixed) = self.merge_trees(base, ours, theirs)?;
        Ok(if mixed.is_empty() {
            TreeMergeResult::Clean(tree)
        } else {
            TreeMergeResult::Conflict(mixed)
        })
    }

    /// The merged tree, and the paths in it that are not merged.
    pub(super) fn merge_trees(
        &self,
        base: &str,
        ours: &str,
        theirs: &str,
    ) -> Result<(Oid, Vec<RepoPath>), GitError> {
        let base = format!("--merge-base={base}");
        let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", &base];
        let answer = self.git(args.into_iter().chain([ours, theirs])).run()?;
        if !matches!(answer.code, 0 | 1) {
            return Err(answer.into_error());
        }
        let mut fields = nul_fields(&answer.stdout);
        let tree = fields.next().and_then(Oid::parse);
        let tree = tree.ok_or_else(|| GitError::Unreadable("merge-tree".into()))?;
        if answer.code == 0 {
            return Ok((tree, Vec::new()));
        }
        let mut paths: Vec<RepoPath> =
            fields.filter(|f| !f.is_empty()).map(RepoPath::new).collect();
        paths.sort_unstable();
        paths.dedup();
        Ok((tree, paths))
    }
}
