//! After an attempt: the context agent puts what was learned into the index and gives advice.

use std::fmt::Write as _;

use super::Judged;
use super::directive::{PostDirective, schema_of};
use super::prep::{line, pointer, said};
use crate::memory::index::{JSON_FILE, MARKDOWN_FILE, RULES};
use crate::memory::levels::{l1, l3};
use crate::plan::Task;
use crate::prompt::markdown::code;
use crate::prompt::{
    PastHandoff, RoleValues, Template, TemplateError, TemplateItem, Templates, of_schema,
};

/// Handoffs that show whether something happens again and again.
const RECENT: usize = 5;

/// What the context agent is told after an attempt.
#[derive(Clone, Debug)]
pub struct PostInput<'a> {
    /// The iteration that has just ended.
    pub iteration: u32,
    /// Its task.
    pub task: &'a Task,
    /// What came of it.
    pub judged: Judged,
    /// The file of its handoff.
    pub handoff: Option<&'a str>,
    /// What the gates printed.
    pub validation_log: Option<&'a str>,
    /// Handoffs, oldest first; the newest five are told, a line each.
    pub recent: &'a [PastHandoff],
    /// Why the last update of the index was undone.
    pub undone: &'a [String],
}

/// The whole prompt for the context agent.
pub fn post_prompt(templates: &Templates, input: &PostInput<'_>) -> Result<String, TemplateError> {
    let task = TemplateItem::new(input.task.id.as_str(), &input.task.name);
    let fields = of_schema(&schema_of::<PostDirective>());
    let values = RoleValues::new(input.iteration, task, fields);
    let instructions = templates.role(Template::ContextPost, &values)?;
    Ok(format!("{}\n\n{}", instructions.trim_end(), post_manifest(input)))
}

/// What happened, as pointers.
pub fn post_manifest(input: &PostInput<'_>) -> String {
    let mut out = String::from("# Manifest\n\n");
    line(&mut out, "iteration", &input.iteration.to_string());
    line(&mut out, "task", &format!("{} {}", code(input.task.id.as_str()), said(&input.task.name)));
    line(&mut out, "validation", input.judged.word());
    pointer(&mut out, "handoff", input.handoff);
    pointer(&mut out, "what the gates said", input.validation_log);
    pointer(&mut out, "knowledge index", Some(MARKDOWN_FILE));
    pointer(&mut out, "history of the knowledge index", Some(JSON_FILE));
    let recent = input.recent.get(input.recent.len().saturating_sub(RECENT)..).unwrap_or_default();
    if !recent.is_empty() {
        out.push_str("\n## Recent Handoffs\n\n");
        for past in recent {
            line(&mut out, &code(l3(past)), &l1(&past.handoff));
        }
    }
    rules(&mut out, input.undone);
    out
}

/// What will be checked, and what was wrong the last time.
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
