//! The thin shell around the core: the only code that touches the world.
//!
//! # Theory of operation
//!
//! One room per kind of touching. [`project`] looks where a project is and which files it has,
//! without starting git. [`store`] is the only writer of ledger files: every change is made under
//! one short lock, and is either one appended record or a whole new file put in place at once.
//! [`clock`] and [`ids`] are the only sources of time and chance. Nothing here prints: what went
//! wrong is an error value with a `hint()` that says what to do about it.

pub mod agent_log;
pub mod backends;
pub mod checkup;
pub mod choice;
pub mod clock;
pub mod config_load;
pub mod crash;
mod crew;
pub mod drive;
pub mod file_error;
pub mod gates;
pub mod git;
mod git_dir;
pub mod handoff_files;
pub mod ids;
pub mod knowledge_files;
pub mod lanes;
pub mod mailbox;
pub mod notify;
pub mod plan_file;
pub mod plan_store;
pub mod proc;
pub mod project;
pub mod project_reader;
pub mod prompt_files;
pub mod redaction;
pub mod run_ledger;
pub mod session;
pub mod sim;
pub mod specs;
pub mod store;
pub mod survey;
pub mod watch;

pub use file_error::FileError;
pub use project::Project;
