//! What tests share: temporary projects and a way to run the real binary in them.
//!
//! # Theory of operation
//!
//! A test reads as a specification:
//!
//! ```ignore
//! project!()
//!     .git_init()
//!     .file("ralph/specs/login.md", "# Login\n")
//!     .run(["inbox", "add", "login.md"])
//!     .ok()
//!     .stdout_has("Queued: q-");
//! ```
//!
//! A [`TestProject`] is a throw-away directory with a throw-away home. Every program started in it
//! sees an environment made from nothing: no variable of the machine or of the test runner leaks
//! in, git reads no configuration but its own, and ralph's clock stands still. [`SmallDisk`] is a
//! place that really gets full, and [`TestProject::as_nobody`] makes permissions mean something
//! when the tests run as root.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "tests make files, start programs and end in a panic"
)]

mod dashboard;
mod invocation;
mod processes;
mod project;
mod run;
mod small_disk;
mod wait;

pub use dashboard::Dashboard;
pub use invocation::{Invocation, Running};
pub use processes::{left, none_is_left};
pub use project::{NOW, TestProject};
pub use run::Run;
pub use small_disk::SmallDisk;
pub use wait::until;

/// A [`TestProject`] for the `ralph` binary of the crate under test.
#[macro_export]
macro_rules! project {
    () => {
        $crate::TestProject::new(env!("CARGO_BIN_EXE_ralph"))
    };
}
