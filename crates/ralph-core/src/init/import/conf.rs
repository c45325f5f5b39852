//! `ralph.conf`: [`crate::config`] knows what it means; here its settings join the others.

use toml_edit::{ArrayOfTables, Document, Item};

use crate::config::{SkippedPart, conf_to_toml, gate_kind, parse_conf};
use crate::init::draft::{ConfigDraft, GateSource, ProposedGate};
use crate::init::manifest::ManifestReader;

/// Settings of the file at `path`; whether it could be read.
pub(super) fn import(look: &mut ManifestReader<'_>, draft: &mut ConfigDraft, path: &str) -> bool {
    let Some(text) = look.text(path) else { return false };
    let imported = conf_to_toml(&parse_conf(text));
    for SkippedPart { line, what } in &imported.left_out {
        look.problem(path, Some(*line), what);
    }
    let Ok(document) = Document::parse(imported.text.as_str()) else { return false };
    let mut open = vec![(String::new(), document.as_item())];
    while let Some((name, item)) = open.pop() {
        let Some(table) = item.as_table_like() else { continue };
        for (key, item) in table.iter() {
            match item {
                Item::Value(value) => draft.set(&name, key, value.to_string().trim()),
                Item::ArrayOfTables(list) if name.is_empty() && key == "gates" => {
                    draft.gates = GateSource::Imported(path.to_owned(), gates(list));
                }
                Item::Table(_) if name.is_empty() => open.push((key.to_owned(), item)),
                Item::Table(_) => open.push((format!("{name}.{key}"), item)),
                _ => {}
            }
        }
    }
    true
}

fn gates(list: &ArrayOfTables) -> Vec<ProposedGate> {
    let text =
        |item: Option<&Item>| Some(item?.as_str()?.to_owned()).filter(|t| !t.trim().is_empty());
    let commands =
        list.iter().filter_map(|gate| Some((text(gate.get("name"))?, text(gate.get("command"))?)));
    commands
        .map(|(name, command)| ProposedGate {
            kind: gate_kind(&command),
            name,
            command,
            required: None,
        })
        .collect()
}
