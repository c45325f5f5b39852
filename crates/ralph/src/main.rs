//! ralph: drives coding agents through specs until the work is proven done.
//!
//! # Theory of operation
//!
//! `args` is what was typed; each file of `commands` says what it means here, asks the pure core for
//! edits, and lets the host write them. A command returns its exit code or a [`error::CommandError`].

mod args;
mod commands;
mod context;
mod error;
mod out;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // Not a command: it is how ralph starts itself to watch over the processes of a run.
    if let Some(code) = ralph_host::proc::supervise_if_asked() {
        return code;
    }
    std::panic::set_hook(Box::new(error::report_panic));
    // Nor is this one: it is the simulated backend, another program in the same binary.
    let mut hidden = std::env::args_os().skip(1);
    if hidden.next().is_some_and(|word| word == ralph_core::backend::sim::COMMAND) {
        return ralph_host::sim::main(hidden);
    }
    std::panic::catch_unwind(|| match commands::run(args::Cli::parse()) {
        Ok(code) => code,
        Err(error) => error.report(),
    })
    .unwrap_or(ExitCode::FAILURE)
}
