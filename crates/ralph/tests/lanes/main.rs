//! Lanes on real repositories: they are made, kept and repaired, nothing that an agent does in one
//! reaches the user's repository, and nothing of a user's is lost, committed or changed while ralph works.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests write files, start programs and end in a panic"
)]

#[path = "../build/dirt.rs"]
mod dirt;
#[path = "../build/plans.rs"]
#[expect(dead_code, reason = "shared with the tests of the build loop, which need all of it")]
mod plans;
#[path = "../build/repo.rs"]
#[expect(dead_code, reason = "shared with the tests of the build loop, which need all of it")]
mod repo;

mod agents;
mod beside;
mod furnishing;
mod hooks;
mod hostile;
mod making;
mod moments;
mod person;
mod plan_edits;
mod rows;
mod shadow;
mod stage;
mod submodules;
mod watched;
