//! beads' `issues.jsonl`: one issue a line, with typed links to others.
//!
//! Links that hold work back become dependencies. A child does not wait for its parent here: the
//! parent comes after its children, as the check of the whole.

use super::leftover::{leftover, told, words};
use super::prd::criteria;
use super::{ImportError, ImportItem, ImportSource, SourceContent, file_name, pick};
use crate::json::{self, JsonError, JsonFields, JsonNode};
use crate::lines;
use crate::plan::{Priority, TaskState};

const KNOWN: [&str; 13] = [
    "id",
    "title",
    "description",
    "design",
    "acceptance_criteria",
    "notes",
    "status",
    "priority",
    "dependencies",
    "comments",
    "labels",
    "closed_at",
    "parent",
];

pub(super) fn read(sources: &[ImportSource]) -> Result<SourceContent, ImportError> {
    let issues = |path: &str| file_name(path) == "issues.jsonl";
    let older = |path: &str| file_name(path) == "beads.jsonl";
    let any = |path: &str| path.ends_with(".jsonl") || path == "-";
    let Some(source) = pick(sources, &[&issues, &older, &any]) else {
        return Ok(SourceContent::default());
    };
    let text = source.text.as_str();
    let mut ranked = Vec::new();
    for line in lines::lines(text) {
        if text.get(line.span.clone()).is_none_or(|line| line.trim().is_empty()) {
            continue;
        }
        let read = || issue(text, &json::parse_in(text, line.span.clone())?);
        let (rank, mut item) = read().map_err(|e| ImportError::json(source, e))?;
        item.file = source.path.clone();
        item.line = line.number;
        ranked.push((rank, item));
    }
    parents(&mut ranked);
    ranked.sort_by_key(|(rank, _)| *rank);
    let items = ranked.into_iter().map(|(_, item)| item).collect();
    Ok(SourceContent { items, ..SourceContent::default() })
}

/// The parents that items name (in `task.parent`, until they have ids) are told of their parts.
fn parents(ranked: &mut [(i64, ImportItem)]) {
    let mut parts = std::collections::BTreeMap::<String, Vec<String>>::new();
    for (_, item) in ranked.iter_mut() {
        if let Some(parent) = item.task.parent.take() {
            item.say("part of", parent.as_str());
            parts.entry(parent.as_str().to_owned()).or_default().push(item.key.clone());
        }
    }
    for (_, item) in ranked {
        item.after = parts.remove(&item.key).unwrap_or_default();
    }
}

fn issue(text: &str, node: &JsonNode) -> Result<(i64, ImportItem), JsonError> {
    let fields = JsonFields::new(text, node)?;
    let key = fields.required("id")?.into_owned();
    let title = fields.required("title")?;
    let mut item = ImportItem { key, has_id: true, ..ImportItem::default() };
    for key in ["description", "design", "notes"] {
        let label = if key == "description" { "" } else { key };
        item.say(label, fields.get(key).map(|node| words(text, node)).unwrap_or_default());
    }
    item.task.accept = criteria(&fields, "acceptance_criteria")?;
    item.task.done_at = fields.string("closed_at")?.filter(|at| !at.is_empty());
    if let Some(said) = fields.get("labels").and_then(|labels| told(text, "labels", labels)) {
        item.says.push(said);
    }
    links(&fields, &mut item)?;
    comments(&fields, &mut item)?;
    let rank = rank(&fields, &mut item)?;
    status(&fields, &mut item)?;
    item.says.extend(leftover(text, node, &KNOWN));
    item.named(&title);
    Ok((rank, item))
}

fn links(fields: &JsonFields<'_, '_>, item: &mut ImportItem) -> Result<(), JsonError> {
    let text = fields.text();
    item.task.parent =
        fields.string("parent")?.filter(|id| !id.is_empty()).map(crate::plan::Id::new);
    let Some(list) = fields.get("dependencies") else { return Ok(()) };
    let Some(links) = list.items() else {
        return fields.wrong("dependencies", list, "an array of links");
    };
    for node in links {
        let link = JsonFields::new(text, node)?;
        let target = link.required("depends_on_id")?.into_owned();
        let kind = link.string("type")?.unwrap_or_default();
        match kind.as_str() {
            "" | "blocks" | "waits-for" | "conditional-blocks" => item.needs.push(target),
            "parent-child" => item.task.parent = Some(crate::plan::Id::new(target)),
            other => item.say(other, target),
        }
        if kind == "waits-for" || kind == "conditional-blocks" {
            item.say(&kind, item.needs.last().cloned().unwrap_or_default());
        }
        let rest = leftover(text, node, &["issue_id", "depends_on_id", "type"]);
        item.aside.extend(rest.into_iter().map(|mut said| {
            said.label = format!("link.{}", said.label);
            said
        }));
    }
    Ok(())
}

fn comments(fields: &JsonFields<'_, '_>, item: &mut ImportItem) -> Result<(), JsonError> {
    let text = fields.text();
    let Some(list) = fields.get("comments") else { return Ok(()) };
    let Some(list) = list.items() else {
        return fields.wrong("comments", list, "an array of comments");
    };
    for node in list {
        let said = |key: &str| node.get(key).map(|node| words(text, node)).unwrap_or_default();
        let words = said("text");
        if words.trim().is_empty() {
            item.aside.extend(leftover(text, node, &["issue_id"]));
            continue;
        }
        let label = format!("comment by {}, {}", said("author"), said("created_at"));
        item.say(&label, words);
        item.aside.extend(leftover(text, node, &["author", "created_at", "text", "issue_id"]));
    }
    Ok(())
}

/// 0 and 1 are urgent, 2 is the middle. ralph knows three steps, so the ends are said in words.
fn rank(fields: &JsonFields<'_, '_>, item: &mut ImportItem) -> Result<i64, JsonError> {
    const MIDDLE: i64 = 2;
    let Some(node) = fields.get("priority") else { return Ok(MIDDLE) };
    let Some(rank) = node.i64(fields.text()) else {
        return fields.wrong("priority", node, "a number from 0 to 4");
    };
    item.task.priority = Some(match rank {
        ..=1 => Priority::High,
        MIDDLE => Priority::Medium,
        _ => Priority::Low,
    });
    if !(1..=3).contains(&rank) {
        item.say("priority", format!("P{rank}"));
    }
    Ok(rank)
}

fn status(fields: &JsonFields<'_, '_>, item: &mut ImportItem) -> Result<(), JsonError> {
    let status = fields.string("status")?.unwrap_or_default();
    item.task.state = match status.as_str() {
        "closed" => TaskState::Accepted,
        "tombstone" => TaskState::Skipped,
        // With something to wait for, waiting is all that it means.
        "blocked" if item.needs.is_empty() => TaskState::Blocked("blocked in beads".to_owned()),
        "deferred" | "pinned" => TaskState::Blocked(format!("{status} in beads")),
        _ => TaskState::Pending,
    };
    if !matches!(status.as_str(), "" | "open" | "closed" | "blocked" | "deferred" | "pinned") {
        item.say("status", status);
    }
    Ok(())
}
