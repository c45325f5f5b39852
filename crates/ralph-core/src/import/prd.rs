//! snarktank's `prd.json`: user stories with criteria, done when they pass.

use super::leftover::{leftover, words};
use super::{
    DocumentSite, ImportError, ImportItem, ImportSource, SourceContent, SourceDocument, file_name,
    pick, root,
};
use crate::json::{JsonError, JsonFields, JsonNode};
use crate::plan::TaskState;
use crate::text::LineCounter;

const KNOWN: [&str; 8] = [
    "id",
    "title",
    "description",
    "acceptanceCriteria",
    "passes",
    "notes",
    "dependsOn",
    "priority",
];

/// Read it, with the log of progress that lies beside it.
pub(super) fn read(sources: &[ImportSource]) -> Result<SourceContent, ImportError> {
    let named = |path: &str| file_name(path) == "prd.json";
    let json = |path: &str| path.ends_with(".json") || path == "-";
    let Some(source) = pick(sources, &[&named, &json]) else { return Ok(SourceContent::default()) };
    let node = root(source)?;
    let mut found = SourceContent::default();
    stories(source, &node, &mut found).map_err(|e| ImportError::json(source, e))?;
    for said in leftover(&source.text, &node, &["userStories"]) {
        found.aside("prd.json", &said.label, said.text);
    }
    let folder = source.path.strip_suffix(file_name(&source.path)).unwrap_or_default();
    for log in sources.iter().filter(|s| s.path == format!("{folder}progress.txt")) {
        found.documents.push(SourceDocument {
            from: log.path.clone(),
            site: DocumentSite::Import("prd/progress.txt".to_owned()),
            text: log.text.clone(),
        });
    }
    Ok(found)
}

fn stories(
    source: &ImportSource,
    node: &JsonNode,
    found: &mut SourceContent,
) -> Result<(), JsonError> {
    let text = source.text.as_str();
    let fields = JsonFields::new(text, node)?;
    let Some(list) = fields.get("userStories") else { return fields.missing("userStories") };
    let Some(list) = list.items() else {
        return fields.wrong("userStories", list, "an array of stories");
    };
    let scope = ["branchName", "project"].into_iter().find_map(|key| fields.str(key).ok()?);
    let scope = scope.unwrap_or_default().into_owned();
    let mut lines = LineCounter::new(text);
    let mut ranked = Vec::new();
    for story in list {
        let line = lines.line(story.span.start);
        let (rank, item) = one(text, story)?;
        let item = ImportItem { scope: scope.clone(), file: source.path.clone(), line, ..item };
        ranked.push((rank, item));
    }
    // A lower number comes first; what has none comes last. Equal ones stay as they stand.
    ranked.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    found.items.extend(ranked.into_iter().map(|(_, item)| item));
    Ok(())
}

fn one(text: &str, node: &JsonNode) -> Result<(f64, ImportItem), JsonError> {
    let fields = JsonFields::new(text, node)?;
    let mut item = ImportItem { has_id: true, ..ImportItem::default() };
    let title = fields.string("title")?.unwrap_or_default();
    item.key = fields.get("id").map(|id| words(text, id)).unwrap_or_default();
    if item.key.is_empty() {
        item.key = title.clone();
        item.has_id = false;
    }
    for key in ["description", "notes"] {
        let label = if key == "notes" { key } else { "" };
        item.say(label, fields.get(key).map(|node| words(text, node)).unwrap_or_default());
    }
    item.task.accept = criteria(&fields, "acceptanceCriteria")?;
    item.needs = keys(&fields, "dependsOn")?;
    if fields.bool("passes")? == Some(true) {
        item.task.state = TaskState::Accepted;
    }
    let rank = fields.get("priority");
    item.say("priority", rank.map(|node| words(text, node)).unwrap_or_default());
    item.says.extend(leftover(text, node, &KNOWN));
    item.named(&title);
    Ok((rank.and_then(|node| node.f64(text)).unwrap_or(f64::INFINITY), item))
}

/// A list of criteria, or one text with a criterion a line.
pub(super) fn criteria(fields: &JsonFields<'_, '_>, key: &str) -> Result<Vec<String>, JsonError> {
    let Some(node) = fields.get(key) else { return Ok(Vec::new()) };
    let text = fields.text();
    Ok(match (node.items(), node.str(text)) {
        (Some(items), _) => items.iter().map(|item| words(text, item)).collect(),
        (None, Some(one)) => one.lines().map(|line| unbulleted(line).to_owned()).collect(),
        (None, None) => return fields.wrong(key, node, "a text or a list of texts"),
    })
    .map(|list: Vec<String>| list.into_iter().filter(|line| !line.trim().is_empty()).collect())
}

/// Keys of other tasks: texts or numbers.
pub(super) fn keys(fields: &JsonFields<'_, '_>, key: &str) -> Result<Vec<String>, JsonError> {
    let Some(node) = fields.get(key) else { return Ok(Vec::new()) };
    match node.items() {
        Some(items) => Ok(items
            .iter()
            .map(|item| words(fields.text(), item))
            .filter(|key| !key.is_empty())
            .collect()),
        None => fields.wrong(key, node, "a list of ids"),
    }
}

/// A line without the mark of a list or a box in front.
pub(super) fn unbulleted(line: &str) -> &str {
    let mut rest = line.trim();
    for mark in ["- ", "* ", "+ "] {
        rest = rest.strip_prefix(mark).unwrap_or(rest).trim_start();
    }
    for mark in ["[ ] ", "[x] ", "[X] "] {
        rest = rest.strip_prefix(mark).unwrap_or(rest).trim_start();
    }
    rest
}
