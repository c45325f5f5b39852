//! The work of an attempt, from its lane to its landing: the commit that it started from, and the paths
//! that it changed.

use serde::{Deserialize, Serialize};

use crate::git_names::{Oid, RepoPath};

/// The commit that the lane of an attempt was on when it began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptBase {
    /// The run, or the spec, whose refs keep the work.
    pub keeper: String,
    /// The attempt or the consultation, a ULID.
    pub attempt: String,
    pub commit: Oid,
}

/// Kind of the change of one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathChange {
    /// New, or with other content or rights.
    Written,
    Deleted,
}

/// A path that an attempt changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedPath {
    pub path: RepoPath,
    pub change: PathChange,
}

/// The work of an attempt, without the ledger. Its tree is the index of the lane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Every path that is not as in the base.
    pub paths: Vec<ChangedPath>,
    /// Submodules and nested repositories in which something changed: the attempt must fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<RepoPath>,
    /// Git's words about files that it could not read; they are in no tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

impl Candidate {
    /// The names of the changed paths, for people and records.
    pub fn names(&self) -> Vec<String> {
        self.paths.iter().map(|changed| changed.path.to_string()).collect()
    }
}
