//! Reading of plan.jsonl: records become a plan.

use crate::format::{Format, ParseError};
use crate::json::{Fields, JsonError};
use crate::lines::{self, Record};
use crate::plan::{
    Id, Issue, Kill, KillReason, Plan, PlanConfig, Priority, SpecAccepted, SpecEntry, State, Task,
    Tombstone, TombstoneKind,
};

type Read<T> = Result<T, JsonError>;

pub(super) fn plan(text: &str) -> Result<Plan, ParseError> {
    let mut plan = Plan::empty(Format::Jsonl);
    for record in lines::records(text) {
        take(&mut plan, text, &record?).map_err(|e| e.in_text(text))?;
    }
    Ok(plan)
}

pub(super) fn take(plan: &mut Plan, text: &str, record: &Record<'_>) -> Read<()> {
    let fields = Fields::new(text, &record.node)?;
    let line = record.line.number;
    match record.kind.as_ref() {
        "task" => plan.tasks.push(task(&fields, line)?),
        "issue" => plan.issues.push(issue(&fields, line)?),
        "accept" if fields.get("id").is_none() && fields.get("spec").is_some() => {
            plan.accepted_specs.push(SpecAccepted {
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

fn task(fields: &Fields<'_, '_>, line: usize) -> Read<Task> {
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

fn issue(fields: &Fields<'_, '_>, line: usize) -> Read<Issue> {
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
    fields: &Fields<'_, '_>,
    kind: TombstoneKind,
    line: usize,
) -> Read<Tombstone> {
    let carried = match fields.get("task") {
        Some(node) => Some(Box::new(task(&Fields::new(text, node)?, line)?)),
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
fn config(config: &mut PlanConfig, fields: &Fields<'_, '_>, line: usize) -> Read<()> {
    config.timeout_ms = fields.u64("timeout_ms")?.or(config.timeout_ms);
    config.max_iterations = fields.u64("max_iterations")?.or(config.max_iterations);
    config.context_warn = fields.f64("context_warn")?.or(config.context_warn);
    config.context_compact = fields.f64("context_compact")?.or(config.context_compact);
    config.context_kill = fields.f64("context_kill")?.or(config.context_kill);
    config.line = line;
    Ok(())
}

fn id(fields: &Fields<'_, '_>) -> Read<Id> {
    let id = fields.required("id")?;
    match (id.is_empty(), fields.get("id")) {
        (true, Some(node)) => fields.wrong("id", node, "a word"),
        _ => Ok(Id::new(id)),
    }
}

/// A kill is stronger than everything; `blocked` holds only while the task is not claimed done.
fn state(fields: &Fields<'_, '_>) -> Read<State> {
    let claimed = fields.word("s", "\"p\" (pending) or \"d\" (done)", |word| match word {
        "p" => Some(State::Pending),
        "d" => Some(State::Done),
        _ => None,
    })?;
    let blocked = fields.string("blocked")?;
    Ok(match (kill(fields)?, claimed, blocked) {
        (Some(kill), _, _) => State::Killed(kill),
        (None, Some(State::Done), _) => State::Done,
        (None, _, Some(reason)) => State::Blocked(reason),
        (None, _, None) => State::Pending,
    })
}

/// `kill_reason`, or `kill` as older files call it.
fn kill(fields: &Fields<'_, '_>) -> Read<Option<Kill>> {
    let log = fields.string("kill_log")?;
    for key in ["kill_reason", "kill"] {
        if let Some(reason) = fields.word(key, "timeout or context_limit", KillReason::from_word)? {
            return Ok(Some(Kill { reason, log }));
        }
    }
    Ok(None)
}

fn priority(fields: &Fields<'_, '_>, key: &str) -> Read<Option<Priority>> {
    fields.word(key, "high, medium or low", Priority::from_word)
}
