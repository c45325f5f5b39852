//! A second working tree for a moment: a commit as it is, without what lies around in the first one.

use std::ffi::OsStr;
use std::path::Path;

use super::Repo;
use super::error::GitError;

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

    /// Where the project is in a working tree at `tree`, which may be a folder of the repository.
    pub fn project_in(&self, root: &Path, tree: &Path) -> std::path::PathBuf {
        root.strip_prefix(&self.top).map_or_else(|_| tree.to_owned(), |below| tree.join(below))
    }
}
