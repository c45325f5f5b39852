//! The text of a scenario to its values; every error names the line and the field.

use std::time::Duration;

use serde_json::{Map, Value as Json};
use toml_edit::{Document, Item, TableLike, Value};

use super::fault::{Fault, RATES};
use super::scenario::{
    AttemptRange, ChanceFaults, ChaosSettings, Scenario, ScenarioRule, SigtermReaction, WINDOW,
};
use super::steps;
use crate::config::parse_duration;
use crate::text::{nearest, position};

/// A scenario that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ScenarioError {
    /// Line number, counted from 1.
    pub line: usize,
    /// The field and what is wrong with it.
    pub message: String,
}

impl Scenario {
    /// Read a scenario. Never panics, whatever the text.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let document = Document::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            ScenarioError { line: position(text, at).line, message: error.message().to_owned() }
        })?;
        let top = ScenarioTable::new(text, document.as_table(), 0);
        top.only(&["rule", "window", "chaos"])?;
        let mut rules = Vec::new();
        for table in top.tables("rule")? {
            rules.push(rule(&table)?);
        }
        let chaos = match top.table("chaos")? {
            Some(table) => chaos(&table)?,
            None => ChaosSettings { seed: None, attempts: 2, rates: RATES.to_vec() },
        };
        Ok(Self { rules, window: top.whole("window")?.unwrap_or(WINDOW).max(1), chaos })
    }
}

fn rule(table: &ScenarioTable<'_>) -> Result<ScenarioRule, ScenarioError> {
    table.only(&[
        "task",
        "when",
        "unless",
        "attempt",
        "steps",
        "silent_after",
        "ignore_sigterm",
        "chaos",
    ])?;
    let mut list = Vec::new();
    for step in table.tables("steps")? {
        list.push(steps::step(&step)?);
    }
    Ok(ScenarioRule {
        task: table.texts("task")?,
        when: table.texts("when")?,
        unless: table.texts("unless")?,
        attempt: attempt(table)?,
        steps: list,
        silent_after: table.whole("silent_after")?,
        sigterm: match table.flag("ignore_sigterm")? {
            Some(true) => SigtermReaction::Ignored,
            _ => SigtermReaction::Obeyed,
        },
        chance: match table.flag("chaos")? {
            Some(false) => ChanceFaults::Calm,
            _ => ChanceFaults::Faults,
        },
    })
}

fn attempt(table: &ScenarioTable<'_>) -> Result<AttemptRange, ScenarioError> {
    let Some(item) = table.get("attempt") else { return Ok(AttemptRange::Any) };
    let from = |text: &str| text.strip_suffix('+')?.parse().ok().filter(|n| *n > 0);
    let number = item.as_integer().and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
    number
        .map(AttemptRange::Exactly)
        .or_else(|| item.as_str().and_then(from).map(AttemptRange::From))
        .ok_or_else(|| {
            table.error(
                "attempt",
                "must be a number from 1 on, or \"2+\" for all from the second on",
            )
        })
}

fn chaos(table: &ScenarioTable<'_>) -> Result<ChaosSettings, ScenarioError> {
    table.only(&["seed", "attempts", "rates"])?;
    let rates = match table.table("rates")? {
        None => RATES.to_vec(),
        Some(rates) => {
            let mut list = Vec::new();
            for name in rates.names() {
                let fault = fault(&rates, name, name)?;
                let rate = rates.number(name)?.unwrap_or_default();
                list.push((fault, rate));
            }
            // A little above 1 is how ten times a tenth adds up.
            let sum: f64 = list.iter().map(|(_, rate)| rate).sum();
            if sum > 1.000_001 {
                return Err(table.error("rates", &format!("add up to {sum}, which is more than 1")));
            }
            list
        }
    };
    Ok(ChaosSettings {
        seed: table.whole("seed")?,
        attempts: table.whole("attempts")?.unwrap_or(2),
        rates,
    })
}

/// The fault called `word`, which stands in the field `name`.
pub(super) fn fault(
    table: &ScenarioTable<'_>,
    name: &str,
    word: &str,
) -> Result<Fault, ScenarioError> {
    Fault::from_word(word).ok_or_else(|| {
        let words = Fault::WORDS.iter().copied();
        let near =
            nearest(word, words).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
        table.error(name, &format!("there is no fault \"{word}\"{near}"))
    })
}

/// One table, with the places of its fields.
pub(super) struct ScenarioTable<'t> {
    text: &'t str,
    table: &'t dyn TableLike,
    at: usize,
}

impl<'t> ScenarioTable<'t> {
    fn new(text: &'t str, table: &'t dyn TableLike, at: usize) -> Self {
        Self { text, table, at }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'t Item> {
        self.table.get(name)
    }

    pub(super) fn names(&self) -> Vec<&'t str> {
        self.table.iter().map(|(name, _)| name).collect()
    }

    pub(super) fn error(&self, name: &str, message: &str) -> ScenarioError {
        let key = self.table.key(name).and_then(toml_edit::Key::span);
        let value = self.get(name).and_then(Item::span);
        let at = key.or(value).map_or(self.at, |span| span.start);
        ScenarioError { line: position(self.text, at).line, message: format!("`{name}` {message}") }
    }

    /// An error about the table as a whole.
    pub(super) fn error_here(&self, message: String) -> ScenarioError {
        ScenarioError { line: position(self.text, self.at).line, message }
    }

    pub(super) fn only(&self, known: &[&str]) -> Result<(), ScenarioError> {
        match self.names().into_iter().find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let near = match nearest(name, known.iter().copied()) {
                    Some(near) => format!("; did you mean `{near}`?"),
                    None => format!("; known here: {}", known.join(", ")),
                };
                Err(self.error(name, &format!("is unknown{near}")))
            }
        }
    }

    fn typed<T>(
        &self,
        name: &str,
        what: &str,
        read: impl FnOnce(&'t Item) -> Option<T>,
    ) -> Result<Option<T>, ScenarioError> {
        let Some(item) = self.get(name) else { return Ok(None) };
        match read(item) {
            Some(value) => Ok(Some(value)),
            None => Err(self.error(name, &format!("must be {what}"))),
        }
    }

    pub(super) fn string(&self, name: &str) -> Result<Option<String>, ScenarioError> {
        self.typed(name, "a text", |item| item.as_str().map(str::to_owned))
    }

    /// A text that must be there.
    pub(super) fn needed(&self, name: &str, verb: &str) -> Result<String, ScenarioError> {
        self.string(name)?.ok_or_else(|| self.error(verb, &format!("needs `{name}` beside it")))
    }

    pub(super) fn whole(&self, name: &str) -> Result<Option<u64>, ScenarioError> {
        self.typed(name, "a whole number from 0 on", whole)
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, ScenarioError> {
        self.typed(name, "a number from 0 on", |item| {
            let number = item.as_float().or_else(|| item.as_integer().map(|n| n as f64))?;
            (number.is_finite() && number >= 0.0).then_some(number)
        })
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, ScenarioError> {
        self.typed(name, "true or false", Item::as_bool)
    }

    pub(super) fn duration(&self, name: &str) -> Result<Option<Duration>, ScenarioError> {
        self.typed(name, "a duration such as \"90s\"", |item| parse_duration(item.as_str()?))
    }

    /// One whole number or a list of them.
    pub(super) fn wholes(&self, name: &str) -> Result<Vec<u64>, ScenarioError> {
        let read = |item: &Item| match item.as_array() {
            Some(list) => list.iter().map(|v| u64::try_from(v.as_integer()?).ok()).collect(),
            None => whole(item).map(|n| vec![n]),
        };
        Ok(self.typed(name, "a whole number or a list of them", read)?.unwrap_or_default())
    }

    /// One text or a list of them.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, ScenarioError> {
        let read = |item: &Item| match item.as_array() {
            Some(list) => list.iter().map(|v| v.as_str().map(str::to_owned)).collect(),
            None => item.as_str().map(|text| vec![text.to_owned()]),
        };
        Ok(self.typed(name, "a text or a list of texts", read)?.unwrap_or_default())
    }

    /// Read a field that must hold one of these words.
    pub(super) fn word<T>(
        &self,
        name: &str,
        words: &[&str],
        read: fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ScenarioError> {
        let Some(found) = self.string(name)? else { return Ok(None) };
        match read(&found).filter(|_| words.contains(&found.as_str())) {
            None => Err(self.error(name, &format!("must be one of {}", words.join(", ")))),
            value => Ok(value),
        }
    }

    pub(super) fn table(&self, name: &str) -> Result<Option<ScenarioTable<'t>>, ScenarioError> {
        let (text, at) = (self.text, self.at);
        self.typed(name, "a table", |item| {
            let at = item.span().map_or(at, |span| span.start);
            item.as_table_like().map(|table| ScenarioTable::new(text, table, at))
        })
    }

    /// A list of tables, written either way.
    fn tables(&self, name: &str) -> Result<Vec<ScenarioTable<'t>>, ScenarioError> {
        let (text, at) = (self.text, self.at);
        let start = |span: Option<std::ops::Range<usize>>| span.map_or(at, |span| span.start);
        let read = |item: &'t Item| {
            if let Some(list) = item.as_array_of_tables() {
                let fields = |t: &'t toml_edit::Table| ScenarioTable::new(text, t, start(t.span()));
                return Some(list.iter().map(fields).collect());
            }
            let inline = |v: &'t Value| {
                Some(ScenarioTable::new(text, v.as_inline_table()?, start(v.span())))
            };
            item.as_array()?.iter().map(inline).collect()
        };
        let what = format!("a list of tables ([[{name}]])");
        Ok(self.typed(name, &what, read)?.unwrap_or_default())
    }

    /// A table or a list as JSON.
    pub(super) fn json(&self, name: &str) -> Result<Option<Json>, ScenarioError> {
        self.typed(name, "data", |item| match item {
            Item::Value(value) => json(value),
            Item::Table(table) => json_table(table),
            Item::ArrayOfTables(list) => {
                list.iter().map(|t| json_table(t)).collect::<Option<Vec<_>>>().map(Json::Array)
            }
            Item::None => None,
        })
    }
}

fn whole(item: &Item) -> Option<u64> {
    item.as_integer().and_then(|n| u64::try_from(n).ok())
}

/// TOML as JSON. How deep it may be is limited by the TOML reader.
fn json(value: &Value) -> Option<Json> {
    Some(match value {
        Value::String(text) => Json::from(text.value().as_str()),
        Value::Integer(number) => Json::from(*number.value()),
        Value::Float(number) => Json::from(*number.value()),
        Value::Boolean(yes) => Json::from(*yes.value()),
        Value::Datetime(time) => Json::from(time.value().to_string()),
        Value::Array(list) => Json::Array(list.iter().map(json).collect::<Option<_>>()?),
        Value::InlineTable(table) => json_table(table)?,
    })
}

fn json_table(table: &dyn TableLike) -> Option<Json> {
    let mut map = Map::new();
    for (name, item) in table.iter() {
        let value = match item {
            Item::Value(value) => json(value)?,
            Item::Table(table) => json_table(table)?,
            _ => return None,
        };
        map.insert(name.to_owned(), value);
    }
    Some(Json::Object(map))
}
