//! TOML text to a layer: the walk along the key table.

use std::ops::Range;
use std::sync::Arc;

use toml_edit::{Document, Item, TableLike, TomlError};

use super::keys::{KeyRef, check_slot, keys, shorten, unknown};
use super::layer::{
    ConfigErrors, ConfigLayer, ConfigProblem, ConfigTier, LayerEntry, ValueOrigin, finish, mismatch,
};
use super::value::{AbsentField, ConfigRecord, ConfigValue, RecordField, ValueKind};
use crate::text::position;

/// After this many problems a file is not worth reading on.
const MOST_PROBLEMS: usize = 50;

/// Read one configuration file. `file` is how messages call it. Never panics, whatever the text.
pub fn parse_layer(tier: ConfigTier, file: &str, text: &str) -> Result<ConfigLayer, ConfigErrors> {
    let mut reader = ConfigFileReader {
        tier,
        file: file.into(),
        text,
        line_starts: line_starts(text),
        layer: ConfigLayer::default(),
        problems: Vec::new(),
    };
    match Document::parse(text) {
        Ok(document) => reader.table(document.as_table(), "", ""),
        Err(error) => reader.syntax(&error),
    }
    reader.problems.sort_by_key(|problem| (problem.origin.line, problem.column));
    finish(reader.layer, reader.problems)
}

fn line_starts(text: &str) -> Vec<usize> {
    let after_newlines =
        text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(after_newlines).collect()
}

struct ConfigFileReader<'t> {
    tier: ConfigTier,
    file: Arc<str>,
    text: &'t str,
    line_starts: Vec<usize>,
    layer: ConfigLayer,
    problems: Vec<ConfigProblem>,
}

impl ConfigFileReader<'_> {
    fn origin(&self, span: Option<Range<usize>>) -> ValueOrigin {
        let offset = span.map_or(0, |span| span.start);
        let line = self.line_starts.partition_point(|start| *start <= offset);
        ValueOrigin { tier: self.tier, name: self.file.clone(), line: Some(line) }
    }

    fn problem(&mut self, span: Option<Range<usize>>, message: String) {
        if self.problems.len() >= MOST_PROBLEMS {
            return;
        }
        let column = span.as_ref().map(|span| position(self.text, span.start).column);
        let origin = self.origin(span);
        self.problems.push(ConfigProblem { column, ..ConfigProblem::new(origin, message) });
    }

    fn syntax(&mut self, error: &TomlError) {
        let found = error.span().and_then(|span| self.text.get(span)).unwrap_or_default();
        let message = match error.message() {
            "duplicate key" => format!("`{}` is set twice", shorten(found)),
            _ if found.is_empty()
                && error.message().starts_with("string values must be quoted") =>
            {
                "there is no value after `=`".to_owned()
            }
            other => other.to_owned(),
        };
        self.problem(error.span(), message);
    }

    /// Walk one table. `pattern` is its place in the key table ("", "limits", "backends.*") and
    /// `slot` what `*` stands for. The depth is that of the key table: unknown tables are not entered.
    fn table(&mut self, table: &dyn TableLike, pattern: &str, slot: &str) {
        for (name, item) in table.iter() {
            if self.problems.len() >= MOST_PROBLEMS {
                return;
            }
            let span = table.key(name).and_then(toml_edit::Key::span);
            let named = join(pattern, name);
            let any = join(pattern, "*");
            if name == "*" || name.contains('.') {
                // A quoted name is one name; it must not be taken for a path or a pattern.
                let shown = shorten(name);
                self.problem(
                    span,
                    format!("unknown key \"{shown}\" (a name in quotes is one name)"),
                );
            } else if let Some(key) = keys().find(|key| key.path == named) {
                let key = KeyRef { key, slot: slot.to_owned() };
                self.entry(key, item, span);
            } else if is_table(&named) {
                self.enter(item, span, name, &named, slot);
            } else if is_table(&any) {
                match check_slot(&any, name) {
                    Ok(()) => self.enter(item, span, name, &any, name),
                    Err(message) => self.problem(span, message),
                }
            } else {
                let what =
                    if item.is_table() || item.is_array_of_tables() { "table" } else { "key" };
                let message = unknown(what, name, siblings(pattern));
                self.problem(span, message);
            }
        }
    }

    fn enter(
        &mut self,
        item: &Item,
        span: Option<Range<usize>>,
        name: &str,
        pattern: &str,
        slot: &str,
    ) {
        match item.as_table_like() {
            Some(table) => self.table(table, pattern, slot),
            None => {
                let shown = pattern.replacen('*', slot, 1);
                self.problem(span, format!("`{name}` is a table: write [{shown}]"));
            }
        }
    }

    fn entry(&mut self, key: KeyRef, item: &Item, span: Option<Range<usize>>) {
        let value = match key.key.kind {
            ValueKind::Records(fields) => self.records(&key, fields, item),
            kind => self.value(&key.path(), kind, item),
        };
        if let Some(value) = value {
            let origin = self.origin(span);
            self.layer.entries.push(LayerEntry { key, value, origin });
        }
    }

    fn value(&mut self, name: &str, kind: ValueKind, item: &Item) -> Option<ConfigValue> {
        let accepted = accept(kind, item);
        if accepted.is_none() {
            let found = item.span().and_then(|span| self.text.get(span)).unwrap_or_default();
            let found = item.as_str().unwrap_or(found);
            self.problem(item.span(), format!("`{name}`: {}", mismatch(&kind, found)));
        }
        accepted
    }

    fn records(
        &mut self,
        key: &KeyRef,
        fields: &'static [RecordField],
        item: &Item,
    ) -> Option<ConfigValue> {
        let name = key.key.path;
        let mut tables: Vec<(&dyn TableLike, Option<Range<usize>>)> = Vec::new();
        if let Some(array) = item.as_array_of_tables() {
            tables.extend(array.iter().map(|table| (table as &dyn TableLike, table.span())));
        } else if let Some(array) = item.as_array() {
            for element in array {
                match element.as_inline_table() {
                    Some(table) => tables.push((table, element.span())),
                    None => {
                        self.problem(
                            element.span(),
                            format!("`{name}` is a list of tables: write [[{name}]]"),
                        );
                        return None;
                    }
                }
            }
        } else {
            self.problem(item.span(), format!("`{name}` is a list of tables: write [[{name}]]"));
            return None;
        }
        let before = self.problems.len();
        let records = tables
            .into_iter()
            .map(|(table, span)| self.record(name, fields, table, span))
            .collect();
        (self.problems.len() == before).then_some(ConfigValue::Records(records))
    }

    fn record(
        &mut self,
        list: &str,
        fields: &'static [RecordField],
        table: &dyn TableLike,
        span: Option<Range<usize>>,
    ) -> ConfigRecord {
        let mut record = ConfigRecord::default();
        for (name, item) in table.iter() {
            let Some(field) = fields.iter().find(|field| field.name == name) else {
                let message = unknown("key", name, fields.iter().map(|field| field.name));
                self.problem(table.key(name).and_then(toml_edit::Key::span), message);
                continue;
            };
            if let Some(value) = self.value(name, field.kind, item) {
                record.push(field.name, value);
            }
        }
        for field in fields {
            if matches!(field.absent, AbsentField::Refused) && !table.contains_key(field.name) {
                self.problem(span.clone(), format!("this [[{list}]] has no `{}`", field.name));
            }
        }
        record
    }
}

/// The checked value of a TOML value, if it is of the right kind.
fn accept(kind: ValueKind, item: &Item) -> Option<ConfigValue> {
    match item.as_value()? {
        toml_edit::Value::String(text) => kind.accept_text(text.value()),
        toml_edit::Value::Integer(number) => {
            kind.accept_whole(u64::try_from(*number.value()).ok()?)
        }
        toml_edit::Value::Float(number) => kind.accept_number(*number.value()),
        toml_edit::Value::Boolean(yes) => kind.accept_bool(*yes.value()),
        toml_edit::Value::Array(list) => {
            let texts: Option<Vec<_>> =
                list.iter().map(|item| item.as_str().map(str::to_owned)).collect();
            kind.accept_list(texts?)
        }
        toml_edit::Value::Datetime(_) | toml_edit::Value::InlineTable(_) => None,
    }
}

fn join(pattern: &str, name: &str) -> String {
    if pattern.is_empty() { name.to_owned() } else { format!("{pattern}.{name}") }
}

fn is_table(pattern: &str) -> bool {
    keys().any(|key| key.path.strip_prefix(pattern).is_some_and(|rest| rest.starts_with('.')))
}

/// The names that may stand in the table at `pattern`.
fn siblings(pattern: &str) -> impl Iterator<Item = &'static str> {
    keys().filter_map(move |key| {
        let rest = match pattern {
            "" => key.path,
            _ => key.path.strip_prefix(pattern)?.strip_prefix('.')?,
        };
        rest.split('.').next().filter(|name| *name != "*")
    })
}
