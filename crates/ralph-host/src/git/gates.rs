//! Gates write too. Tracked files that they change land with the attempt and are named; new files
//! that they make are kept and removed.

use serde::{Deserialize, Serialize};

use super::Repo;
use super::changes::{Change, ChangeKind, Changes};
use super::checkpoint::Checkpoint;
use super::desk::copy_index;
use super::error::GitError;
use super::name::RepoPath;
use super::salvage::Salvage;

/// What happened to the tree while gates ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateEffects {
    /// Tracked files, or files of the attempt, that are not as the backend left them.
    pub changed: Vec<RepoPath>,
    /// New files, which were removed.
    pub removed: Vec<RepoPath>,
    /// What keeps them.
    pub kept: Option<Salvage>,
}

impl Repo<'_> {
    /// What gates, or the user meanwhile, did to the tree since [`Repo::collect`]. `changes` is
    /// brought up to date.
    pub fn after_gates(
        &self,
        cp: &Checkpoint,
        changes: &mut Changes,
    ) -> Result<GateEffects, GitError> {
        let desk = self.desk(&cp.of.attempt);
        let index = desk.after();
        if cp.is_clean() {
            if self.is_as_staged(cp)? {
                return Ok(GateEffects::default());
            }
            copy_index(&self.user_index(), &index)?;
        }
        let held = desk.spare();
        copy_index(&index, &held)?;
        let added = self.add_all(Some(&index), &cp.nested_paths())?;
        if added.said.is_empty() {
            return Ok(GateEffects::default());
        }
        // Something happened, which is rare; now it may cost.
        let before = self.write_tree(&held)?;
        let shot = self.snapshot(&index, cp)?;
        let later = self.diff(before.as_str(), &shot.tree)?;
        let (new, changed): (Vec<Change>, Vec<Change>) =
            later.into_iter().partition(|c| c.kind == ChangeKind::Added);
        let mut effects = GateEffects {
            changed: changed.into_iter().map(|c| c.path).collect(),
            removed: new.into_iter().map(|c| c.path).collect(),
            kept: None,
        };
        if !effects.removed.is_empty() {
            let name = format!("{}-gates", cp.of.attempt);
            effects.kept = Some(self.keep(cp, &shot.tree, &name)?);
            self.remove_new(&index, &mut effects)?;
        }
        let tree = self.write_tree(&index)?;
        changes.paths = self.diff(&self.base(cp)?, &tree)?;
        if cp.is_clean() {
            self.install(&index)?;
        } else {
            changes.tree = Some(tree);
        }
        Ok(effects)
    }

    /// Whether every file is as the user's index has it. Looking is cheaper than adding, and a list
    /// of what differs from the index is cheaper than a status, which looks at HEAD too.
    pub(super) fn is_as_staged(&self, cp: &Checkpoint) -> Result<bool, GitError> {
        let args = ["ls-files", "-z", "-m", "-d", "-o", "--exclude-standard", "--full-name"];
        let out = self.look(args).ok()?;
        let known = |path: &[u8]| {
            let path = RepoPath::new(path);
            self.ledger.contains(&path) || cp.nested.iter().any(|nested| nested.path == path)
        };
        Ok(super::call::nul_fields(&out).all(known))
    }

    /// Take new files off the disk, unless they have changed since they were kept.
    fn remove_new(
        &self,
        index: &std::path::Path,
        effects: &mut GateEffects,
    ) -> Result<(), GitError> {
        let paths: Vec<&RepoPath> = effects.removed.iter().collect();
        let args = ["ls-files", "-m", "-z", "--full-name"];
        let out = self.look(args).index(index).ok()?;
        let unsettled: Vec<RepoPath> = super::call::nul_fields(&out).map(RepoPath::new).collect();
        self.leave_out(Some(index), &paths)?;
        effects.removed.retain(|path| !unsettled.contains(path));
        for path in &effects.removed {
            let file = self.file(path);
            std::fs::remove_file(&file).map_err(GitError::io("remove", &file))?;
            let folders = file.ancestors().skip(1).take_while(|f| *f != self.top);
            for folder in folders {
                if std::fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
        Ok(())
    }
}
