//! The base's ignore rules: an agent must not make ignored files part of its work by changing them.

use std::ffi::OsStr;

use super::error::LaneError;
use super::files;
use super::lane::Lane;
use crate::git::{Oid, Repo, RepoPath, nul_fields, nul_list};

impl Lane<'_> {
    /// Those of the changed paths that `base` ignores and does not track. They are taken out of the
    /// lane's index. Does nothing unless a `.gitignore` is among the changed paths.
    pub fn left_out_by_base(
        &self,
        base: &Oid,
        changed: &[RepoPath],
    ) -> Result<Vec<RepoPath>, LaneError> {
        if !changed.iter().any(|path| path.name() == b".gitignore") {
            return Ok(Vec::new());
        }
        let scratch = self.git_dir.join("base-rules");
        files::remove(&scratch)?;
        files::make_folder(&scratch)?;
        let ignored = self.ignored_by(base, changed, &scratch);
        files::remove(&scratch)?;
        let ignored = ignored?;
        if !ignored.is_empty() {
            self.repo.leave_out(None, &ignored.iter().collect::<Vec<_>>())?;
        }
        Ok(ignored)
    }

    /// Asks git in a working tree that has nothing but the base's ignore files.
    fn ignored_by(
        &self,
        base: &Oid,
        changed: &[RepoPath],
        scratch: &std::path::Path,
    ) -> Result<Vec<RepoPath>, LaneError> {
        let (tree, index) = (scratch.join("tree"), scratch.join("index"));
        files::make_folder(&tree)?;
        let home = &self.home.repo;
        let repo = Repo::explicit(&tree, &self.git_dir, home.common_dir(), home.runner());
        repo.git(["read-tree", base.as_str()]).index(&index).ok()?;
        let rules =
            repo.look(["ls-files", "-z", "--", ":(glob)**/.gitignore"]).index(&index).ok()?;
        repo.git(["checkout-index", "-f", "-z", "--stdin"]).index(&index).stdin(rules).ok()?;
        let call = repo.look(["check-ignore", "--no-index", "-z", "--stdin"]).index(&index);
        let answer = call.stdin(nul_list(changed)).run()?;
        if !matches!(answer.code, 0 | 1) {
            return Err(answer.into_error().into());
        }
        let ignored: Vec<RepoPath> = nul_fields(&answer.stdout).map(RepoPath::new).collect();
        if ignored.is_empty() {
            return Ok(ignored);
        }
        let args = ["ls-files", "-z", "--"].map(OsStr::new).into_iter();
        let args = args.chain(ignored.iter().map(|path| path.as_path().as_os_str()));
        let tracked = repo.look(args).index(&index).env("GIT_LITERAL_PATHSPECS", "1").ok()?;
        let tracked: Vec<RepoPath> = nul_fields(&tracked).map(RepoPath::new).collect();
        Ok(ignored.into_iter().filter(|path| !tracked.contains(path)).collect())
    }
}
