//! Why git could not do what was asked.

use std::io;
use std::path::PathBuf;

use super::lane_folder::LaneDamage;
use super::name::RepoPath;
use super::state::GitOperation;
use crate::file_error::FileError;
use crate::proc::ProcError;

/// Git could not do what was asked. Nothing of the user's is lost by any of these.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no working tree here.
    #[error("{} is not inside a git working tree", .0.display())]
    NoWorkingTree(PathBuf),
    /// Something of git's own is unfinished.
    #[error("a {0} is in progress in this repository")]
    InProgress(GitOperation),
    #[error("{} with conflicts: {}", files(.0.len()), list(.0))]
    Unmerged(Vec<RepoPath>),
    /// The tree has changes and the configuration says not to start then.
    #[error("{} with changes that are not committed: {}", files(.0.len()), list(.0))]
    Dirty(Vec<RepoPath>),
    #[error("another program is using this repository: {} is there", .0.display())]
    Locked(PathBuf),
    /// Git does not know who commits.
    #[error("git does not know your name and address, which a commit needs")]
    Identity,
    /// The commit could not be signed.
    #[error("git could not sign a commit: {}", .0.trim())]
    Signing(String),
    /// Files kept changing while the tree was being put back.
    #[error("files change while they are being put back: {}", list(.0))]
    Busy(Vec<RepoPath>),
    #[error("git is not installed")]
    NotInstalled,
    /// The directory of a lane is not the one that ralph opened.
    #[error("the lane {} {damage}", path.display())]
    LaneDamaged {
        /// The directory.
        path: PathBuf,
        damage: LaneDamage,
    },
    /// Git took longer than it may.
    #[error("`git {0}` did not come to an end")]
    TimedOut(String),
    /// Git died by a signal, so it gave no answer.
    #[error("`git {command}` was killed by signal {signal}")]
    Killed {
        /// Subcommand of git, for example `commit`.
        command: String,
        signal: i32,
    },
    #[error("`git {command}` failed ({code}): {message}")]
    Failed {
        /// Subcommand of git, for example `commit`.
        command: String,
        code: i32,
        /// Error output of git.
        message: String,
    },
    /// Output of this command that ralph could not parse.
    #[error("`git {0}` printed something that ralph does not understand")]
    Unreadable(String),
    /// A file of the git directory or the tree could not be used.
    #[error("cannot {action} {}: {}", path.display(), crate::file_error::words(source))]
    Io {
        /// Verb for the message, for example `write`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A note of ralph's own could not be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Process that could not be run at all.
    #[error(transparent)]
    Proc(#[from] ProcError),
}

impl GitError {
    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoWorkingTree(_) => Some("run `git init`, or go to a clone or worktree".into()),
            Self::InProgress(operation) => Some(format!(
                "finish it (`{}`) or give it up (`{}`), then start ralph again",
                operation.finish(),
                operation.give_up()
            )),
            Self::Unmerged(_) => Some("resolve them and `git add` them, or undo the merge".into()),
            Self::Dirty(_) => Some(
                "commit or stash them; with workspace = \"lane\" and on_dirty = \"leave\" they stay as \
                 they are"
                    .into(),
            ),
            Self::Locked(path) => Some(format!(
                "wait for the other program; if there is none, remove {}",
                path.display()
            )),
            Self::Identity => Some(
                "git config user.name \"Your Name\" && git config user.email you@example.com"
                    .into(),
            ),
            Self::Signing(_) => Some(
                "make `git commit --allow-empty -S -m try` work, or `git config commit.gpgSign false`; \
                 the next start lands the work, which is kept"
                    .into(),
            ),
            Self::Busy(_) => Some("stop what writes them, then start ralph again".into()),
            Self::NotInstalled => Some("install git 2.40 or newer".into()),
            Self::TimedOut(_) => Some("a hook or a filter of this repository may hang".into()),
            Self::Killed { .. } => Some(
                "start ralph again; if it happens again, the machine may be out of memory".into(),
            ),
            Self::Failed { message, .. } if message.contains("dubious ownership") => {
                Some("the repository belongs to another user; git's message says what to do".into())
            }
            Self::Failed { message, .. } if message.contains("unknown option") => {
                Some("ralph needs git 2.40 or newer".into())
            }
            Self::Failed { .. }
            | Self::LaneDamaged { .. }
            | Self::Unreadable(_)
            | Self::Io { .. } => None,
            Self::File(e) => e.hint(),
            Self::Proc(e) => e.hint(),
        }
    }

    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}

/// Most paths that a message names.
const NAMED: usize = 5;

fn list(paths: &[RepoPath]) -> String {
    let named: Vec<String> = paths.iter().take(NAMED).map(ToString::to_string).collect();
    match paths.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn files(count: usize) -> String {
    if count == 1 { "one file".to_owned() } else { format!("{count} files") }
}
