//! One layer of the configuration: where it comes from, and what it sets.
//!
//! A layer holds checked values only. Whatever is wrong becomes a [`ConfigProblem`], and reading goes on,
//! so that a person sees everything at once.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::keys::{KeyRef, find_key};
use super::value::ConfigValue;
use crate::plan::PlanConfig;

/// The layers, lowest first: a higher one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfigTier {
    Default,
    /// The user's own configuration file.
    User,
    /// The project's `ralph.toml`, or its `ralph.conf` if there is none.
    Project,
    /// The config record of plan.jsonl.
    Plan,
    /// A `RALPH_*` variable.
    Environment,
    /// An option on the command line.
    Flag,
}

/// Source of a value: its layer, its name and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueOrigin {
    pub tier: ConfigTier,
    /// Name of the file, variable or option.
    pub name: Arc<str>,
    /// Line in the file, from 1.
    pub line: Option<usize>,
}

impl ValueOrigin {
    /// The origin of values that nobody set.
    pub fn built_in() -> Self {
        Self { tier: ConfigTier::Default, name: "default".into(), line: None }
    }
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => f.pad(&format!("{}:{line}", self.name)),
            None => f.pad(&self.name),
        }
    }
}

/// Something that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    pub origin: ValueOrigin,
    /// Column in characters, from 1, where one is known.
    pub column: Option<usize>,
    pub message: String,
}

impl ConfigProblem {
    /// Create a problem at an origin, without a column.
    pub fn new(origin: ValueOrigin, message: impl Into<String>) -> Self {
        Self { origin, column: None, message: message.into() }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin)?;
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Everything that is wrong, in the order of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigProblem>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.0.iter().enumerate() {
            let end = if n == 0 { "" } else { "\n" };
            write!(f, "{end}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// One value that a layer sets.
#[derive(Clone, Debug)]
pub struct LayerEntry {
    pub key: KeyRef,
    pub value: ConfigValue,
    pub origin: ValueOrigin,
}

/// The values of one file, of the environment, or of the command line.
#[derive(Clone, Debug, Default)]
pub struct ConfigLayer {
    /// In the order of the source.
    pub entries: Vec<LayerEntry>,
    /// Messages for the user about the layer that are not errors.
    pub warnings: Vec<String>,
}

/// A layer, or all that is wrong with it.
pub(super) fn finish(
    layer: ConfigLayer,
    problems: Vec<ConfigProblem>,
) -> Result<ConfigLayer, ConfigErrors> {
    if problems.is_empty() { Ok(layer) } else { Err(ConfigErrors(problems)) }
}

/// An option on the command line that sets a key.
#[derive(Clone, Debug)]
pub struct ConfigFlag {
    /// The option as it was typed, such as `--max-cost`.
    pub name: &'static str,
    /// Full name of the key that the option sets.
    pub key: &'static str,
    pub value: String,
}

/// The layer of the command line.
pub fn flag_layer(flags: &[ConfigFlag]) -> Result<ConfigLayer, ConfigErrors> {
    let mut layer = ConfigLayer::default();
    let mut problems = Vec::new();
    for flag in flags {
        let origin = ValueOrigin { tier: ConfigTier::Flag, name: flag.name.into(), line: None };
        match read_plain(flag.key, &flag.value) {
            Ok((key, value)) => layer.entries.push(LayerEntry { key, value, origin }),
            Err(message) => problems.push(ConfigProblem::new(origin, message)),
        }
    }
    finish(layer, problems)
}

/// The layer of plan.jsonl's config record; `file` is how messages call the plan.
pub fn plan_layer(file: &str, config: &PlanConfig) -> Result<ConfigLayer, ConfigErrors> {
    let settings = [
        ("timeout_ms", "limits.stage_timeout", config.timeout_ms.map(|ms| format!("{ms}ms"))),
        (
            "max_iterations",
            "construct.max_iterations",
            config.max_iterations.map(|n| n.to_string()),
        ),
        ("context_warn", "limits.context_warn", config.context_warn.map(|n| n.to_string())),
        (
            "context_compact",
            "limits.context_compact",
            config.context_compact.map(|n| n.to_string()),
        ),
        ("context_kill", "limits.context_kill", config.context_kill.map(|n| n.to_string())),
    ];
    let origin = ValueOrigin { tier: ConfigTier::Plan, name: file.into(), line: Some(config.line) };
    let mut layer = ConfigLayer::default();
    let mut problems = Vec::new();
    for (field, key, value) in settings {
        let Some(value) = value else { continue };
        match read_plain(key, &value) {
            Ok((key, value)) => {
                layer.entries.push(LayerEntry { key, value, origin: origin.clone() })
            }
            Err(message) => {
                problems.push(ConfigProblem::new(
                    origin.clone(),
                    format!("the config record's `{field}`: {message}"),
                ));
            }
        }
    }
    finish(layer, problems)
}

/// The key called `path` and its value, read from bare text.
pub(super) fn read_plain(path: &str, text: &str) -> Result<(KeyRef, ConfigValue), String> {
    let key = find_key(path).map_err(|unknown| unknown.0)?;
    let value = key.key.kind.from_plain(text).ok_or_else(|| mismatch(&key.key.kind, text))?;
    Ok((key, value))
}

/// "expected …, found `x`", with the word that was probably meant.
pub(super) fn mismatch(kind: &super::value::ValueKind, found: &str) -> String {
    let shown = super::keys::shorten(found.trim());
    let message = format!("expected {}, found `{shown}`", kind.expected());
    match crate::text::nearest(&shown, kind.words().iter().copied()) {
        Some(meant) => format!("{message} (did you mean `{meant}`?)"),
        None => message,
    }
}
