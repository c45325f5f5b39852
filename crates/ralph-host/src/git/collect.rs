//! S1: what an attempt did.

use super::Repo;
use super::changes::{Change, ChangeKind, Changes};
use super::checkpoint::Checkpoint;
use super::desk::copy_index;
use super::error::GitError;
use super::name::RepoPath;
use super::snapshot::{Added, parse_raw};
use super::state::Stamp;

impl Repo<'_> {
    /// What the backend did. Puts HEAD and the index back if it moved them. May be called again.
    pub fn collect(&self, cp: &Checkpoint) -> Result<Changes, GitError> {
        let moved = self.put_back(cp)?;
        let mut changes = Changes { moved, ..Changes::default() };
        changes.nested = self.nested_touched(&cp.nested)?;
        if cp.is_clean() {
            self.collect_clean(cp, &mut changes)?;
        } else {
            let desk = self.desk(&cp.of.attempt);
            copy_index(&desk.before(), &desk.after())?;
            let shot = self.snapshot(&desk.after(), cp)?;
            changes.nested.extend(shot.new_nested);
            changes.nested.extend(shot.added.unborn);
            changes.unread = shot.added.unread;
            changes.older = shot.older;
            changes.paths = shot.changes;
            changes.tree = Some(shot.tree);
        }
        let touched = cp.ledger.iter().filter(|l| Stamp::of(&self.file(&l.path)) != l.stamp);
        changes.ledger_touched = touched.map(|l| l.path.clone()).collect();
        let sources = changes.paths.iter().map(|c| &c.path);
        changes.sources_touched = sources.filter(|p| self.ledger.is_source(p)).cloned().collect();
        Ok(changes)
    }

    /// The way of the clean tree: `git add` says what it found.
    fn collect_clean(&self, cp: &Checkpoint, changes: &mut Changes) -> Result<(), GitError> {
        let Added { said, unread, unborn } = self.add_all(None, &cp.nested_paths())?;
        (changes.unread, changes.paths) = (unread, Vec::new());
        changes.nested.extend(unborn);
        let mut new_nested = Vec::new();
        match self.believable(&said) {
            Some(heard) => {
                for Heard { change, is_repository } in heard {
                    if is_repository {
                        new_nested.push(change.path);
                    } else {
                        changes.paths.push(change);
                    }
                }
            }
            None => {
                changes.paths = self.staged(cp)?;
                let links = changes.paths.iter().filter(|c| c.is_gitlink());
                new_nested.extend(links.map(|c| c.path.clone()));
            }
        }
        changes.older = self.older(cp, &changes.paths);
        let drop: Vec<&RepoPath> = new_nested.iter().chain(&changes.older).collect();
        if !drop.is_empty() {
            self.leave_out(None, &drop)?;
            changes.paths.retain(|c| !drop.contains(&&c.path));
        }
        changes.nested.extend(new_nested);
        Ok(())
    }

    /// What `git add -v` said; `None` when it cannot be so, because a name has a line end in it.
    fn believable(&self, said: &[u8]) -> Option<Vec<Heard>> {
        let mut heard = hear(said)?;
        let is_there = |path| std::fs::symlink_metadata(self.file(path)).is_ok();
        let written = heard.iter().filter(|h| h.change.kind == ChangeKind::Written);
        if !written.map(|h| &h.change.path).all(is_there) {
            return None;
        }
        // `git add` was repeated, or a file was replaced by a directory of the same name.
        heard.sort_by(|a, b| a.change.path.cmp(&b.change.path));
        heard.dedup_by(|a, b| a.change.path == b.change.path && a.change.kind == b.change.kind);
        let twice = heard.windows(2).any(|w| w[0].change.path == w[1].change.path);
        (!twice).then_some(heard)
    }

    /// What the user's index holds beyond the checkpoint's HEAD.
    fn staged(&self, cp: &Checkpoint) -> Result<Vec<Change>, GitError> {
        let base = self.base(cp)?;
        let args = ["diff-index", "--cached", "-z", "--raw", "--no-renames", "--full-index"];
        let out = self.look(args.into_iter().chain([base.as_str(), "--"])).ok()?;
        let mut changes =
            parse_raw(&out).ok_or_else(|| GitError::Unreadable("diff-index".into()))?;
        changes.retain(|change| !self.ledger.contains(&change.path));
        Ok(changes)
    }

    /// The changes with kinds, rights and objects, also on the way of the clean tree.
    pub fn details(&self, cp: &Checkpoint, changes: &Changes) -> Result<Vec<Change>, GitError> {
        if cp.is_clean() { self.staged(cp) } else { Ok(changes.paths.clone()) }
    }

    /// The changes as a patch for people and judges.
    pub fn patch(&self, cp: &Checkpoint, changes: &Changes) -> Result<Vec<u8>, GitError> {
        let base = self.base(cp)?;
        let plain = ["--no-color", "--no-ext-diff", "--no-textconv", "-M", base.as_str()];
        let specs = self.ledger.everything_else().into_iter();
        let args: Vec<std::ffi::OsString> = match &changes.tree {
            Some(tree) => {
                let head = ["diff-tree", "-p", "-r"].into_iter().chain(plain);
                head.chain([tree.as_str(), "--"]).map(Into::into).chain(specs).collect()
            }
            None => {
                let head = ["diff-index", "-p", "--cached"].into_iter().chain(plain);
                head.chain(["--"]).map(Into::into).chain(specs).collect()
            }
        };
        self.look(args).ok()
    }
}

/// One line of `git add -v`.
pub(super) struct Heard {
    pub(super) change: Change,
    is_repository: bool,
}

/// What `git add -v` said, one path a line; `None` when it did not.
pub(super) fn hear(said: &[u8]) -> Option<Vec<Heard>> {
    let mut heard = Vec::new();
    for line in said.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        let quoted = line.strip_suffix(b"'")?;
        let (kind, path) = match quoted.strip_prefix(b"add '") {
            Some(path) => (ChangeKind::Written, path),
            None => (ChangeKind::Deleted, quoted.strip_prefix(b"remove '")?),
        };
        let is_repository = path.ends_with(b"/");
        heard.push(Heard { change: Change::plain(RepoPath::new(path), kind), is_repository });
    }
    Some(heard)
}
