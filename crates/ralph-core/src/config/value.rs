//! Kinds and values of keys: the kinds, the checked values, and reading them from plain text.
//!
//! A [`ValueKind`] describes the values that a key accepts. A [`ConfigValue`] has passed the check of its
//! kind.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::duration::{parse_duration, render_duration};
use super::setting::{ByteSize, PassTrigger};

/// One element of a list of tables: the fields that are set, in order. Only names of the key table
/// occur, each at most once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigRecord(Vec<(&'static str, ConfigValue)>);

impl ConfigRecord {
    /// The value of a field, if it is set.
    pub fn get(&self, name: &str) -> Option<&ConfigValue> {
        self.0.iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    /// Iterate over the fields that are set, in order.
    pub fn iter(&self) -> impl Iterator<Item = &(&'static str, ConfigValue)> {
        self.0.iter()
    }

    pub(super) fn push(&mut self, name: &'static str, value: ConfigValue) {
        self.0.push((name, value));
    }
}

impl Serialize for ConfigRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// A value that passed the check of its key.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigValue {
    Bool(bool),
    Whole(u64),
    /// A ratio or an amount of money.
    Number(f64),
    /// Text, or one of the words of a key.
    Text(String),
    Duration(Duration),
    List(Vec<String>),
    Records(Vec<ConfigRecord>),
}

/// Kind of the values that a key accepts.
#[derive(Clone, Copy, Debug)]
pub enum ValueKind {
    Bool,
    /// A whole number from `min` to the largest `u32`.
    Whole {
        min: u32,
    },
    /// A number from 0 to 1.
    Ratio,
    /// An amount of money, not negative.
    Dollars,
    /// A duration of at least `min`.
    Duration {
        min: Duration,
    },
    /// Text that is not empty.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A number of bytes with its unit.
    Size,
    Trigger,
    /// A list of texts.
    List,
    /// A list of these words.
    Words(&'static [&'static str]),
    /// A list of tables with these fields.
    Records(&'static [RecordField]),
}

/// One field of a list of tables.
#[derive(Clone, Copy, Debug)]
pub struct RecordField {
    pub name: &'static str,
    pub kind: ValueKind,
    /// Description in one line, for people.
    pub doc: &'static str,
    /// Whether it may be left out, and what it is then.
    pub absent: AbsentField,
}

/// Meaning of a field that is left out.
#[derive(Clone, Copy, Debug)]
pub enum AbsentField {
    /// A missing field is an error.
    Refused,
    /// A missing field has this value, or no value.
    Means(fn() -> Option<ConfigValue>),
}

impl ValueKind {
    /// Describe the accepted values, as the end of a sentence that starts with "expected".
    pub fn expected(&self) -> String {
        match self {
            Self::Bool => "true or false".into(),
            Self::Whole { min } => format!("a whole number from {min} to {}", u32::MAX),
            Self::Ratio => "a number from 0 to 1".into(),
            Self::Dollars => "an amount in dollars such as 10.0".into(),
            Self::Duration { min } => {
                let zero = if min.is_zero() { "" } else { ", longer than 0" };
                format!("a duration with units, such as \"90s\", \"10m\" or \"1h30m\"{zero}")
            }
            Self::Text => "text that is not empty".into(),
            Self::Word(words) => one_of(words),
            Self::Size => "a size with its unit, such as \"64MB\", and at least \"64KB\"".into(),
            Self::Trigger => "always, on_success, on_failure or periodic:N".into(),
            Self::List => "a list of texts such as [\"a\", \"b\"]".into(),
            Self::Words(words) => format!("a list of words out of {}", words.join(", ")),
            Self::Records(_) => "a list of tables".into(),
        }
    }

    /// The words that are accepted, where only certain words are.
    pub fn words(&self) -> &'static [&'static str] {
        match self {
            Self::Word(words) | Self::Words(words) => words,
            _ => &[],
        }
    }

    /// The checked value of a whole number.
    pub fn accept_whole(&self, number: u64) -> Option<ConfigValue> {
        match self {
            Self::Whole { min } => (u64::from(*min)..=u64::from(u32::MAX))
                .contains(&number)
                .then_some(ConfigValue::Whole(number)),
            Self::Duration { .. } if number == 0 => self.accept_text("0"),
            // Whole numbers that people write are far below 2^53, where the two agree exactly.
            Self::Ratio | Self::Dollars => self.accept_number(number as f64),
            _ => None,
        }
    }

    /// The checked value of a number with a fraction.
    pub fn accept_number(&self, number: f64) -> Option<ConfigValue> {
        let fits = match self {
            Self::Ratio => (0.0..=1.0).contains(&number),
            Self::Dollars => number.is_finite() && number >= 0.0,
            _ => false,
        };
        fits.then_some(ConfigValue::Number(number))
    }

    /// The checked value of a truth value.
    pub fn accept_bool(&self, yes: bool) -> Option<ConfigValue> {
        matches!(self, Self::Bool).then_some(ConfigValue::Bool(yes))
    }

    /// The checked value of text in quotes.
    pub fn accept_text(&self, text: &str) -> Option<ConfigValue> {
        let ok = match self {
            Self::Duration { min } => {
                return parse_duration(text).filter(|d| d >= min).map(ConfigValue::Duration);
            }
            Self::Text => !text.trim().is_empty() && !text.contains('\0'),
            Self::Word(words) => words.contains(&text),
            Self::Trigger => PassTrigger::from_word(text).is_some(),
            Self::Size => ByteSize::from_word(text).is_some(),
            _ => false,
        };
        ok.then(|| ConfigValue::Text(text.to_owned()))
    }

    /// The checked value of a list of texts.
    pub fn accept_list(&self, list: Vec<String>) -> Option<ConfigValue> {
        let ok = match self {
            Self::List => list.iter().all(|item| !item.contains('\0')),
            Self::Words(words) => list.iter().all(|item| words.contains(&item.as_str())),
            _ => false,
        };
        ok.then_some(ConfigValue::List(list))
    }

    /// The checked value of bare text: a variable, a flag, an argument. Lists are a JSON array or
    /// one item per line.
    pub fn from_plain(&self, text: &str) -> Option<ConfigValue> {
        let word = text.trim();
        match self {
            Self::Bool => match word {
                "true" | "1" => Some(ConfigValue::Bool(true)),
                "false" | "0" => Some(ConfigValue::Bool(false)),
                _ => None,
            },
            Self::Whole { .. } => self.accept_whole(word.parse().ok()?),
            Self::Ratio | Self::Dollars => self.accept_number(word.parse().ok()?),
            Self::Duration { .. } | Self::Word(_) | Self::Trigger | Self::Size => {
                self.accept_text(word)
            }
            Self::Text => self.accept_text(text),
            Self::List | Self::Words(_) => self.accept_list(plain_list(text)?),
            Self::Records(_) => None,
        }
    }
}

/// A JSON array of texts, or one text per line; blank lines do not count.
pub(super) fn plain_list(text: &str) -> Option<Vec<String>> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).ok();
    }
    Some(text.lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned).collect())
}

pub(super) fn one_of(words: &[&str]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

impl ConfigValue {
    /// The value in TOML notation; lists of tables as inline tables.
    pub fn to_toml(&self) -> String {
        match self {
            Self::Bool(yes) => yes.to_string(),
            Self::Whole(number) => number.to_string(),
            Self::Number(number) => toml_edit::Value::from(*number).to_string(),
            Self::Text(text) => quote(text),
            Self::Duration(duration) => quote(&render_duration(*duration)),
            Self::List(list) => bracket(list.iter().map(|item| quote(item))),
            Self::Records(records) => bracket(records.iter().map(|record| {
                let fields: Vec<_> = record
                    .iter()
                    .map(|(name, value)| format!("{name} = {}", value.to_toml()))
                    .collect();
                format!("{{ {} }}", fields.join(", "))
            })),
        }
    }
}

fn quote(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

fn bracket(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// As in TOML, except that text stands without quotes.
impl fmt::Display for ConfigValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.pad(text),
            Self::Duration(duration) => f.pad(&render_duration(*duration)),
            other => f.pad(&other.to_toml()),
        }
    }
}

impl Serialize for ConfigValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(yes) => serializer.serialize_bool(*yes),
            Self::Whole(number) => serializer.serialize_u64(*number),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Duration(duration) => serializer.serialize_str(&render_duration(*duration)),
            Self::List(list) => list.serialize(serializer),
            Self::Records(records) => records.serialize(serializer),
        }
    }
}
