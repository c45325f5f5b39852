//! After an attempt: the context agent puts what was learned into the index and gives advice.

use std::fmt::Write as _;

use super::directive::PostDirective;
use super::prep::{line, pointer, said};
use super::{EndedAttempt, values};
use crate::memory::index::{JSON_FILE, MARKDOWN_FILE, RULES};
use crate::memory::levels::{l1, l3};
use crate::prompt::markdown::code;
use crate::prompt::{PastHandoff, PromptTemplate, PromptTemplates, TemplateError};

/// Handoffs that show whether something happens again and again.
const RECENT: usize = 5;

/// The whole prompt for the context agent after an attempt: handoffs, oldest first, of which the newest five
/// are told, and why the last update of the index was undone.
pub fn post_prompt(
    templates: &PromptTemplates,
    attempt: &EndedAttempt<'_>,
    recent: &[PastHandoff],
    undone: &[String],
) -> Result<String, TemplateError> {
    let values = values::<PostDirective>(attempt.iteration, attempt.task);
    let instructions = templates.render(PromptTemplate::ContextPost, &values)?;
    let mut out = format!("{}\n\n{}", instructions.trim_end(), attempt.manifest());
    pointer(&mut out, "knowledge index", Some(MARKDOWN_FILE));
    pointer(&mut out, "history of the knowledge index", Some(JSON_FILE));
    let recent = recent.get(recent.len().saturating_sub(RECENT)..).unwrap_or_default();
    if !recent.is_empty() {
        out.push_str("\n## Recent Handoffs\n\n");
        for past in recent {
            line(&mut out, &code(l3(past)), &l1(&past.handoff));
        }
    }
    rules(&mut out, undone);
    Ok(out)
}

/// Append the rules that will be checked, and the violations that undid the last update.
pub(super) fn rules(out: &mut String, undone: &[String]) {
    out.push_str("\n## Rules That Are Checked\n\n");
    out.push_str("If one of them is broken, your update is undone as a whole.\n\n");
    for rule in RULES {
        let _ = writeln!(out, "- {rule}");
    }
    if !undone.is_empty() {
        out.push_str("\n## Why The Last Update Was Undone\n\n");
        out.push_str("The files are as they were before it. Do not make these mistakes again:\n\n");
        for violation in undone {
            let _ = writeln!(out, "- {}", said(violation));
        }
    }
}
