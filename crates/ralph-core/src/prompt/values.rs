//! The variables that templates see: every one is always there, and every text is already safe to
//! stand where it is put.

use serde::Serialize;

use super::fields::{self, Field};
use super::markdown::{code, fenced, item, one_line, under};
use super::material::{Material, Rejection, Setback};
use crate::gate::{Gate, GateCheck, Need};
use crate::handoff::Handoff;
use crate::text::clip;

/// Characters of what went wrong with an attempt other than by a gate.
const SETBACK: usize = 500;
/// Characters of one entry in a list that history makes longer and longer.
const ENTRY: usize = 300;
/// Newest entries of such a list.
const ENTRIES: usize = 10;
/// Names in a list of tasks or files.
const NAMES: usize = 50;

/// The variables of every template, and what they hold.
pub const VARIABLES: [(&str, &str); 20] = [
    (
        "format",
        "the plan's format: `plan.jsonl`, `plan.json`, `progress.md`, `implementation.json`",
    ),
    ("plan_file", "the plan file, relative to the project"),
    ("mode", "`handoff-only`, `handoff-plus-index` or `agent-orchestrated`"),
    (
        "task",
        "`id`, `title`, `description`, `phase`, `criteria` (a list), `libraries` (a list), `needs_docs`",
    ),
    ("spec", "`name`, `file`, `context`; each may be empty"),
    ("completed", "names of complete tasks of the same spec, the newest 50"),
    ("completed_more", "how many more there are"),
    ("gates", "a list of `name`, `command`, `required`"),
    (
        "gate_failures",
        "a list of `name`, `command`, `ending`, `failing` (a list), `output` (a code block), `log`",
    ),
    ("setbacks", "a list of `happened`, `detail`, `advice`, `log`"),
    ("rejections", "a list of `tried`, `why`, the newest 10"),
    (
        "handoff",
        "the latest one: `number`, `file`, `task_id`, `summary`, `freeform`, `complete`, `synthetic`, `discarded` (why its work did not land, or empty)",
    ),
    ("constraints", "of the latest handoff: a list of `constraint`, `impact`, `workaround`"),
    ("decisions", "of the latest handoff: a list of texts"),
    (
        "partial",
        "of an attempt that landed in part: `summary`, `left` (a list of `item`, `reason`)",
    ),
    ("operator_notes", "a list of texts"),
    ("dirty_files", "files with the user's uncommitted edits, the first 50"),
    ("dirty_more", "how many more there are"),
    ("recent_attempts", "of progress.md: a list of `iteration`, `tried`, `result`, `next`"),
    ("handoff_fields", "the fields of a handoff: a list of `name`, `shape`, `about`, `required`"),
];

#[derive(Debug, Serialize)]
pub(super) struct Values {
    format: &'static str,
    plan_file: String,
    mode: &'static str,
    task: TaskValues,
    spec: SpecValues,
    completed: Vec<String>,
    completed_more: usize,
    gates: Vec<GateValues>,
    gate_failures: Vec<GateFailureValues>,
    setbacks: Vec<SetbackValues>,
    rejections: Vec<Rejection>,
    handoff: HandoffValues,
    constraints: Vec<ConstraintValues>,
    decisions: Vec<String>,
    partial: PartialValues,
    operator_notes: Vec<String>,
    dirty_files: Vec<String>,
    dirty_more: usize,
    recent_attempts: Vec<AttemptValues>,
    handoff_fields: Vec<Field>,
}

#[derive(Debug, Serialize)]
struct TaskValues {
    id: String,
    title: String,
    description: String,
    phase: String,
    criteria: Vec<String>,
    libraries: Vec<String>,
    needs_docs: bool,
}

#[derive(Debug, Serialize)]
struct SpecValues {
    name: String,
    file: String,
    context: String,
}

#[derive(Debug, Serialize)]
struct GateValues {
    name: String,
    command: String,
    required: bool,
}

#[derive(Debug, Serialize)]
struct GateFailureValues {
    name: String,
    command: String,
    ending: String,
    failing: Vec<String>,
    output: String,
    log: String,
}

#[derive(Debug, Serialize)]
struct SetbackValues {
    happened: &'static str,
    detail: String,
    advice: &'static str,
    log: String,
}

#[derive(Debug, Default, Serialize)]
struct HandoffValues {
    number: u64,
    file: String,
    task_id: String,
    summary: String,
    freeform: String,
    complete: bool,
    synthetic: bool,
    discarded: String,
}

#[derive(Debug, Serialize)]
struct ConstraintValues {
    constraint: String,
    impact: String,
    workaround: String,
}

#[derive(Debug, Default, Serialize)]
struct PartialValues {
    summary: String,
    left: Vec<LeftValues>,
}

#[derive(Debug, Serialize)]
struct LeftValues {
    item: String,
    reason: String,
}

#[derive(Debug, Serialize)]
struct AttemptValues {
    iteration: u32,
    tried: String,
    result: String,
    next: String,
}

impl Values {
    /// The values of this material.
    pub(super) fn of(material: &Material) -> Self {
        let latest = material.handoff.as_ref();
        let past = latest.map(|h| &h.handoff);
        Self {
            format: material.format.file_name(),
            plan_file: code(&material.plan_file),
            mode: material.mode.as_str(),
            task: task(material),
            spec: SpecValues {
                name: one_line(&material.spec.name),
                file: one_line(&material.spec.file),
                context: under(&material.spec.context, 3),
            },
            completed: newest(&material.completed, NAMES).iter().map(|t| one_line(t)).collect(),
            completed_more: material.completed.len().saturating_sub(NAMES),
            gates: material.gates.iter().map(gate).collect(),
            gate_failures: material.gate_failures.iter().map(gate_failure).collect(),
            setbacks: material.setbacks.iter().map(setback).collect(),
            rejections: newest(&material.rejections, ENTRIES).iter().map(rejection).collect(),
            handoff: latest.map_or_else(HandoffValues::default, |past| HandoffValues {
                number: past.number,
                file: code(&past.file),
                task_id: code(&past.handoff.task_completed.task_id),
                summary: one_line(&past.handoff.summary),
                freeform: under(&past.handoff.freeform, 3),
                complete: past.handoff.task_completed.fully_complete,
                synthetic: past.handoff.synthetic,
                discarded: short(past.handoff.discarded.as_deref().unwrap_or_default()),
            }),
            constraints: past.map_or_else(Vec::new, constraints),
            decisions: past.map_or_else(Vec::new, |h| items(&h.architectural_notes)),
            partial: material.partial.as_ref().map_or_else(PartialValues::default, partial),
            operator_notes: items(&material.operator_notes),
            dirty_files: material.dirty_files.iter().take(NAMES).map(|f| code(f)).collect(),
            dirty_more: material.dirty_files.len().saturating_sub(NAMES),
            recent_attempts: material.recent_attempts.iter().map(attempt).collect(),
            handoff_fields: fields::of_handoff(),
        }
    }
}

fn newest<T>(all: &[T], most: usize) -> &[T] {
    all.get(all.len().saturating_sub(most)..).unwrap_or_default()
}

fn items(texts: &[String]) -> Vec<String> {
    texts.iter().map(|t| item(t)).collect()
}

fn short(text: &str) -> String {
    clip(&one_line(text), ENTRY)
}

fn task(material: &Material) -> TaskValues {
    let task = &material.task;
    TaskValues {
        id: code(task.id.as_str()),
        title: one_line(&task.name),
        description: under(task.notes.as_deref().unwrap_or_default(), 3),
        phase: one_line(task.phase.as_deref().unwrap_or_default()),
        criteria: items(material.criteria()),
        libraries: task.libraries.iter().map(|l| one_line(l)).collect(),
        needs_docs: task.needs_docs,
    }
}

fn gate(gate: &Gate) -> GateValues {
    let (name, command) = (one_line(&gate.name), code(&gate.command));
    GateValues { name, command, required: gate.need == Need::Required }
}

fn gate_failure(gate: &GateCheck) -> GateFailureValues {
    GateFailureValues {
        name: one_line(&gate.name),
        command: code(&gate.command),
        ending: one_line(&gate.ending.describe()),
        failing: gate.new_failures().iter().map(|f| one_line(f)).collect(),
        output: fenced(&gate.excerpt),
        log: gate.log.as_deref().map(code).unwrap_or_default(),
    }
}

fn setback(setback: &Setback) -> SetbackValues {
    SetbackValues {
        happened: setback.failure.kind.happened(),
        detail: clip(&one_line(&setback.failure.message), SETBACK),
        advice: setback.failure.kind.advice(),
        log: setback.log.as_deref().map(code).unwrap_or_default(),
    }
}

fn rejection(rejection: &Rejection) -> Rejection {
    Rejection { tried: short(&rejection.tried), why: short(&rejection.why) }
}

fn constraints(handoff: &Handoff) -> Vec<ConstraintValues> {
    let one = |c: &crate::handoff::Constraint| ConstraintValues {
        constraint: one_line(&c.constraint),
        impact: one_line(&c.impact),
        workaround: one_line(c.workaround.as_deref().unwrap_or_default()),
    };
    handoff.constraints_discovered.iter().map(one).collect()
}

fn partial(handoff: &Handoff) -> PartialValues {
    let one = |u: &crate::handoff::Unfinished| LeftValues {
        item: one_line(&u.item),
        reason: one_line(&u.reason),
    };
    PartialValues {
        summary: one_line(&handoff.task_completed.summary),
        left: handoff.unfinished_business.iter().map(one).collect(),
    }
}

fn attempt(attempt: &crate::format::progress::Attempt) -> AttemptValues {
    AttemptValues {
        iteration: attempt.iteration,
        tried: short(&attempt.tried),
        result: short(&attempt.result),
        next: short(attempt.next.as_deref().unwrap_or_default()),
    }
}
