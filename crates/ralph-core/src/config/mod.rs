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
    ConfAssignment, ConfFile, ConfValue, ImportedConf, SkippedPart, conf_layer, conf_to_toml,
    parse_conf,
};
pub use duration::{parse_duration, render_duration};
pub use env::{env_layer, variable_name};
pub use file::parse_layer;
pub use keys::{ConfigKey, KeyAlias, KeyRef, UnknownKey, VariableReading, find_key, keys};
pub use layer::{
    ConfigErrors, ConfigFlag, ConfigLayer, ConfigProblem, ConfigTier, LayerEntry, ValueOrigin,
    flag_layer, plan_layer,
};
pub use reference::reference_page;
pub use resolve::{ConfigRow, ResolvedConfig, apply, resolve};
pub use set::{SetError, set};
pub use setting::{ByteSize, Dollars, PassTrigger, Ratio, SettingType, Timeout};
pub use table::{
    AgentSettings, BackendSettings, BuildSettings, Config, ConstructSettings, GateSettings,
    LandSettings, LaneSettings, LimitSettings, MemorySettings, NotifySettings, PassSettings,
    RetentionSettings, StageSettings, TokenPrices,
};
pub use value::{AbsentField, ConfigRecord, ConfigValue, RecordField, ValueKind};
pub use words::{
    BackendKind, BranchPolicy, CommandClaim, CommitScope, DirtyPolicy, FailurePolicy, GateKind,
    GateStrategy, JudgePolicy, LedgerCommitPolicy, LogLevel, MemoryMode, NotifyEvent, NotifyKind,
    StageName, UnprovenPolicy, Workspace, gate_kind,
};
