//! Every promise of the commands, driven through the real binary.
//!
//! One test program, since linking a dozen of them would take longer than running them.

mod bad_input;
mod concurrency;
mod config;
mod convert;
mod inbox;
mod init;
mod invariants;
mod prioritization;
mod query;
mod spec;
mod status;
mod task;
mod validate;
