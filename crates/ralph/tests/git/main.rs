//! The git room on real repositories, under the real supervisor: what counts is landed exactly, what
//! does not is rolled back, and nothing of the user's is ever lost.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests write files, start programs and end in a panic"
)]

mod backend_git;
mod base;
mod clean;
mod dirty;
mod exact;
mod hooks;
mod nested;
mod places;
mod random;
mod recovery;
mod salvage;
mod spec;
mod stage;
