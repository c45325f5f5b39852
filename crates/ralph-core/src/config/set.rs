//! Changing one key in the text of a file, every other byte as it was.
//!
//! The parser tells where each value and header stands; the new text goes in by splice. So comments,
//! order, indentation and line ends survive, and the result is parsed again before anybody sees it.

use std::ops::Range;

use toml_edit::{Document, Item, Table, TableLike};

use super::file::parse_layer;
use super::keys::KeyRef;
use super::layer::{ConfigErrors, ConfigTier, read_plain};
use super::value::ConfigValue;
use crate::text::{Splice, splice};

/// Why a key was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// There is no such key, or the value is not for it.
    #[error("{0}")]
    Refused(String),
    /// The file cannot be read as it is.
    #[error(transparent)]
    File(#[from] ConfigErrors),
    /// The file is written in a way that this edit does not cover.
    #[error("`{0}` cannot be put into this file automatically: write it by hand")]
    ByHand(String),
}

/// The text of a configuration file with `key` set to `value`, which is read as on a command line.
/// `file` is how messages call the file.
pub fn set(file: &str, text: &str, key: &str, value: &str) -> Result<String, SetError> {
    let (key, value) = read_plain(key, value).map_err(SetError::Refused)?;
    match text.strip_prefix('\u{feff}') {
        Some(text) => Ok(format!("\u{feff}{}", put(file, text, &key, &value)?)),
        None => put(file, text, &key, &value),
    }
}

/// As [`set`], with a value that was checked already and a text without byte order mark.
fn put(file: &str, text: &str, key: &KeyRef, value: &ConfigValue) -> Result<String, SetError> {
    let path = key.path();
    let Ok(document) = Document::parse(text) else {
        // The layer reader says it in the words that people know from every other command.
        parse_layer(ConfigTier::Project, file, text)?;
        return Err(SetError::ByHand(path));
    };
    let new = value.to_toml();
    let by_hand = || SetError::ByHand(path.clone());
    let change = change(text, document.as_table(), &path, &new).ok_or_else(by_hand)?;
    let out = splice(text, vec![change]).map_err(|_| by_hand())?;
    if holds(&out, &path, value) { Ok(out) } else { Err(by_hand()) }
}

/// Whether `text` sets `path` to `value`, whatever else is wrong with it.
fn holds(text: &str, path: &str, value: &ConfigValue) -> bool {
    let Ok(document) = Document::parse(text) else { return false };
    let mut item = Some(document.as_item());
    for part in path.split('.') {
        item = item.and_then(|item| item.as_table_like()?.get(part));
    }
    let new = value.to_toml();
    item.and_then(Item::span).and_then(|span| text.get(span)) == Some(new.as_str())
}

/// The one splice that sets `path`.
fn change(text: &str, root: &Table, path: &str, new: &str) -> Option<Splice> {
    let parts: Vec<&str> = path.split('.').collect();
    let mut place = DeepestTable::Root(root);
    for (depth, name) in parts.iter().enumerate() {
        let Some(item) = place.table().get(name) else {
            return insert(text, root, &place, &parts, depth, new);
        };
        place = match item {
            Item::Value(toml_edit::Value::InlineTable(table)) if depth + 1 < parts.len() => {
                DeepestTable::Inline { table, span: item.span()? }
            }
            Item::Value(_) if depth + 1 == parts.len() => {
                return Some(Splice::replace(item.span()?, new));
            }
            Item::Table(table) if depth + 1 < parts.len() => match place {
                _ if !table.is_dotted() => DeepestTable::Header { table, span: item.span()? },
                DeepestTable::Dotted { first, .. } => DeepestTable::Dotted { table, first },
                _ => DeepestTable::Dotted { table, first: depth },
            },
            _ => return None,
        };
    }
    None
}

/// The deepest table on the way to a key that the file already has.
enum DeepestTable<'d> {
    Root(&'d Table),
    /// `[a.b]`; implicit when only `[a.b.c]` is written.
    Header {
        table: &'d Table,
        span: Range<usize>,
    },
    /// `b.c = 1` inside another table; `first` is the depth of `b`.
    Dotted {
        table: &'d Table,
        first: usize,
    },
    /// `b = { c = 1 }`.
    Inline {
        table: &'d toml_edit::InlineTable,
        span: Range<usize>,
    },
}

impl<'d> DeepestTable<'d> {
    fn table(&self) -> &'d dyn TableLike {
        match self {
            Self::Root(table) | Self::Header { table, .. } | Self::Dotted { table, .. } => *table,
            Self::Inline { table, .. } => *table,
        }
    }
}

/// The splice that adds `parts[depth..]` to `place`.
fn insert(
    text: &str,
    root: &Table,
    place: &DeepestTable<'_>,
    parts: &[&str],
    depth: usize,
    new: &str,
) -> Option<Splice> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let is_leaf = depth + 1 == parts.len();
    match place {
        DeepestTable::Inline { table, span } => {
            let rest = parts[depth..].join(".");
            Some(
                match table.iter().filter_map(|(_, value)| value.span()).map(|span| span.end).max()
                {
                    Some(end) => Splice::insert(end, format!(", {rest} = {new}")),
                    None => Splice::replace(span.clone(), format!("{{ {rest} = {new} }}")),
                },
            )
        }
        DeepestTable::Dotted { table, first } => {
            let line = format!("{} = {new}", parts[*first..].join("."));
            Some(after_line(text, last_value(*table)?, &line, newline))
        }
        DeepestTable::Header { table, span } if is_leaf && !table.is_implicit() => {
            let line = format!("{} = {new}", parts[depth]);
            Some(after_line(text, last_value(*table).unwrap_or(span.end), &line, newline))
        }
        DeepestTable::Root(table) if is_leaf => {
            let line = format!("{} = {new}", parts[depth]);
            Some(match (last_value(*table), first_header(root)) {
                (Some(end), _) => after_line(text, end, &line, newline),
                (None, Some(header)) => {
                    let at = start_of_block(text, header);
                    Splice::insert(at, format!("{line}{newline}{newline}"))
                }
                (None, None) => at_end(text, &line, newline, ""),
            })
        }
        DeepestTable::Root(_) | DeepestTable::Header { .. } => {
            let (leaf, table) = parts.split_last()?;
            let lines = format!("[{}]{newline}{leaf} = {new}", table.join("."));
            let gap = if text.is_empty() { "" } else { newline };
            Some(at_end(text, &lines, newline, gap))
        }
    }
}

/// The end of the last value written in the table itself, dotted ones included.
fn last_value(table: &dyn TableLike) -> Option<usize> {
    let mut last = None;
    let mut open: Vec<&dyn TableLike> = vec![table];
    while let Some(table) = open.pop() {
        for (_, item) in table.iter() {
            match item {
                Item::Value(value) => last = last.max(value.span().map(|span| span.end)),
                Item::Table(dotted) if dotted.is_dotted() => open.push(dotted),
                _ => {}
            }
        }
    }
    last
}

/// Return the offset of the first `[table]` or `[[table]]` header.
fn first_header(root: &Table) -> Option<usize> {
    let mut first: Option<usize> = None;
    let mut open: Vec<&Table> = vec![root];
    while let Some(table) = open.pop() {
        for (_, item) in table.iter() {
            let start = match item {
                Item::Table(table) => {
                    open.push(table);
                    if table.is_implicit() || table.is_dotted() { None } else { item.span() }
                }
                Item::ArrayOfTables(tables) => tables.iter().next().and_then(Table::span),
                _ => None,
            };
            if let Some(start) = start.map(|span| span.start) {
                first = Some(first.map_or(start, |first| first.min(start)));
            }
        }
    }
    first
}

/// The start of the line at `offset`, or of the comment lines right above it.
fn start_of_block(text: &str, offset: usize) -> usize {
    let mut start = line_start(text, offset);
    while start > 0 {
        let above = line_start(text, start - 1);
        if !text[above..start].trim_start().starts_with('#') {
            break;
        }
        start = above;
    }
    start
}

fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |at| at + 1)
}

/// `line` as the line after the one that `offset` is in.
fn after_line(text: &str, offset: usize, line: &str, newline: &str) -> Splice {
    match text[offset..].find('\n') {
        Some(end) => Splice::insert(offset + end + 1, format!("{line}{newline}")),
        None => at_end(text, line, newline, ""),
    }
}

fn at_end(text: &str, line: &str, newline: &str, gap: &str) -> Splice {
    let close = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
    Splice::insert(text.len(), format!("{close}{gap}{line}{newline}"))
}
