//! What `ralph init` does to a project, worked out before anything is touched.
//!
//! # Theory of operation
//!
//! The host lists the project's root, the folders one level below it ([`Tree::looks_into`]) and
//! reads the few files that decide something ([`Tree::wants`]). [`set_up`] looks at that [`Tree`]
//! and answers with a [`Setup`]: the files to create with their text, the lines that `.gitignore`
//! lacks, what was found and why. Nothing in a setup overwrites or deletes, so it can be carried out
//! in any order, stopped anywhere, and asked for again: the second answer is empty.
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

pub use draft::Gate;
pub use ignore::with_rules;
pub use lane_advice::{LaneAdvice, LaneDifference};
pub use lane_proposal::{LaneKey, LaneProposal};
pub use other_rules::{CONVENTIONAL_PREFIX, FORMATTER_ADVICE};
pub use setup::{
    FirstSpec, IgnoreRules, InTheWay, NewFile, Problem, Request, Setup, Wanted, set_up,
};
pub use stack::Found;
pub use starter::{STARTER, STARTER_FILE, is_starter};
pub use tree::{Entry, Tree};

#[cfg(test)]
mod fixture;
