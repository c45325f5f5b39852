//! A spec that failed: its work becomes a stash entry, or a salvage ref. Both are made from objects, so
//! no file and no index changes, and both may be made again after a crash.

use super::Repo;
use super::error::GitError;
use super::name::Oid;
use super::spec_commit::SpecWork;

/// Place for the work of a failed spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedSpecStorage {
    /// Entry of `git stash list`.
    Stash,
    /// Under a ref of ralph's own.
    Salvage,
}

/// The work of a spec that is given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptSpec {
    /// Place where the work is kept, in words for people.
    pub place: String,
    /// The commit of the stash entry, when it is one.
    pub stash: Option<Oid>,
}

impl Repo<'_> {
    /// Keep the work of a spec and forget its refs; `None` when nothing of it had landed.
    pub(crate) fn keep_spec(
        &self,
        keeper: &str,
        tip: &Oid,
        keep: FailedSpecStorage,
        message: &str,
    ) -> Result<Option<KeptSpec>, GitError> {
        let Some(work) = self.spec_work(keeper, tip)? else { return Ok(None) };
        let kept = match keep {
            FailedSpecStorage::Stash => self.stash_spec(&work, message)?,
            FailedSpecStorage::Salvage => self.salvage_spec(keeper, &work)?,
        };
        crate::crash::point();
        self.drop_spec(keeper)?;
        Ok(Some(kept))
    }

    /// A stash entry with the difference of a spec; one that is there already counts.
    fn stash_spec(&self, work: &SpecWork, message: &str) -> Result<KeptSpec, GitError> {
        let tree = self.tree_of(&work.end)?;
        let known = self.stashed(&tree, message)?;
        let stash = match known {
            Some(known) => known,
            None => {
                let before = self.tree_of(&work.base)?;
                let text = format!("index on {message}");
                let index = self.commit_tree(&before, &[&work.base], &text)?;
                let entry = self.commit_tree(&tree, &[&work.base, &index], message)?;
                self.git(["stash", "store", "-m", message, entry.as_str()]).ok()?;
                entry
            }
        };
        let place = format!("`git stash list` has it as \"{message}\"");
        Ok(KeptSpec { place, stash: Some(stash) })
    }

    fn tree_of(&self, commit: &Oid) -> Result<Oid, GitError> {
        self.look(["rev-parse", &format!("{commit}^{{tree}}")]).oid()
    }

    /// The entry of these words with this tree.
    fn stashed(&self, tree: &Oid, message: &str) -> Result<Option<Oid>, GitError> {
        if self.stash().is_none() {
            return Ok(None);
        }
        let out = self.look(["log", "-g", "--format=%H %T %s", "refs/stash", "--"]).ok()?;
        let wanted = format!(" {tree} {message}");
        let mut lines = out.split(|byte| *byte == b'\n');
        let line = lines.find_map(|line| line.strip_suffix(wanted.as_bytes()));
        Ok(line.and_then(Oid::parse))
    }

    /// Keep the work of a spec under a ref of ralph's own, as one difference.
    fn salvage_spec(&self, keeper: &str, work: &SpecWork) -> Result<KeptSpec, GitError> {
        let short = work.end.as_str().get(..12).unwrap_or(work.end.as_str());
        let name = format!("refs/ralph/{keeper}/salvage/spec-{short}");
        if self.find_ref(&name)?.is_none() {
            let tree = self.tree_of(&work.end)?;
            let text = format!("ralph: salvage of {keeper}");
            let commit = self.commit_tree(&tree, &[&work.base], &text)?;
            self.git(["update-ref", &name, commit.as_str()]).ok()?;
        }
        Ok(KeptSpec { place: format!("`ralph salvage diff spec-{short}` shows it"), stash: None })
    }
}
