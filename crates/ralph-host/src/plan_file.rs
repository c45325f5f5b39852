//! Find the plan file of a project.
//!
//! # Theory of operation
//!
//! A path on the command line comes first, then the configuration, then a search. The native plan
//! wins over the files of other tools. Of those there must be exactly one: a guess between two plans
//! would put tasks into the wrong file.

use std::path::{Path, PathBuf};

use crate::project::{Project, is_there};

/// Plan files of other tools, and of projects without a `ralph/` directory.
const ELSEWHERE: [&str; 5] = [
    "plan.json",
    "progress.md",
    "implementation.json",
    ".ralph-wiggum/implementation.json",
    "plan.jsonl",
];

/// Error when the plan file cannot be determined.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanFileError {
    /// There is none, and nobody said that this is a project.
    #[error("there is no plan in {}", root.display())]
    NotAProject { root: PathBuf },
    #[error("{} has more than one plan file: {}", root.display(), found.join(", "))]
    Several {
        root: PathBuf,
        /// Plan files that exist, relative to `root`.
        found: Vec<&'static str>,
    },
}

impl PlanFileError {
    /// Return a hint on how to fix the error.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotAProject { .. } => {
                Some("`ralph init` makes this directory a project".to_owned())
            }
            Self::Several { found, .. } => {
                found.first().map(|first| format!("say which one you mean: `--plan {first}`"))
            }
        }
    }
}

/// The plan file of `project`: `flag` (relative to the current directory), else `configured`
/// (relative to the root), else the native plan, else the one that is found. The file need not
/// exist.
pub fn plan_file(
    project: &Project,
    flag: Option<&Path>,
    configured: Option<&Path>,
) -> Result<PathBuf, PlanFileError> {
    if let Some(flag) = flag {
        return Ok(project.ledger_path(flag));
    }
    if let Some(configured) = configured {
        return Ok(project.ledger_path(&project.root().join(configured)));
    }
    let native = project.plan_jsonl();
    if is_there(&native) {
        return Ok(native);
    }
    let root = project.root().to_owned();
    let is_found = |name: &&str| is_there(&project.ledger_file(name));
    let found: Vec<_> = ELSEWHERE.into_iter().filter(is_found).collect();
    match found.as_slice() {
        [one] => Ok(project.ledger_file(one)),
        [] if project.is_initialised() => Ok(native),
        [] => Err(PlanFileError::NotAProject { root }),
        _ => Err(PlanFileError::Several { root, found }),
    }
}

#[cfg(test)]
#[path = "plan_file_tests.rs"]
mod tests;
