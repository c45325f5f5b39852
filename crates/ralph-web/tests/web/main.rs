//! The server over loopback, byte by byte: what it answers, and what it must never answer.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may end in a panic and make files"
)]

mod api;
mod schema;
mod security;
mod site;
