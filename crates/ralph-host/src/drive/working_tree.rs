//! The working tree that backends and gates see.

use std::path::PathBuf;

use super::session::Session;
use crate::git::Repo;
use crate::proc::EnvChange;

impl<'a> Session<'a> {
    /// The repository whose working tree attempts change.
    pub(super) fn work_tree(&self) -> &Repo<'a> {
        &self.repo
    }

    /// The folder in which backends and gates run.
    pub(super) fn work_root(&self) -> PathBuf {
        self.project.root().to_owned()
    }

    /// Changes to the environment of everything that runs there.
    #[expect(clippy::unused_self, reason = "lanes have some")]
    pub(super) fn surroundings(&self) -> Vec<EnvChange> {
        Vec::new()
    }
}
