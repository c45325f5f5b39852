//! Passes: further agents that look at what came of an attempt. They advise; nothing waits for them.

use super::Judged;
use super::directive::{Review, schema_of};
use super::prep::{line, pointer, said};
use crate::config::{Config, Pass, Trigger};
use crate::plan::Task;
use crate::prompt::markdown::code;
use crate::prompt::{RoleValues, Template, TemplateError, TemplateItem, Templates, of_schema};

/// Changed files that a manifest names.
const NAMED: usize = 50;

/// What a pass is told.
#[derive(Clone, Debug)]
pub struct PassInput<'a> {
    /// Its name.
    pub name: &'a str,
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
    /// The commit that holds the work, or the ref that keeps what was rolled back.
    pub revision: Option<&'a str>,
    /// The files that it changed.
    pub files: &'a [String],
}

/// Where the words of a pass come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassPrompt<'a> {
    /// A file that the configuration names.
    Own {
        /// Its path.
        file: &'a str,
        /// What it says.
        text: &'a str,
    },
    /// Ralph's own review, or what overrides it.
    Review,
}

/// Whether a pass with this trigger runs after an iteration.
pub fn due(trigger: Trigger, judged: Judged, iteration: u32) -> bool {
    match trigger {
        Trigger::Always => true,
        Trigger::OnSuccess => judged == Judged::Passed,
        Trigger::OnFailure => judged == Judged::Failed,
        Trigger::Periodic(every) => iteration.is_multiple_of(every.get()),
    }
}

/// The passes that run after an iteration, in the order of the configuration.
pub fn passes_due(config: &Config, judged: Judged, iteration: u32) -> impl Iterator<Item = &Pass> {
    let all = if config.passes_enabled { &config.passes[..] } else { &[] };
    all.iter().filter(move |pass| pass.enabled && due(pass.trigger, judged, iteration))
}

/// The whole prompt for a pass.
pub fn pass_prompt(
    templates: &Templates,
    prompt: PassPrompt<'_>,
    input: &PassInput<'_>,
) -> Result<String, TemplateError> {
    let task = TemplateItem::new(input.task.id.as_str(), &input.task.name);
    let fields = of_schema(&schema_of::<Review>());
    let values =
        RoleValues { pass: said(input.name), ..RoleValues::new(input.iteration, task, fields) };
    let instructions = match prompt {
        PassPrompt::Own { file, text } => templates.own(file, text, &values)?,
        PassPrompt::Review => templates.role(Template::Review, &values)?,
    };
    Ok(format!("{}\n\n{}", instructions.trim_end(), manifest(input)))
}

fn manifest(input: &PassInput<'_>) -> String {
    let mut out = String::from("# Manifest\n\n");
    line(&mut out, "iteration", &input.iteration.to_string());
    line(&mut out, "task", &format!("{} {}", code(input.task.id.as_str()), said(&input.task.name)));
    line(&mut out, "validation", input.judged.word());
    pointer(&mut out, "handoff", input.handoff);
    pointer(&mut out, "what the gates said", input.validation_log);
    if let Some(revision) = input.revision {
        line(&mut out, "the work", &code(&format!("git show {revision}")));
    }
    for file in input.files.iter().take(NAMED) {
        line(&mut out, "changed", &code(file));
    }
    match input.files.len().saturating_sub(NAMED) {
        0 => {}
        more => line(&mut out, "changed", &format!("{more} more files")),
    }
    out
}
