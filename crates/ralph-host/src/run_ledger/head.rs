//! The branch that a work tree is on, read from its `HEAD` file without starting git.

use std::fs;
use std::path::Path;

/// The reference in a `HEAD` file of a repository that keeps its references elsewhere (reftable).
const ELSEWHERE: &str = "refs/heads/.invalid";

/// The branch that a work tree is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeadBranch {
    /// A branch, which need not have a commit yet.
    Named(String),
    /// Detached HEAD: a commit and no branch.
    Detached,
    /// State that only git can tell.
    Unknown,
}

impl HeadBranch {
    /// Read the branch from the `HEAD` file of a git directory.
    pub fn read(git_dir: &Path) -> Self {
        let path = git_dir.join("HEAD");
        // Old repositories have a link to the branch's own file.
        let link = fs::read_link(&path).ok().map(|link| link.to_string_lossy().into_owned());
        let text = link.map(Ok).unwrap_or_else(|| {
            fs::read_to_string(&path).map(|text| match text.strip_prefix("ref:") {
                Some(reference) => reference.trim().to_owned(),
                None => String::new(),
            })
        });
        match text.as_deref() {
            Err(_) | Ok(ELSEWHERE) => Self::Unknown,
            Ok("") => Self::Detached,
            Ok(reference) => match reference.strip_prefix("refs/heads/") {
                Some(branch) => Self::Named(branch.to_owned()),
                None => Self::Detached,
            },
        }
    }

    /// Whether it is this branch, or may be.
    pub fn is(&self, branch: Option<&str>) -> bool {
        match self {
            Self::Named(name) => branch == Some(name),
            Self::Detached => branch.is_none(),
            Self::Unknown => true,
        }
    }
}
