//! Task Master's `tasks.json`: tasks with subtasks, in one list or in several under tags.
//!
//! A subtask waits for what its task waits for, and the task comes after its subtasks: there it is
//! the check that all of them together are what was wanted.

use super::leftover::{leftover, words};
use super::prd::{criteria, keys};
use super::{ImportError, ImportItem, ImportSource, SourceContent, file_name, pick, root};
use crate::json::{JsonError, JsonFields, JsonNode};
use crate::plan::{Priority, TaskState};
use crate::text::LineCounter;

/// The tag of whoever uses none.
const MASTER: &str = "master";

const KNOWN: [&str; 11] = [
    "id",
    "title",
    "description",
    "details",
    "status",
    "dependencies",
    "priority",
    "testStrategy",
    "acceptanceCriteria",
    "subtasks",
    "completedAt",
];

pub(super) fn read(sources: &[ImportSource]) -> Result<SourceContent, ImportError> {
    let named = |path: &str| file_name(path) == "tasks.json";
    let json = |path: &str| path.ends_with(".json") || path == "-";
    let Some(source) = pick(sources, &[&named, &json]) else { return Ok(SourceContent::default()) };
    let node = root(source)?;
    let mut reader = TaskMasterReader {
        source,
        lines: LineCounter::new(&source.text),
        found: SourceContent::default(),
    };
    reader.file(&node).map_err(|e| ImportError::json(source, e))?;
    Ok(reader.found)
}

struct TaskMasterReader<'s> {
    source: &'s ImportSource,
    lines: LineCounter<'s>,
    found: SourceContent,
}

impl<'s> TaskMasterReader<'s> {
    fn file(&mut self, node: &JsonNode) -> Result<(), JsonError> {
        let text = self.source.text.as_str();
        let fields = JsonFields::new(text, node)?;
        if fields.get("tasks").is_some() {
            return self.tag(MASTER, node);
        }
        let mut tags = 0;
        for member in node.members().unwrap_or_default() {
            if member.value.get("tasks").is_some() {
                self.tag(&member.key, &member.value)?;
                tags += 1;
            } else if let Some(said) = super::leftover::told(text, &member.key, &member.value) {
                self.found.aside("tasks.json", &said.label, said.text);
            }
        }
        if tags == 0 { fields.missing("tasks") } else { Ok(()) }
    }

    fn tag(&mut self, tag: &str, node: &JsonNode) -> Result<(), JsonError> {
        let text = self.source.text.as_str();
        let fields = JsonFields::new(text, node)?;
        for said in leftover(text, node, &["tasks"]) {
            let label = if tag == MASTER { said.label } else { format!("{tag}.{}", said.label) };
            self.found.aside("tasks.json", &label, said.text);
        }
        let list = fields.get("tasks").unwrap_or(node);
        let Some(list) = list.items() else {
            return fields.wrong("tasks", list, "an array of tasks");
        };
        for task in list {
            self.task(tag, task)?;
        }
        Ok(())
    }

    fn task(&mut self, tag: &str, node: &JsonNode) -> Result<(), JsonError> {
        let text = self.source.text.as_str();
        let fields = JsonFields::new(text, node)?;
        let mut task = self.item(tag, node, None)?;
        let mut parts = Vec::new();
        if let Some(list) = fields.get("subtasks") {
            let Some(list) = list.items() else {
                return fields.wrong("subtasks", list, "an array of subtasks");
            };
            for part in list {
                parts.push(self.item(tag, part, Some(&task))?);
            }
        }
        task.after = parts.iter().map(|part| part.key.clone()).collect();
        self.found.items.extend(parts);
        self.found.items.push(task);
        Ok(())
    }

    /// A task, or a subtask of another one.
    fn item(
        &mut self,
        tag: &str,
        node: &JsonNode,
        whole: Option<&ImportItem>,
    ) -> Result<ImportItem, JsonError> {
        let text = self.source.text.as_str();
        let fields = JsonFields::new(text, node)?;
        let title = fields.string("title")?.unwrap_or_default();
        let own = fields.get("id").map(|id| words(text, id)).unwrap_or_default();
        let mut item = ImportItem {
            scope: if tag == MASTER { String::new() } else { tag.to_owned() },
            has_id: !own.is_empty(),
            file: self.source.path.clone(),
            line: self.lines.line(node.span.start),
            ..ImportItem::default()
        };
        item.key = match (own.is_empty(), whole) {
            (true, None) => title.clone(),
            (true, Some(whole)) => format!("{}.{title}", whole.key),
            // Some files say `1.2` for the second part of 1, most say `2`.
            (false, Some(whole)) if !own.starts_with(&format!("{}.", whole.key)) => {
                format!("{}.{own}", whole.key)
            }
            (false, _) => own,
        };
        item.needs = keys(&fields, "dependencies")?;
        if let Some(whole) = whole {
            item.needs = item.needs.iter().map(|need| in_whole(need, whole)).collect();
            item.after = whole.needs.clone();
            item.say("part of", format!("{} ({})", whole.key, whole.task.name));
            item.task.priority = whole.task.priority;
        }
        describe(&fields, &mut item)?;
        item.says.extend(leftover(text, node, &KNOWN));
        item.named(&title);
        Ok(item)
    }
}

/// A subtask calls its sisters by their last number, and everybody else by the whole one.
fn in_whole(need: &str, whole: &ImportItem) -> String {
    if need.contains('.') { need.to_owned() } else { format!("{}.{need}", whole.key) }
}

fn describe(fields: &JsonFields<'_, '_>, item: &mut ImportItem) -> Result<(), JsonError> {
    let text = fields.text();
    for key in ["description", "details"] {
        item.say("", fields.get(key).map(|node| words(text, node)).unwrap_or_default());
    }
    item.task.accept = criteria(fields, "acceptanceCriteria")?;
    let strategy = fields.get("testStrategy").map(|node| words(text, node)).unwrap_or_default();
    if !strategy.trim().is_empty() {
        item.task.accept.push(strategy);
    }
    item.task.done_at = fields.string("completedAt")?.filter(|at| !at.trim().is_empty());
    let priority = fields.string("priority")?.unwrap_or_default();
    match priority.as_str() {
        "" => {}
        "critical" => {
            item.task.priority = Some(Priority::High);
            item.say("priority", priority);
        }
        word => match Priority::from_word(word) {
            Some(priority) => item.task.priority = Some(priority),
            None => item.say("priority", priority),
        },
    }
    let status = fields.string("status")?.unwrap_or_default();
    item.task.state = match status.as_str() {
        "" | "pending" => TaskState::Pending,
        "done" | "completed" => TaskState::Accepted,
        "cancelled" | "canceled" => TaskState::Skipped,
        "blocked" | "deferred" => TaskState::Blocked(format!("{status} in Task Master")),
        _ => TaskState::Pending,
    };
    let is_said = matches!(status.as_str(), "" | "pending" | "done" | "blocked" | "deferred");
    if !is_said {
        item.say("status", status);
    }
    Ok(())
}
