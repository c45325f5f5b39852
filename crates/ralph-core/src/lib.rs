//! The pure heart of ralph: values in, values out.
//!
//! # Theory of operation
//!
//! Nothing here opens a file, starts a process, reads a clock, rolls a die or waits. A *codec*
//! ([`mod@format`]) turns the text of a plan file into a [`plan::Plan`], and a list of [`plan::PlanEdit`]s
//! plus the old text into the new text, changing only the bytes that must change. Between the two,
//! the functions of [`plan`] decide: which stage a plan is in, which task comes next, what a verdict
//! does. The host crate does the reading, locking and writing around them.
//!
//! ```text
//! text --parse--> Plan --decide--> [Edit] --edit--> text'   (text' is parsed again before it is written)
//! ```

pub mod age;
pub mod agent_role;
pub mod agent_session;
pub mod answer;
pub mod backend;
pub mod choice;
pub mod claim;
pub mod config;
pub mod construct;
pub mod control;
pub mod convert;
pub mod cost_sum;
pub mod cycle;
pub mod dashboard;
pub mod digest;
pub mod doctor;
pub mod fence;
pub mod format;
pub mod gate;
pub mod git_names;
pub mod handoff;
pub mod ids;
pub mod import;
pub mod inbox;
pub mod init;
pub mod json;
pub mod limits;
pub mod lines;
pub mod memory;
pub mod merge;
pub mod needs;
pub mod notify;
pub mod plan;
pub mod prompt;
pub mod report;
pub mod spec;
pub mod text;
pub mod view;
pub mod windows;
mod word_enum;
pub mod words;
