//! Layers to one configuration that knows where each value comes from.

use std::collections::BTreeMap;

use super::check::check;
use super::keys::{ConfigKey, KeyRef, UnknownKey, find_key, keys};
use super::layer::{ConfigErrors, ConfigLayer, ConfigProblem, LayerEntry, ValueOrigin};
use super::table::Config;
use super::value::ConfigValue;
use super::words::StageName;

/// A top-level limit of iterations, and the two keys that it sets.
const ALL_ITERATIONS: &str = "max_iterations";
const EACH_ITERATIONS: [&str; 2] = ["build.max_iterations", "construct.max_iterations"];

/// A configuration and the origin of every value in it.
#[derive(Clone, Debug, Default)]
pub struct ResolvedConfig {
    pub config: Config,
    /// Messages for the user about all layers that are not errors.
    pub warnings: Vec<String>,
    /// By full name; a key that is not here has its default.
    origins: BTreeMap<String, ValueOrigin>,
}

/// A key as `ralph config` shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigRow {
    /// Full name of the key.
    pub key: String,
    /// Value of the key. `None` when it is absent.
    pub value: Option<ConfigValue>,
    pub origin: ValueOrigin,
}

/// Put `layers`, lowest first, on top of the defaults.
pub fn resolve<'l>(
    layers: impl IntoIterator<Item = &'l ConfigLayer>,
) -> Result<ResolvedConfig, ConfigErrors> {
    let mut resolved = ResolvedConfig::default();
    let mut problems = Vec::new();
    for layer in layers {
        resolved.warnings.extend(layer.warnings.iter().cloned());
        for entry in &layer.entries {
            problems.extend(resolved.apply(&entry.key, entry).err());
        }
        // Within a layer the limit for both loops wins over the limit of one, whatever their order.
        for entry in layer.entries.iter().filter(|entry| entry.key.key.path == ALL_ITERATIONS) {
            for path in EACH_ITERATIONS {
                if let Ok(key) = find_key(path) {
                    problems.extend(resolved.apply(&key, entry).err());
                }
            }
        }
    }
    problems.extend(check(&resolved));
    if problems.is_empty() { Ok(resolved) } else { Err(ConfigErrors(problems)) }
}

/// Put the values of one checked layer into a configuration that is in use. `None` when one does not
/// fit, which cannot come from input.
pub fn apply(config: &mut Config, layer: &ConfigLayer) -> Option<()> {
    layer
        .entries
        .iter()
        .try_for_each(|entry| (entry.key.key.set)(config, &entry.key.slot, &entry.value))
}

impl ResolvedConfig {
    fn apply(&mut self, key: &KeyRef, entry: &LayerEntry) -> Result<(), ConfigProblem> {
        (key.key.set)(&mut self.config, &key.slot, &entry.value).ok_or_else(|| {
            // Values are checked by kind when they are read, so this cannot come from input.
            ConfigProblem::new(
                entry.origin.clone(),
                format!("`{}` cannot be set to this", key.path()),
            )
        })?;
        self.origins.insert(key.path(), entry.origin.clone());
        Ok(())
    }

    /// Return the origin of the value of `path`.
    /// If no layer sets the key, return the origin of the defaults.
    pub fn origin(&self, path: &str) -> ValueOrigin {
        self.origins.get(path).cloned().unwrap_or_else(ValueOrigin::built_in)
    }

    /// The full name of the first key below `prefix` that some layer sets.
    pub(super) fn first_of(&self, prefix: &str) -> String {
        let below = self.origins.iter().filter(|(path, _)| path.starts_with(prefix));
        below
            .min_by_key(|(_, origin)| (origin.tier, origin.line))
            .map(|(path, _)| path.clone())
            .unwrap_or_default()
    }

    /// One key by its full name.
    pub fn get(&self, path: &str) -> Result<ConfigRow, UnknownKey> {
        let key = find_key(path)?;
        Ok(self.shown(key.key, &key.slot))
    }

    /// Every key in the order of the reference page, `*` filled in with what is configured.
    pub fn show(&self) -> Vec<ConfigRow> {
        let mut all = Vec::new();
        for key in keys() {
            if !key.has_slot() {
                all.push(self.shown(key, ""));
            } else if key.path.starts_with("stages.") {
                let stages = self.config.stages.keys().copied().map(StageName::as_str);
                all.extend(stages.map(|stage| self.shown(key, stage)));
            } else {
                all.extend(self.config.backends.keys().map(|backend| self.shown(key, backend)));
            }
        }
        all
    }

    fn shown(&self, key: &'static ConfigKey, slot: &str) -> ConfigRow {
        let path = KeyRef { key, slot: slot.to_owned() }.path();
        let origin = self.origin(&path);
        ConfigRow { value: (key.get)(&self.config, slot), origin, key: path }
    }
}
