//! The process room with real processes under the real supervisor: what is started comes to an end,
//! all of it, whatever it does.
//!
//! Each test looks through `/proc` for processes that carry its mark and finds none. No test asserts
//! a time; limits are generous where they must not be met and short where they must.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests start programs and end in a panic"
)]

mod backends;
mod dialogue;
mod endings;
mod family;
mod gates;
mod killed;
mod notify;
mod output;
mod session;
mod sim;
mod stage;
mod stops;
