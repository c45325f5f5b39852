//! GitHub issues as `gh issue list --json …` or `gh issue view --json …` print them.
//!
//! What somebody needs who does the work stands in the notes; the rest of what `gh` was asked for
//! (ids, addresses, colours) goes to the record.

use super::leftover::{leftover, words};
use super::prd::unbulleted;
use super::{ImportError, ImportItem, ImportSource, SourceContent, pick, root};
use crate::fence;
use crate::json::{JsonError, JsonFields, JsonNode};
use crate::plan::{Priority, TaskState};
use crate::text::LineCounter;

const KNOWN: [&str; 6] = ["number", "title", "body", "state", "stateReason", "closedAt"];

pub(super) fn read(sources: &[ImportSource]) -> Result<SourceContent, ImportError> {
    let given = |path: &str| path == "-";
    let json = |path: &str| path.ends_with(".json");
    let Some(source) = pick(sources, &[&given, &json]) else { return Ok(SourceContent::default()) };
    let node = root(source)?;
    let list = node.items().map_or_else(|| vec![&node], |items| items.iter().collect());
    let mut lines = LineCounter::new(&source.text);
    let mut items = Vec::new();
    for node in list {
        let line = lines.line(node.span.start);
        let item = issue(&source.text, node).map_err(|e| ImportError::json(source, e))?;
        items.push(ImportItem { file: source.path.clone(), line, ..item });
    }
    // `gh` lists the newest first; work begins with the oldest.
    items.sort_by_key(|item| item.key.parse::<u64>().unwrap_or(u64::MAX));
    Ok(SourceContent { items, ..SourceContent::default() })
}

fn issue(text: &str, node: &JsonNode) -> Result<ImportItem, JsonError> {
    let fields = JsonFields::new(text, node)?;
    let Some(number) = fields.u64("number")? else { return fields.missing("number") };
    let title = fields.required("title")?;
    let body = fields.string("body")?.unwrap_or_default();
    let mut item = ImportItem { key: number.to_string(), has_id: true, ..ImportItem::default() };
    item.scope = repository(&fields);
    item.task.accept = boxes(&body);
    item.needs = needs(&body);
    item.say("", body);
    item.task.done_at = fields.string("closedAt")?.filter(|at| !at.is_empty());
    state(&fields, &mut item)?;
    let labels = names(&fields, "labels", "name");
    item.task.priority = labels.iter().find_map(|label| priority(label));
    item.say("labels", labels.join(", "));
    item.say("assignees", names(&fields, "assignees", "login").join(", "));
    let milestone = fields.get("milestone").and_then(|node| node.get("title"));
    item.say("milestone", milestone.map(|node| words(text, node)).unwrap_or_default());
    comments(&fields, &mut item);
    item.aside = leftover(text, node, &KNOWN);
    item.named(&title);
    Ok(item)
}

/// Return `owner/name` of the repository, from the issue's URL. Empty if the URL has another form.
fn repository(fields: &JsonFields<'_, '_>) -> String {
    let url = fields.str("url").ok().flatten().unwrap_or_default();
    let parts: Vec<&str> = url.split('/').collect();
    match parts.as_slice() {
        [_, "", _, owner, name, ..] => format!("{owner}/{name}"),
        _ => String::new(),
    }
}

fn names(fields: &JsonFields<'_, '_>, key: &str, part: &str) -> Vec<String> {
    let items = fields.get(key).and_then(JsonNode::items).unwrap_or_default();
    let name = |node: &JsonNode| words(fields.text(), node.get(part).unwrap_or(node));
    items.iter().map(name).filter(|name| !name.is_empty()).collect()
}

fn comments(fields: &JsonFields<'_, '_>, item: &mut ImportItem) {
    let text = fields.text();
    for node in fields.get("comments").and_then(JsonNode::items).unwrap_or_default() {
        let said = |node: Option<&JsonNode>| node.map(|node| words(text, node)).unwrap_or_default();
        let author = said(node.get("author").and_then(|author| author.get("login")));
        item.say(&format!("comment by {author}"), said(node.get("body")));
    }
}

fn state(fields: &JsonFields<'_, '_>, item: &mut ImportItem) -> Result<(), JsonError> {
    let state = fields.string("state")?.unwrap_or_default();
    let reason = fields.string("stateReason")?.unwrap_or_default();
    let dropped = ["not_planned", "duplicate"].iter().any(|r| reason.eq_ignore_ascii_case(r));
    item.task.state = match (state.eq_ignore_ascii_case("closed"), dropped) {
        (true, true) => TaskState::Skipped,
        (true, false) => TaskState::Accepted,
        (false, _) => TaskState::Pending,
    };
    if !reason.is_empty() && !reason.eq_ignore_ascii_case("completed") {
        item.say("closed as", reason);
    }
    let usual = ["", "open", "closed"].iter().any(|word| state.eq_ignore_ascii_case(word));
    if !usual {
        item.say("state", state);
    }
    Ok(())
}

fn priority(label: &str) -> Option<Priority> {
    let label = label.to_lowercase();
    let words: Vec<&str> = label.split(|c: char| !c.is_alphanumeric()).collect();
    let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
    let about = has(&["priority", "prio"]);
    if has(&["p0", "p1", "urgent", "critical"]) || about && has(&["high"]) {
        Some(Priority::High)
    } else if has(&["p2"]) || about && has(&["medium"]) {
        Some(Priority::Medium)
    } else if has(&["p3", "p4"]) || about && has(&["low"]) {
        Some(Priority::Low)
    } else {
        None
    }
}

/// Boxes of the body that are not ticked: what is still to be true.
fn boxes(body: &str) -> Vec<String> {
    fence::open_lines(body)
        .filter(|(_, line)| {
            let line = line.trim_start();
            ["- [ ] ", "* [ ] ", "+ [ ] "].iter().any(|mark| line.starts_with(mark))
        })
        .map(|(_, line)| unbulleted(line).to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

/// `Depends on #12, #13`, `Blocked by #4`.
fn needs(body: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (_, line) in fence::open_lines(body) {
        let lower = line.to_lowercase();
        let starts = ["depends on", "blocked by"].map(|words| lower.find(words));
        let Some(start) = starts.into_iter().flatten().min() else { continue };
        for part in lower.get(start..).unwrap_or_default().split('#').skip(1) {
            let number: String = part.chars().take_while(char::is_ascii_digit).collect();
            if !number.is_empty() && !found.contains(&number) {
                found.push(number);
            }
        }
    }
    found
}
