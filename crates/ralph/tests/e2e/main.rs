//! Every promise of the commands, driven through the real binary.
//!
//! One test program, since linking a dozen of them would take longer than running them.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may end in a panic and start programs"
)]

mod attempts;
mod backends;
mod bad_input;
mod concurrency;
mod config;
mod convert;
mod doctor;
mod dry_run;
mod elsewhere;
mod import;
mod inbox;
mod init;
mod init_interview;
mod init_lane;
mod inside;
mod knowledge;
mod land;
mod land_waits;
mod lanes;
mod mcp;
mod messages;
mod open_run;
mod prioritization;
mod query;
mod recover;
mod salvage;
mod serve;
mod sim;
mod spec;
mod stage;
mod status;
mod task;
mod thrift;
mod validate;
