//! What a backend said through ralph's own commands during an attempt: `claims/<attempt>.json`.
//!
//! A claim of a backend is its word and not the truth, so `ralph task done` inside an attempt leaves it
//! here and not in the plan, and so does the MCP tool `handoff_write` with a handoff. The loop reads it
//! when the backend has ended.

use std::path::{Path, PathBuf};

use ralph_core::claim::Claim;
use ralph_core::handoff::Handoff;
use serde::{Deserialize, Serialize};

use super::{Kind, Store, StoreError, target};
use crate::FileError;

/// A backend's claim, handoff and additions to the plan so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The last claim.
    #[serde(default)]
    pub claim: Claim,
    /// The last handoff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
    /// How many tasks and issues it has added.
    #[serde(default)]
    pub added: usize,
}

impl Store {
    /// What the backend of this attempt has said. What cannot be read was not said.
    pub fn said(&self, attempt: &str) -> Result<Said, FileError> {
        Ok(read(target::read(&self.said_file(attempt))?.as_deref()))
    }

    /// The backend of this attempt says something.
    pub fn say<T, E: From<StoreError>>(
        &self,
        attempt: &str,
        change: impl FnOnce(&mut Said) -> Result<T, E>,
    ) -> Result<T, E> {
        let updated = self.update(&self.said_file(attempt), Kind::Document, |bytes| {
            let mut said = read(bytes);
            let value = change(&mut said)?;
            Ok::<_, E>((serde_json::to_string(&said).unwrap_or_default() + "\n", value))
        })?;
        Ok(updated.value)
    }

    /// Nothing was said, in this attempt or an older one.
    pub fn forget_said(&self) {
        // What is left is about an attempt that nobody asks for.
        let _left = std::fs::remove_dir_all(self.claims());
    }

    fn claims(&self) -> PathBuf {
        self.state_dir.join("claims")
    }

    fn said_file(&self, attempt: &str) -> PathBuf {
        // An attempt's id is a name and never a path.
        let name = Path::new(attempt).file_name().unwrap_or_default();
        self.claims().join(name).with_extension("json")
    }
}

fn read(bytes: Option<&[u8]>) -> Said {
    bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
}
