//! Claims of backends, made with ralph's own commands during an attempt: `claims/<attempt>.json`.
//!
//! A claim of a backend is not a proof. So `ralph task done` inside an attempt writes it here and not
//! into the plan. The MCP tool `handoff_write` writes a handoff here too. The loop reads the file when
//! the backend has ended.

use std::path::{Path, PathBuf};

use ralph_core::claim::Claim;
use ralph_core::handoff::Handoff;
use serde::{Deserialize, Serialize};

use super::{LedgerFileKind, LedgerStore, LedgerStoreError, target};
use crate::FileError;

/// A backend's claim, handoff and additions to the plan so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredAgentClaims {
    #[serde(default)]
    pub claim: Claim,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
    /// Number of tasks and issues that the backend has added.
    #[serde(default)]
    pub added: usize,
}

impl LedgerStore {
    /// Return the claim, handoff and additions of this attempt's backend. A file that cannot be read counts
    /// as empty.
    pub fn said(&self, attempt: &str) -> Result<StoredAgentClaims, FileError> {
        Ok(read(target::read(&self.said_file(attempt))?.as_deref()))
    }

    /// The backend of this attempt says something.
    pub fn say<T, E: From<LedgerStoreError>>(
        &self,
        attempt: &str,
        change: impl FnOnce(&mut StoredAgentClaims) -> Result<T, E>,
    ) -> Result<T, E> {
        let updated = self.update(&self.said_file(attempt), LedgerFileKind::Document, |bytes| {
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

fn read(bytes: Option<&[u8]>) -> StoredAgentClaims {
    bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
}
