//! One of everything: what an override is tried with before it is used.

use std::time::Duration;

use super::material::{
    FailureDetail, PastHandoff, PromptMaterial, PromptSpec, RejectedApproach, Skill,
};
use crate::config::{GateKind, MemoryMode};
use crate::cycle::{AttemptFailure, FailureKind};
use crate::format::PlanFormat;
use crate::format::progress::RecentAttempt;
use crate::gate::{FailingNames, Gate, GateCheck, GateEnding, GateNeed, GateStanding};
use crate::handoff::{Constraint, Handoff, UnfinishedItem};
use crate::plan::{Id, Task};

/// A retry of a task with a past, in a project with everything in it.
pub(super) fn full() -> PromptMaterial {
    let text = str::to_owned;
    let task = Task {
        id: Id::new("t-1a2b"),
        name: text("Parse the header"),
        notes: Some(text("Read the first line and split it at the colon.")),
        accept: vec![
            text("`parse(\"a: b\")` gives `a` and `b`"),
            text("an empty line is an error"),
        ],
        phase: Some(text("Parsing")),
        libraries: vec![text("nom")],
        needs_docs: true,
        skills: vec![text("rust-errors")],
        ..Task::default()
    };
    let log = Some(text(".ralph/logs/validation/iter-3.json"));
    let file = text(".ralph/handoffs/handoff-003.json");
    PromptMaterial {
        mode: MemoryMode::HandoffPlusIndex,
        spec: PromptSpec {
            name: text("Header parser"),
            file: text("ralph/specs/header.md"),
            context: text("Headers are lines of `name: value`."),
            accept: vec![text("all headers of `samples/` are read")],
        },
        completed: vec![text("Set the project up")],
        gates: vec![
            gate("test", "cargo test", GateNeed::Required),
            gate("lint", "cargo clippy", GateNeed::Optional),
        ],
        gate_failures: vec![GateCheck {
            name: text("test"),
            command: text("cargo test"),
            ending: GateEnding::Code(101),
            standing: GateStanding::New {
                new: FailingNames::from_iter(["empty_line"]),
                old: FailingNames::default(),
            },
            excerpt: text("test empty_line ... FAILED\nexpected an error, got Ok(Header)"),
            log: log.clone(),
            ..GateCheck::default()
        }],
        setbacks: vec![FailureDetail {
            failure: AttemptFailure::new(
                FailureKind::NoChange,
                "the answer spoke of a finished parser",
            ),
            log,
        }],
        rejections: vec![RejectedApproach {
            tried: text("split at every colon"),
            why: text("values with a colon were cut"),
        }],
        handoff: Some(PastHandoff { number: 3, file, handoff: handoff() }),
        partial: Some(handoff()),
        index: Some(text("# Knowledge Index\n\n## Constraints\n\n- must never panic on input")),
        skills: vec![Skill {
            name: text("rust-errors"),
            file: text(".ralph/skills/rust-errors.md"),
            content: text("# Errors\n\nOne error type for each module."),
        }],
        operator_notes: vec![text("The samples are in `samples/`, not in `data/`.")],
        recent_attempts: vec![RecentAttempt {
            iteration: 2,
            tried: text("t-1a2b — Parse the header"),
            result: text("rejected — values with a colon were cut"),
            next: Some(text("split at the first colon only")),
        }],
        ..PromptMaterial::new(PlanFormat::Jsonl, "ralph/plan.jsonl", task)
    }
}

fn gate(name: &str, command: &str, need: GateNeed) -> Gate {
    let (name, command) = (name.to_owned(), command.to_owned());
    Gate { name, command, kind: GateKind::Test, need, timeout: Duration::ZERO }
}

fn handoff() -> Handoff {
    let text = str::to_owned;
    let mut handoff = crate::handoff::synthetic(&Id::new("t-0z9y"), Vec::new(), "");
    handoff.synthetic = false;
    handoff.task_completed.summary = text("Lines are read, headers are not split yet");
    handoff.summary = handoff.task_completed.summary.clone();
    handoff.freeform = text(
        "I read the file line by line in `src/read.rs`. Splitting comes next; mind values that \
         have a colon in them.",
    );
    handoff.architectural_notes = vec![text("lines are borrowed, never copied")];
    handoff.constraints_discovered = vec![Constraint {
        constraint: text("input may be 2 GB"),
        impact: text("it cannot be read at once"),
        workaround: Some(text("a buffered reader")),
    }];
    handoff.unfinished_business = vec![UnfinishedItem {
        item: text("split at the colon"),
        reason: text("no time left"),
        priority: text("high"),
    }];
    handoff
}
