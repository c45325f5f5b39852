//! `commands.json`, the queue of the control plane: anybody adds to it, the loop takes out.
//!
//! What ralph's own commands and pages add stands in the git directory as well. That copy vouches for
//! it: a backend that works in the checkout can write the queue, but is not asked for what it says.
//!
//! An entry stays in the file until what it asks for is done, and the journal knows its id before that
//! begins. So a crash in between neither loses a command nor carries it out twice.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ralph_core::control::{CommandQueue, LoopCommand, QueueError, QueuedCommand};

use super::{LedgerStore, LedgerStoreError, atomic, target};
use crate::file_error::{FileAction, FileError};

/// Content of the queue of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandQueueContent {
    /// These, each with an id that the file has too.
    Queue(Vec<QueuedCommand>),
    /// Reason why the queue cannot be read.
    Damaged(String),
}

impl LedgerStore {
    /// Add a command for a person. A file that cannot be read is moved away first; where to is returned.
    pub fn send_command(
        &self,
        path: &Path,
        command: &LoopCommand,
        id: &str,
    ) -> Result<Option<PathBuf>, LedgerStoreError> {
        let _lock = self.lock()?;
        let made = std::fs::create_dir_all(target::directory_of(path));
        made.map_err(FileError::io(FileAction::Write, path))?;
        self.change_vouched(|queue| queue.push(command, id))?;
        let mut aside = None;
        change(path, |bytes| {
            let mut queue = match read(bytes) {
                Ok(queue) => queue,
                Err(_) => {
                    aside = Some(keep(path, bytes.unwrap_or_default())?);
                    CommandQueue::default()
                }
            };
            queue.push(command, id);
            Ok((Some(queue), ()))
        })?;
        Ok(aside)
    }

    /// Read the commands in the queue. Entries without an id get one from `mint`, also in the file.
    pub fn read_commands(
        &self,
        path: &Path,
        mint: &mut dyn FnMut() -> String,
    ) -> Result<CommandQueueContent, LedgerStoreError> {
        let _lock = self.lock()?;
        change(path, |bytes| {
            let mut queue = match read(bytes) {
                Ok(queue) => queue,
                Err(why) => return Ok((None, CommandQueueContent::Damaged(why.to_string()))),
            };
            let named = queue.name_all(mint);
            let entries = queue.entries();
            Ok((named.then_some(queue), CommandQueueContent::Queue(entries)))
        })
    }

    /// Take these out, now that they are done.
    pub fn drop_commands(
        &self,
        path: &Path,
        ids: &BTreeSet<String>,
    ) -> Result<(), LedgerStoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.change_vouched(|queue| queue.remove(ids))?;
        change(path, |bytes| {
            // What cannot be read is told when it is read.
            let queue = bytes.and_then(|bytes| read(Some(bytes)).ok());
            let left = queue.map(|mut queue| {
                queue.remove(ids);
                queue
            });
            Ok((left, ()))
        })
    }

    /// Whether ralph put this very command into the queue, for a person.
    pub fn vouches_for(&self, entry: &QueuedCommand) -> Result<bool, LedgerStoreError> {
        let vouched = read(target::read(&self.vouched())?.as_deref()).unwrap_or_default();
        Ok(vouched.entries().contains(entry))
    }

    fn vouched(&self) -> PathBuf {
        self.state_dir.join("commands.json")
    }

    fn change_vouched(&self, alter: impl Fn(&mut CommandQueue)) -> Result<(), LedgerStoreError> {
        change(&self.vouched(), |bytes| {
            let old = read(bytes).unwrap_or_default();
            let mut new = old.clone();
            alter(&mut new);
            Ok(((new != old).then_some(new), ()))
        })
    }

    /// Move a file that cannot be read away, unless somebody has mended it. Returns where it is.
    pub fn set_commands_aside(&self, path: &Path) -> Result<Option<PathBuf>, LedgerStoreError> {
        let _lock = self.lock()?;
        let bytes = target::read(path)?;
        if read(bytes.as_deref()).is_ok() {
            return Ok(None);
        }
        let place = keep(path, &bytes.unwrap_or_default())?;
        atomic::replace(path, CommandQueue::default().text().as_bytes())?;
        Ok(Some(place))
    }
}

/// Change the queue. Strangers know no lock: whoever puts a new file in its place while the change is
/// on its way to the disk is not written over; it is made again.
fn change<T>(
    path: &Path,
    mut change: impl FnMut(Option<&[u8]>) -> Result<(Option<CommandQueue>, T), LedgerStoreError>,
) -> Result<T, LedgerStoreError> {
    loop {
        let before = stamp(path);
        let (queue, value) = change(target::read(path)?.as_deref())?;
        let Some(queue) = queue else { return Ok(value) };
        let mut moved = false;
        let put = atomic::replace_when(path, queue.text().as_bytes(), || {
            moved = stamp(path) != before;
            let error = || FileError::io(FileAction::Write, path)(ErrorKind::Interrupted.into());
            if moved { Err(error()) } else { Ok(()) }
        });
        match put {
            Err(_) if moved => {}
            other => {
                let synced = other?.wait();
                synced.map_err(FileError::io(FileAction::Write, path))?;
                return Ok(value);
            }
        }
    }
}

fn stamp(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()))
}

/// Keep what cannot be read beside the file, behind what was kept before.
fn keep(path: &Path, bytes: &[u8]) -> Result<PathBuf, LedgerStoreError> {
    let place = path.with_extension("json.damaged");
    atomic::append(&place, &[bytes, b"\n"].concat())?;
    Ok(place)
}

fn read(bytes: Option<&[u8]>) -> Result<CommandQueue, QueueError> {
    let text = std::str::from_utf8(bytes.unwrap_or_default());
    CommandQueue::parse(text.map_err(|_| QueueError::Json("it is not UTF-8 text".into()))?)
}
