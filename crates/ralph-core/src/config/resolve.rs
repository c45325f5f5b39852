//! Layers to one configuration that knows where each value comes from.

use std::collections::BTreeMap;

use super::check::check;
use super::keys::{Key, KeyRef, UnknownKey, find_key, keys};
use super::layer::{ConfigErrors, Entry, Layer, Origin, Problem};
use super::table::Config;
use super::value::Value;
use super::words::StageName;

/// A top-level limit of iterations, and the two keys that it sets.
const ALL_ITERATIONS: &str = "max_iterations";
const EACH_ITERATIONS: [&str; 2] = ["build.max_iterations", "construct.max_iterations"];

/// A configuration and the origin of every value in it.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    pub config: Config,
    /// Messages for the user about all layers that are not errors.
    pub warnings: Vec<String>,
    /// By full name; a key that is not here has its default.
    origins: BTreeMap<String, Origin>,
}

/// A key as `ralph config` shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Full name of the key.
    pub key: String,
    /// Value of the key. `None` when it is absent.
    pub value: Option<Value>,
    pub origin: Origin,
}

/// Put `layers`, lowest first, on top of the defaults.
pub fn resolve<'l>(layers: impl IntoIterator<Item = &'l Layer>) -> Result<Resolved, ConfigErrors> {
    let mut resolved = Resolved::default();
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
pub fn apply(config: &mut Config, layer: &Layer) -> Option<()> {
    layer
        .entries
        .iter()
        .try_for_each(|entry| (entry.key.key.set)(config, &entry.key.slot, &entry.value))
}

impl Resolved {
    fn apply(&mut self, key: &KeyRef, entry: &Entry) -> Result<(), Problem> {
        (key.key.set)(&mut self.config, &key.slot, &entry.value).ok_or_else(|| {
            // Values are checked by kind when they are read, so this cannot come from input.
            Problem::new(entry.origin.clone(), format!("`{}` cannot be set to this", key.path()))
        })?;
        self.origins.insert(key.path(), entry.origin.clone());
        Ok(())
    }

    /// Return the origin of the value of `path`.
    /// If no layer sets the key, return the origin of the defaults.
    pub fn origin(&self, path: &str) -> Origin {
        self.origins.get(path).cloned().unwrap_or_else(Origin::built_in)
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
    pub fn get(&self, path: &str) -> Result<Shown, UnknownKey> {
        let key = find_key(path)?;
        Ok(self.shown(key.key, &key.slot))
    }

    /// Every key in the order of the reference page, `*` filled in with what is configured.
    pub fn show(&self) -> Vec<Shown> {
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

    fn shown(&self, key: &'static Key, slot: &str) -> Shown {
        let path = KeyRef { key, slot: slot.to_owned() }.path();
        let origin = self.origin(&path);
        Shown { value: (key.get)(&self.config, slot), origin, key: path }
    }
}
