//! Passes: further agents that look at what came of an attempt. They advise; nothing waits for them.

use minijinja::context;

use super::directive::PassReview;
use super::prep::{line, said};
use super::{AttemptVerdict, EndedAttempt, values};
use crate::config::{Config, PassSettings, PassTrigger};
use crate::prompt::markdown::code;
use crate::prompt::{PromptTemplate, PromptTemplates, TemplateError};

/// Changed files that a manifest names.
const NAMED: usize = 50;

/// Input for the prompt of a pass.
#[derive(Clone, Debug)]
pub struct PassInput<'a> {
    pub name: &'a str,
    /// Attempt that the pass looks at.
    pub attempt: EndedAttempt<'a>,
    /// The commit that holds the work, or the ref that keeps what was rolled back.
    pub revision: Option<&'a str>,
    /// Files that the attempt changed.
    pub files: &'a [String],
}

/// Source of a pass's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassPrompt<'a> {
    /// A file that the configuration names.
    Own { file: &'a str, text: &'a str },
    /// Ralph's own review, or what overrides it.
    Review,
}

/// Whether a pass with this trigger runs after an iteration.
pub fn due(trigger: PassTrigger, judged: AttemptVerdict, iteration: u32) -> bool {
    match trigger {
        PassTrigger::Always => true,
        PassTrigger::OnSuccess => judged == AttemptVerdict::Passed,
        PassTrigger::OnFailure => judged == AttemptVerdict::Failed,
        PassTrigger::Periodic(every) => iteration.is_multiple_of(every.get()),
    }
}

/// The passes that run after an iteration, in the order of the configuration.
pub fn passes_due(
    config: &Config,
    judged: AttemptVerdict,
    iteration: u32,
) -> impl Iterator<Item = &PassSettings> {
    let all = if config.passes_enabled { &config.passes[..] } else { &[] };
    all.iter().filter(move |pass| pass.enabled && due(pass.trigger, judged, iteration))
}

/// The whole prompt for a pass.
pub fn pass_prompt(
    templates: &PromptTemplates,
    prompt: PassPrompt<'_>,
    input: &PassInput<'_>,
) -> Result<String, TemplateError> {
    let EndedAttempt { iteration, task, .. } = input.attempt;
    let values = context! { pass => said(input.name), ..values::<PassReview>(iteration, task) };
    let instructions = match prompt {
        PassPrompt::Own { file, text } => templates.own(file, text, values)?,
        PassPrompt::Review => templates.render(PromptTemplate::Review, &values)?,
    };
    Ok(format!("{}\n\n{}", instructions.trim_end(), manifest(input)))
}

fn manifest(input: &PassInput<'_>) -> String {
    let mut out = input.attempt.manifest();
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
