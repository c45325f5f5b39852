//! Changes between two trees, path by path.

use serde::{Deserialize, Serialize};

use super::name::{Oid, RepoPath};

/// Kind of change of one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GitChangeKind {
    Added,
    /// Content or permissions changed.
    Modified,
    Deleted,
    /// A link became a file, or the like.
    TypeChanged,
}

/// Change of one path, with its mode and content before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitChange {
    pub path: RepoPath,
    pub kind: GitChangeKind,
    /// The rights before; `None` when it was not there or nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<u32>,
    /// Mode after the change; `None` when the path was deleted or the mode was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_mode: Option<u32>,
    /// Content before the change; `None` when the path was added or it was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Oid>,
    /// Content after the change; `None` when the path was deleted or it was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<Oid>,
}

impl GitChange {
    pub(super) fn is_gitlink(&self) -> bool {
        [self.old_mode, self.new_mode].contains(&Some(0o160_000))
    }
}
