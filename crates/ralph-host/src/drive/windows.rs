//! Context sizes of models, kept from run to run.
//!
//! Some programs report the size only at their end. Without this file, the first run of every loop
//! would have no warning, no compaction and no kill for a full context.

use std::path::{Path, PathBuf};

use ralph_core::windows::ContextWindows;

use crate::FileError;
use crate::store::{self, put_view};

fn file(state: &Path) -> PathBuf {
    state.join("windows.json")
}

/// Read the sizes that earlier runs learned. A file that cannot be read counts as empty.
pub(super) fn read(state: &Path) -> ContextWindows {
    let bytes = store::read(&file(state)).ok().flatten().unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Write the sizes that are known now.
pub(super) fn write(state: &Path, windows: &ContextWindows) -> Result<(), FileError> {
    put_view(&file(state), &serde_json::to_vec(windows).unwrap_or_default())
}
