//! OpenSpec changes and spec-kit features: a folder of markdown, with the tasks in `tasks.md`.
//!
//! The documents become specs, in a folder of the same name, and the tasks belong to the one that
//! says what is wanted: `spec.md`, or `proposal.md`. Changes that OpenSpec has archived stay where
//! they are.

use std::collections::BTreeMap;

use super::checklist::{self, ChecklistEntry, ChecklistStyle};
use super::{
    DocumentSite, ImportError, ImportItem, ImportKind, ImportSource, SourceContent, SourceDocument,
    tasks_md,
};

/// Files of which such a folder has at least one.
pub(super) const MARKS: [&str; 3] = ["tasks.md", "proposal.md", "spec.md"];

/// Read all folders of the kind.
pub(super) fn read(
    kind: ImportKind,
    sources: &[ImportSource],
) -> Result<SourceContent, ImportError> {
    let mut folders = BTreeMap::<String, Vec<(&str, &ImportSource)>>::new();
    for source in sources {
        if let Some((folder, rest)) = split(kind, &source.path) {
            folders.entry(folder.to_owned()).or_default().push((rest, source));
        }
    }
    if let (true, [one]) = (folders.is_empty(), sources) {
        let name = super::file_name(&one.path);
        let stem = name.rsplit_once('.').map_or(kind.as_str(), |(stem, _)| stem);
        folders.insert(stem.to_owned(), vec![("tasks.md", one)]);
    }
    let mut found = SourceContent::default();
    for (folder, files) in &folders {
        let has = |name: &str| files.iter().any(|(rest, _)| *rest == name);
        if !MARKS.iter().any(|mark| has(mark)) {
            continue;
        }
        let wanted = ["spec.md", "proposal.md"].into_iter().find(|name| has(name));
        let spec = wanted.map(|name| format!("{folder}/{name}"));
        for (rest, source) in files {
            match *rest == "tasks.md" {
                true => tasks(kind, folder, spec.as_ref(), source, &mut found),
                false => found.documents.push(document(kind, folder, rest, source)),
            }
        }
    }
    Ok(found)
}

/// The name of the folder that a file is in, and its path there.
pub(super) fn split(kind: ImportKind, path: &str) -> Option<(&str, &str)> {
    let roots: &[&str] = match kind {
        ImportKind::OpenSpec => &["openspec/changes/", "changes/"],
        _ => &["specs/", ".specify/specs/"],
    };
    let below = roots.iter().find_map(|root| path.strip_prefix(root));
    let (folder, rest) = below.unwrap_or(path).split_once('/')?;
    let is_it = match kind {
        ImportKind::OpenSpec => folder != "archive" && !folder.starts_with('.'),
        _ => folder.starts_with(|c: char| c.is_ascii_digit()) || below.is_none(),
    };
    let known = below.is_some() || !folder.starts_with('.');
    (is_it && known && !rest.is_empty()).then_some((folder, rest))
}

fn document(kind: ImportKind, folder: &str, rest: &str, source: &ImportSource) -> SourceDocument {
    let site = match rest.ends_with(".md") {
        true => DocumentSite::Spec(format!("{folder}/{rest}")),
        false => DocumentSite::Import(format!("{kind}/{folder}/{rest}")),
    };
    SourceDocument { from: source.path.clone(), site, text: source.text.clone() }
}

fn tasks(
    kind: ImportKind,
    folder: &str,
    spec: Option<&String>,
    source: &ImportSource,
    found: &mut SourceContent,
) {
    let list = checklist::read(&source.text, ChecklistStyle::Boxes);
    for entry in list.entries {
        let mut item = match kind {
            ImportKind::SpecKit => spec_kit(source, entry),
            _ => open_spec(source, entry),
        };
        item.scope = folder.to_owned();
        item.task.spec = spec.cloned();
        found.items.push(item);
    }
    found.aside(&format!("{folder}/tasks.md"), "", list.prose);
}

fn open_spec(source: &ImportSource, entry: ChecklistEntry) -> ImportItem {
    let mut item = tasks_md::item(source, entry);
    let text = item.key.clone();
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    };
    if let Some((number, words)) = text.split_once(' ').filter(|(number, _)| is_number(number)) {
        item.key = number.trim_end_matches('.').to_owned();
        item.has_id = true;
        rename(&mut item, words);
    }
    item
}

/// `T001 [P] [US1] Create the model in src/model.rs (depends on T000)`.
fn spec_kit(source: &ImportSource, entry: ChecklistEntry) -> ImportItem {
    let mut item = tasks_md::item(source, entry);
    let text = item.key.clone();
    let Some((id, words)) = text.split_once(' ').filter(|(id, _)| is_task_id(id)) else {
        return item;
    };
    item.key = id.to_owned();
    item.has_id = true;
    let mut words = words.trim_start();
    let mut marks = Vec::new();
    while let Some((mark, rest)) = words.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        if mark.is_empty() || !mark.bytes().all(|b| b.is_ascii_alphanumeric()) {
            break;
        }
        marks.push(format!("[{mark}]"));
        words = rest.trim_start();
    }
    rename(&mut item, words);
    item.say("marks", marks.join(" "));
    item.needs = needs(words);
    item
}

/// The name without the number in front of it.
fn rename(item: &mut ImportItem, words: &str) {
    item.says.retain(|said| said.label != "title");
    item.named(words);
}

fn is_task_id(word: &str) -> bool {
    let digits = word.strip_prefix('T').unwrap_or_default().trim_end_matches(char::is_alphabetic);
    digits.len() >= 2 && digits.bytes().all(|b| b.is_ascii_digit())
}

/// The tasks named behind "depends on" or "after".
fn needs(words: &str) -> Vec<String> {
    let lower = words.to_lowercase();
    let start = ["depends on", "requires"].iter().filter_map(|word| lower.find(word)).min();
    // Lower case may be longer than what it stands for, so the text is cut only where it can be.
    let Some(rest) = start.and_then(|start| words.get(start..)) else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for word in rest.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| is_task_id(word)) {
        if !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
    }
    found
}
