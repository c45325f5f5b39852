//! Ralph Deluxe's `ralph.conf`: a shell file that is read here and never executed.
//!
//! Only plain assignments mean something: `NAME=value`, with quotes, `export`, and arrays over
//! several lines. Whatever would need a shell (commands, expansions, blocks) is reported with its
//! line and skipped as a whole, so that an assignment inside an `if` is not taken for a setting.

use std::collections::BTreeMap;

use super::env::{ConfigVariable, gates_from_commands, lookup, read};
use super::keys::{KeyRef, VariableReading, keys};
use super::layer::{ConfigLayer, ConfigTier, LayerEntry, ValueOrigin, mismatch};
use super::shell::ShellScanner;
use super::value::ConfigValue;

/// Value of an assignment in a `ralph.conf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfValue {
    /// `NAME=text`
    Text(String),
    /// `NAME=( "a" "b" )`
    List(Vec<String>),
}

/// Assignment of a value to a shell variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfAssignment {
    pub name: String,
    pub value: ConfValue,
    /// Line number, counted from 1.
    pub line: usize,
}

/// A part of the file that sets nothing, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedPart {
    /// Line number, counted from 1.
    pub line: usize,
    /// Description of the skipped part.
    pub what: String,
}

/// Assignments of a `ralph.conf`, and the parts that were skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfFile {
    /// In file order; a later one of the same name wins.
    pub assignments: Vec<ConfAssignment>,
    pub skipped: Vec<SkippedPart>,
}

/// Read a `ralph.conf`. Any text is fine: what is not an assignment is listed as skipped.
pub fn parse_conf(text: &str) -> ConfFile {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let mut scanner = ShellScanner::new(&text);
    let mut conf = ConfFile::default();
    while let Some(line) = scanner.next_statement() {
        match scanner.assignments() {
            Ok(found) => conf.assignments.extend(found),
            Err(what) => conf.skipped.push(SkippedPart { line, what }),
        }
    }
    conf
}

/// A `ralph.toml` made from a `ralph.conf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedConf {
    pub text: String,
    /// Parts of the `ralph.conf` that were not taken over.
    pub left_out: Vec<SkippedPart>,
}

/// The pause between iterations that Ralph Deluxe makes when its file does not say otherwise.
const DELUXE_MIN_DELAY: &str = "30";

/// The `ralph.toml` that says what this `ralph.conf` says.
pub fn conf_to_toml(conf: &ConfFile) -> ImportedConf {
    let (entries, left_out) = conf_entries("ralph.conf", conf);
    let values = entries.into_iter().map(|entry| (entry.key.path(), (entry.key, entry.value)));
    ImportedConf { text: write(&values.collect()), left_out }
}

/// The layer of a project that has a `ralph.conf` and no `ralph.toml`. Each part that was left out
/// is a warning.
pub fn conf_layer(file: &str, text: &str) -> ConfigLayer {
    let (entries, left_out) = conf_entries(file, &parse_conf(text));
    let hint = format!("the settings are those of {file}; `ralph init` makes ralph.toml of them");
    let left_out =
        left_out.into_iter().map(|SkippedPart { line, what }| format!("{file}:{line}: {what}"));
    ConfigLayer { entries, warnings: std::iter::once(hint).chain(left_out).collect() }
}

/// The settings of a `ralph.conf`, and what sets nothing.
fn conf_entries(file: &str, conf: &ConfFile) -> (Vec<LayerEntry>, Vec<SkippedPart>) {
    let skipped = conf.skipped.iter();
    let mut left_out: Vec<SkippedPart> = skipped
        .map(|SkippedPart { line, what }| SkippedPart {
            line: *line,
            what: format!("{what}, left out"),
        })
        .collect();
    let mut entries = Vec::new();
    let implied = ConfAssignment {
        name: "RALPH_MIN_DELAY_SECONDS".to_owned(),
        value: ConfValue::Text(DELUXE_MIN_DELAY.to_owned()),
        line: 0,
    };
    for assignment in std::iter::once(&implied).chain(&conf.assignments) {
        let ConfAssignment { name, value, line } = assignment;
        let line = Some(*line).filter(|line| *line > 0);
        let why = match lookup(name) {
            None => "nothing in ralph.toml corresponds to it".to_owned(),
            Some(ConfigVariable::Unused(why)) => why.to_owned(),
            Some(ConfigVariable::Key(..)) if *value == ConfValue::Text(String::new()) => continue,
            Some(ConfigVariable::Key(key, reading)) => match convert(&key, reading, value) {
                Ok(value) => {
                    let origin = ValueOrigin { tier: ConfigTier::Project, name: file.into(), line };
                    entries.push(LayerEntry { key, value, origin });
                    continue;
                }
                Err(message) => message,
            },
        };
        let what = format!("{name} was left out: {why}");
        left_out.push(SkippedPart { line: line.unwrap_or_default(), what });
    }
    left_out.sort_by_key(|skipped| skipped.line);
    (entries, left_out)
}

fn convert(
    key: &KeyRef,
    reading: VariableReading,
    value: &ConfValue,
) -> Result<ConfigValue, String> {
    match value {
        ConfValue::Text(text) => read(key, reading, Some(text)),
        ConfValue::List(list) if reading == VariableReading::Commands => {
            gates_from_commands(Some(list.clone()))
        }
        ConfValue::List(list) => {
            let kind = &key.key.kind;
            kind.accept_list(list.clone()).ok_or_else(|| mismatch(kind, &list.join(" ")))
        }
    }
}

/// TOML text: top-level keys, then tables, then lists of tables.
fn write(values: &BTreeMap<String, (KeyRef, ConfigValue)>) -> String {
    let mut top = String::new();
    let mut tables: BTreeMap<&str, String> = BTreeMap::new();
    let mut lists = String::new();
    let in_table_order =
        keys().flat_map(|key| values.iter().filter(|(_, (at, _))| at.key.path == key.path));
    for (path, (_, value)) in in_table_order {
        match (value, path.rsplit_once('.')) {
            (ConfigValue::Records(records), _) => {
                for record in records {
                    lists.push_str(&format!("\n[[{path}]]\n"));
                    for (name, value) in record.iter() {
                        lists.push_str(&format!("{name} = {}\n", value.to_toml()));
                    }
                }
            }
            (value, None) => top.push_str(&format!("{path} = {}\n", value.to_toml())),
            (value, Some((table, leaf))) => {
                let text = tables.entry(table).or_insert_with(|| format!("\n[{table}]\n"));
                text.push_str(&format!("{leaf} = {}\n", value.to_toml()));
            }
        }
    }
    top + &tables.into_values().collect::<String>() + &lists
}
