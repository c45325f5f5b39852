//! Where a project is and where its files are.
//!
//! # Theory of operation
//!
//! [`Project::discover`] walks up from a directory once. The nearest `ralph.toml` is the strongest
//! sign; without one, the nearest directory with a ledger (`ralph/`) or a repository is the root;
//! without either, the starting directory itself, so that commands which need no repository work
//! anywhere. Everything else is a path below the root, except for locks and journals, which live
//! inside the git directory of this worktree, where `git clean -fdx` cannot reach.

use std::fs;
use std::path::{Path, PathBuf};

pub use crate::git_dir::GitDirError;
use crate::{FileError, file_error::Action, git_dir};

/// A project on disk: its root and, where there is one, its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
    git_dir: Option<PathBuf>,
}

/// No project can be worked on from here.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The directory is a bare repository.
    #[error("this is a bare repository, without working files: {}", .0.display())]
    Bare(PathBuf),
    /// The directory is the inside of a repository.
    #[error("this is the inside of a git directory: {}", .0.display())]
    InsideGit(PathBuf),
    /// A `.git` that cannot be followed.
    #[error(transparent)]
    GitDir(#[from] GitDirError),
    /// The starting directory cannot be used.
    #[error(transparent)]
    Start(#[from] FileError),
}

impl ProjectError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Bare(_) => Some(
                "run ralph in a clone or a worktree of it (`git worktree add ../work`)".to_owned(),
            ),
            Self::InsideGit(_) => {
                Some("run ralph in the directory that holds your files".to_owned())
            }
            Self::GitDir(e) => e.hint(),
            Self::Start(e) => e.hint(),
        }
    }
}

impl Project {
    /// The project that the directory `start` belongs to.
    pub fn discover(start: &Path) -> Result<Self, ProjectError> {
        let start = fs::canonicalize(start).map_err(FileError::io(Action::Read, start))?;
        let mut marked = None;
        let mut configured = None;
        for dir in start.ancestors() {
            let toml = fs::symlink_metadata(dir.join("ralph.toml"));
            if toml.is_ok_and(|meta| !meta.is_dir()) {
                configured = Some(dir);
                break;
            }
            // A repository is a whole: what stands above it, in a shared folder perhaps, may not
            // say which commands run in it.
            if git_dir::of(dir)?.is_some() {
                marked = marked.or(Some(dir));
                break;
            }
            if marked.is_none() && has_ledger(dir) {
                marked = Some(dir);
            } else if marked.is_none() && git_dir::is_git_dir(dir) {
                return Err(no_working_files(dir));
            }
        }
        let root = configured.or(marked).unwrap_or(&start).to_owned();
        Ok(Self { git_dir: git_dir::find(&root)?, root })
    }

    /// The directory that paths in configuration and plans are relative to.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The project's name: that of its directory.
    pub fn name(&self) -> String {
        self.root.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The git directory of this worktree; `None` outside of a repository.
    pub fn git_dir(&self) -> Option<&Path> {
        self.git_dir.as_deref()
    }

    /// Where locks and journals live; made when first needed.
    pub fn state_dir(&self) -> PathBuf {
        self.git_dir.as_ref().map_or_else(|| self.root.join(".ralph"), |git| git.join("ralph"))
    }

    /// Whether somebody meant this directory to be a project.
    pub fn is_initialised(&self) -> bool {
        self.git_dir.is_some() || self.root.join("ralph").is_dir() || is_there(&self.ralph_toml())
    }

    /// The configuration file.
    pub fn ralph_toml(&self) -> PathBuf {
        self.root.join("ralph.toml")
    }

    /// The directory of specs.
    pub fn specs_dir(&self) -> PathBuf {
        self.root.join("ralph/specs")
    }

    /// The native plan.
    pub fn plan_jsonl(&self) -> PathBuf {
        self.root.join("ralph/plan.jsonl")
    }

    /// The queue of specs.
    pub fn inbox(&self) -> PathBuf {
        self.root.join("ralph/inbox.jsonl")
    }

    /// Where the output of backends is kept.
    pub fn logs_dir(&self) -> PathBuf {
        self.root.join("build/ralph-logs")
    }

    /// Numbers about the running agent loop.
    pub fn agent_session(&self) -> PathBuf {
        self.root.join("ralph/.agent-session")
    }

    /// What operators ask of the running loop.
    pub fn commands_json(&self) -> PathBuf {
        self.root.join(".ralph/control/commands.json")
    }

    /// The state of the running build loop.
    pub fn state_json(&self) -> PathBuf {
        self.root.join(".ralph/state.json")
    }
}

/// Whether something other than a directory is there. What may not be looked at counts as there,
/// so that reading it gives the reason instead of ralph quietly taking another file.
pub(crate) fn is_there(path: &Path) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    match fs::symlink_metadata(path) {
        Ok(meta) => !meta.is_dir(),
        Err(e) => !matches!(e.kind(), NotFound | NotADirectory),
    }
}

/// Whether `dir` has a `ralph/` with something of ours in it: the name alone is too common.
fn has_ledger(dir: &Path) -> bool {
    let ralph = dir.join("ralph");
    ralph.is_dir()
        && (ralph.join("specs").is_dir()
            || ralph.join("plan.jsonl").is_file()
            || ralph.join("inbox.jsonl").is_file())
}

fn no_working_files(dir: &Path) -> ProjectError {
    let inside = dir.components().any(|c| c.as_os_str() == ".git");
    if inside {
        ProjectError::InsideGit(dir.to_owned())
    } else {
        ProjectError::Bare(dir.to_owned())
    }
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
