//! How much the context of each model holds, kept from run to run.
//!
//! Some programs say it only with their last words. Whoever forgets it would let the first run of every
//! loop go without the warning, the compaction and the kill that a full context asks for.

use std::path::{Path, PathBuf};

use ralph_core::windows::Windows;

use crate::FileError;
use crate::store::{self, put_view};

fn file(state: &Path) -> PathBuf {
    state.join("windows.json")
}

/// What earlier runs learned. What cannot be read is learned again.
pub(super) fn read(state: &Path) -> Windows {
    let bytes = store::read(&file(state)).ok().flatten().unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Keep what is known now.
pub(super) fn write(state: &Path, windows: &Windows) -> Result<(), FileError> {
    put_view(&file(state), &serde_json::to_vec(windows).unwrap_or_default())
}
