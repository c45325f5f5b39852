//! What an attempt did.

use serde::{Deserialize, Serialize};

use super::name::{Oid, RepoPath};

/// What happened to one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// New.
    Added,
    /// Other content or rights.
    Modified,
    /// Gone.
    Deleted,
    /// A link became a file, or the like.
    TypeChanged,
}

/// One changed path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path.
    pub path: RepoPath,
    /// What happened to it.
    pub kind: ChangeKind,
    /// The rights before; `None` when it was not there or nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<u32>,
    /// The rights after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_mode: Option<u32>,
    /// The content before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Oid>,
    /// The content after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<Oid>,
}

impl Change {
    pub(super) fn is_gitlink(&self) -> bool {
        [self.old_mode, self.new_mode].contains(&Some(0o160_000))
    }
}
