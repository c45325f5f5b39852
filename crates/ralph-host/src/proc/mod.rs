//! The only place that starts processes, and the place that ends them.
//!
//! # Theory of operation
//!
//! ```text
//! ralph                     supervisor (ralph __supervise)         the program and its family
//! Runner::run(job, watch)
//!   pipes, threads  --Spawn, three files-->  starts it  ----------->  reads, writes, forks …
//!   one mailbox     <------- Exited -------  takes notice             exits
//!                                            SIGTERM, grace, SIGKILL  what it left behind
//!   Finished        <-------- Gone --------  nobody is left
//! ```
//!
//! A coding agent runs its tools in sessions of their own, so killing its process group reaches a
//! part of them, and killing ralph reaches none. Therefore one small process stands between ralph and
//! everything it starts ([`supervise_if_asked`]). It is the reaper of all its descendants, so that
//! none can get away by losing its parent, and it is tied to ralph by a socket that the kernel
//! closes however ralph ends; then it kills all that is below it. A job ends the same way whether
//! its program exits, is stopped or crashes: nobody of its family is left. Every process carries
//! `RALPH_RUN` in its environment, and those of a loop `RALPH_PLACE`, which is how recovery finds
//! what is left if ralph and its supervisor are both killed ([`mark`]).
//!
//! On Linux this is exact. On macOS there is no subreaper: a process is found by its parents, its
//! process group or its mark, and one that has left all three lives on.
//!
//! Ralph's side is [`JobRunner`]: it looks the program up, makes the pipes, and attends to the job
//! until it is gone ([`Job`], [`JobWatch`], [`FinishedJob`]).

mod attend;
mod browser;
mod channel;
mod error;
mod family;
mod find;
mod interrupt;
mod job;
mod keeper;
mod lines;
mod link;
mod log_file;
mod mailbox;
pub mod mark;
#[cfg(target_os = "linux")]
#[path = "os_linux.rs"]
mod os;
#[cfg(not(target_os = "linux"))]
#[path = "os_other.rs"]
mod os;
mod peer;
mod pump;
mod runner;
mod scratch;
mod supervise;
mod tail;
mod tee;
mod wire;

pub use browser::open_in_browser;
pub use error::ProcError;
pub use find::{find_program, is_executable};
pub use interrupt::{InterruptListener, interrupt_self, on_signals};
pub use job::{
    CancelToken, EmptyLogPolicy, EnvChange, FinishedJob, Job, JobBounds, JobStderr, JobStdin,
    JobWatch, WatchDecision,
};
pub use lines::JobOutputLine;
pub use peer::is_peer_started_by;
pub use pump::JobInput;
pub use runner::JobRunner;
pub use scratch::ScratchDirectory;
pub use supervise::supervise_if_asked;
pub use wire::SweepCounts;
