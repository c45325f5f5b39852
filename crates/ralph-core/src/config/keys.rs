//! The machinery of the key table: one row becomes a typed field, a name that files and variables
//! may use, a check, a default and a line of the reference page.

use super::table::{self, Config};
use super::value::{ConfigValue, ValueKind};
use super::words::StageName;
use crate::text::nearest;

/// One row of the key table.
#[derive(Clone, Copy, Debug)]
pub struct ConfigKey {
    /// The full name; `*` stands for the name of a backend or a stage.
    pub path: &'static str,
    pub kind: ValueKind,
    /// Description of the key, for people.
    pub doc: &'static str,
    /// The variables of Ralph Deluxe that set it under another name than its own.
    pub aliases: &'static [KeyAlias],
    /// Reads it; the text is what `*` stands for.
    pub(super) get: fn(&Config, &str) -> Option<ConfigValue>,
    /// Writes it; `None` when the value is not of this key's kind.
    pub(super) set: fn(&mut Config, &str, &ConfigValue) -> Option<()>,
}

impl ConfigKey {
    /// Whether the name has a part that the user chooses (always the second).
    pub fn has_slot(&self) -> bool {
        self.path.contains(".*.")
    }
}

/// An environment variable with another name than its key.
#[derive(Clone, Copy, Debug)]
pub struct KeyAlias {
    pub name: &'static str,
    pub reading: VariableReading,
}

/// Way to convert the text of a variable into a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableReading {
    /// Read the text as the kind of the key requires.
    Plain,
    /// Read the text as a number of seconds.
    Seconds,
    /// Gate commands, as a JSON array or one per line.
    Commands,
}

/// A group of keys: one table of the file, one struct in the code.
pub(super) trait ConfigSection: Sized {
    /// The group in a configuration, if it is there.
    fn find<'a>(config: &'a Config, slot: &str) -> Option<&'a Self>;

    /// The group in a configuration, made when it is not there; `None` when it cannot be there.
    fn make<'a>(config: &'a mut Config, slot: &str) -> Option<&'a mut Self>;
}

/// Declares a group of keys: a struct with a default, and its rows of the key table.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $name:ident, $keys:ident = $prefix:literal {
            $( $(#[doc = $doc:literal])+ $field:ident: $type:ty = $default:expr $(, $alias:literal $reading:ident)*; )*
        }
        $(and { $( $(#[$more_meta:meta])+ $more:ident: $more_type:ty, )+ })?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )*
            $($( $(#[$more_meta])+ pub $more: $more_type, )+)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )* $($( $more: Default::default(), )+)? }
            }
        }

        pub(super) static $keys: &[ConfigKey] = &[$( ConfigKey {
            path: concat!($prefix, stringify!($field)),
            kind: <$type as SettingType>::KIND,
            doc: concat!($($doc),+),
            aliases: &[$( KeyAlias { name: $alias, reading: VariableReading::$reading } ),*],
            get: |config, slot| <$name as ConfigSection>::find(config, slot)?.$field.to_value(),
            set: |config, slot, value| {
                let new = <$type as SettingType>::from_value(value)?;
                <$name as ConfigSection>::make(config, slot)?.$field = new;
                Some(())
            },
        }, )*];
    };
}

/// Declares the elements of a list of tables.
macro_rules! record {
    (@absent) => { AbsentField::Refused };
    (@absent $type:ty = $default:expr) => { AbsentField::Means(|| <$type as SettingType>::to_value(&$default)) };
    (@missing) => { return None };
    (@missing $default:expr) => { $default };
    (
        $(#[doc = $about:literal])+
        $name:ident {
            $( $(#[doc = $doc:literal])+ $field:ident: $type:ty $(= $default:expr)?; )*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $( $(#[doc = $doc])+ pub $field: $type, )* }

        impl $name {
            const FIELDS: &'static [RecordField] = &[$( RecordField {
                name: stringify!($field),
                kind: <$type as SettingType>::KIND,
                doc: concat!($($doc),+),
                absent: record!(@absent $($type = $default)?),
            }, )*];

            fn from_record(record: &ConfigRecord) -> Option<Self> {
                Some(Self { $(
                    $field: match record.get(stringify!($field)) {
                        Some(value) => SettingType::from_value(value)?,
                        None => record!(@missing $($default)?),
                    },
                )* })
            }

            fn to_record(&self) -> ConfigRecord {
                let mut record = ConfigRecord::default();
                $( if let Some(value) = self.$field.to_value() { record.push(stringify!($field), value); } )*
                record
            }
        }

        setting!(Vec<$name>, ValueKind::Records($name::FIELDS),
            ConfigValue::Records(records) => records.iter().map($name::from_record).collect(),
            |this| ConfigValue::Records(this.iter().map($name::to_record).collect()));
    };
}

pub(super) use {record, section};

/// Every key, as the reference page lists them.
pub fn keys() -> impl Iterator<Item = &'static ConfigKey> {
    table::SECTIONS.iter().copied().flatten()
}

/// A key, and what its `*` stands for.
#[derive(Clone, Debug)]
pub struct KeyRef {
    /// Row of the key table.
    pub key: &'static ConfigKey,
    /// The name of the backend or stage; empty for a key without `*`.
    pub slot: String,
}

impl KeyRef {
    /// The full name with the slot filled in.
    pub fn path(&self) -> String {
        self.key.path.replacen('*', &self.slot, 1)
    }
}

/// Why a name is not the name of a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownKey(pub String);

/// The key with this full name, such as `limits.max_cost` or `backends.mybot.kind`.
pub fn find_key(path: &str) -> Result<KeyRef, UnknownKey> {
    let parts: Vec<&str> = path.split('.').collect();
    let slot = parts.get(1).copied().unwrap_or_default();
    let Some(key) = keys().find(|key| same_shape(key.path, &parts)) else {
        let known: Vec<String> = keys().map(|key| key.path.replacen('*', slot, 1)).collect();
        return Err(UnknownKey(unknown("key", path, known.iter().map(String::as_str))));
    };
    if !key.has_slot() {
        return Ok(KeyRef { key, slot: String::new() });
    }
    check_slot(key.path, slot).map_err(UnknownKey)?;
    Ok(KeyRef { key, slot: slot.to_owned() })
}

fn same_shape(pattern: &str, parts: &[&str]) -> bool {
    let mut pattern = pattern.split('.');
    parts.iter().all(|part| pattern.next().is_some_and(|p| p == "*" || p == *part))
        && pattern.next().is_none()
}

/// Whether `slot` may stand for the `*` of `pattern`; if not, why.
pub(super) fn check_slot(pattern: &str, slot: &str) -> Result<(), String> {
    if pattern.starts_with("stages.") {
        let known = StageName::from_word(slot).is_some();
        return if known {
            Ok(())
        } else {
            Err(unknown("stage", slot, StageName::WORDS.iter().copied()))
        };
    }
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if slot.is_empty() || slot.len() > 64 || !slot.chars().all(fine) {
        return Err(format!(
            "`{}` cannot be the name of a backend: use letters, digits, `-` and `_`",
            shorten(slot)
        ));
    }
    Ok(())
}

/// "unknown key `x`", with the name that was probably meant.
pub(super) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let message = format!("unknown {what} `{}`", shorten(name));
    if name.len() > 64 {
        return message;
    }
    match nearest(name, known).map(did_you_mean).or_else(|| elsewhere(name)) {
        Some(hint) => format!("{message} ({hint})"),
        None => message,
    }
}

fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

/// A hint for a key that Ralph Deluxe called by another name, or that lives in another table.
fn elsewhere(name: &str) -> Option<String> {
    let variable = format!("RALPH_{}", name.to_ascii_uppercase());
    if let Some(key) = keys().find(|key| key.aliases.iter().any(|alias| alias.name == variable)) {
        return Some(did_you_mean(key.path));
    }
    let mut moved = keys().filter(|key| key.path.rsplit('.').next() == Some(name));
    let key = moved.next().filter(|_| moved.next().is_none())?;
    Some(match key.path.contains('.') {
        true => did_you_mean(key.path),
        false => "it belongs above the first [table]".to_owned(),
    })
}

/// A name or value that fits on a line.
pub(super) fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    let line = text.split(['\n', '\r']).next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.len() < text.len() => format!("{line}…"),
        None => line.to_owned(),
    }
}
