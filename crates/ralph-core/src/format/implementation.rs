//! implementation.json: specs with their tasks inside.
//!
//! Tasks stay where they are whatever happens to them, except that a deleted one goes away. A spec's
//! status follows from its tasks, but is written only when an edit changes what follows: a word that
//! somebody chose stays until then. Members the original program does not know (`dependsOn`,
//! `priority` of a task, …) are written only when they say something.

mod edit;
mod specs;

use serde_json::{Value, json};

use crate::format::members::{self, MemberKeys, MemberValues};
use crate::format::{EditError, ParseError, PlanCodec, PlanFormat, numbering};
use crate::json::{self, JsonEditor, JsonError, JsonFields, JsonNode, MemberChange};
use crate::plan::{Id, Plan, PlanEdit, PlanGate, SpecEntry, Task, TaskState};
use crate::text::{self, LineCounter};
use specs::SpecNames;

/// Codec for implementation.json, a file of specs that contain their tasks.
#[derive(Clone, Copy, Debug)]
pub struct ImplementationCodec;

const KEYS: MemberKeys = MemberKeys {
    name: "description",
    notes: "notes",
    skills: "skills",
    needs_docs: "needsDocs",
    libraries: "libraries",
    accept: "acceptanceCriteria",
    deps: "dependsOn",
    max_turns: "maxTurns",
    timeout_ms: "timeoutMs",
    retries: "retryCount",
    max_retries: "maxRetries",
    priority: "priority",
    auto_priority: "autoPriority",
    parent: "parent",
    created_from: "createdFrom",
    phase: "phase",
    done_at: "completedAt",
    reject: "reject",
};

/// The words of `status`, of specs and tasks alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImplementationStatus {
    Pending,
    InProgress,
    Completed,
    Blocked,
    Failed,
}

impl ImplementationStatus {
    const ALL: [Self; 5] =
        [Self::Pending, Self::InProgress, Self::Completed, Self::Blocked, Self::Failed];

    fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
        }
    }

    fn read(fields: &JsonFields<'_, '_>) -> Result<Option<Self>, JsonError> {
        let expected = "pending, in_progress, completed, blocked or failed";
        fields.word("status", expected, |word| Self::ALL.into_iter().find(|s| s.word() == word))
    }
}

impl PlanCodec for ImplementationCodec {
    fn parse(&self, text: &str) -> Result<Plan, ParseError> {
        Ok(ImplementationFile::read(text)?.plan)
    }

    fn edit(&self, text: &str, edits: &[PlanEdit]) -> Result<String, EditError> {
        edit::edit(&ImplementationFile::read(text)?, edits)
    }

    fn empty(&self, title: &str, now: &str) -> String {
        let mut root = json!({"version": 1, "updatedAt": now, "updatedBy": "ralph"});
        if let Some(root) = root.as_object_mut() {
            if !title.is_empty() {
                root.insert("name".into(), title.into());
            }
            root.insert("specs".into(), json!([]));
        }
        format!("{root:#}\n")
    }

    fn fresh_id(
        &self,
        plan: &Plan,
        spec: Option<&str>,
        taken: &dyn Fn(&Id) -> bool,
        _random: &mut dyn FnMut() -> String,
    ) -> Id {
        let names = SpecNames::of(&plan.specs);
        let name = spec.map_or_else(|| specs::default_name(plan), str::to_owned);
        // Which of several specs is meant matters when the task is added, not for its number.
        let known = names.resolve(&name).ok().flatten().and_then(|at| plan.specs.get(at));
        let spec_id =
            known.map_or_else(|| names.unused(specs::slug(&name)), |spec| spec.id.clone());
        numbering::next(&format!("{spec_id}-"), 1, plan.tasks.iter().map(|t| &t.id), taken)
    }
}

/// The text with `updatedAt` and `updatedBy` set: who writes a plan says so in it.
pub fn stamp(text: &str, at: &str, by: &str) -> Result<String, EditError> {
    let file = ImplementationFile::read(text)?;
    let set = |key: &str, value: &str| MemberChange::Set(key.into(), value.into());
    let splices = JsonEditor::new(text, &file.root)
        .object(&file.root, &[set("updatedAt", at), set("updatedBy", by)])
        .map_err(|e| e.in_text(text))?;
    Ok(text::splice(text, splices)?)
}

/// Data of a spec that a plan can store besides its tasks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpecDescription<'a> {
    /// Path of the spec's file, relative to the project.
    pub file: Option<&'a str>,
    /// Text about the spec for prompts.
    pub context: &'a str,
    /// Criteria of the spec as a whole.
    pub accept: &'a [String],
}

/// The text with what is known about a spec. What somebody wrote about it before stays.
pub fn describe(text: &str, spec: &str, about: &SpecDescription<'_>) -> Result<String, EditError> {
    let file = ImplementationFile::read(text)?;
    let found = SpecNames::of(&file.plan.specs).resolve(spec).ok().flatten();
    let node = found.and_then(|at| file.root.get("specs")?.items()?.get(at));
    let (Some(node), Some(entry)) = (node, found.and_then(|at| file.plan.specs.get(at))) else {
        return Ok(text.to_owned());
    };
    let mut changes = Vec::new();
    let mut set = |key: &str, value: Value| changes.push(MemberChange::Set(key.into(), value));
    if let Some(path) = about.file
        && entry.file.as_deref().is_none_or(|known| known == spec)
    {
        set("file", path.into());
    }
    if entry.context.as_deref().is_none_or(str::is_empty) && !about.context.trim().is_empty() {
        set("context", about.context.trim().into());
    }
    if entry.accept.is_empty() && !about.accept.is_empty() {
        set("acceptanceCriteria", about.accept.to_vec().into());
    }
    let splices =
        JsonEditor::new(text, &file.root).object(node, &changes).map_err(|e| e.in_text(text))?;
    Ok(text::splice(text, splices)?)
}

/// A file that was read. Spec `i` of the plan is item `i` of `specs`.
struct ImplementationFile<'t> {
    text: &'t str,
    root: JsonNode,
    plan: Plan,
    /// Place of each task of the plan in the file: index of its spec, index in the spec's `tasks`.
    places: Vec<(usize, usize)>,
}

impl<'t> ImplementationFile<'t> {
    fn read(text: &'t str) -> Result<Self, ParseError> {
        let read = || {
            let root = json::parse_file(text)?;
            let (plan, places) = read_plan(text, &root)?;
            Ok(Self { text, root, plan, places })
        };
        read().map_err(|e: JsonError| e.in_text(text))
    }
}

/// The plan, and for each of its tasks the spec and the item it stands in.
fn read_plan(text: &str, root: &JsonNode) -> Result<(Plan, Vec<(usize, usize)>), JsonError> {
    let fields = JsonFields::new(text, root)?;
    let mut plan = Plan::empty(PlanFormat::Implementation);
    plan.title = fields.string("name")?;
    for gate in members::items(&fields, "qualityGates")?.unwrap_or_default() {
        plan.gates.push(read_gate(text, gate)?);
    }
    let Some(specs) = members::items(&fields, "specs")? else { return fields.missing("specs") };
    let mut places = Vec::new();
    let mut lines = LineCounter::new(text);
    for (s, node) in specs.iter().enumerate() {
        let fields = JsonFields::new(text, node)?;
        let spec = read_spec(text, &fields)?;
        for (i, node) in members::items(&fields, "tasks")?.unwrap_or_default().iter().enumerate() {
            let line = lines.line(node.span.start);
            let spec = Some(spec.id.clone());
            plan.tasks.push(Task { spec, line, ..read_task(text, node)? });
            places.push((s, i));
        }
        plan.specs.push(spec);
    }
    Ok((plan, places))
}

fn read_gate(text: &str, node: &JsonNode) -> Result<PlanGate, JsonError> {
    if let Some(command) = node.str(text) {
        let command = command.into_owned();
        return Ok(PlanGate { name: gate_name(&command), command, required: None });
    }
    let fields = JsonFields::new(text, node)?;
    let command = fields.required("command")?.into_owned();
    let name = fields.string("name")?.unwrap_or_else(|| gate_name(&command));
    Ok(PlanGate { name, command, required: fields.bool("required")? })
}

/// Return a short name for a gate: the last word of its command that is not an option.
fn gate_name(command: &str) -> String {
    let mut words = command.split_whitespace();
    words.rfind(|word| !word.starts_with('-')).unwrap_or(command).to_owned()
}

fn read_spec(text: &str, fields: &JsonFields<'_, '_>) -> Result<SpecEntry, JsonError> {
    let priority = match fields.get("priority") {
        Some(node) => match node.i64(text) {
            None => return fields.wrong("priority", node, "a whole number"),
            priority => priority,
        },
        None => None,
    };
    Ok(SpecEntry {
        id: members::own_id(fields)?,
        file: fields.string("file")?,
        name: fields.string("name")?,
        priority,
        context: fields.string("context")?,
        accept: fields.strings("acceptanceCriteria")?,
        status: ImplementationStatus::read(fields)?.map(|status| status.word().to_owned()),
    })
}

fn read_task(text: &str, node: &JsonNode) -> Result<Task, JsonError> {
    let fields = JsonFields::new(text, node)?;
    let blocked = fields.string("blockedReason")?.unwrap_or_default();
    let failed = fields.string("failedReason")?;
    let state = match ImplementationStatus::read(&fields)?.unwrap_or(ImplementationStatus::Pending)
    {
        _ if is_skipped(text, &fields)? => TaskState::Skipped,
        ImplementationStatus::Pending => TaskState::Pending,
        ImplementationStatus::InProgress => TaskState::Running,
        ImplementationStatus::Completed => TaskState::Accepted,
        ImplementationStatus::Blocked => TaskState::Blocked(blocked),
        ImplementationStatus::Failed => TaskState::Failed(failed),
    };
    Ok(Task { state, ..members::read(&fields, &KEYS)? })
}

/// `skipped` is true, or says why.
fn is_skipped(text: &str, fields: &JsonFields<'_, '_>) -> Result<bool, JsonError> {
    let Some(node) = fields.get("skipped") else { return Ok(false) };
    match (node.bool(), node.str(text)) {
        (Some(skipped), _) => Ok(skipped),
        (None, Some(reason)) => Ok(!reason.is_empty()),
        (None, None) => fields.wrong("skipped", node, "true, false or the reason"),
    }
}

/// The members of a task's state. Skipping leaves the others as they are, except that a task that
/// was `in_progress` or is new becomes `pending`: no other program should wait for it.
fn state_values(
    old: Option<&TaskState>,
    new: &TaskState,
    skip_reason: Option<String>,
) -> MemberValues {
    let (status, blocked, failed) = match new {
        TaskState::Pending | TaskState::Killed(_) => (ImplementationStatus::Pending, None, None),
        TaskState::Running => (ImplementationStatus::InProgress, None, None),
        TaskState::Done | TaskState::Accepted => (ImplementationStatus::Completed, None, None),
        TaskState::Blocked(reason) => (ImplementationStatus::Blocked, Some(reason), None),
        TaskState::Failed(reason) => (ImplementationStatus::Failed, None, reason.as_ref()),
        TaskState::Skipped => {
            let skipped = ("skipped", skip_reason.map_or(true.into(), Value::from));
            let idle = matches!(old, None | Some(TaskState::Running));
            let status = idle.then(|| ("status", ImplementationStatus::Pending.word().into()));
            return status.into_iter().chain([skipped]).collect();
        }
    };
    let text = |reason: Option<&String>| {
        reason.filter(|r| !r.is_empty()).map_or(Value::Null, |r| r.as_str().into())
    };
    vec![
        ("status", status.word().into()),
        ("blockedReason", text(blocked)),
        ("failedReason", text(failed)),
        ("skipped", Value::Null),
    ]
}

/// A task that was not in the file: the original's members first, then ours, none that says nothing.
fn new_task(task: &Task) -> Value {
    let nothing = members::values(&Task::default(), &KEYS);
    let mut values = members::values(task, &KEYS);
    let rest = values.split_off(1).into_iter().filter(|value| !nothing.contains(value));
    let mut state = state_values(None, &task.state, None);
    let reasons = state.split_off(1);
    let head = std::iter::once(("id", task.id.as_str().into())).chain(values).chain(state);
    members::object(head.chain(rest).chain(reasons))
}

#[cfg(test)]
#[path = "implementation_tests.rs"]
mod tests;
