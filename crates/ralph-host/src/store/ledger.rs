//! Reading a ledger file, and changing it without anybody losing anything.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::chain::PlanChain;
use ralph_core::lines;

use super::lock::{LEDGER_WAIT, LedgerLock, LockError, LockHolder};
use super::sync::BackgroundSync;
use super::{atomic, target};
use crate::file_error::{FileAction, FileError};

/// Finds where the torn last line of a file of records begins, if its last line is torn.
pub type TornLineFinder = fn(&[u8]) -> Option<usize>;

/// Structure of a ledger file, which decides how it may be written.
#[derive(Clone, Copy, Debug)]
pub enum LedgerFileKind {
    /// One text; always written as a whole.
    Document,
    /// One record a line; a single new record may be appended.
    Records(TornLineFinder),
}

impl LedgerFileKind {
    /// Return the structure of a file by the extension of its name.
    pub fn of(path: &Path) -> Self {
        match path.extension() {
            Some(extension) if extension == "jsonl" => Self::Records(lines::torn_tail),
            _ => Self::Document,
        }
    }

    fn torn_at(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Document => None,
            Self::Records(torn_tail) => torn_tail(bytes).filter(|&at| at < bytes.len()),
        }
    }
}

/// An unfinished last line that was found, for a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornLine {
    pub path: PathBuf,
    /// Length of the line in bytes.
    pub bytes: usize,
    /// File into which the line was moved. `None` when nothing can be written here and it is only ignored.
    pub moved_to: Option<PathBuf>,
}

impl fmt::Display for TornLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "{path}: the last line is unfinished (a write was interrupted); ")?;
        match &self.moved_to {
            Some(place) => write!(f, "it was moved to {}", place.display()),
            None => f.write_str("it is ignored"),
        }
    }
}

/// Result of reading a ledger file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRead<T> {
    /// Value that the caller's function made of the bytes.
    pub value: T,
    /// An unfinished last line that the caller did not see.
    pub torn: Option<TornLine>,
}

/// Way in which a change was written to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerWrite {
    /// Nothing was written, because the text did not change.
    Nothing,
    /// One record was added to the end.
    Appended,
    /// The file was written anew, or for the first time.
    Replaced,
}

/// Result of changing a ledger file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerUpdate<T> {
    /// Value that the caller's function returned beside the text.
    pub value: T,
    pub wrote: LedgerWrite,
    /// An unfinished last line that the caller did not see.
    pub torn: Option<TornLine>,
}

/// A ledger file that cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum LedgerStoreError {
    /// Somebody else is changing it, or it cannot be locked.
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    File(#[from] FileError),
    /// The run whose copy it is was closed a moment ago.
    #[error("the run that used {} has just ended", .0.display())]
    RunClosed(PathBuf),
}

impl LedgerStoreError {
    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Lock(e) => e.hint(),
            Self::File(e) => e.hint(),
            Self::RunClosed(_) => Some("nothing was changed; try again".to_owned()),
        }
    }
}

/// The ledger files of one worktree.
#[derive(Clone, Debug)]
pub struct LedgerStore {
    pub(super) state_dir: PathBuf,
    holder: LockHolder,
    patience: Duration,
}

impl LedgerStore {
    /// The store whose locks are in `state_dir`; `holder` is how others see us while we hold one.
    pub fn new(state_dir: impl Into<PathBuf>, holder: LockHolder) -> Self {
        Self { state_dir: state_dir.into(), holder, patience: LEDGER_WAIT }
    }

    /// Return the name of this process that other processes read in a lock.
    pub fn holder(&self) -> &LockHolder {
        &self.holder
    }

    /// The right to change ledger files, for changes that span several of them.
    pub fn lock(&self) -> Result<LedgerLock, LockError> {
        LedgerLock::acquire(&self.state_dir, &self.holder, self.patience)
    }

    /// Read `path` and let `parse` make something of it (`None`: there is no such file).
    ///
    /// Takes no lock unless the last line is unfinished: that may be an append which is going on
    /// right now. If it is still unfinished under the lock and the rest can be parsed, it is moved
    /// away; where nothing can be locked or written, it is only ignored.
    pub fn read<T, E: From<LedgerStoreError>>(
        &self,
        path: &Path,
        kind: LedgerFileKind,
        parse: impl Fn(Option<&[u8]>) -> Result<T, E>,
    ) -> Result<LedgerRead<T>, E> {
        let bytes = target::read(path).map_err(LedgerStoreError::from)?;
        let Some(mut found) = LedgerFileBytes::of(kind, bytes.as_deref()) else {
            return Ok(LedgerRead { value: parse(bytes.as_deref())?, torn: None });
        };
        let again;
        let lock = match self.lock() {
            Ok(lock) => {
                again = target::read(path).map_err(LedgerStoreError::from)?;
                match LedgerFileBytes::of(kind, again.as_deref()) {
                    Some(tail) => found = tail,
                    None => return Ok(LedgerRead { value: parse(again.as_deref())?, torn: None }),
                }
                Some(lock)
            }
            Err(LockError::Io { .. }) => None,
            Err(e) => return Err(LedgerStoreError::from(e).into()),
        };
        let value = parse(Some(found.whole))?;
        let moved_to = lock.and_then(|_held| found.move_away(path, found.whole).ok());
        Ok(LedgerRead { value, torn: Some(found.report(path, moved_to)) })
    }

    /// Change `path` under the lock; see [`update`].
    pub fn update<T, E: From<LedgerStoreError>>(
        &self,
        path: &Path,
        kind: LedgerFileKind,
        change: impl FnOnce(Option<&[u8]>) -> Result<(String, T), E>,
    ) -> Result<LedgerUpdate<T>, E> {
        let lock = self.lock().map_err(LedgerStoreError::from)?;
        refuse_closed_run(&self.state_dir, path)?;
        self.put_held_back(path).map_err(LedgerStoreError::from)?;
        let (chain, mut next) = (self.chain(path), None);
        let updated = update(&lock, path, kind, |bytes| {
            let (new, value) = follow(chain, &mut next, bytes, change)?;
            self.hold_new(path, &new).map_err(LedgerStoreError::from)?;
            Ok::<_, E>((new, value))
        })?;
        next.iter().for_each(PlanChain::keep);
        Ok(updated)
    }

    /// The same for whoever has other things to do: what changes is not put in place before `ready`
    /// has come back, and the change is not safe before the [`BackgroundSync`] is over.
    pub fn update_when<T, E: From<LedgerStoreError>>(
        &self,
        path: &Path,
        kind: LedgerFileKind,
        ready: impl FnOnce() -> Result<(), FileError>,
        change: impl FnOnce(Option<&[u8]>) -> Result<(String, T), E>,
    ) -> Result<(LedgerUpdate<T>, BackgroundSync), E> {
        let lock = self.lock().map_err(LedgerStoreError::from)?;
        refuse_closed_run(&self.state_dir, path)?;
        let (chain, mut next) = (self.chain(path), None);
        let change = |bytes: Option<&[u8]>| follow(chain, &mut next, bytes, change);
        let updated = update_when(&lock, path, kind, ready, change)?;
        next.iter().for_each(PlanChain::keep);
        Ok(updated)
    }
}

/// Refuse to write a copy of a run that is no longer open: nobody would ever read it.
fn refuse_closed_run(state_dir: &Path, path: &Path) -> Result<(), LedgerStoreError> {
    match crate::run_ledger::is_copy_of_closed_run(state_dir, path) {
        true => Err(LedgerStoreError::RunClosed(path.to_owned())),
        false => Ok(()),
    }
}

/// Make a change, and say how the chain goes on if it comes so far.
fn follow<T, E>(
    chain: Option<PlanChain>,
    next: &mut Option<PlanChain>,
    bytes: Option<&[u8]>,
    change: impl FnOnce(Option<&[u8]>) -> Result<(String, T), E>,
) -> Result<(String, T), E> {
    let (new, value) = change(bytes)?;
    *next = chain.and_then(|chain| chain.next(bytes, new.as_bytes()));
    Ok((new, value))
}

/// Change `path`: `change` gets its bytes (`None`: there is no such file) without an unfinished
/// last line, and returns the whole new text and whatever else the caller wants back. If it
/// returns an error, nothing is written.
pub fn update<T, E: From<LedgerStoreError>>(
    proof: &LedgerLock,
    path: &Path,
    kind: LedgerFileKind,
    change: impl FnOnce(Option<&[u8]>) -> Result<(String, T), E>,
) -> Result<LedgerUpdate<T>, E> {
    let (updated, mut syncing) = update_when(proof, path, kind, || Ok(()), change)?;
    let synced = syncing.wait().map_err(FileError::io(FileAction::Write, path));
    synced.map_err(LedgerStoreError::from)?;
    Ok(updated)
}

fn update_when<T, E: From<LedgerStoreError>>(
    _proof: &LedgerLock,
    path: &Path,
    kind: LedgerFileKind,
    ready: impl FnOnce() -> Result<(), FileError>,
    change: impl FnOnce(Option<&[u8]>) -> Result<(String, T), E>,
) -> Result<(LedgerUpdate<T>, BackgroundSync), E> {
    let old = target::read(path).map_err(LedgerStoreError::from)?;
    let tail = LedgerFileBytes::of(kind, old.as_deref());
    let (new, value) = change(tail.as_ref().map_or(old.as_deref(), |t| Some(t.whole)))?;
    let write = || match &tail {
        None => {
            let (wrote, syncing) = write(path, kind, old.as_deref(), new.as_bytes(), ready)?;
            Ok((wrote, None, syncing))
        }
        Some(tail) => {
            ready()?;
            let place = tail.move_away(path, new.as_bytes())?;
            Ok((
                LedgerWrite::Replaced,
                Some(tail.report(path, Some(place))),
                BackgroundSync::default(),
            ))
        }
    };
    let (wrote, torn, syncing) = write().map_err(|e: FileError| LedgerStoreError::from(e))?;
    Ok((LedgerUpdate { value, wrote, torn }, syncing))
}

/// Put `new` where `old` was with as little writing as is safe.
fn write(
    path: &Path,
    kind: LedgerFileKind,
    old: Option<&[u8]>,
    new: &[u8],
    ready: impl FnOnce() -> Result<(), FileError>,
) -> Result<(LedgerWrite, BackgroundSync), FileError> {
    let Some(old) = old else {
        if new.is_empty() {
            return Ok((LedgerWrite::Nothing, BackgroundSync::default()));
        }
        atomic::make_directory_for(path)?;
        return Ok((LedgerWrite::Replaced, atomic::replace_when(path, new, ready)?));
    };
    if old == new {
        return Ok((LedgerWrite::Nothing, BackgroundSync::default()));
    }
    if let LedgerFileKind::Records(_) = kind
        && let Some(rest) = new.strip_prefix(old)
        && is_one_record(old, rest)
    {
        ready()?;
        atomic::append(path, rest)?;
        return Ok((LedgerWrite::Appended, BackgroundSync::default()));
    }
    Ok((LedgerWrite::Replaced, atomic::replace_when(path, new, ready)?))
}

/// Whether `rest` adds exactly one line to `old`. Several records are not appended: a crash could
/// let some of them through.
fn is_one_record(old: &[u8], rest: &[u8]) -> bool {
    let line = if old.is_empty() || old.ends_with(b"\n") {
        rest
    } else {
        // The last line has no newline yet, so the new text must begin with it.
        match rest.strip_prefix(b"\n").or_else(|| rest.strip_prefix(b"\r\n")) {
            Some(line) => line,
            None => return false,
        }
    };
    line.iter().position(|&b| b == b'\n').is_some_and(|at| at + 1 == line.len())
}

/// A file's bytes, cut where its unfinished last line begins.
struct LedgerFileBytes<'a> {
    whole: &'a [u8],
    torn: &'a [u8],
}

impl<'a> LedgerFileBytes<'a> {
    fn of(kind: LedgerFileKind, bytes: Option<&'a [u8]>) -> Option<Self> {
        let bytes = bytes?;
        let (whole, torn) = bytes.split_at_checked(kind.torn_at(bytes)?)?;
        Some(Self { whole, torn })
    }

    /// Keep the unfinished line in `<file>.torn`, on a line of its own, and only then let `new` take
    /// the file's place.
    fn move_away(&self, path: &Path, new: &[u8]) -> Result<PathBuf, FileError> {
        let mut place = path.as_os_str().to_owned();
        place.push(".torn");
        let place = PathBuf::from(place);
        atomic::append(&place, &[self.torn, b"\n"].concat())?;
        atomic::replace(path, new)?;
        Ok(place)
    }

    fn report(&self, path: &Path, moved_to: Option<PathBuf>) -> TornLine {
        TornLine { path: path.to_owned(), bytes: self.torn.len(), moved_to }
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
