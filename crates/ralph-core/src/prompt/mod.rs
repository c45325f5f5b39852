//! Prompts: seven sections from values, within a budget.
//!
//! # Theory of operation
//!
//! A [`PromptMaterial`] holds everything that a prompt may say, as values. [`assemble`] renders each
//! section from its template ([`PromptTemplates`], embedded and overridable), drops whole sections until
//! the budget is kept, and says in the prompt what was left out and where to read it. Sections are
//! values until the end: no text is searched for headers, so nothing that somebody wrote into a
//! note or a handoff can move a border, and whatever is put in is first made to stand below the
//! section it belongs to (`markdown`).
//!
//! The first lines of `## Current Task` are no template: the task's id, what ralph forbids, how to
//! claim, and what was left out. They survive every budget and every override, so an answer is
//! always usable.
//!
//! ```text
//! Material --values--> templates --render--> sections --budget--> Prompt
//! ```

mod assemble;
mod budget;
mod fields;
pub(crate) mod markdown;
mod material;
mod role_values;
mod sample;
mod section;
mod stage_values;
mod templates;
mod values;
mod words;

pub use assemble::{assemble, prepared, skills_beside};
pub use budget::{BudgetedPrompt, LeftOutSection, PromptSize, tokens};
pub use material::{
    FailureDetail, PastHandoff, PromptMaterial, PromptSpec, RejectedApproach, Skill,
};
pub use role_values::ROLE_VARIABLES;
pub(crate) use role_values::role_values;
pub use section::PromptSection;
pub use stage_values::STAGE_VARIABLES;
pub(crate) use stage_values::{item_values, stage_values};
pub use templates::{PromptTemplate, PromptTemplates, TEMPLATES, TemplateError};
pub use values::VARIABLES;

#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod templates_tests;
