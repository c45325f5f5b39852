//! What an attempt did.

use serde::{Deserialize, Serialize};

use super::name::{Oid, RepoPath};
use super::state::Operation;

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
    /// New or modified: on the way of the clean tree nobody asks which, unless told to
    /// ([`super::Repo::details`]).
    Written,
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
    /// A path of which only so much is known.
    pub(super) fn plain(path: RepoPath, kind: ChangeKind) -> Self {
        Self { path, kind, old_mode: None, new_mode: None, old: None, new: None }
    }

    pub(super) fn is_gitlink(&self) -> bool {
        [self.old_mode, self.new_mode].contains(&Some(0o160_000))
    }
}

/// What a backend did with git itself. HEAD, branch and index have been put back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Where HEAD was found, if not where it had been left: a branch or a commit.
    pub head: Option<String>,
    /// Commits that were made.
    pub commits: Vec<Oid>,
    /// The refs that keep them.
    pub kept: Vec<String>,
    /// Stashes were made or taken; new ones are still there, and a ref keeps the newest of before.
    pub stashed: bool,
    /// A merge or the like was left unfinished; it was forgotten, its files are judged as they are.
    pub unfinished: Option<Operation>,
    /// The tree of the index as it was found, if something else was staged. A ref keeps it.
    pub index: Option<Oid>,
}

/// What an attempt did: S0 → S1, without the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Every path that is not as in S0.
    pub paths: Vec<Change>,
    /// S1; `None` on the way of the clean tree, where the user's index holds it.
    pub tree: Option<Oid>,
    /// What was done with git itself.
    pub moved: Moved,
    /// Submodules and nested repositories in which something changed: the attempt must fail, and
    /// what happened inside cannot be undone.
    pub nested: Vec<RepoPath>,
    /// Paths that only a changed ignore rule brought to light. They were there before: they are not
    /// in `paths`, are never committed and never removed.
    pub older: Vec<RepoPath>,
    /// Shared ledger files that were written meanwhile, by whomever.
    pub ledger_touched: Vec<RepoPath>,
    /// Specs, prompts, skills or configuration among `paths`.
    pub sources_touched: Vec<RepoPath>,
    /// What git said about files that it could not read; they are in no tree.
    pub unread: Vec<String>,
}

impl Changes {
    /// Whether the tree is as it was.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether this path was changed.
    pub fn touches(&self, path: &RepoPath) -> bool {
        self.paths.iter().any(|change| change.path == *path)
    }
}
