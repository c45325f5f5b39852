//! Reading of plan.jsonl: records become a plan.

use crate::format::{ParseError, PlanFormat};
use crate::json::{JsonError, JsonFields};
use crate::lines::{self, JsonlRecord};
use crate::plan::{
    AcceptedSpec, Id, Issue, KillReason, KilledRun, Plan, PlanConfig, Priority, SpecEntry, Task,
    TaskState, Tombstone, TombstoneKind,
};

type RecordResult<T> = Result<T, JsonError>;

pub(super) fn plan(text: &str) -> Result<Plan, ParseError> {
    let mut plan = Plan::empty(PlanFormat::Jsonl);
    for record in lines::records(text) {
        take(&mut plan, text, &record?).map_err(|e| e.in_text(text))?;
    }
    Ok(plan)
}

pub(super) fn take(plan: &mut Plan, text: &str, record: &JsonlRecord<'_>) -> RecordResult<()> {
    let fields = JsonFields::new(text, &record.node)?;
    let line = record.line.number;
    match record.kind.as_ref() {
        "task" => plan.tasks.push(task(&fields, line)?),
        "issue" => plan.issues.push(issue(&fields, line)?),
        "accept" if fields.get("id").is_none() && fields.get("spec").is_some() => {
            plan.accepted_specs.push(AcceptedSpec {
                spec: fields.required("spec")?.into_owned(),
                at: fields.string("at")?,
            });
        }
        "accept" => plan.tombstones.push(tombstone(text, &fields, TombstoneKind::Accept, line)?),
        "reject" => plan.tombstones.push(tombstone(text, &fields, TombstoneKind::Reject, line)?),
        "delete" => plan.tombstones.push(tombstone(text, &fields, TombstoneKind::Delete, line)?),
        "spec" => {
            let spec = fields.required("spec")?.into_owned();
            if !plan.specs.iter().any(|known| known.id == spec) {
                plan.specs.push(SpecEntry { id: spec.clone(), ..SpecEntry::default() });
            }
            plan.current_spec = Some(spec);
        }
        "config" => config(&mut plan.config, &fields, line)?,
        "stage" | "note" => {}
        unknown => {
            if !plan.unknown_records.contains(unknown) {
                plan.unknown_records.insert(unknown.to_owned());
            }
        }
    }
    Ok(())
}

fn task(fields: &JsonFields<'_, '_>, line: usize) -> RecordResult<Task> {
    Ok(Task {
        id: id(fields)?,
        name: fields.required("name")?.into_owned(),
        spec: fields.string("spec")?,
        state: state(fields)?,
        notes: fields.string("notes")?,
        accept: fields.one_or_more("accept")?,
        deps: fields.strings("deps")?.into_iter().map(Id::new).collect(),
        priority: priority(fields, "priority")?,
        auto_priority: priority(fields, "auto_priority")?,
        retries: fields.u32("retry_count")?.unwrap_or_default(),
        max_retries: fields.u32("max_retries")?,
        max_turns: fields.u32("max_turns")?,
        timeout_ms: fields.u64("timeout_ms")?,
        skills: fields.strings("skills")?,
        libraries: fields.strings("libraries")?,
        needs_docs: fields.bool("needs_docs")?.unwrap_or_default(),
        parent: fields.string("parent")?.map(Id::new),
        created_from: fields.string("created_from")?.map(Id::new),
        done_at: fields.string("done_at")?,
        reject: fields.string("reject")?,
        phase: fields.string("phase")?,
        line,
    })
}

fn issue(fields: &JsonFields<'_, '_>, line: usize) -> RecordResult<Issue> {
    Ok(Issue {
        id: id(fields)?,
        desc: fields.required("desc")?.into_owned(),
        spec: fields.string("spec")?,
        priority: priority(fields, "priority")?,
        kill: kill(fields)?,
        created_from: fields.string("created_from")?.map(Id::new),
        line,
    })
}

/// A tombstone. What it does not say itself is taken from the task it carries.
fn tombstone(
    text: &str,
    fields: &JsonFields<'_, '_>,
    kind: TombstoneKind,
    line: usize,
) -> RecordResult<Tombstone> {
    let carried = match fields.get("task") {
        Some(node) => Some(Box::new(task(&JsonFields::new(text, node)?, line)?)),
        None => None,
    };
    Ok(Tombstone {
        kind,
        id: id(fields)?,
        name: fields.string("name")?.or_else(|| carried.as_ref().map(|t| t.name.clone())),
        spec: fields.string("spec")?.or_else(|| carried.as_ref().and_then(|t| t.spec.clone())),
        reason: fields.string("reason")?,
        done_at: fields.string("done_at")?,
        at: fields.string("at")?,
        task: carried,
        line,
    })
}

/// Several config records add up; the last word on each setting counts.
fn config(config: &mut PlanConfig, fields: &JsonFields<'_, '_>, line: usize) -> RecordResult<()> {
    config.timeout_ms = fields.u64("timeout_ms")?.or(config.timeout_ms);
    config.max_iterations = fields.u64("max_iterations")?.or(config.max_iterations);
    config.context_warn = fields.f64("context_warn")?.or(config.context_warn);
    config.context_compact = fields.f64("context_compact")?.or(config.context_compact);
    config.context_kill = fields.f64("context_kill")?.or(config.context_kill);
    config.line = line;
    Ok(())
}

fn id(fields: &JsonFields<'_, '_>) -> RecordResult<Id> {
    let id = fields.required("id")?;
    match (id.is_empty(), fields.get("id")) {
        (true, Some(node)) => fields.wrong("id", node, "a word"),
        _ => Ok(Id::new(id)),
    }
}

/// A kill is stronger than everything; `blocked` holds only while the task is not claimed done.
fn state(fields: &JsonFields<'_, '_>) -> RecordResult<TaskState> {
    let claimed = fields.word("s", "\"p\" (pending) or \"d\" (done)", |word| match word {
        "p" => Some(TaskState::Pending),
        "d" => Some(TaskState::Done),
        _ => None,
    })?;
    let blocked = fields.string("blocked")?;
    Ok(match (kill(fields)?, claimed, blocked) {
        (Some(kill), _, _) => TaskState::Killed(kill),
        (None, Some(TaskState::Done), _) => TaskState::Done,
        (None, _, Some(reason)) => TaskState::Blocked(reason),
        (None, _, None) => TaskState::Pending,
    })
}

/// `kill_reason`, or `kill` as older files call it.
fn kill(fields: &JsonFields<'_, '_>) -> RecordResult<Option<KilledRun>> {
    let log = fields.string("kill_log")?;
    for key in ["kill_reason", "kill"] {
        if let Some(reason) = fields.word(key, "timeout or context_limit", KillReason::from_word)? {
            return Ok(Some(KilledRun { reason, log }));
        }
    }
    Ok(None)
}

fn priority(fields: &JsonFields<'_, '_>, key: &str) -> RecordResult<Option<Priority>> {
    fields.word(key, "high, medium or low", Priority::from_word)
}
