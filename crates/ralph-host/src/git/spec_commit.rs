//! The work of a spec: a ref at its end, one at the commit that it began from, and the one commit that
//! it becomes.
//!
//! The tip may move while a spec is worked on. Then the difference of the spec is merged with the tip in
//! objects; nothing of it touches home.

use super::Repo;
use super::call::nul_fields;
use super::error::GitError;
use super::merge::TreeMergeResult;
use super::name::{Oid, RepoPath};

/// The trailer that says for which entry of the inbox a commit is.
pub const ENTRY: &str = "Ralph-Inbox";

/// Most commits in which a trailer is looked for. Whoever adds more between a crash and the next start
/// has a history of their own.
const LOOKED_AT: &str = "-n1000";

/// The landed attempts of a spec that is not on the tip yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpecWork {
    /// The commit from which the spec began.
    pub(crate) base: Oid,
    /// The last commit of the spec.
    pub(crate) end: Oid,
}

/// The work of a spec merged with the tip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SpecTipMerge {
    Fits {
        /// A commit with the merged tree.
        merged: Oid,
        /// Paths that others changed since the spec began, the ledger aside.
        others: Vec<RepoPath>,
    },
    /// Paths in which others changed the same lines.
    Conflict(Vec<RepoPath>),
}

/// The ref at the end of what has landed of a spec.
pub(crate) fn spec_ref(keeper: &str) -> String {
    format!("refs/ralph/{keeper}/spec")
}

fn base_ref(keeper: &str) -> String {
    format!("refs/ralph/{keeper}/base")
}

impl Repo<'_> {
    /// Return the landed work of a spec that began on `tip` or before it, if there is any.
    pub(crate) fn spec_work(&self, keeper: &str, tip: &Oid) -> Result<Option<SpecWork>, GitError> {
        let Some(end) = self.find_ref(&spec_ref(keeper))? else { return Ok(None) };
        let base = match self.find_ref(&base_ref(keeper))? {
            Some(base) => base,
            // Somebody deleted it.
            None => self.look(["merge-base", tip.as_str(), end.as_str()]).oid()?,
        };
        Ok(Some(SpecWork { base, end }))
    }

    /// The keepers of all specs that have landed attempts and are not on a tip yet.
    pub(crate) fn open_specs(&self) -> Result<Vec<String>, GitError> {
        let args = ["for-each-ref", "--format=%(refname)", "refs/ralph/spec-*/spec"];
        let out = self.look(args).ok()?;
        let keeper =
            |name: &str| Some(name.strip_prefix("refs/ralph/")?.strip_suffix("/spec")?.to_owned());
        Ok(String::from_utf8_lossy(&out).lines().filter_map(keeper).collect())
    }

    /// Move the end of a spec from `old` to `new`. A spec that begins does so at `base`.
    pub(crate) fn advance_spec(
        &self,
        keeper: &str,
        new: &Oid,
        old: Option<&Oid>,
        base: &Oid,
    ) -> Result<(), GitError> {
        if old.is_none() {
            // First, so that no end is without its base.
            self.git(["update-ref", &base_ref(keeper), base.as_str()]).ok()?;
            crate::crash::point();
        }
        self.advance_ref(&spec_ref(keeper), new, old)
    }

    /// Forget the refs of a spec: it is on the tip, or kept elsewhere.
    pub(crate) fn drop_spec(&self, keeper: &str) -> Result<(), GitError> {
        self.delete_ref(&spec_ref(keeper))?;
        self.delete_ref(&base_ref(keeper))
    }

    /// Merge the work of a spec with the tip.
    pub(crate) fn merge_spec(&self, work: &SpecWork, tip: &Oid) -> Result<SpecTipMerge, GitError> {
        if work.base == *tip {
            return Ok(SpecTipMerge::Fits { merged: work.end.clone(), others: Vec::new() });
        }
        let tree = match self.merge(work.base.as_str(), tip.as_str(), work.end.as_str())? {
            TreeMergeResult::Clean(tree) => tree,
            TreeMergeResult::Conflict(paths) => return Ok(SpecTipMerge::Conflict(paths)),
        };
        let others = self.diff(work.base.as_str(), tip)?;
        Ok(SpecTipMerge::Fits {
            merged: self.commit_on(&tree, tip)?,
            others: others.into_iter().map(|change| change.path).collect(),
        })
    }

    /// A commit with this tree on another commit, to be checked out in a lane.
    fn commit_on(&self, tree: &Oid, parent: &Oid) -> Result<Oid, GitError> {
        self.commit_tree(tree, &[parent], "ralph: a spec on the tip")
    }

    /// Take what is in the files of the lane into its index. Returns a commit with it on `parent`.
    pub(crate) fn stage_all(&self, parent: &Oid) -> Result<Oid, GitError> {
        self.add_all(None, &[])?;
        let tree = self.write_tree(&self.user_index())?;
        self.commit_on(&tree, parent)
    }

    /// The paths that a commit changed, with the ledger.
    pub(crate) fn paths_of(&self, commit: &Oid) -> Result<Vec<RepoPath>, GitError> {
        let args = ["diff-tree", "-r", "-z", "--root", "--no-commit-id", "--name-only"];
        let out =
            self.look(args.into_iter().chain(["--no-renames", commit.as_str(), "--"])).ok()?;
        Ok(nul_fields(&out).map(RepoPath::new).collect())
    }

    /// The commit with this trailer in the history of `tip`, if a crash came right after it.
    pub(crate) fn commit_with_trailer(
        &self,
        tip: &Oid,
        name: &str,
        value: &str,
    ) -> Result<Option<Oid>, GitError> {
        let grep = format!("--grep=^{name}: {value}$");
        let args = ["log", LOOKED_AT, "--no-show-signature", "--format=%H", &grep, tip.as_str()];
        let out = self.look(args).ok()?;
        Ok(out.split(|byte| *byte == b'\n').find_map(Oid::parse))
    }
}
