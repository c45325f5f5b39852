//! `ralph plan` and `ralph construct`, driven through the real binary: a spec becomes verified work, or
//! ralph says why not, whatever its agents do and whenever it is killed.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may end in a panic and start programs"
)]

#[path = "../build/plans.rs"]
#[expect(dead_code, reason = "shared with the tests of the build loop, which need all of it")]
mod plans;
#[path = "../build/repo.rs"]
#[expect(dead_code, reason = "shared with the tests of the build loop, which need all of it")]
mod repo;

mod crash;
mod decompose;
mod flow;
mod investigate;
mod lab;
mod limits;
mod planning;
mod running;
mod secrets;
mod specs;
mod verify;
