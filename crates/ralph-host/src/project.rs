//! Locate a project and its files.
//!
//! # Theory of operation
//!
//! [`Project::discover`] walks up from a directory once. The nearest `ralph.toml` is the strongest
//! sign. Without one, the nearest directory with a ledger (`ralph/`) or a repository is the root.
//! Without either, the starting directory is the root, so that commands which need no repository
//! work anywhere. Every other path is below the root, except for locks and journals. They are inside
//! the git directory of this worktree, where `git clean -fdx` does not delete them.

use std::fs;
use std::path::{Path, PathBuf};

pub use crate::git_dir::GitDirError;
use crate::run_ledger::HeadBranch;
use crate::{FileError, file_error::FileAction, git_dir, run_ledger};

/// A project on disk: its root and, where there is one, its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
    git_dir: Option<PathBuf>,
    /// The branch of the run that works on it; a command has none.
    run: Option<String>,
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
    /// Return a hint on how to fix the error, if one is known.
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
        let start = fs::canonicalize(start).map_err(FileError::io(FileAction::Read, start))?;
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
        Ok(Self { git_dir: git_dir::find(&root)?, root, run: None })
    }

    /// The same project as this run sees it: its ledger files are that run's, whatever branch home is on
    /// and its commits arrive on.
    pub(crate) fn of_run(self, run: &str) -> Self {
        Self { run: Some(run.to_owned()), ..self }
    }

    /// The run that works on it.
    pub(crate) fn run(&self) -> Option<&str> {
        self.run.as_deref()
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

    /// The branch that the project is on; `None` for a detached HEAD, and where only git can tell.
    pub fn branch(&self) -> Option<String> {
        match HeadBranch::read(self.git_dir()?) {
            HeadBranch::Named(branch) => Some(branch),
            HeadBranch::Detached | HeadBranch::Unknown => None,
        }
    }

    /// Return the directory of locks and journals. It is made when it is first needed.
    pub fn state_dir(&self) -> PathBuf {
        self.git_dir.as_ref().map_or_else(|| self.root.join(".ralph"), |git| git.join("ralph"))
    }

    /// Whether somebody meant this directory to be a project.
    pub fn is_initialised(&self) -> bool {
        self.git_dir.is_some() || self.root.join("ralph").is_dir() || is_there(&self.ralph_toml())
    }

    /// Return the path of the configuration file.
    pub fn ralph_toml(&self) -> PathBuf {
        self.root.join("ralph.toml")
    }

    /// Return the path of the directory of specs.
    pub fn specs_dir(&self) -> PathBuf {
        self.root.join("ralph/specs")
    }

    /// Return the path of the native plan. While a run is open, this is the run's copy.
    pub fn plan_jsonl(&self) -> PathBuf {
        self.ledger_file("ralph/plan.jsonl")
    }

    /// Resolve a ledger file, given relative to the root: the copy of the open run of the branch that
    /// home is on, or the file in home.
    pub fn ledger_file(&self, relative: &str) -> PathBuf {
        self.ledger_root(relative).join(relative)
    }

    /// The directory below which a ledger file is: that of a run's copies, or the root.
    pub fn ledger_root(&self, relative: &str) -> PathBuf {
        match run_ledger::find_open_run(self) {
            Some((run, open_run)) if open_run.files().iter().any(|file| file == relative) => {
                run_ledger::copies_in(&run)
            }
            _ => self.root.clone(),
        }
    }

    /// Resolve any path: a ledger file of the open run becomes its copy, any other path stays.
    pub fn ledger_path(&self, path: &Path) -> PathBuf {
        let Some((run, open_run)) = run_ledger::find_open_run(self) else { return path.to_owned() };
        let plain = plain_path(path);
        let relative = plain.strip_prefix(&self.root).ok().and_then(Path::to_str);
        match relative.filter(|file| open_run.files().iter().any(|known| known == file)) {
            Some(file) => run_ledger::copies_in(&run).join(file),
            None => path.to_owned(),
        }
    }

    /// The path in the project that people know a file by: a copy of a run is shown as the file in home.
    pub fn shown_path(&self, path: &Path) -> PathBuf {
        match run_ledger::shown_copy(self, path) {
            Some(file) => self.root.join(file),
            None => path.to_owned(),
        }
    }

    /// The same, relative to the root where it is below it.
    pub fn relative_path(&self, path: &Path) -> String {
        let shown = self.shown_path(path);
        shown.strip_prefix(&self.root).unwrap_or(&shown).display().to_string()
    }

    /// Return the path of the queue of specs.
    pub fn inbox(&self) -> PathBuf {
        self.root.join("ralph/inbox.jsonl")
    }

    /// Return the directory of the backends' logs.
    pub fn logs_dir(&self) -> PathBuf {
        self.root.join("build/ralph-logs")
    }

    /// Numbers about the running agent loop.
    pub fn agent_session(&self) -> PathBuf {
        self.root.join("ralph/.agent-session")
    }

    /// Return the path of the queue of commands that operators send to the running loop.
    pub fn commands_json(&self) -> PathBuf {
        self.root.join(".ralph/control/commands.json")
    }

    /// The state of the running build loop.
    pub fn state_json(&self) -> PathBuf {
        self.root.join(".ralph/state.json")
    }
}

/// A path without links and `..` in its directory, where that exists.
fn plain_path(path: &Path) -> PathBuf {
    let directory = path.parent().and_then(|directory| fs::canonicalize(directory).ok());
    match (directory, path.file_name()) {
        (Some(directory), Some(name)) => directory.join(name),
        _ => path.to_owned(),
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
