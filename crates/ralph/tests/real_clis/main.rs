//! The real agent programs, driven by the real ralph, against the scripted model server.
//!
//! `scripts/real-clis.sh` installs the programs, says by name which ones it could not get, and runs
//! these tests. They are marked as ignored because a plain `cargo test` has no such programs; when
//! one is asked for without them, it fails and says what to run.
//!
//! Every run has a home of its own and a key that is worth nothing, and talks to nobody but the
//! server of its own test. After each run no process with that home may be left.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may end in a panic")]

mod claude;
mod codex;
mod gemini;
mod lab;
mod opencode;
