//! The build loop, driven through the real binary: what it promises when a backend works, fails, lies,
//! hangs and dies, and when ralph itself is killed.
//!
//! One test program, since linking a dozen of them would take longer than running them.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may end in a panic and start programs"
)]

mod amendments;
mod branch;
mod chaos;
mod checkout;
mod context;
mod crash;
mod criteria;
mod deluxe;
mod demo;
mod dirt;
mod dirty;
mod endings;
mod environment;
mod gate_outputs;
mod gates;
mod git;
mod git_kills;
mod invariants;
mod ladder;
mod limits;
mod long_output;
mod memory;
mod memory_context;
mod memory_crash;
mod memory_handoff;
mod memory_index;
mod memory_ledger;
mod memory_passes;
mod memory_post;
mod memory_progress;
mod memory_roles;
mod memory_undone;
mod needs;
mod numbers;
mod one_stream;
mod options;
mod plans;
mod processes;
mod progress;
mod proof;
mod recovery;
mod repo;
mod report;
mod retries;
mod secrets;
mod settings;
mod setup;
mod trouble;
mod twin;
mod views;
