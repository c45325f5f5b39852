//! The one commit of a spec: whether it is there already, and whether it still stands on HEAD.

use super::Repo;
use super::error::GitError;
use super::name::Oid;

/// The trailer that says for which entry of the inbox a commit is.
pub const ENTRY: &str = "Ralph-Inbox";

/// How many commits are looked at. Whoever adds more between a crash and the next start has a history
/// of their own.
const LOOKED_AT: &str = "-n1000";

impl Repo<'_> {
    /// The commit of an entry of the inbox, if a crash came right after it.
    pub fn commit_of_entry(&self, id: &str) -> Result<Option<Oid>, GitError> {
        if self.head()?.commit.is_none() {
            return Ok(None);
        }
        let grep = format!("--grep=^{ENTRY}: {id}$");
        let out = self.look(["log", LOOKED_AT, "--format=%H", &grep, "HEAD"]).ok()?;
        Ok(out.split(|byte| *byte == b'\n').find_map(Oid::parse))
    }

    /// The spec's commit is made: its ref goes, and the index gets what a crash kept from it.
    pub fn finish_spec(&self, run: &str) -> Result<(), GitError> {
        let desk = self.desk(&format!("spec-{run}"));
        if desk.repaired().exists() && desk.saved().exists() {
            let as_before =
                self.write_tree(&desk.saved())? == self.write_tree(&self.user_index())?;
            if as_before {
                self.install(&desk.repaired())?;
            }
        }
        desk.remove();
        self.drop_spec(run)
    }

    /// Keep the work of a spec under a ref beside it, because nobody commits it, and forget the spec.
    pub fn set_spec_aside(&self, run: &str) -> Result<(), GitError> {
        let Some(tip) = self.find_ref(&format!("refs/ralph/{run}/spec"))? else { return Ok(()) };
        let head = self.head()?.commit;
        let base = head.map(|head| self.look(["merge-base", head.as_str(), tip.as_str()]).oid());
        self.salvage_spec(run, base.transpose()?.as_ref(), &tip)?;
        self.drop_spec(run)
    }

    fn drop_spec(&self, run: &str) -> Result<(), GitError> {
        self.git(["update-ref", "-d", &format!("refs/ralph/{run}/spec")]).ok().map(drop)
    }

    /// What others have committed since the spec began, by its paths, the ledger aside.
    pub fn others_since_spec(&self, run: &str) -> Result<Vec<String>, GitError> {
        let tip = self.find_ref(&format!("refs/ralph/{run}/spec"))?;
        let (Some(tip), Some(head)) = (tip, self.head()?.commit) else { return Ok(Vec::new()) };
        let base = self.look(["merge-base", head.as_str(), tip.as_str()]).oid()?;
        let changed = self.diff(base.as_str(), &head)?;
        Ok(changed.iter().map(|change| change.path.to_string()).collect())
    }
}
