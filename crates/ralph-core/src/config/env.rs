//! Environment variables to a layer.
//!
//! Every key but a list of tables has a variable: `RALPH_` and its name in capitals, dots as
//! underscores. Ralph Deluxe's names work too where they differ. Other `RALPH_*` variables belong
//! to somebody else and are left alone.

use std::ffi::OsString;

use super::duration::LONGEST;
use super::keys::{KeyRef, VariableReading, check_slot, find_key, keys};
use super::layer::{
    ConfigErrors, ConfigLayer, ConfigProblem, ConfigTier, LayerEntry, ValueOrigin, finish, mismatch,
};
use super::value::{ConfigRecord, ConfigValue, ValueKind, plain_list};
use crate::text::nearest;

/// Variables of Ralph Deluxe that set the key of one stage.
const STAGE_ALIASES: [(&str, &str); 1] = [("RALPH_CONTEXT_AGENT_MODEL", "stages.context.model")];

/// Variables of Ralph Deluxe that mean nothing here, and why.
const UNUSED: [(&str, &str); 1] =
    [("RALPH_PAUSE_POLL_SECONDS", "ralph is told when a pause ends and does not poll")];

/// Variables that ralph sets or reads for other purposes; no typing errors of a key.
const RESERVED: [&str; 9] = [
    "RALPH_RUN",
    "RALPH_ATTEMPT",
    "RALPH_TASK",
    "RALPH_NOW",
    "RALPH_SEED",
    "RALPH_MAILBOX",
    "RALPH_UPDATE",
    "RALPH_PAUSED",
    "RALPH_COUNT",
];

/// Meaning of an environment variable for the configuration.
#[derive(Clone, Debug)]
pub(super) enum ConfigVariable {
    Key(KeyRef, VariableReading),
    /// The variable is known and has no effect, for this reason.
    Unused(&'static str),
}

/// The layer of the environment. Names that do not start with `RALPH_` are passed over.
pub fn env_layer(
    vars: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<ConfigLayer, ConfigErrors> {
    let mut layer = ConfigLayer::default();
    let mut problems = Vec::new();
    for (name, value) in vars {
        let Some(name) = name.to_str().filter(|name| name.starts_with("RALPH_")) else { continue };
        if value.is_empty() || RESERVED.contains(&name) {
            continue;
        }
        let origin = ValueOrigin { tier: ConfigTier::Environment, name: name.into(), line: None };
        match lookup(name) {
            Some(ConfigVariable::Unused(why)) => {
                layer.warnings.push(format!("{name} has no effect: {why}"))
            }
            Some(ConfigVariable::Key(key, reading)) => match read(&key, reading, value.to_str()) {
                Ok(value) => layer.entries.push(LayerEntry { key, value, origin }),
                Err(message) => problems.push(ConfigProblem::new(origin, message)),
            },
            None => layer.warnings.extend(misspelt(name)),
        }
    }
    layer.entries.sort_by(|a, b| a.origin.name.cmp(&b.origin.name));
    problems.extend(doubled(&layer.entries));
    finish(layer, problems)
}

/// Return the meaning of `name`, if it is a variable of the configuration.
pub(super) fn lookup(name: &str) -> Option<ConfigVariable> {
    if let Some((_, why)) = UNUSED.iter().find(|(unused, _)| *unused == name) {
        return Some(ConfigVariable::Unused(why));
    }
    if let Some((_, path)) = STAGE_ALIASES.iter().find(|(alias, _)| *alias == name) {
        return find_key(path).ok().map(|key| ConfigVariable::Key(key, VariableReading::Plain));
    }
    for key in keys() {
        if let Some(alias) = key.aliases.iter().find(|alias| alias.name == name) {
            return Some(ConfigVariable::Key(KeyRef { key, slot: String::new() }, alias.reading));
        }
    }
    let own = keys().filter(|key| !matches!(key.kind, ValueKind::Records(_)));
    // `prices.input` and `input` could both end a name: the longer end is the better reading.
    own.filter_map(|key| slot_of(key.path, name).map(|slot| KeyRef { key, slot }))
        .max_by_key(|key| key.key.path.len())
        .map(|key| ConfigVariable::Key(key, VariableReading::Plain))
}

/// Whether `name` is the variable of the key `pattern`; if so, what `*` stands for.
fn slot_of(pattern: &str, name: &str) -> Option<String> {
    let Some((before, after)) = pattern.split_once(".*.") else {
        return (variable_name(pattern) == name).then(String::new);
    };
    let slot = name
        .strip_prefix(&variable_name(before))?
        .strip_prefix('_')?
        .strip_suffix(&variable_name(after)["RALPH_".len()..])?
        .strip_suffix('_')?
        .to_ascii_lowercase();
    check_slot(pattern, &slot).ok().map(|()| slot)
}

/// Return the name of the variable that sets a key.
pub fn variable_name(path: &str) -> String {
    format!("RALPH_{}", path.replace('.', "_").to_ascii_uppercase())
}

/// The value of a variable, read as its key or its alias wants it.
pub(super) fn read(
    key: &KeyRef,
    reading: VariableReading,
    text: Option<&str>,
) -> Result<ConfigValue, String> {
    let kind = &key.key.kind;
    let text = text
        .ok_or_else(|| format!("expected {}, found bytes that are not UTF-8", kind.expected()))?;
    match reading {
        VariableReading::Plain => kind.from_plain(text).ok_or_else(|| mismatch(kind, text)),
        VariableReading::Seconds => text
            .trim()
            .parse()
            .ok()
            .map(std::time::Duration::from_secs)
            .filter(|duration| *duration <= LONGEST)
            .map(ConfigValue::Duration)
            .ok_or_else(|| format!("expected a whole number of seconds, found `{}`", text.trim())),
        VariableReading::Commands => gates_from_commands(plain_list(text)),
    }
}

/// Gates that are nothing but commands; the command is the name, one given twice counts once, and
/// a blank one would run nothing.
pub(super) fn gates_from_commands(commands: Option<Vec<String>>) -> Result<ConfigValue, String> {
    let expected = || "expected gate commands as a JSON array of texts or one per line".to_owned();
    let mut records: Vec<ConfigRecord> = Vec::new();
    for command in commands.ok_or_else(expected)?.iter().filter(|c| !c.trim().is_empty()) {
        let text = ValueKind::Text.accept_text(command).ok_or_else(expected)?;
        let mut record = ConfigRecord::default();
        record.push("name", text.clone());
        record.push("command", text);
        if !records.contains(&record) {
            records.push(record);
        }
    }
    Ok(ConfigValue::Records(records))
}

fn doubled(entries: &[LayerEntry]) -> Vec<ConfigProblem> {
    let mut problems = Vec::new();
    for (n, entry) in entries.iter().enumerate() {
        let path = entry.key.path();
        if let Some(other) = entries[..n].iter().find(|other| other.key.path() == path) {
            let message = format!("{} sets `{path}` too: keep one of them", other.origin.name);
            problems.push(ConfigProblem::new(entry.origin.clone(), message));
        }
    }
    problems
}

/// A hint when `name` looks like a variable of ours with a typing error.
fn misspelt(name: &str) -> Option<String> {
    let typed = name.strip_prefix("RALPH_").filter(|typed| typed.len() <= 64)?;
    let own = keys().filter(|key| !key.has_slot()).map(|key| variable_name(key.path));
    let aliases = keys().flat_map(|key| key.aliases).map(|alias| alias.name.to_owned());
    let known: Vec<String> = own.chain(aliases).collect();
    let meant = nearest(typed, known.iter().filter_map(|name| name.strip_prefix("RALPH_")))?;
    Some(format!("{name} is not a variable of ralph (did you mean RALPH_{meant}?)"))
}

/// The variables of Ralph Deluxe and what each sets, for the reference page.
pub(super) fn deluxe_variables() -> Vec<(&'static str, String)> {
    let aliases = keys()
        .flat_map(|key| key.aliases.iter().map(|alias| (alias.name, format!("`{}`", key.path))));
    let stages = STAGE_ALIASES.iter().map(|(name, path)| (*name, format!("`{path}`")));
    let unused = UNUSED.iter().map(|(name, why)| (*name, format!("nothing: {why}")));
    let mut all: Vec<_> = aliases.chain(stages).chain(unused).collect();
    all.sort();
    all
}
