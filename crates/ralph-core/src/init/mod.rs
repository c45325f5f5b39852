//! Plan of `ralph init` for a project, computed before any file is changed.
//!
//! # Theory of operation
//!
//! The host lists the project's root and the folders one level below it ([`ProjectTree::looks_into`]). It
//! reads the few files that matter ([`ProjectTree::wants`]). [`set_up`] takes this [`ProjectTree`] and returns a
//! [`ProjectSetup`]: the files to create with their text, the lines that `.gitignore` lacks, and the findings
//! with reasons. A setup never overwrites or deletes a file. So its steps can run in any order, and
//! they can stop at any point. A second call after a complete setup returns an empty one.
//!
//! ```text
//! Tree --stack--> gates ──┐
//!      --import-> settings┼--draft--> ralph.toml
//!      --lane_*-> [lane] ─┘
//!      --ignore-> lines of .gitignore
//! ```

mod draft;
mod ignore;
mod import;
mod lane_advice;
mod lane_files;
mod lane_proposal;
mod lane_setup;
mod manifest;
mod other_rules;
mod setup;
mod stack;
mod starter;
mod tree;

pub use draft::ProposedGate;
pub use ignore::with_rules;
pub use lane_advice::{LaneAdvice, LaneDifference};
pub use lane_proposal::{LaneKey, LaneProposal};
pub use other_rules::{CONVENTIONAL_PREFIX, FORMATTER_ADVICE};
pub use setup::{
    BlockedPath, FirstSpec, IgnoreRulesState, InitRequest, NewFile, PathKind, ProjectProblem,
    ProjectSetup, set_up,
};
pub use stack::DetectedStack;
pub use starter::{STARTER, STARTER_FILE, is_starter};
pub use tree::{ProjectTree, TreeEntry};

#[cfg(test)]
mod fixture;
