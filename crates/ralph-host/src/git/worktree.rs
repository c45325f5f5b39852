//! A second working tree for a moment: a commit as it is, without what lies around in the first one.

use std::ffi::OsStr;
use std::path::Path;

use super::Repo;
use super::checkpoint::Checkpoint;
use super::error::GitError;
use super::name::Oid;

impl Repo<'_> {
    /// Check `commit` out into `path`, which is empty or not there.
    pub fn add_worktree(&self, path: &Path, commit: &str) -> Result<(), GitError> {
        let options = ["worktree", "add", "--quiet", "--force", "--detach"].map(OsStr::new);
        let args = options.into_iter().chain([path.as_os_str(), OsStr::new(commit)]);
        self.git(args).ok().map(drop)
    }

    /// Take a working tree away again, whatever is in it.
    pub fn remove_worktree(&self, path: &Path) -> Result<(), GitError> {
        let options = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
        self.git(options.into_iter().chain([path.as_os_str()])).ok().map(drop)
    }

    /// A commit with what a checkpoint saw: HEAD, or its tree with what is not committed.
    pub fn commit_of(&self, cp: &Checkpoint) -> Result<Option<String>, GitError> {
        match (&cp.tree, &cp.head) {
            (None, head) => Ok(head.as_ref().map(|head| head.as_str().to_owned())),
            (Some(tree), head) => {
                let parents: Vec<&Oid> = head.iter().collect();
                let commit = self.commit_tree(tree, &parents, "ralph: a tree to look at")?;
                Ok(Some(commit.as_str().to_owned()))
            }
        }
    }

    /// Forget working trees whose folders are gone.
    pub fn prune_worktrees(&self) -> Result<(), GitError> {
        self.git(["worktree", "prune"]).ok().map(drop)
    }

    /// Where the project is in a working tree at `tree`, which may be a folder of the repository.
    pub fn project_in(&self, root: &Path, tree: &Path) -> std::path::PathBuf {
        root.strip_prefix(&self.top).map_or_else(|_| tree.to_owned(), |below| tree.join(below))
    }
}
