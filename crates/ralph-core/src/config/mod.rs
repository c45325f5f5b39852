//! The configuration: one table of keys, six layers, one result that knows where each value is from.
//!
//! # Theory of operation
//!
//! [`table`](self) is the single source of truth: a row there is a typed field of [`Config`], a name
//! in files, an environment variable, a check, a default and a line of the reference page.
//!
//! ```text
//! file text --parse_layer--> Layer ─┐
//! plan record --plan_layer--> Layer ─┤
//! variables ----env_layer--> Layer ─┼─ resolve ─> Resolved { config, where each value is from }
//! options -----flag_layer--> Layer ─┘
//! ```
//!
//! A layer holds values that passed the check of their key; [`resolve`] applies the layers in order
//! and then checks the rules between keys. [`set`] goes the other way, from one value to the text of
//! a file. Reading files and the environment is the host's work.

mod check;
mod conf;
mod duration;
mod env;
mod file;
mod keys;
mod layer;
mod reference;
mod resolve;
mod set;
mod setting;
mod shell;
mod table;
mod value;
mod words;

#[cfg(test)]
mod conf_tests;
#[cfg(test)]
mod env_tests;
#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod resolve_tests;
#[cfg(test)]
mod set_tests;

pub use conf::{
    Assignment, Conf, ConfValue, Imported, Skipped, conf_layer, conf_to_toml, parse_conf,
};
pub use duration::{parse_duration, render_duration};
pub use env::{env_layer, variable_name};
pub use file::parse_layer;
pub use keys::{Alias, Key, KeyRef, Reading, UnknownKey, find_key, keys};
pub use layer::{ConfigErrors, Entry, Flag, Layer, Origin, Problem, Tier, flag_layer, plan_layer};
pub use reference::reference_page;
pub use resolve::{Resolved, Shown, apply, resolve};
pub use set::{SetError, set};
pub use setting::{ByteSize, Dollars, Ratio, Setting, Timeout, Trigger};
pub use table::{
    Agent, Backend, Build, Config, Construct, Gate, Land, LaneSettings, Limits, Memory, Notify,
    Pass, Prices, Retention, Stage,
};
pub use value::{Absent, Field, Kind, Record, Value};
pub use words::{
    BackendKind, BranchFor, Claim, CommitLedger, CommitScope, GateKind, GateStrategy, Judges,
    LogLevel, Mode, NotifyKind, NotifyOn, OnDirty, OnFailure, StageName, UnprovenPolicy, Workspace,
    gate_kind,
};
