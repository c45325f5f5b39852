//! `ralph agent`, driven through the real binary: specs from the inbox become one commit each, or one
//! stash entry, whatever backends, hooks, people and signals do, and whenever it is killed.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may end in a panic and start programs"
)]

#[path = "../build/dirt.rs"]
mod dirt;
#[path = "../build/plans.rs"]
#[expect(dead_code, reason = "shared with the tests of the build loop, which need all of it")]
mod plans;
#[path = "../build/repo.rs"]
#[expect(dead_code, reason = "shared with the tests of the build loop, which need all of it")]
mod repo;

mod bad_input;
mod branch;
mod failures;
mod git;
mod kills;
mod lab;
mod limits;
mod many;
mod money;
mod notify;
mod seed;
mod service;
mod session;
mod signals;
mod watch;
