//! Waiting for the disk: every sync of ralph's own goes through here, so that it can be counted, and
//! so that other work can be done meanwhile.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::crew::{self, PoolJobHandle};

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Return how many times this process has waited for the disk.
pub fn syncs() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// Wait until what was written to a file is on the disk.
pub(super) fn data(file: &File) -> io::Result<()> {
    COUNT.fetch_add(1, Ordering::Relaxed);
    file.sync_data()
}

/// Wait until a directory is on the disk.
pub(super) fn directory(directory: &File) -> io::Result<()> {
    COUNT.fetch_add(1, Ordering::Relaxed);
    directory.sync_all()
}

/// A sync that goes on in the background. Whatever depends on it waits first.
#[derive(Debug, Default)]
#[must_use = "nothing that depends on it may happen before `wait`"]
pub struct BackgroundSync(Option<PoolJobHandle<io::Result<()>>>);

impl BackgroundSync {
    /// Begin to bring what was written to `file` to the disk.
    pub(super) fn data(file: &File) -> io::Result<Self> {
        let file = file.try_clone()?;
        Self::begin(move || data(&file))
    }

    /// Begin to bring a directory to the disk.
    pub(super) fn directory(file: File) -> io::Result<Self> {
        Self::begin(move || directory(&file))
    }

    fn begin(sync: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        Ok(Self(Some(crew::begin(sync)?)))
    }

    /// Wait until the sync has ended, and return its result.
    pub fn wait(&mut self) -> io::Result<()> {
        let Some(begun) = self.0.take() else { return Ok(()) };
        begun.wait().unwrap_or_else(|| Err(io::Error::other("the sync was broken off")))
    }
}
