//! Going back to S0, and for a look at the base there and forth.
//!
//! ```text
//! look at everything (S1')  →  keep it under refs/ralph/  →  git read-tree -m -u S1' S0
//! ```
//!
//! `read-tree` writes nothing if one of the files that it would write has changed since the look;
//! then the look is repeated.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Repo;
use super::changes::{Change, Changes, Moved};
use super::checkpoint::{Checkpoint, LedgerFile};
use super::collect::hear;
use super::desk::copy_index;
use super::error::GitError;
use super::name::{Oid, RepoPath};
use super::salvage::Salvage;
use super::snapshot::Snapshot;
use super::state::Moment;
use super::status::Side;

/// How often the tree is looked at again when files change meanwhile.
const TRIES: u32 = 4;

/// How a roll-back went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolledBack {
    /// What keeps everything that was removed; `None` when there was nothing to remove.
    pub salvage: Option<Salvage>,
    /// Every path that was put back or removed.
    pub restored: Vec<RepoPath>,
    /// Those among them that changed after the backend had ended: a gate's or the user's. They are
    /// in the salvage too.
    pub changed_later: Vec<RepoPath>,
    /// Paths that stay although S0 does not have them: older than the attempt, or repositories.
    pub kept: Vec<RepoPath>,
    /// Paths that are not as in S0 after all.
    pub differences: Vec<RepoPath>,
    /// What was done with git itself since the last look.
    pub moved: Moved,
}

/// The tree stands at S0 for a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnBase {
    /// S1, which [`Repo::reapply`] brings back.
    pub tree: Oid,
    /// The ref that keeps S1 meanwhile; `None` when it is S0.
    pub kept: Option<Salvage>,
}

/// Where S1 is after a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aside {
    /// It was never put aside, as far as anybody knows.
    Never,
    /// It was, and is in the tree again.
    Back,
    /// It was, and something else is in the tree.
    Still(OnBase),
}

impl Repo<'_> {
    /// Keep what is there and put S0 back, the ledger aside. `changes` is what [`Repo::collect`]
    /// found, if it came so far. May be repeated after a crash.
    pub fn roll_back(
        &self,
        cp: &Checkpoint,
        changes: Option<&Changes>,
    ) -> Result<RolledBack, GitError> {
        self.ensure_desk(cp)?;
        let moved = if changes.is_some() && cp.is_clean() {
            self.put_head_back(cp)?
        } else {
            self.put_back(cp)?
        };
        let index = self.desk(&cp.of.attempt).spare();
        let WentBack { shot, salvage, rewritten } = self.go_to_base(cp, changes, &index)?;
        if cp.is_clean() {
            self.install(&index)?;
        }
        let changed_later = self.changed_later(changes, &shot)?;
        let mut kept = shot.older;
        kept.extend(shot.new_nested.into_iter().chain(shot.added.unborn));
        let mut differences = self.differences(&index, &kept)?;
        // Git takes a file of another size than it wrote for a changed one.
        differences.retain(|path| !rewritten.contains(path));
        let restored = shot.changes.into_iter().map(|c| c.path).collect();
        Ok(RolledBack { salvage, restored, changed_later, kept, differences, moved })
    }

    /// Put S0 in place to see what the gates say there. S1 is kept and comes back with
    /// [`Repo::reapply`].
    pub fn restore_base(&self, cp: &Checkpoint, changes: &Changes) -> Result<OnBase, GitError> {
        let index = self.desk(&cp.of.attempt).after();
        let WentBack { shot, salvage, .. } = self.go_to_base(cp, Some(changes), &index)?;
        if cp.is_clean() {
            self.install(&index)?;
        }
        Ok(OnBase { tree: shot.tree, kept: salvage })
    }

    /// After a crash: where S1 is, if it was put aside for a look at the base. [`Repo::collect`] has just
    /// found `now`. Means something only for an attempt whose backend has ended.
    pub fn put_aside(&self, cp: &Checkpoint, now: &Changes) -> Result<Aside, GitError> {
        let name = cp.own_ref(&format!("salvage/{}^{{tree}}", cp.of.attempt));
        let Some(tree) = self.find_ref(&name)? else { return Ok(Aside::Never) };
        let index = self.desk(&cp.of.attempt).after();
        self.start_index(cp, Some(now), &index)?;
        Ok(match self.write_tree(&index)? == tree {
            true => Aside::Back,
            false => Aside::Still(OnBase { tree, kept: None }),
        })
    }

    /// Bring S1 back. What the gates or the user have written meanwhile is kept and named.
    pub fn reapply(&self, cp: &Checkpoint, base: &OnBase) -> Result<Option<Salvage>, GitError> {
        let index = self.desk(&cp.of.attempt).after();
        let mut kept = None;
        for _ in 0..TRIES {
            let shot = self.snapshot(&index, cp)?;
            if !shot.changes.is_empty() && shot.tree != base.tree {
                let name = format!("{}-base", cp.of.attempt);
                kept = Some(self.keep(cp, &shot.tree, &name)?);
            }
            let target = base.tree.to_string();
            if self.move_tree(&index, &shot.tree, &target)? == Move::Done {
                if cp.is_clean() {
                    self.install(&index)?;
                }
                return Ok(kept);
            }
        }
        Err(GitError::Busy(self.unsettled(&index)?))
    }

    /// Take the tree to S0 with the index at `index`, after keeping what is there.
    fn go_to_base(
        &self,
        cp: &Checkpoint,
        changes: Option<&Changes>,
        index: &Path,
    ) -> Result<WentBack, GitError> {
        self.start_index(cp, changes, index)?;
        let base = self.base(cp)?;
        for _ in 0..TRIES {
            let shot = self.snapshot(index, cp)?;
            if shot.changes.is_empty() {
                return Ok(WentBack { shot, salvage: None, rewritten: Vec::new() });
            }
            let salvage = self.keep(cp, &shot.tree, &cp.of.attempt)?;
            crate::crash::point();
            let folders = self.old_folders(cp, &shot.changes);
            if self.move_tree(index, &shot.tree, &base)? == Move::Done {
                restore_folders(&folders)?;
                let touched = |path: &RepoPath| shot.changes.iter().find(|c| c.path == *path);
                let rewritten = self.restore_raw(&cp.dirty, &|path| touched(path)?.old.clone())?;
                return Ok(WentBack { shot, salvage: Some(salvage), rewritten });
            }
        }
        Err(GitError::Busy(self.unsettled(index)?))
    }

    /// An index that knows as much as possible of what is in the tree.
    fn start_index(
        &self,
        cp: &Checkpoint,
        changes: Option<&Changes>,
        index: &Path,
    ) -> Result<(), GitError> {
        let desk = self.desk(&cp.of.attempt);
        let from: PathBuf = match (cp.is_clean(), changes) {
            (true, Some(_)) => self.user_index(),
            (true, None) => desk.saved(),
            (false, _) if desk.after().exists() => desk.after(),
            (false, _) => desk.before(),
        };
        if from != *index {
            copy_index(&from, index)?;
        }
        if !cp.is_clean() || changes.is_none() {
            return Ok(());
        }
        // A commit that did not come about may have taken new files of the ledger into the index; going
        // to S0, which does not have them, would remove them.
        let new = |l: &&LedgerFile| {
            l.file == Side::Untracked || (l.file == Side::Same && l.stamp.is_none())
        };
        let new = cp.ledger.iter().filter(new).map(|l| &l.path);
        let here: Vec<&RepoPath> = new.filter(|path| self.file(path).exists()).collect();
        if here.is_empty() { Ok(()) } else { self.leave_out(Some(index), &here) }
    }

    /// Take files and index from one tree to another, all of them or none.
    fn move_tree(&self, index: &Path, from: &Oid, to: &str) -> Result<Move, GitError> {
        let call = self.git(["read-tree", "-m", "-u", from.as_str(), to]).index(index);
        let answer = call.run()?;
        if answer.code == 0 {
            return Ok(Move::Done);
        }
        let changed =
            ["not uptodate", "would be overwritten", "would be removed", "not up to date"];
        if changed.iter().any(|words| answer.stderr.contains(words)) {
            return Ok(Move::Refused);
        }
        Err(answer.into_error())
    }

    fn unsettled(&self, index: &Path) -> Result<Vec<RepoPath>, GitError> {
        self.differences(index, &[])
    }

    /// Paths that are not as in the index, the ledger and `kept` aside.
    fn differences(&self, index: &Path, kept: &[RepoPath]) -> Result<Vec<RepoPath>, GitError> {
        let status = self.status_with(index)?;
        let differs = status.entries.into_iter().filter(|entry| {
            entry.file != Side::Same
                && !entry.nested
                && !self.ledger.contains(&entry.path)
                && !kept.iter().any(|k| entry.path.is_at_or_below(k))
        });
        Ok(differs.map(|entry| entry.path).collect())
    }

    fn changed_later(
        &self,
        changes: Option<&Changes>,
        shot: &Snapshot,
    ) -> Result<Vec<RepoPath>, GitError> {
        let Some(changes) = changes else { return Ok(Vec::new()) };
        let later = match &changes.tree {
            Some(tree) if *tree == shot.tree => Vec::new(),
            Some(tree) => self.diff(tree.as_str(), &shot.tree)?,
            // The index held S1, so what `git add` said is what came later.
            None => hear(&shot.added.said).into_iter().flatten().map(|h| h.change).collect(),
        };
        let mut later: Vec<RepoPath> = later.into_iter().map(|c| c.path).collect();
        later.sort_unstable();
        Ok(later)
    }

    /// Folders from before the attempt that may become empty: git removes those, the user did not.
    fn old_folders(&self, cp: &Checkpoint, changes: &[Change]) -> Vec<(PathBuf, u32)> {
        let mut seen = BTreeSet::new();
        let mut folders = Vec::new();
        for change in changes {
            let file = self.file(&change.path);
            for folder in file.ancestors().skip(1).take_while(|f| *f != self.top) {
                if !seen.insert(folder.to_owned()) {
                    break;
                }
                let Ok(meta) = fs::symlink_metadata(folder) else { continue };
                if meta.is_dir() && Moment::made(&meta).is_some_and(|made| made < cp.started) {
                    folders.push((folder.to_owned(), meta.mode() & 0o7777));
                }
            }
        }
        folders.sort_unstable();
        folders
    }
}

fn restore_folders(folders: &[(PathBuf, u32)]) -> Result<(), GitError> {
    for (folder, mode) in folders {
        // Something else may stand there now, as it did at S0.
        if fs::create_dir(folder).is_ok() {
            fs::set_permissions(folder, Permissions::from_mode(*mode))
                .map_err(GitError::io("set the rights of", folder))?;
        }
    }
    Ok(())
}

/// The tree was taken to S0.
struct WentBack {
    /// What was there.
    shot: Snapshot,
    salvage: Option<Salvage>,
    /// Files whose bytes are not what git makes of S0.
    rewritten: Vec<RepoPath>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Move {
    Done,
    Refused,
}
