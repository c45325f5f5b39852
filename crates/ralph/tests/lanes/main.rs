//! Lanes on real repositories: they are made, kept and repaired, and nothing that an agent does in one
//! reaches the user's repository.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests write files, start programs and end in a panic"
)]

mod agents;
mod furnishing;
mod hooks;
mod making;
mod stage;
mod submodules;
