//! State of a repository, read from its files without starting git.
//!
//! Where the files are not enough (another storage of refs), git is asked.

use std::fmt;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::Repo;
use super::error::GitError;
use super::name::Oid;

/// Beginnings of refs that each worktree has for itself.
const OF_ONE_WORKTREE: [&str; 3] = ["refs/bisect/", "refs/rewritten/", "refs/worktree/"];

/// Branch and commit that HEAD stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GitHead {
    /// The full name of the branch; `None` when HEAD is detached.
    pub(super) branch: Option<String>,
    /// The commit; `None` before the first one.
    pub(super) commit: Option<Oid>,
}

/// Something of git's own that is not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GitOperation {
    Merge,
    Rebase,
    Am,
    CherryPick,
    Revert,
    Bisect,
}

impl GitOperation {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Merge, "MERGE_HEAD"),
        (Self::CherryPick, "CHERRY_PICK_HEAD"),
        (Self::Revert, "REVERT_HEAD"),
        (Self::Rebase, "rebase-merge"),
        (Self::Rebase, "rebase-apply"),
        (Self::Bisect, "BISECT_LOG"),
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::Am => "am",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Bisect => "bisect",
        }
    }

    /// Return the command that finishes the operation.
    pub fn finish(self) -> String {
        match self {
            Self::Bisect => "git bisect reset".to_owned(),
            _ => format!("git {} --continue", self.word()),
        }
    }

    /// The command that gives it up.
    pub fn give_up(self) -> String {
        match self {
            Self::Bisect => "git bisect reset".to_owned(),
            _ => format!("git {} --abort", self.word()),
        }
    }

    /// Return the arguments of the git command that ends the operation without touching a file.
    pub(super) fn forget(self) -> &'static [&'static str] {
        match self {
            Self::Merge => &["merge", "--quit"],
            Self::Rebase => &["rebase", "--quit"],
            Self::Am => &["am", "--quit"],
            Self::CherryPick => &["cherry-pick", "--quit"],
            Self::Revert => &["revert", "--quit"],
            Self::Bisect => &["bisect", "reset", "HEAD"],
        }
    }
}

impl fmt::Display for GitOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A moment as the file system saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct GitFileTime {
    seconds: i64,
    nanos: i64,
}

impl GitFileTime {
    /// When the content, the name or the rights of a file last changed.
    pub(super) fn changed(meta: &Metadata) -> Self {
        Self { seconds: meta.ctime(), nanos: meta.ctime_nsec() }
    }

    pub(super) fn modified(meta: &Metadata) -> Self {
        Self { seconds: meta.mtime(), nanos: meta.mtime_nsec() }
    }
}

/// Enough of a file to see that it has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GitFileStamp {
    inode: u64,
    size: u64,
    modified: GitFileTime,
    changed: GitFileTime,
}

impl GitFileStamp {
    /// Return the time of the file's last change.
    pub(super) fn changed_at(&self) -> SystemTime {
        let GitFileTime { seconds, nanos } = self.changed;
        let (seconds, nanos) = (u64::try_from(seconds), u64::try_from(nanos));
        let since =
            Duration::from_secs(seconds.unwrap_or(0)) + Duration::from_nanos(nanos.unwrap_or(0));
        SystemTime::UNIX_EPOCH + since
    }

    /// Of the file at `path`; `None` when there is none.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let meta = fs::symlink_metadata(path).ok()?;
        Some(Self {
            inode: meta.ino(),
            size: meta.len(),
            modified: GitFileTime::modified(&meta),
            changed: GitFileTime::changed(&meta),
        })
    }
}

impl Repo<'_> {
    /// Return the branch and the commit of HEAD.
    pub(super) fn head(&self) -> Result<GitHead, GitError> {
        if let Some(head) = self.head_by_looking() {
            return Ok(head);
        }
        let branch = self.look(["symbolic-ref", "-q", "HEAD"]).run()?;
        let commit = self.look(["rev-parse", "-q", "--verify", "HEAD^{commit}"]).run()?;
        let name = String::from_utf8_lossy(&branch.stdout).trim().to_owned();
        Ok(GitHead {
            branch: (branch.code == 0).then_some(name),
            commit: Oid::parse(&commit.stdout).filter(|_| commit.code == 0),
        })
    }

    /// `None` when the files do not say it.
    fn head_by_looking(&self) -> Option<GitHead> {
        let path = self.git_dir.join("HEAD");
        if fs::symlink_metadata(&path).ok()?.is_symlink() {
            return None;
        }
        let text = fs::read_to_string(path).ok()?;
        let Some(branch) = text.strip_prefix("ref: ") else {
            return Some(GitHead { branch: None, commit: Some(Oid::parse(text.as_bytes())?) });
        };
        let branch = branch.trim_end_matches('\n').to_owned();
        // With refs in tables HEAD holds a name that no branch can have.
        if branch.ends_with(".invalid") {
            return None;
        }
        let commit = self.ref_by_looking(&branch)?;
        Some(GitHead { branch: Some(branch), commit })
    }

    /// The object a ref points at; the outer `None` when the files do not say it. Like git, it reads the
    /// ref's own file first: whoever packs refs writes the packed ones before that file goes.
    pub(super) fn ref_by_looking(&self, name: &str) -> Option<Option<Oid>> {
        let is_shared =
            name.starts_with("refs/") && !OF_ONE_WORKTREE.iter().any(|r| name.starts_with(r));
        if !is_shared || self.common_dir.join("reftable").exists() {
            return None;
        }
        let read = |name: &str| match fs::read(self.common_dir.join(name)) {
            Ok(text) => Some(Some(text)),
            Err(e) => {
                matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory).then_some(None)
            }
        };
        if let Some(text) = read(name)? {
            return Oid::parse(&text).map(Some);
        }
        let Some(packed) = read("packed-refs")? else { return Some(None) };
        let wanted = packed.split(|b| *b == b'\n').find_map(|line| {
            let (oid, rest) = line.split_at_checked(line.iter().position(|b| *b == b' ')?)?;
            (rest.get(1..)? == name.as_bytes()).then_some(oid)
        });
        wanted.map_or(Some(None), |oid| Oid::parse(oid).map(Some))
    }

    /// Return the commit of the newest stash, if there is one.
    pub(super) fn stash(&self) -> Option<Oid> {
        // A lane's agent has a repository of its own: the stash here is the user's business.
        if self.is_lane() {
            return None;
        }
        self.ref_by_looking("refs/stash").flatten()
    }

    /// Return the operation of git that is unfinished, if there is one.
    pub(super) fn operation(&self) -> Option<GitOperation> {
        let found =
            GitOperation::ALL.into_iter().find(|(_, name)| self.git_dir.join(name).exists());
        found.map(|(operation, name)| {
            let am = name == "rebase-apply" && self.git_dir.join("rebase-apply/applying").exists();
            if am { GitOperation::Am } else { operation }
        })
    }
}
