//! Plans that ralph reads as they are, in projects of the programs they come from: Ralph Deluxe's
//! `plan.json` with its handoffs and knowledge, and `.ralph-wiggum/implementation.json`.

use super::leftover::{leftover, told};
use super::{
    DocumentSite, ImportError, ImportItem, ImportSource, MEND, SourceContent, SourceDocument,
    file_name, pick, root,
};
use crate::format::{PlanFormat, codec};
use crate::json::JsonNode;
use crate::plan::{Plan, Task, TaskState};

/// Members of a task in plan.json that have a field here, or that order and state say.
const DELUXE: [&str; 24] = [
    "id",
    "spec",
    "title",
    "description",
    "status",
    "order",
    "skills",
    "needs_docs",
    "libraries",
    "acceptance_criteria",
    "depends_on",
    "max_turns",
    "timeout_ms",
    "retry_count",
    "max_retries",
    "priority",
    "auto_priority",
    "parent",
    "created_from",
    "phase",
    "done_at",
    "reject",
    "blocked_reason",
    "failed_reason",
];

const IMPLEMENTATION: [&str; 22] = [
    "id",
    "description",
    "notes",
    "status",
    "skills",
    "needsDocs",
    "libraries",
    "acceptanceCriteria",
    "dependsOn",
    "maxTurns",
    "timeoutMs",
    "retryCount",
    "maxRetries",
    "priority",
    "autoPriority",
    "parent",
    "createdFrom",
    "phase",
    "completedAt",
    "reject",
    "blockedReason",
    "failedReason",
];

/// Files that Ralph Deluxe and ralph keep at the same path.
const HOME: [&str; 5] = [
    ".ralph/handoffs/",
    ".ralph/knowledge-index.",
    ".ralph/progress-log.",
    ".ralph/skills/",
    ".ralph/templates/",
];

pub(super) fn deluxe(sources: &[ImportSource]) -> Result<SourceContent, ImportError> {
    let named = |path: &str| file_name(path) == "plan.json";
    let json = |path: &str| sources.len() == 1 && (path.ends_with(".json") || path == "-");
    let mut found = match pick(sources, &[&named, &json]) {
        Some(source) => plan(source, PlanFormat::Deluxe)?,
        None => SourceContent::default(),
    };
    for source in sources.iter().filter(|source| HOME.iter().any(|at| source.path.starts_with(at)))
    {
        found.documents.push(SourceDocument {
            from: source.path.clone(),
            site: DocumentSite::Home(source.path.clone()),
            text: source.text.clone(),
        });
    }
    adopt_specs(&mut found);
    Ok(found)
}

pub(super) fn implementation(source: &ImportSource) -> Result<SourceContent, ImportError> {
    plan(source, PlanFormat::Implementation)
}

/// Tasks whose spec is not among the documents belong to none here; the notes say which it was.
pub(super) fn adopt_specs(found: &mut SourceContent) {
    let copied: Vec<String> = found
        .documents
        .iter()
        .filter_map(|document| match &document.site {
            DocumentSite::Spec(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    for item in &mut found.items {
        let Some(spec) = item.task.spec.take() else { continue };
        let file = file_name(&spec).to_owned();
        let with_end = format!("{file}.md");
        match copied.iter().find(|name| **name == file || **name == with_end) {
            Some(name) => item.task.spec = Some(name.clone()),
            None => item.say("spec", spec),
        }
    }
}

fn plan(source: &ImportSource, format: PlanFormat) -> Result<SourceContent, ImportError> {
    let text = source.text.as_str();
    let plan = codec(format).parse(text).map_err(|e| ImportError {
        line: Some(e.line),
        ..ImportError::new(&source.path, e.message, MEND)
    })?;
    let node = root(source)?;
    let mut found = SourceContent::default();
    let nodes = match format {
        PlanFormat::Implementation => {
            let specs = node.get("specs").and_then(JsonNode::items).unwrap_or_default();
            for spec in specs {
                let id = spec.get("id").and_then(|id| id.str(text)).unwrap_or_default();
                for said in leftover(text, spec, &["tasks"]) {
                    found.aside(format.file_name(), &format!("{id}.{}", said.label), said.text);
                }
            }
            specs.iter().flat_map(tasks_of).collect()
        }
        _ => tasks_of(&node).iter().collect::<Vec<&JsonNode>>(),
    };
    for said in leftover(text, &node, &["tasks", "specs"]) {
        found.aside(format.file_name(), &said.label, said.text);
    }
    let scope = plan.title.clone().unwrap_or_default();
    for (task, node) in plan.tasks.iter().zip(nodes) {
        let mut item = item(&plan, task, text, node);
        item.scope = scope.clone();
        item.file = source.path.clone();
        found.items.push(item);
    }
    Ok(found)
}

fn tasks_of(node: &JsonNode) -> &[JsonNode] {
    node.get("tasks").and_then(JsonNode::items).unwrap_or_default()
}

fn item(plan: &Plan, task: &Task, text: &str, node: &JsonNode) -> ImportItem {
    let mut item = ImportItem {
        key: task.id.as_str().to_owned(),
        has_id: true,
        line: task.line,
        needs: task.deps.iter().map(|id| id.as_str().to_owned()).collect(),
        task: Task { deps: Vec::new(), line: 0, ..task.clone() },
        ..ImportItem::default()
    };
    let notes = item.task.notes.take();
    item.say("", notes.unwrap_or_default());
    if item.task.state == TaskState::Running {
        item.task.state = TaskState::Pending;
        item.say("status", "in_progress");
    }
    if let Some(spec) = &task.spec {
        let file = plan.specs.iter().find(|entry| entry.id == *spec).and_then(|e| e.file.clone());
        item.task.spec = file.or_else(|| task.spec.clone());
    }
    for parent in [item.task.parent.take(), item.task.created_from.take()].into_iter().flatten() {
        item.say("part of", parent.as_str());
    }
    let known: &[&str] = match plan.format {
        PlanFormat::Implementation => &IMPLEMENTATION,
        _ => &DELUXE,
    };
    item.says.extend(leftover(text, node, known));
    // A state in which the reason has no place keeps it in the notes.
    for key in ["blocked_reason", "blockedReason", "failed_reason", "failedReason"] {
        let is_kept = matches!(item.task.state, TaskState::Blocked(_) | TaskState::Failed(Some(_)));
        if let Some(said) =
            node.get(key).and_then(|node| told(text, key, node)).filter(|_| !is_kept)
        {
            item.says.push(said);
        }
    }
    let title = item.task.name.clone();
    item.named(&title);
    item
}
