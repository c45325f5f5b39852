//! The candidate of an attempt: everything that its lane holds beyond the base, in the lane's index.
//!
//! ```text
//! collect        add -A: the index is the candidate, and git says which paths differ
//! put_back       after gates: the files are what the index holds
//! check_out      the files and the index are those of another tree, and back
//! keep           the candidate under a ref, when its lane is needed or it does not land
//! ```
//!
//! All of this is called with ralph's own git directory of a lane, so nothing of the user's is touched.

use ralph_core::cycle::{AttemptBase, Candidate, ChangedPath, PathChange};

use super::Repo;
use super::call::nul_fields;
use super::changes::{GitChange, GitChangeKind};
use super::error::GitError;
use super::message::ATTEMPT;
use super::name::{Oid, RepoPath};
use super::salvage::Salvage;
use super::snapshot::{GitAddResult, parse_raw};

/// Traces that gates left in the files of a lane. They are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateTraces {
    /// Files of the candidate that were written or removed.
    pub changed: Vec<RepoPath>,
    /// Files that the gates created.
    pub added: Vec<RepoPath>,
}

impl Repo<'_> {
    /// Take what a backend left into the index, which is as in `base`.
    pub fn collect_candidate(&self, base: &Oid) -> Result<Candidate, GitError> {
        let GitAddResult { said, unread, unborn } = self.add_all(None, &[])?;
        let mut candidate = match self.read_added(&said) {
            Some(candidate) => candidate,
            None => self.read_staged(base)?,
        };
        candidate.unread = unread;
        candidate.nested.extend(unborn);
        self.refuse_clashes(&mut candidate);
        self.leave_out_of_index(&candidate.nested)?;
        Ok(candidate)
    }

    /// The same when the index may hold a part of it already.
    pub(crate) fn collect_again(&self, base: &Oid) -> Result<Candidate, GitError> {
        let GitAddResult { unread, unborn, .. } = self.add_all(None, &[])?;
        let mut candidate = self.read_staged(base)?;
        candidate.unread = unread;
        candidate.nested.extend(unborn);
        self.refuse_clashes(&mut candidate);
        self.leave_out_of_index(&candidate.nested)?;
        Ok(candidate)
    }

    /// Move paths that clash with the ledger out of the candidate. The ledger needs these paths in the
    /// same commit.
    fn refuse_clashes(&self, candidate: &mut Candidate) {
        let (refused, paths): (Vec<_>, Vec<_>) = std::mem::take(&mut candidate.paths)
            .into_iter()
            .partition(|changed| self.ledger.clashes_with(&changed.path));
        candidate.paths = paths;
        candidate.nested.extend(refused.into_iter().map(|changed| changed.path));
    }

    /// The candidate that the index holds; the files are not looked at.
    pub(crate) fn read_staged(&self, base: &Oid) -> Result<Candidate, GitError> {
        let args = ["diff-index", "--cached", "-z", "--raw", "--no-renames", "--full-index"];
        let out = self.look(args.into_iter().chain([base.as_str(), "--"])).ok()?;
        let changes = parse_raw(&out).ok_or_else(|| GitError::Unreadable("diff-index".into()))?;
        let changes = changes.into_iter().filter(|change| !self.ledger.contains(&change.path));
        let (links, paths): (Vec<GitChange>, Vec<GitChange>) =
            changes.partition(GitChange::is_gitlink);
        let changed = |change: GitChange| {
            let kind = match change.kind {
                GitChangeKind::Deleted => PathChange::Deleted,
                _ => PathChange::Written,
            };
            ChangedPath { path: change.path, change: kind }
        };
        Ok(Candidate {
            paths: paths.into_iter().map(changed).collect(),
            nested: links.into_iter().map(|link| link.path).collect(),
            unread: Vec::new(),
        })
    }

    /// The candidate in the words of `git add -v`; `None` when they cannot be so: a name has a line end
    /// in it, a file became a folder, or submodules may have moved.
    fn read_added(&self, said: &[u8]) -> Option<Candidate> {
        if self.top().join(".gitmodules").exists() {
            return None;
        }
        let mut candidate = Candidate::default();
        for line in said.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            let quoted = line.strip_suffix(b"'")?;
            let (change, path) = match quoted.strip_prefix(b"add '") {
                Some(path) => (PathChange::Written, path),
                None => (PathChange::Deleted, quoted.strip_prefix(b"remove '")?),
            };
            let (is_repository, path) = (path.ends_with(b"/"), RepoPath::new(path));
            let is_there = std::fs::symlink_metadata(self.file(&path)).is_ok();
            match (is_repository, change) {
                (true, _) => candidate.nested.push(path),
                (false, PathChange::Written) if !is_there => return None,
                (false, change) => candidate.paths.push(ChangedPath { path, change }),
            }
        }
        // `git add` was repeated, or a file was replaced by a folder of the same name.
        candidate.paths.sort_by(|a, b| a.path.cmp(&b.path));
        candidate.paths.dedup();
        let is_twice = candidate.paths.windows(2).any(|pair| pair[0].path == pair[1].path);
        (!is_twice).then_some(candidate)
    }

    /// Take these paths out of the index. The files stay.
    pub(crate) fn leave_out_of_index(&self, paths: &[RepoPath]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        self.leave_out(None, &paths.iter().collect::<Vec<_>>())
    }

    /// Make the files what the index holds, after gates or hooks wrote to them.
    pub(crate) fn put_back_to_index(&self) -> Result<GateTraces, GitError> {
        let args = ["ls-files", "-z", "-t", "-m", "-d", "-o", "--exclude-standard", "--full-name"];
        let out = self.look(args).ok()?;
        let mut traces = GateTraces::default();
        for field in nul_fields(&out) {
            let Some((tag, path)) = field.split_at_checked(2) else { continue };
            let path = RepoPath::new(path);
            if self.ledger.contains(&path) {
                continue;
            }
            match tag {
                b"? " => traces.added.push(path),
                _ if traces.changed.last() != Some(&path) => traces.changed.push(path),
                _ => {}
            }
        }
        if !traces.changed.is_empty() {
            self.git(["checkout-index", "-f", "-a", "-q"]).ok()?;
        }
        if !traces.added.is_empty() {
            self.clean_untracked()?;
        }
        Ok(traces)
    }

    /// The same between two gates, without the files that are new: the next one may need them. Returns
    /// what was changed.
    pub(crate) fn put_back_changed(&self) -> Result<Vec<RepoPath>, GitError> {
        let out = self.look(["ls-files", "-z", "-m", "-d", "--full-name"]).ok()?;
        let mut changed: Vec<RepoPath> = nul_fields(&out).map(RepoPath::new).collect();
        changed.retain(|path| !self.ledger.contains(path));
        changed.dedup();
        if !changed.is_empty() {
            self.git(["checkout-index", "-f", "-a", "-q"]).ok()?;
        }
        Ok(changed)
    }

    fn clean_untracked(&self) -> Result<(), GitError> {
        let mut args: Vec<std::ffi::OsString> = ["clean", "-ffdq", "--"].map(Into::into).to_vec();
        args.extend(self.ledger.everything_else());
        self.git(args).ok().map(drop)
    }

    /// Make index and files those of a tree; ignored files stay.
    pub(crate) fn check_out_tree(&self, tree: &str) -> Result<(), GitError> {
        self.git(["read-tree", "-u", "--reset", tree]).ok()?;
        self.clean_untracked()
    }

    /// Make the index that of a commit; the files stay.
    pub(crate) fn reset_index(&self, commit: &Oid) -> Result<(), GitError> {
        self.git(["read-tree", commit.as_str()]).ok().map(drop)
    }

    /// The tree that the index holds.
    pub(crate) fn index_tree(&self) -> Result<Oid, GitError> {
        self.git(["write-tree"]).oid()
    }

    /// Keep the candidate under a ref, because its lane is needed. Returns its tree.
    pub(crate) fn set_candidate_aside(&self, base: &AttemptBase) -> Result<Oid, GitError> {
        let tree = self.index_tree()?;
        self.git(["update-ref", &candidate_ref(base), tree.as_str()]).ok()?;
        Ok(tree)
    }

    /// The tree of a candidate that was set aside.
    pub(crate) fn find_candidate(&self, base: &AttemptBase) -> Result<Option<Oid>, GitError> {
        self.find_ref(&candidate_ref(base))
    }

    /// The candidate is in its lane again, or its attempt has ended.
    pub(crate) fn forget_candidate(&self, base: &AttemptBase) -> Result<(), GitError> {
        self.delete_ref(&candidate_ref(base))
    }

    /// Keep the work of an attempt that does not land.
    pub(crate) fn salvage_candidate(
        &self,
        base: &AttemptBase,
        candidate: &Candidate,
    ) -> Result<Option<Salvage>, GitError> {
        if candidate.paths.is_empty() {
            return Ok(None);
        }
        let tree = match self.find_candidate(base)? {
            Some(tree) => tree,
            None => self.index_tree()?,
        };
        self.salvage_tree(base, &tree).map(Some)
    }

    /// The commit of an attempt between its base and `end`, known by its trailer.
    pub(crate) fn find_landed(
        &self,
        base: &AttemptBase,
        end: &Oid,
    ) -> Result<Option<Oid>, GitError> {
        if base.commit == *end {
            return Ok(None);
        }
        let range = format!("{}..{end}", base.commit);
        let format = format!("--format=%H %(trailers:key={ATTEMPT},valueonly,separator=%x2C)");
        let args = ["log", "-z", "--no-show-signature", &format, &range, "--"];
        let out = self.look(args).ok()?;
        Ok(nul_fields(&out).find_map(|field| {
            let text = std::str::from_utf8(field).ok()?;
            let (commit, attempts) = text.split_once(' ')?;
            let is_ours = attempts.split(',').any(|attempt| attempt.trim() == base.attempt);
            is_ours.then(|| Oid::parse(commit.as_bytes())).flatten()
        }))
    }
}

fn candidate_ref(base: &AttemptBase) -> String {
    format!("refs/ralph/{}/candidate/{}", base.keeper, base.attempt)
}
