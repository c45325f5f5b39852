//! The queue's file: whether it is new, whether it can be read, and what of it waits.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::control::CommandEffect;
use ralph_core::cycle::History;

use super::CommandListener;
use crate::drive::error::DriveError;
use crate::project::Project;

/// Least time between two looks at the file.
const LOOK: Duration = Duration::from_millis(100);

/// A file that cannot be read may be half written: so long it is given.
const PATIENCE: Duration = Duration::from_millis(400);

/// State of a file: inode, length, and modification time in seconds and nanoseconds.
pub(super) type CommandFileStamp = (u64, u64, i64, i64);

/// The queue, and what of it waits.
#[derive(Debug)]
pub(in crate::drive) struct CommandMailbox {
    pub(super) path: PathBuf,
    looked: Option<Instant>,
    pub(super) seen: Option<CommandFileStamp>,
    /// State of a file that cannot be read, and since when.
    pub(super) suspect: Option<(CommandFileStamp, Instant)>,
    /// Written down, and to be done when nothing runs.
    pub(super) held: Vec<(String, CommandEffect)>,
    /// Set when a command asked the loop to end.
    pub(super) stop: bool,
    /// Commands came since the loop last decided what to do.
    pub(super) spoken: bool,
    /// An attempt was open when the loop began, so its backend may have written what is there.
    pub(super) doubtful: bool,
}

impl CommandMailbox {
    pub(in crate::drive) fn of(project: &Project, history: &History) -> Self {
        Self {
            path: project.commands_json(),
            looked: None,
            seen: None,
            suspect: None,
            held: Vec::new(),
            stop: false,
            spoken: false,
            doubtful: is_at_work(history),
        }
    }

    /// Clear the doubt about the queue, after the commands that an earlier backend may have written.
    pub(in crate::drive) fn trust_from_now(&mut self) {
        self.doubtful = false;
    }

    /// Look the next time, however short ago the last one was.
    pub(super) fn look_again(&mut self) {
        self.looked = None;
    }

    /// Whether somebody asked the loop to end.
    pub(in crate::drive) fn stop_asked(&self) -> bool {
        self.stop
    }

    /// Whether commands came since the loop last decided what to do.
    pub(in crate::drive) fn has_spoken(&self) -> bool {
        self.spoken
    }

    /// Whether the file has changed since it was last read.
    pub(super) fn has_news(&mut self) -> Option<CommandFileStamp> {
        if self.looked.is_some_and(|at| at.elapsed() < LOOK) {
            return None;
        }
        self.looked = Some(Instant::now());
        let meta = std::fs::metadata(&self.path).ok()?;
        let stamp = (meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec());
        (self.seen != Some(stamp)).then_some(stamp)
    }
}

/// Whether an agent, or what it made, is at work.
pub(super) fn is_at_work(history: &History) -> bool {
    history.open.is_some() || history.consulting.is_some()
}

impl CommandListener<'_> {
    /// A file that cannot be read: half written, or damaged.
    pub(super) fn damaged(&mut self, stamp: CommandFileStamp, why: &str) -> Result<(), DriveError> {
        match self.mailbox.suspect {
            Some((known, since)) if known == stamp => {
                if since.elapsed() < PATIENCE {
                    return Ok(());
                }
            }
            _ => {
                self.mailbox.suspect = Some((stamp, Instant::now()));
                return Ok(());
            }
        }
        self.mailbox.suspect = None;
        let path = self.mailbox.path.clone();
        if let Some(place) = self.plan.store().set_commands_aside(&path)? {
            let shown = |path: &Path| {
                path.strip_prefix(self.project.root()).unwrap_or(path).display().to_string()
            };
            let (path, place) = (shown(&path), shown(&place));
            let message = format!("{path} cannot be read: {why}; it was moved to {place}");
            self.refuse(&message)?;
        }
        Ok(())
    }
}
