//! A landing beside the user's uncommitted changes, gated again without them.
//!
//! The gates saw the commit and the user's changes together. With `regate_landed = true` they also see
//! the commit alone, in a working tree of its own that is made usable as `[worktree]` says. The commit
//! stays whatever they say: what they say is told.

use std::path::Path;

use ralph_core::cycle::{On, Record, Regating};
use ralph_core::gate::{Gate, Need};

use super::attempt::Begun;
use super::error::DriveError;
use super::session::Session;
use crate::file_error::{Action, FileError};
use crate::store::Durability;

impl Session<'_> {
    /// Gate the commit alone, when that is asked for, and write down what the gates say.
    pub(super) fn regate(&mut self, begun: &Begun, commit: Option<&str>) -> Result<(), DriveError> {
        let beside = !begun.base.dirty.is_empty() && !self.gates.is_empty();
        let Some(commit) = commit.filter(|_| self.config.regate_landed && beside) else {
            return Ok(());
        };
        let folder = tempfile::Builder::new().prefix("ralph-regate-").tempdir();
        let folder = folder.map_err(FileError::io(Action::Write, &std::env::temp_dir()))?;
        let tree = folder.path().join("tree");
        self.repo.add_worktree(&tree, commit)?;
        let checked = self.check_alone(begun, &tree);
        self.repo.remove_worktree(&tree)?;
        let Some(failed) = checked? else { return Ok(()) };
        let regating = Regating { commit: commit.to_owned(), failed };
        self.record(Record::Regated(regating), Durability::Eventual)
    }

    /// The gates that count and fail there; `None` when somebody wants an end first.
    fn check_alone(
        &mut self,
        begun: &Begun,
        tree: &Path,
    ) -> Result<Option<Vec<String>>, DriveError> {
        let place = self.link_into(tree)?;
        let gates: Vec<Gate> = self.setup_gate().into_iter().chain(self.gates.clone()).collect();
        let logs = self.gate_logs(begun, On::Alone);
        let Some(runs) = self.run_all(&gates, &logs, On::Alone, &place)? else {
            return Ok(None);
        };
        let checks = runs.into_iter().map(|run| run.check);
        let red = checks.filter(|check| !check.is_green() && check.need == Need::Required);
        Ok(Some(red.map(|check| check.name).collect()))
    }
}
