//! The variables that templates see: every one is always there, and every text is already safe to
//! stand where it is put.

use minijinja::context;
use minijinja::value::Value;

use super::fields::fields_in;
use super::markdown::{code, fenced, item, one_line, under};
use super::material::{FailureDetail, PastHandoff, PromptMaterial, RejectedApproach};
use crate::format::progress::RecentAttempt;
use crate::gate::{Gate, GateCheck, GateNeed};
use crate::handoff::{self, Constraint, Handoff, UnfinishedItem};
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
pub const VARIABLES: [(&str, &str); 18] = [
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
    ("recent_attempts", "of progress.md: a list of `iteration`, `tried`, `result`, `next`"),
    ("handoff_fields", "the fields of a handoff: a list of `name`, `shape`, `about`, `required`"),
];

/// Return the template values for this material.
pub(super) fn coding_values(material: &PromptMaterial) -> Value {
    let spec = &material.spec;
    let past = material.handoff.as_ref().map(|past| &past.handoff);
    let completed = newest(&material.completed, NAMES);
    let decisions = past.map_or(&[][..], |handoff| &handoff.architectural_notes);
    let constraints = past.map_or(&[][..], |handoff| &handoff.constraints_discovered);
    context! {
        format => material.format.file_name(),
        plan_file => code(&material.plan_file),
        mode => material.mode.as_str(),
        task => task(material),
        spec => context! {
            name => one_line(&spec.name),
            file => one_line(&spec.file),
            context => under(&spec.context, 3),
        },
        completed => completed.iter().map(|t| one_line(t)).collect::<Value>(),
        completed_more => material.completed.len().saturating_sub(NAMES),
        gates => material.gates.iter().map(gate).collect::<Value>(),
        gate_failures => material.gate_failures.iter().map(gate_failure).collect::<Value>(),
        setbacks => material.setbacks.iter().map(setback).collect::<Value>(),
        rejections => newest(&material.rejections, ENTRIES).iter().map(rejection).collect::<Value>(),
        handoff => past_handoff(material.handoff.as_ref()),
        constraints => constraints.iter().map(constraint).collect::<Value>(),
        decisions => items(decisions),
        partial => partial(material.partial.as_ref()),
        operator_notes => items(&material.operator_notes),
        recent_attempts => material.recent_attempts.iter().map(attempt).collect::<Value>(),
        handoff_fields => fields_in(handoff::schema().as_value()),
    }
}

fn newest<T>(all: &[T], most: usize) -> &[T] {
    all.get(all.len().saturating_sub(most)..).unwrap_or_default()
}

fn items(texts: &[String]) -> Value {
    texts.iter().map(|t| item(t)).collect()
}

fn short(text: &str) -> String {
    clip(&one_line(text), ENTRY)
}

fn task(material: &PromptMaterial) -> Value {
    let task = &material.task;
    context! {
        id => code(task.id.as_str()),
        title => one_line(&task.name),
        description => under(task.notes.as_deref().unwrap_or_default(), 3),
        phase => one_line(task.phase.as_deref().unwrap_or_default()),
        criteria => items(material.criteria()),
        libraries => task.libraries.iter().map(|l| one_line(l)).collect::<Value>(),
        needs_docs => task.needs_docs,
    }
}

fn gate(gate: &Gate) -> Value {
    context! {
        name => one_line(&gate.name),
        command => code(&gate.command),
        required => gate.need == GateNeed::Required,
    }
}

fn gate_failure(gate: &GateCheck) -> Value {
    context! {
        name => one_line(&gate.name),
        command => code(&gate.command),
        ending => one_line(&gate.ending.describe()),
        failing => gate.new_failures().iter().map(|f| one_line(f)).collect::<Value>(),
        output => fenced(&gate.excerpt),
        log => gate.log.as_deref().map(code).unwrap_or_default(),
    }
}

fn setback(setback: &FailureDetail) -> Value {
    context! {
        happened => setback.failure.kind.happened(),
        detail => clip(&one_line(&setback.failure.message), SETBACK),
        advice => setback.failure.kind.advice(),
        log => setback.log.as_deref().map(code).unwrap_or_default(),
    }
}

fn rejection(rejection: &RejectedApproach) -> Value {
    context! { tried => short(&rejection.tried), why => short(&rejection.why) }
}

fn past_handoff(past: Option<&PastHandoff>) -> Value {
    let text = |read: fn(&PastHandoff) -> String| past.map(read).unwrap_or_default();
    context! {
        number => past.map_or(0, |past| past.number),
        file => text(|past| code(&past.file)),
        task_id => text(|past| code(&past.handoff.task_completed.task_id)),
        summary => text(|past| one_line(&past.handoff.summary)),
        freeform => text(|past| under(&past.handoff.freeform, 3)),
        complete => past.is_some_and(|past| past.handoff.task_completed.fully_complete),
        synthetic => past.is_some_and(|past| past.handoff.synthetic),
        discarded => text(|past| short(past.handoff.discarded.as_deref().unwrap_or_default())),
    }
}

fn constraint(found: &Constraint) -> Value {
    context! {
        constraint => one_line(&found.constraint),
        impact => one_line(&found.impact),
        workaround => one_line(found.workaround.as_deref().unwrap_or_default()),
    }
}

fn partial(handoff: Option<&Handoff>) -> Value {
    let left = handoff.map_or(&[][..], |handoff| &handoff.unfinished_business);
    let one =
        |u: &UnfinishedItem| context! { item => one_line(&u.item), reason => one_line(&u.reason) };
    context! {
        summary => handoff.map(|h| one_line(&h.task_completed.summary)).unwrap_or_default(),
        left => left.iter().map(one).collect::<Value>(),
    }
}

fn attempt(attempt: &RecentAttempt) -> Value {
    context! {
        iteration => attempt.iteration,
        tried => short(&attempt.tried),
        result => short(&attempt.result),
        next => short(attempt.next.as_deref().unwrap_or_default()),
    }
}
