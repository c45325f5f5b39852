//! The table `[lane]` of a new `ralph.toml`: what makes a lane usable, as far as files show it.

use std::collections::BTreeSet;

use serde::Serialize;

use super::draft::{ConfigDraft, quote};
use super::manifest::ManifestReader;
use super::tree::ProjectTree;
use super::{lane_files, lane_setup};
use crate::config::LaneSettings;

/// A key of `[lane]` that is proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaneKey {
    /// `setup` together with `setup_when`.
    Setup,
    Copy,
    Link,
}

/// Values for `[lane]` that follow from the files of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LaneProposal {
    /// The command that installs what gates need.
    pub setup: Option<String>,
    /// Files after whose change it has to run again.
    pub setup_when: Vec<String>,
    /// Ignored files that look like settings.
    pub copy: Vec<String>,
    /// Folders beside the repository that the project depends on.
    pub link: Vec<String>,
}

impl LaneProposal {
    /// Find values for `[lane]` in the files of a project.
    pub fn of(tree: &ProjectTree) -> Self {
        // What is wrong with a manifest is told when the gates are looked for.
        Self::detect(&mut ManifestReader::new(tree))
    }

    pub(super) fn detect(look: &mut ManifestReader<'_>) -> Self {
        let setup = lane_setup::detect(look).unwrap_or_default();
        Self {
            setup: Some(setup.command).filter(|command| !command.is_empty()),
            setup_when: setup.when,
            copy: lane_files::local_settings(look.tree),
            link: lane_files::siblings(look),
        }
    }

    /// Return whether the proposal has no values.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn leave_out(&mut self, declined: &BTreeSet<LaneKey>) {
        for key in declined {
            match key {
                LaneKey::Setup => (self.setup, self.setup_when) = (None, Vec::new()),
                LaneKey::Copy => self.copy.clear(),
                LaneKey::Link => self.link.clear(),
            }
        }
    }

    /// The settings `other` with this proposal in the place of their own.
    pub fn over(&self, other: LaneSettings) -> LaneSettings {
        let Self { setup, setup_when, copy, link } = self.clone();
        LaneSettings { setup, setup_when, copy, link, ..other }
    }

    pub(super) fn write_into(&self, draft: &mut ConfigDraft) {
        if let Some(setup) = &self.setup {
            draft.set("lane", "setup", quote(setup));
            draft.set("lane", "setup_when", list(&self.setup_when));
        }
        for (key, paths) in [("copy", &self.copy), ("link", &self.link)] {
            if !paths.is_empty() {
                draft.set("lane", key, list(paths));
            }
        }
    }
}

/// Paths as an array in TOML.
pub(super) fn list(paths: &[String]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| quote(path)).collect();
    format!("[{}]", paths.join(", "))
}
