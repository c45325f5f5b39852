//! The documentation tells the truth: its commands run, its links lead somewhere, and its reference
//! is what the code says.
//!
//! Pages say with HTML comments what a test needs to know and a reader does not (`console.rs`).
//! Generated pages are renewed with `scripts/docs.sh --update`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may end in a panic and start programs, and one of these writes pages"
)]

mod commands;
mod console;
mod generated;
mod links;
mod page;
mod words;
mod world;
