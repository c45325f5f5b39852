//! The control plane, driven through the real binary: every command at every moment, each exactly once,
//! and the full-screen view in a real terminal.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may end in a panic and start programs"
)]

mod desk;
mod exact;
mod grid;
mod moments;
#[path = "../build/plans.rs"]
#[expect(dead_code, reason = "shared with the tests of the build loop")]
mod plans;
mod queue;
#[path = "../build/repo.rs"]
#[expect(dead_code, reason = "shared with the tests of the build loop")]
mod repo;
mod stages;
mod terminal;
mod view;
