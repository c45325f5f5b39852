//! Why a job could not be run at all.

use std::io;
use std::path::PathBuf;

/// A job could not be run. How a job that ran has ended is no error.
#[derive(Debug, thiserror::Error)]
pub enum ProcError {
    #[error("cannot start the process that watches over the others: {0}")]
    Supervisor(#[source] io::Error),
    /// The supervisor went away in the middle.
    #[error("the process that watches over the others was killed; its children were ended too")]
    Lost,
    /// The program is there and cannot be started.
    #[error("cannot start {}: {source}", program.display())]
    Start { program: PathBuf, source: io::Error },
    /// The directory to run in is not there.
    #[error("cannot run in {}: it is not a directory", .0.display())]
    Directory(PathBuf),
    #[error("cannot write the log {}: {source}", path.display())]
    Log { path: PathBuf, source: io::Error },
    /// No pipe or no thread to be had.
    #[error("cannot connect to a new process: {0}")]
    Pipes(#[source] io::Error),
    /// A file of the run cannot be made.
    #[error("cannot write {}: {source}", path.display())]
    Scratch { path: PathBuf, source: io::Error },
}

impl ProcError {
    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Supervisor(_) | Self::Pipes(_) => Some(
                "the system may be out of processes, memory or open files (`ulimit -a`)".into(),
            ),
            Self::Lost => Some("run it again; the work so far is in the log".into()),
            Self::Start { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => Some("make it executable (`chmod +x`)".into()),
                io::ErrorKind::NotFound => {
                    Some("the file is there, so its first line names a program that is not".into())
                }
                io::ErrorKind::ArgumentListTooLong => {
                    Some("its arguments are too long; pass them in a file".into())
                }
                _ => None,
            },
            Self::Directory(_) | Self::Log { .. } | Self::Scratch { .. } => None,
        }
    }
}
