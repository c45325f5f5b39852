//! Ralph Deluxe's plan.json: one object with a `tasks` array.
//!
//! Tasks stay in the array whatever happens to them, except that a deleted one goes away; their order
//! in it is the order of work. Members the original program does not know (`priority`, `spec`,
//! `done_at`, …) are written only when they say something.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::format::members::{
    self, IdPlaces, MemberKeys, MemberValues, TaskAnchor, TaskEditOutcome,
};
use crate::format::{EditError, ParseError, PlanCodec, PlanFormat, numbering};
use crate::json::{self, ItemChange, JsonEditor, JsonError, JsonFields, JsonNode};
use crate::plan::{Id, Plan, PlanEdit, Task, TaskState};
use crate::text::{self, LineCounter};

/// Codec for plan.json, the format of Ralph Deluxe.
#[derive(Clone, Copy, Debug)]
pub struct DeluxeCodec;

const KEYS: MemberKeys = MemberKeys {
    name: "title",
    notes: "description",
    skills: "skills",
    needs_docs: "needs_docs",
    libraries: "libraries",
    accept: "acceptance_criteria",
    deps: "depends_on",
    max_turns: "max_turns",
    timeout_ms: "timeout_ms",
    retries: "retry_count",
    max_retries: "max_retries",
    priority: "priority",
    auto_priority: "auto_priority",
    parent: "parent",
    created_from: "created_from",
    phase: "phase",
    done_at: "done_at",
    reject: "reject",
};

impl PlanCodec for DeluxeCodec {
    fn parse(&self, text: &str) -> Result<Plan, ParseError> {
        Ok(DeluxeFile::read(text)?.plan)
    }

    fn edit(&self, text: &str, edits: &[PlanEdit]) -> Result<String, EditError> {
        let file = DeluxeFile::read(text)?;
        let tasks = file.tasks()?;
        let mut places = IdPlaces::of(&file.plan.tasks);
        let mut order = tasks.iter().filter_map(|t| t.get("order")?.i64(text)).max().unwrap_or(0);
        let mut items = Vec::new();
        let mut outcomes: BTreeMap<usize, TaskEditOutcome> = BTreeMap::new();
        for edit in edits {
            if let Some(what) = members::unsupported(edit) {
                return Err(EditError::Unsupported {
                    format: PlanFormat::Deluxe,
                    what: what.into(),
                });
            }
            if let Some(id) = members::target(edit) {
                let at = places.find(id)?;
                let before = outcomes.get(&at).and_then(|o| o.task.as_ref());
                let outcome = members::outcome(before.unwrap_or(&file.plan.tasks[at]), edit);
                outcomes.insert(at, outcome);
            }
            if let PlanEdit::AddTask { task, after } = edit {
                order = order.saturating_add(1);
                let at = match after.as_ref().map(|id| places.anchor(id)).transpose()? {
                    None => tasks.len(),
                    Some(TaskAnchor::Old(at)) => at + 1,
                    Some(TaskAnchor::New(at)) => at,
                };
                places.add(&task.id, at)?;
                items.push(ItemChange::Insert(at, new_task(task, order)));
            }
        }
        file.write(outcomes, items)
    }

    fn empty(&self, title: &str, _now: &str) -> String {
        let mut root = serde_json::Map::new();
        if !title.is_empty() {
            root.insert("project".into(), title.into());
        }
        root.insert("tasks".into(), json!([]));
        format!("{:#}\n", Value::Object(root))
    }

    fn fresh_id(
        &self,
        plan: &Plan,
        _spec: Option<&str>,
        taken: &dyn Fn(&Id) -> bool,
        _random: &mut dyn FnMut() -> String,
    ) -> Id {
        let numbered = plan.tasks.iter().rev().find_map(|t| numbering::split(t.id.as_str()));
        let prefix = numbered.map_or("T-", |(prefix, _)| prefix);
        numbering::next(prefix, 3, plan.tasks.iter().map(|t| &t.id), taken)
    }
}

/// A file that was read: task `i` of the plan is item `i` of `tasks`.
struct DeluxeFile<'t> {
    text: &'t str,
    root: JsonNode,
    plan: Plan,
}

impl<'t> DeluxeFile<'t> {
    fn read(text: &'t str) -> Result<Self, ParseError> {
        let read = || {
            let root = json::parse_file(text)?;
            let plan = read_plan(text, &root)?;
            Ok(Self { text, root, plan })
        };
        read().map_err(|e: JsonError| e.in_text(text))
    }

    fn array(&self) -> Result<&JsonNode, EditError> {
        let array = self.root.get("tasks");
        Ok(array.ok_or_else(|| ParseError::new(1, "plan.json must have a `tasks` array"))?)
    }

    fn tasks(&self) -> Result<&[JsonNode], EditError> {
        Ok(self.array()?.items().unwrap_or_default())
    }

    /// The text with these outcomes, and with these items changed.
    fn write(
        &self,
        outcomes: BTreeMap<usize, TaskEditOutcome>,
        mut items: Vec<ItemChange>,
    ) -> Result<String, EditError> {
        let editor = JsonEditor::new(self.text, &self.root);
        let broken = |e: JsonError| e.in_text(self.text);
        let mut splices = Vec::new();
        for (at, outcome) in outcomes {
            let old = &self.plan.tasks[at];
            match &outcome.task {
                None => items.push(ItemChange::Remove(at)),
                Some(new) => {
                    let mut changes = members::changes(&values(old), values(new));
                    if old.state != new.state {
                        let state = state_values(&new.state, outcome.skip_reason);
                        changes.extend(members::changes(&Vec::new(), state));
                    }
                    splices.extend(editor.object(&self.tasks()?[at], &changes).map_err(broken)?);
                }
            }
        }
        splices.extend(editor.array(self.array()?, &items).map_err(broken)?);
        Ok(text::splice(self.text, splices)?)
    }
}

fn read_plan(text: &str, root: &JsonNode) -> Result<Plan, JsonError> {
    let fields = JsonFields::new(text, root)?;
    let mut plan = Plan::empty(PlanFormat::Deluxe);
    plan.title = fields.string("project")?;
    let Some(tasks) = members::items(&fields, "tasks")? else { return fields.missing("tasks") };
    let mut lines = LineCounter::new(text);
    for node in tasks {
        let line = lines.line(node.span.start);
        plan.tasks.push(Task { line, ..read_task(text, node)? });
    }
    Ok(plan)
}

fn read_task(text: &str, node: &JsonNode) -> Result<Task, JsonError> {
    let fields = JsonFields::new(text, node)?;
    let blocked = fields.string("blocked_reason")?.filter(|reason| !reason.is_empty());
    let failed = fields.string("failed_reason")?;
    let expected = "pending, in_progress, done, failed or skipped";
    let state = fields.word("status", expected, |word| match word {
        "pending" => Some(blocked.clone().map_or(TaskState::Pending, TaskState::Blocked)),
        "in_progress" => Some(TaskState::Running),
        "done" => Some(TaskState::Accepted),
        "failed" => Some(TaskState::Failed(failed.clone())),
        "skipped" => Some(TaskState::Skipped),
        _ => None,
    })?;
    let state = state.or(blocked.map(TaskState::Blocked)).unwrap_or_default();
    Ok(Task { state, spec: fields.string("spec")?, ..members::read(&fields, &KEYS)? })
}

/// All members but id, order and those of the state.
fn values(task: &Task) -> MemberValues {
    let mut values = members::values(task, &KEYS);
    for (key, value) in &mut values {
        // The original program counts on a description.
        if *key == KEYS.notes && value.is_null() {
            *value = "".into();
        }
    }
    values.push(("spec", task.spec.as_deref().map_or(Value::Null, Value::from)));
    values
}

fn state_values(state: &TaskState, skip_reason: Option<String>) -> MemberValues {
    let status = match state {
        TaskState::Pending | TaskState::Killed(_) | TaskState::Blocked(_) => "pending",
        TaskState::Running => "in_progress",
        TaskState::Done | TaskState::Accepted => "done",
        TaskState::Failed(_) => "failed",
        TaskState::Skipped => "skipped",
    };
    let blocked = match state {
        // Without a reason the file could not say that the task is blocked.
        TaskState::Blocked(reason) if reason.is_empty() => "no reason given".into(),
        TaskState::Blocked(reason) => reason.as_str().into(),
        _ => Value::Null,
    };
    let failed = match state {
        TaskState::Failed(Some(reason)) => reason.as_str().into(),
        _ => Value::Null,
    };
    vec![
        ("status", status.into()),
        ("blocked_reason", blocked),
        ("failed_reason", failed),
        ("skipped_reason", skip_reason.map_or(Value::Null, Value::from)),
    ]
}

/// A task that was not in the file: the original's members in the original's order, then ours.
fn new_task(task: &Task, order: i64) -> Value {
    let mut values = values(task);
    let rest = values.split_off(2);
    let mut state = state_values(&task.state, None);
    let reasons = state.split_off(1);
    let id = ("id", task.id.as_str().into());
    let order = ("order", order.into());
    let head = std::iter::once(id).chain(values).chain(state).chain([order]);
    members::object(head.chain(rest).chain(reasons))
}

#[cfg(test)]
#[path = "deluxe_tests.rs"]
mod tests;
