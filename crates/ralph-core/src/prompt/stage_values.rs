//! The variables that templates of construct's stages see.
//!
//! A template holds instructions. What a stage works on (the spec, the task, the diff, the log) comes
//! after it and is no part of it, so no override can lose it.

use serde::Serialize;

use super::fields::Field;
use super::markdown::{code, one_line};
use crate::format::Format;

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

#[derive(Debug, Serialize)]
pub(crate) struct StageValues {
    pub(crate) spec: StageSpec,
    pub(crate) item: TemplateItem,
    pub(crate) format: &'static str,
    pub(crate) fields: Vec<Field>,
    pub(crate) task_fields: Vec<Field>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct StageSpec {
    name: String,
    file: String,
}

impl StageSpec {
    pub(crate) fn new(name: &str, file: Option<&str>) -> Self {
        Self { name: one_line(name), file: file.map(code).unwrap_or_default() }
    }
}

/// The task or issue at hand.
#[derive(Debug, Default, Serialize)]
pub(crate) struct TemplateItem {
    id: String,
    title: String,
}

impl TemplateItem {
    pub(crate) fn new(id: &str, title: &str) -> Self {
        Self { id: code(id), title: one_line(title) }
    }
}

impl StageValues {
    pub(super) fn sample() -> Self {
        Self {
            spec: StageSpec::new("header.md", Some("ralph/specs/header.md")),
            item: TemplateItem::new("t-1a2b", "Parse the header"),
            format: Format::Jsonl.file_name(),
            fields: super::fields::of_handoff(),
            task_fields: super::fields::of_handoff(),
        }
    }
}
