//! The variables that templates of construct's stages see.
//!
//! A template holds instructions. What a stage works on (the spec, the task, the diff, the log) comes
//! after it and is no part of it, so no override can lose it.

use minijinja::context;
use minijinja::value::Value;
use schemars::JsonSchema;

use super::fields::fields_of;
use super::markdown::{code, one_line};
use crate::format::PlanFormat;
use crate::handoff::Handoff;

/// The variables of these templates, and what they hold.
pub const STAGE_VARIABLES: [(&str, &str); 5] = [
    ("spec", "the spec at hand: `name`, `file`; each may be empty"),
    ("item", "the task or issue at hand: `id`, `title`; each may be empty"),
    (
        "format",
        "the plan's format: `plan.jsonl`, `plan.json`, `progress.md`, `implementation.json`",
    ),
    ("fields", "of the answer: a list of `name`, `shape`, `about`, `required`"),
    ("task_fields", "of a new task in the answer: a list of `name`, `shape`, `about`, `required`"),
];

/// Return the template values of a stage with the answer `T` and the new tasks `N`.
pub(crate) fn stage_values<T: JsonSchema, N: JsonSchema>(
    spec: &str,
    file: Option<&str>,
    item: Value,
) -> Value {
    context! {
        spec => context! { name => one_line(spec), file => file.map(code).unwrap_or_default() },
        item,
        format => PlanFormat::Jsonl.file_name(),
        fields => fields_of::<T>(),
        task_fields => fields_of::<N>(),
    }
}

/// The task or issue at hand.
pub(crate) fn item_values(id: &str, title: &str) -> Value {
    context! { id => code(id), title => one_line(title) }
}

/// Return sample values for every variable, to check templates.
pub(super) fn sample_stage_values() -> Value {
    let item = item_values("t-1a2b", "Parse the header");
    stage_values::<Handoff, Handoff>("header.md", Some("ralph/specs/header.md"), item)
}
