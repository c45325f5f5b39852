//! What can be asked of git without changing anything, for `ralph doctor`.

use std::path::{Path, PathBuf};

use ralph_core::backend::Ending;
use ralph_core::doctor::RepositoryFacts;

use super::Repo;
use super::call::{STRIPPED, nul_fields};
use super::error::GitError;
use crate::proc::{Job, Runner};
use crate::store::who_runs;

/// How the folders of ralph's own working trees begin.
const OWN_TREES: [&str; 2] = ["ralph-look-", "ralph-regate-"];

/// What `git --version` says in this directory, and whether git knows who commits there.
pub fn introduce(root: &Path, runner: &Runner) -> Result<(String, bool), GitError> {
    let (code, said) = ask(root, runner, &["--version"])?;
    let (who, _) = ask(root, runner, &["var", "GIT_COMMITTER_IDENT"])?;
    Ok((if code == 0 { said } else { String::new() }, who == 0))
}

fn ask(root: &Path, runner: &Runner, args: &[&str]) -> Result<(i32, String), GitError> {
    let mut job = Job::new("git", root).args(args).env("LC_ALL", "C");
    job.env.extend(STRIPPED.iter().map(|name| (name.into(), None)));
    let (finished, said) = runner.output(&job)?;
    match finished.exit.ending {
        Ending::NotFound => Err(GitError::NotInstalled),
        Ending::Signal(signal) => Ok((128 + signal, String::new())),
        Ending::Code(code) => Ok((code, String::from_utf8_lossy(&said).trim().to_owned())),
    }
}

impl Repo<'_> {
    /// How the repository stands.
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

    /// Working trees that ralph made for a moment and that are still there.
    pub fn own_worktrees(&self) -> Result<Vec<PathBuf>, GitError> {
        let out = self.look(["worktree", "list", "--porcelain", "-z"]).ok()?;
        let paths = nul_fields(&out)
            .filter_map(|field| std::str::from_utf8(field.strip_prefix(b"worktree ")?).ok())
            .map(PathBuf::from);
        Ok(paths.filter(|path| own_folder(path).is_some()).collect())
    }

    /// Take one of them away, with the folder that was made for it.
    pub fn clear_worktree(&self, tree: &Path) -> Result<(), GitError> {
        let Some(folder) = own_folder(tree) else { return Ok(()) };
        // One whose folder is gone is only forgotten.
        if tree.exists() {
            self.remove_worktree(tree)?;
        }
        let _gone = std::fs::remove_dir_all(folder);
        self.prune_worktrees()
    }

    /// Whether a loop is at work in any working tree of this repository.
    pub fn anybody_runs(&self) -> bool {
        let linked = std::fs::read_dir(self.common_dir.join("worktrees"));
        let linked = linked.into_iter().flatten().flatten().map(|entry| entry.path());
        let mut all = linked.chain([self.common_dir.clone(), self.git_dir.clone()]);
        all.any(|git_dir| who_runs(&git_dir.join("ralph")).is_some())
    }
}

/// The folder of a working tree, if ralph made it.
fn own_folder(tree: &Path) -> Option<&Path> {
    let folder = tree.parent()?;
    let name = folder.file_name()?.to_str()?;
    OWN_TREES.iter().any(|start| name.starts_with(start)).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trees_in_folders_of_our_own_are_ours() {
        assert!(own_folder(Path::new("/tmp/ralph-look-1/0")).is_some());
        assert!(own_folder(Path::new("/tmp/ralph-regate-x/tree")).is_some());
        assert!(own_folder(Path::new("/work/ralph-looks/tree")).is_none());
        assert!(own_folder(Path::new("/work/tree")).is_none());
    }
}
