//! Two locks per worktree, owned by the operating system and released by death.
//!
//! # Theory of operation
//!
//! `ledger.lock` is held for milliseconds around one read-modify-write; whoever finds it taken
//! waits its turn, but not for ever. `run.lock` is held for the life of a loop; whoever finds it
//! taken is told by whom. The files stay where they are when nobody holds them: removing a lock
//! file lets two processes lock two different files of the same name. What is written in them is
//! for the message alone, so a stale pid can never block anybody.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::file_error::{FileAction, io_hint, is_read_only, words};

/// Longest time that a command waits while one other process holds the ledger.
pub const LEDGER_WAIT: Duration = Duration::from_secs(60);

/// Number of further tries when the lock is taken.
const LOOKS: u32 = 3;
const LOOK: Duration = Duration::from_millis(15);

/// Most characters of a command line that are kept for messages.
const LONGEST_COMMAND: usize = 200;

/// The name of the lock that a loop holds for life.
const RUN_LOCK: &str = "run.lock";

/// Process that holds a lock, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    pub pid: u32,
    /// Time at which it started, in RFC 3339.
    pub started: String,
    /// Command line, cut to a length that fits into a message.
    pub command: String,
}

impl LockHolder {
    /// Describe this process. `started` is a time in RFC 3339.
    pub fn this_process(started: impl Into<String>) -> Self {
        let words: Vec<String> = std::env::args_os()
            .enumerate()
            .map(|(n, word)| match Path::new(&word).file_name() {
                Some(name) if n == 0 => name.to_string_lossy().into_owned(),
                _ => word.to_string_lossy().into_owned(),
            })
            .collect();
        let mut command: String = words.join(" ").chars().take(LONGEST_COMMAND).collect();
        command = command.replace(char::is_control, " ");
        Self { pid: std::process::id(), started: started.into(), command }
    }

    /// Whether it is a loop, which takes commands such as `ralph stop`.
    fn is_loop(&self) -> bool {
        self.command.split(' ').any(|word| matches!(word, "build" | "construct" | "agent"))
    }

    /// Write the name into a lock file. It is for messages only, so failing at it is no reason not
    /// to have the lock.
    fn write_to(&self, file: &File) {
        let text = format!("{}\n{}\n{}\n", self.pid, self.started, self.command);
        // A loop takes the lock again and again, and finds its own name.
        let mut old = vec![0; text.len() + 1];
        let length = file.read_at(&mut old, 0).unwrap_or(0);
        if old.get(..length) != Some(text.as_bytes()) {
            let _unnamed = file.set_len(0).and_then(|()| file.write_all_at(text.as_bytes(), 0));
        }
    }

    /// Read the holder from the lock file at `path`. `None` when the file names none.
    fn read_from(path: &Path) -> Option<Self> {
        let text = fs::read(path).ok()?;
        let text = String::from_utf8_lossy(&text);
        let mut lines = text.lines();
        Some(Self {
            pid: lines.next()?.parse().ok()?,
            started: lines.next()?.to_owned(),
            command: lines.next()?.to_owned(),
        })
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} (`{}`, since {})", self.pid, self.command, self.started)
    }
}

/// A lock that could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// A loop runs in this worktree.
    #[error("already running, {}", who(holder.as_ref()))]
    AlreadyRunning {
        /// Process that holds the lock, if the lock file names it.
        holder: Option<LockHolder>,
    },
    /// Another command holds the ledger and does not let go.
    #[error("waited {} s for the plan, which is in use by {}", waited.as_secs(), who(holder.as_ref()))]
    Busy {
        /// Process that holds the lock, if the lock file names it.
        holder: Option<LockHolder>,
        waited: Duration,
    },
    /// The lock file, or the directory for it, cannot be made or locked.
    #[error("cannot lock {}: {}", path.display(), words(source))]
    Io { path: PathBuf, source: io::Error },
}

fn who(holder: Option<&LockHolder>) -> String {
    holder.map_or_else(|| "a process that did not say its name".to_owned(), LockHolder::to_string)
}

impl LockError {
    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::AlreadyRunning { holder } => Some(match holder {
                Some(h) if !h.is_loop() => {
                    format!("wait until it is done, or stop it: `kill {}`", h.pid)
                }
                _ => "wait until it is done, or stop it: `ralph stop`".to_owned(),
            }),
            Self::Busy { holder, .. } => Some(match holder {
                Some(h) => format!(
                    "try again; if that process hangs, `kill {}` sets the plan free at once",
                    h.pid
                ),
                None => "try again; the plan is free as soon as that process ends".to_owned(),
            }),
            Self::Io { path, source } if is_read_only(source) => Some(format!(
                "changes need a lock in {}: make that directory and the files in it writable",
                path.parent().unwrap_or(path).display()
            )),
            Self::Io { path, source } => io_hint(FileAction::Write, path, source),
        }
    }
}

/// The right to change ledger files; dropping it gives it back.
#[derive(Debug)]
pub struct LedgerLock {
    _held: LockedFile,
}

impl LedgerLock {
    /// Take the ledger lock of `state_dir`, waiting at most `limit` for any one process that has it.
    pub fn acquire(
        state_dir: &Path,
        holder: &LockHolder,
        limit: Duration,
    ) -> Result<Self, LockError> {
        let path = state_dir.join("ledger.lock");
        let file = open(state_dir, &path)?;
        let file = match file.try_lock() {
            Ok(()) => file,
            Err(TryLockError::WouldBlock) => wait(file, &path, limit)?,
            Err(TryLockError::Error(source)) => return Err(LockError::Io { path, source }),
        };
        holder.write_to(&file);
        Ok(Self { _held: LockedFile(file) })
    }
}

/// The right to be the one loop of this worktree; dropping it gives it back.
#[derive(Debug)]
pub struct RunLock {
    _held: LockedFile,
}

impl RunLock {
    /// Take the run lock of `state_dir`, or say who has it.
    pub fn acquire(state_dir: &Path, holder: &LockHolder) -> Result<Self, LockError> {
        let path = state_dir.join(RUN_LOCK);
        let file = open(state_dir, &path)?;
        let mut looks = 0;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // Somebody may only look who has it, which takes no time.
                Err(TryLockError::WouldBlock) if looks < LOOKS => {
                    looks += 1;
                    thread::sleep(LOOK);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(LockError::AlreadyRunning { holder: LockHolder::read_from(&path) });
                }
                Err(TryLockError::Error(source)) => return Err(LockError::Io { path, source }),
            }
        }
        holder.write_to(&file);
        Ok(Self { _held: LockedFile(file) })
    }
}

/// Whether there is such a process, whoever it belongs to.
fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// Return the loop that runs in this worktree, if there is one. The lock is tried only while its last
/// holder is alive, and then for a moment, so that looking disturbs no other process.
pub fn who_runs(state_dir: &Path) -> Option<LockHolder> {
    let path = state_dir.join(RUN_LOCK);
    let holder = LockHolder::read_from(&path).filter(|holder| is_alive(holder.pid))?;
    let file = File::open(&path).ok()?;
    match file.try_lock_shared() {
        Ok(()) => {
            drop(LockedFile(file));
            None
        }
        Err(_) => Some(holder),
    }
}

/// A locked file. It is unlocked by name and not just closed: a child that another thread is
/// starting at this moment has a copy of it until its program is loaded.
#[derive(Debug)]
struct LockedFile(File);

impl Drop for LockedFile {
    fn drop(&mut self) {
        let _closing_unlocks_too = self.0.unlock();
    }
}

/// Open a lock file. The standard library opens files close-on-exec, so no child inherits it and
/// keeps the lock alive after us.
fn open(state_dir: &Path, path: &Path) -> Result<File, LockError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    match options.open(path) {
        // One level only: when the git directory itself is gone, it must not come back empty.
        Err(e) if e.kind() == ErrorKind::NotFound => match fs::create_dir(state_dir) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e),
            _ => options.open(path),
        },
        other => other,
    }
    .map_err(|source| LockError::Io { path: path.to_owned(), source })
}

/// Wait for the lock in a thread of its own, because the blocking call has no time limit. When
/// nobody waits any more, the thread's message is dropped and with it the file and the lock.
fn wait(file: File, path: &Path, limit: Duration) -> Result<File, LockError> {
    let (done, turn) = mpsc::sync_channel(1);
    let io_error = |source| LockError::Io { path: path.to_owned(), source };
    thread::Builder::new()
        .name("ledger-lock".to_owned())
        .spawn(move || {
            let _nobody_waits = done.send(lock(&file).map(|()| file));
        })
        .map_err(io_error)?;
    let mut before = LockHolder::read_from(path);
    loop {
        if let Ok(outcome) = turn.recv_timeout(limit) {
            return outcome.map_err(io_error);
        }
        // In a long queue the turn comes: only a process that never lets go is given up on.
        let holder = LockHolder::read_from(path);
        if holder == before {
            return Err(LockError::Busy { holder, waited: limit });
        }
        before = holder;
    }
}

fn lock(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
