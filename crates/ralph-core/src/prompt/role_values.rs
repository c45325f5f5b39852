//! The variables that templates of the other roles see: the indexer, the context agent, passes.
//!
//! A template holds instructions. What a role works on (the manifest, the handoffs, why the last
//! update was undone) comes after it and is no part of it, so no override can lose it.

use minijinja::context;
use minijinja::value::Value;
use schemars::JsonSchema;

use super::fields::fields_of;
use super::markdown::code;
use super::section::PromptSection;
use super::stage_values::item_values;
use crate::handoff::Handoff;
use crate::memory::index::{JSON_FILE, KnowledgeCategory, MARKDOWN_FILE};

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

/// Return the template values that all roles share, with the fields of the answer `T`.
///
/// The prompt's file, the headers and the pass are empty. The roles that have them fill them in.
pub(crate) fn role_values<T: JsonSchema>(iteration: u32, task: Value) -> Value {
    let category = |c: KnowledgeCategory| context! { heading => c.heading(), kind => c.as_str() };
    context! {
        iteration,
        task,
        index_md => code(MARKDOWN_FILE),
        index_json => code(JSON_FILE),
        prompt_file => "",
        headers => Vec::<Value>::new().into_iter().collect::<Value>(),
        categories => KnowledgeCategory::ALL.into_iter().map(category).collect::<Value>(),
        fields => fields_of::<T>(),
        pass => "",
    }
}

/// Return sample values for every variable, to check templates.
pub(super) fn sample_role_values() -> Value {
    context! {
        prompt_file => code(".ralph/context/prepared-prompt.md"),
        headers => [code(&PromptSection::CurrentTask.header())].into_iter().collect::<Value>(),
        pass => "review",
        ..role_values::<Handoff>(3, item_values("t-1a2b", "Parse the header"))
    }
}
