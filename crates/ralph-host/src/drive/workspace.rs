//! Working trees of their own, for a moment: for gates that look at a commit alone, and for verifiers
//! that must not disturb each other.
//!
//! Each is a detached worktree in a temporary folder, made usable as `[worktree]` says: paths of the
//! project are linked into it, and a command is run in it. The folder is named after what it is for, so
//! that what a crash left can be found and taken away.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::config::GateKind;
use ralph_core::cycle::On;
use ralph_core::gate::{Gate, Need};

use super::error::DriveError;
use super::session::Session;
use crate::file_error::{Action, FileError};
use crate::git::Checkpoint;

/// Where an agent that is asked something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workplace {
    /// In the tree of the project, beside the others.
    Shared,
    /// Alone, in a worktree.
    Own,
}

/// Longest time of the command that makes a worktree usable, where no gate says otherwise.
const LONGEST_SETUP: Duration = Duration::from_secs(600);

/// Worktrees that were made for one consultation.
pub(super) struct Workspaces {
    folder: PathBuf,
    trees: Vec<PathBuf>,
    /// The project in each of them.
    pub(super) places: Vec<PathBuf>,
}

impl Session<'_> {
    /// A worktree for each of so many agents. `None` when they have to share the tree after all, which
    /// is told.
    pub(super) fn workspaces(
        &mut self,
        base: &Checkpoint,
        id: &str,
        count: usize,
    ) -> Result<Option<Workspaces>, DriveError> {
        let Some(commit) = self.repo.commit_of(base)? else {
            self.warn("there is no commit yet, so everybody looks at the same tree");
            return Ok(None);
        };
        let folder = folder_of(id);
        let mut made = Workspaces { folder, trees: Vec::new(), places: Vec::new() };
        for n in 0..count {
            match self.one_more(&mut made, &commit, n) {
                Ok(None) => {}
                Ok(Some(why)) => {
                    self.warn(&format!("{why}, so everybody looks at the same tree"));
                    self.leave(made);
                    return Ok(None);
                }
                Err(error) => {
                    self.leave(made);
                    return Err(error);
                }
            }
        }
        Ok(Some(made))
    }

    /// One more worktree; why it cannot be used, if so.
    fn one_more(
        &mut self,
        made: &mut Workspaces,
        commit: &str,
        n: usize,
    ) -> Result<Option<String>, DriveError> {
        let tree = made.folder.join(n.to_string());
        self.repo.add_worktree(&tree, commit)?;
        made.trees.push(tree.clone());
        let place = self.link_into(&tree)?;
        made.places.push(place.clone());
        let Some(setup) = self.setup_gate() else { return Ok(None) };
        let logs = self.project.root().join(".ralph/logs/validation/worktree");
        let runs = self.run_all(&[setup], &logs, On::Alone, &place)?;
        let green = runs.is_some_and(|runs| runs.iter().all(|run| run.check.is_green()));
        Ok((!green).then(|| "the command of `[worktree] setup` failed".to_owned()))
    }

    /// Take worktrees away again. What cannot be removed is no reason to stop.
    pub(super) fn leave(&mut self, made: Workspaces) {
        for tree in &made.trees {
            if let Err(e) = self.repo.remove_worktree(tree) {
                self.warn(&format!("a worktree is still there: {e}"));
            }
        }
        let _still_there = std::fs::remove_dir_all(&made.folder);
    }

    /// What a crash left of the worktrees of a consultation.
    pub(super) fn leave_all(&mut self, id: &str) {
        let folder = folder_of(id);
        if folder.exists() && std::fs::remove_dir_all(&folder).is_ok() {
            let _later = self.repo.prune_worktrees();
        }
    }

    /// The project in a worktree, with what `[worktree] link` names.
    pub(super) fn link_into(&self, tree: &Path) -> Result<PathBuf, DriveError> {
        let place = self.repo.project_in(self.project.root(), tree);
        for path in &self.config.worktree.link {
            let (from, to) = (self.project.root().join(path), place.join(path));
            if from.exists() && !to.exists() {
                symlink(&from, &to).map_err(FileError::io(Action::Write, &to))?;
            }
        }
        Ok(place)
    }

    /// The command of `[worktree] setup`, to be run like a gate.
    pub(super) fn setup_gate(&self) -> Option<Gate> {
        let command = self.config.worktree.setup.clone()?;
        let timeout = self.gates.iter().map(|gate| gate.timeout).max().unwrap_or(LONGEST_SETUP);
        let (kind, need) = (GateKind::Test, Need::Required);
        Some(Gate { name: "setup".into(), command, kind, need, timeout })
    }
}

fn folder_of(id: &str) -> PathBuf {
    std::env::temp_dir().join(format!("ralph-look-{id}"))
}
