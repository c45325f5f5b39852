//! The variables that templates of the other roles see: the indexer, the context agent, passes.
//!
//! A template holds instructions. What a role works on (the manifest, the handoffs, why the last
//! update was undone) comes after it and is no part of it, so no override can lose it.

use serde::Serialize;

use super::fields::Field;
use super::markdown::code;
use super::section::Section;
use super::stage_values::TemplateItem;
use crate::memory::index::{Category, JSON_FILE, MARKDOWN_FILE};

/// The variables of these templates, and what they hold.
pub const ROLE_VARIABLES: [(&str, &str); 9] = [
    ("iteration", "the number of the iteration"),
    ("task", "the task at hand: `id`, `title`"),
    ("index_md", "the knowledge index for people and prompts"),
    ("index_json", "the history of the knowledge index"),
    ("prompt_file", "where the prepared prompt goes"),
    ("headers", "the headers that a prepared prompt must have, a list"),
    ("categories", "of the knowledge index: a list of `heading`, `kind`"),
    ("fields", "of the answer: a list of `name`, `shape`, `about`, `required`"),
    ("pass", "the name of the pass; empty in other roles"),
];

#[derive(Debug, Serialize)]
pub(crate) struct RoleValues {
    pub(crate) iteration: u32,
    pub(crate) task: TemplateItem,
    pub(crate) index_md: String,
    pub(crate) index_json: String,
    pub(crate) prompt_file: String,
    pub(crate) headers: Vec<String>,
    pub(crate) categories: Vec<CategoryValues>,
    pub(crate) fields: Vec<Field>,
    pub(crate) pass: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct CategoryValues {
    heading: &'static str,
    kind: &'static str,
}

impl RoleValues {
    /// What all roles see. The prompt's file, headers and the pass are empty.
    pub(crate) fn new(iteration: u32, task: TemplateItem, fields: Vec<Field>) -> Self {
        let category = |c: Category| CategoryValues { heading: c.heading(), kind: c.kind() };
        Self {
            iteration,
            task,
            index_md: code(MARKDOWN_FILE),
            index_json: code(JSON_FILE),
            prompt_file: String::new(),
            headers: Vec::new(),
            categories: Category::ALL.map(category).into(),
            fields,
            pass: String::new(),
        }
    }

    pub(super) fn sample() -> Self {
        Self {
            prompt_file: code(".ralph/context/prepared-prompt.md"),
            headers: vec![code(&Section::CurrentTask.header())],
            pass: "review".to_owned(),
            ..Self::new(
                3,
                TemplateItem::new("t-1a2b", "Parse the header"),
                super::fields::of_handoff(),
            )
        }
    }
}
