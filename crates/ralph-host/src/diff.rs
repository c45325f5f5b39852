//! What a commit changed, as a patch, for people who look at an attempt.

use std::path::Path;

use ralph_core::backend::{Ending, Exit};

use crate::proc::{Job, Line, ProcError, Runner, Step};

/// Variables that would point git at another repository.
const ELSEWHERE: [&str; 5] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"];

/// A patch that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// Git could not be run.
    #[error(transparent)]
    Proc(#[from] ProcError),
    /// Git is not installed.
    #[error("git is not installed")]
    NoGit,
    /// Git does not know the commit.
    #[error("git cannot show {revision}: {message}")]
    Refused {
        /// What was asked for.
        revision: String,
        /// What it said.
        message: String,
    },
}

impl DiffError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Proc(error) => error.hint(),
            Self::NoGit => Some("install git".to_owned()),
            Self::Refused { .. } => Some(
                "kept work is given up after a while: `ralph config get retention.salvage`".into(),
            ),
        }
    }
}

/// What a commit, or the commit that a ref names, changed against its parent.
pub fn of_commit(root: &Path, revision: &str) -> Result<Vec<u8>, DiffError> {
    let mut job = Job::new("git", root).args(["--no-pager", "show", "--no-color", "--no-ext-diff"]);
    job = job.args(["--format=", "--patch", "--end-of-options", revision, "--"]);
    job.env.extend(ELSEWHERE.map(|name| (name.into(), None)));
    let mut patch = Vec::new();
    let mut take = |line: Line<'_>| {
        patch.extend_from_slice(line.bytes);
        patch.push(b'\n');
        Step::Continue
    };
    let finished = Runner::new(format!("diff-{}", std::process::id())).run(&job, &mut take)?;
    match finished.exit {
        Exit { ending: Ending::Code(0), .. } => Ok(patch),
        Exit { ending: Ending::NotFound, .. } => Err(DiffError::NoGit),
        _ => Err(DiffError::Refused {
            revision: revision.to_owned(),
            message: finished.stderr_tail.trim().to_owned(),
        }),
    }
}
