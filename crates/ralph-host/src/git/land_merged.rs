//! Landing where a path alone does not tell whose a change is: trees are merged, a commit is made
//! from a private index, and the user's index gets the same merge.

use std::path::Path;

use super::Repo;
use super::changes::Changes;
use super::checkpoint::{AttemptRef, Checkpoint};
use super::desk::{Desk, copy_index, put};
use super::error::GitError;
use super::land::{LandError, Landed, Way};
use super::merge::Merged;
use super::message::CommitMessage;
use super::name::{Oid, RepoPath};
use super::salvage::Salvage;

/// A difference to be put on HEAD.
struct Difference<'a> {
    desk: Desk,
    base: String,
    theirs: &'a str,
    head: Option<Oid>,
    /// Ledger files that may ride along.
    ledger: Vec<&'a RepoPath>,
}

/// Why a difference could not be put on HEAD.
enum Refused {
    Conflict(Vec<RepoPath>),
    Other(LandError),
}

impl<E: Into<LandError>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl Repo<'_> {
    /// The user's uncommitted lines and the backend's stand in the same files.
    pub(super) fn land_merged(
        &self,
        cp: &Checkpoint,
        changes: &Changes,
    ) -> Result<Landed, LandError> {
        let Some(tree) = &changes.tree else { return Err(LandError::Nothing) };
        let difference = Difference {
            desk: self.desk(&cp.of.attempt),
            base: self.base(cp)?,
            theirs: tree.as_str(),
            head: cp.head.clone(),
            ledger: self.written_ledger(cp),
        };
        match self.put_on_head(&difference, Some(tree)) {
            Ok(landed) => Ok(landed),
            Err(Refused::Other(error)) => Err(error),
            Err(Refused::Conflict(paths)) => Err(self.conflict(cp, tree, paths)?),
        }
    }

    fn conflict(
        &self,
        cp: &Checkpoint,
        tree: &Oid,
        paths: Vec<RepoPath>,
    ) -> Result<LandError, GitError> {
        let kept = Box::new(self.keep(cp, tree, &cp.of.attempt)?);
        let apply = format!("git cherry-pick --no-commit {}", kept.name);
        Ok(LandError::Conflict { paths, kept, apply })
    }

    fn put_on_head(
        &self,
        difference: &Difference<'_>,
        gated: Option<&Oid>,
    ) -> Result<Landed, Refused> {
        let Difference { desk, base, theirs, head, ledger } = difference;
        let ours = match head {
            Some(head) => head.to_string(),
            None => self.empty_tree()?.to_string(),
        };
        let result = self.clean_merge(base, &ours, theirs)?;
        // The user's index gets the same difference; if it cannot, nothing is committed.
        let staged = self.write_tree(&desk.saved())?;
        let repaired = self.clean_merge(base, staged.as_str(), theirs)?;
        let ledger = self.riding(ledger.clone())?;
        let (commit, index) = (desk.spare(), desk.repaired());
        copy_index(&desk.saved(), &commit)?;
        self.git(["read-tree", result.as_str()]).index(&commit).ok()?;
        copy_index(&desk.saved(), &index)?;
        let both = [staged.as_str(), repaired.as_str()];
        self.git(["read-tree", "-i", "-m"].into_iter().chain(both)).index(&index).ok()?;
        self.add_to(&commit, &ledger)?;
        self.add_to(&index, &ledger)?;
        let call = self.commit_with(&desk.message(), &[]).index(&commit);
        let landed = self.landed_by(call.run()?, Way::Merged, gated.cloned())?;
        crate::crash::point();
        self.install(&index)?;
        Ok(landed)
    }

    fn clean_merge(&self, base: &str, ours: &str, theirs: &str) -> Result<Oid, Refused> {
        match self.merge(base, ours, theirs)? {
            Merged::Clean(tree) => Ok(tree),
            Merged::Conflict(paths) => Err(Refused::Conflict(paths)),
        }
    }

    fn add_to(&self, index: &Path, paths: &[RepoPath]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        self.add(paths).index(index).ok().map(drop)
    }

    /// A landing was interrupted between its commit and the repair of the user's index.
    pub fn finish_landing(&self, cp: &Checkpoint) -> Result<(), GitError> {
        let desk = self.desk(&cp.of.attempt);
        let read = |path: &Path| std::fs::read(path).ok();
        let unrepaired = read(&self.user_index()) == read(&desk.saved());
        if unrepaired && desk.repaired().exists() {
            self.install(&desk.repaired())?;
        }
        Ok(())
    }

    /// Put an attempt on the ref of its spec. HEAD, the index and the files stay.
    pub(super) fn land_on_spec(
        &self,
        cp: &Checkpoint,
        changes: &Changes,
    ) -> Result<Landed, LandError> {
        let Some(tree) = &changes.tree else { return Err(LandError::Nothing) };
        let (name, parent) = (cp.own_ref("spec"), cp.spec_tip.as_ref().or(cp.head.as_ref()));
        let ours = match parent {
            Some(parent) => parent.to_string(),
            None => self.empty_tree()?.to_string(),
        };
        let result = match self.merge(&self.base(cp)?, &ours, tree.as_str())? {
            Merged::Clean(result) => result,
            Merged::Conflict(paths) => return Err(self.conflict(cp, tree, paths)?),
        };
        let message = self.desk(&cp.of.attempt).message();
        let mut args: Vec<std::ffi::OsString> = vec!["commit-tree".into(), "-F".into()];
        args.push(message.into());
        if let Some(parent) = parent {
            args.extend(["-p".into(), parent.as_str().into()]);
        }
        args.push(result.as_str().into());
        let commit = self.git(args).oid()?;
        let zero = "0".repeat(commit.as_str().len());
        let old = cp.spec_tip.as_ref().map_or(&zero[..], Oid::as_str);
        self.git(["update-ref", "-m", "ralph: land", &name, commit.as_str(), old]).ok()?;
        let gated_tree = Some(tree.clone()).filter(|_| !cp.dirty.is_empty());
        Ok(Landed { commit, gated_tree, way: Way::Spec, hook_output: String::new() })
    }

    /// The spec is complete: its ref's difference becomes one commit on HEAD. `None` when the run
    /// has no such ref.
    pub fn land_spec(
        &self,
        run: &str,
        message: &CommitMessage,
    ) -> Result<Option<Landed>, LandError> {
        let name = format!("refs/ralph/{run}/spec");
        let Some(tip) = self.find_ref(&name)? else { return Ok(None) };
        let head = self.head()?.commit;
        let desk = self.desk(&format!("spec-{run}"));
        desk.clear()?;
        copy_index(&self.user_index(), &desk.saved())?;
        put(&desk.message(), &message.render(&[]))?;
        let base = match &head {
            Some(head) => self.look(["merge-base", head.as_str(), tip.as_str()]).oid()?,
            None => self.empty_tree()?,
        };
        let ledger = self.ledger.shared().iter().collect();
        let (base_text, theirs) = (base.to_string(), tip.as_str());
        let difference = Difference { desk, base: base_text, theirs, head, ledger };
        match self.put_on_head(&difference, None) {
            Ok(landed) => {
                crate::crash::point();
                self.git(["update-ref", "-d", &name, tip.as_str()]).ok()?;
                difference.desk.remove();
                Ok(Some(landed))
            }
            // A crash came between the commit and the end of the ref.
            Err(Refused::Other(LandError::Nothing)) => {
                self.git(["update-ref", "-d", &name, tip.as_str()]).ok()?;
                Ok(None)
            }
            Err(Refused::Other(error)) => Err(error),
            Err(Refused::Conflict(paths)) => {
                let of = AttemptRef { run: run.to_owned(), attempt: "spec".to_owned() };
                let apply = format!("git cherry-pick --no-commit {base}..{name}");
                let kept = Salvage { of, name, commit: tip, at: 0, subject: String::new() };
                let kept = Box::new(kept);
                Err(LandError::Conflict { paths, kept, apply })
            }
        }
    }
}
