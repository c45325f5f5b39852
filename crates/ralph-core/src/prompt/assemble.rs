//! Assembly of a prompt: material becomes sections within a token budget.

use super::budget::{BudgetedPrompt, PromptPart, PromptParts, tokens};
use super::markdown::{body, code, one_line};
use super::material::PromptMaterial;
use super::section::PromptSection;
use super::templates::{PromptTemplate, PromptTemplates, TemplateError};
use super::values::coding_values;
use crate::config::MemoryMode;
use crate::format::PlanFormat;
use crate::text::clip;

/// Longest id and title in the first line, in characters.
const LONGEST_ID: usize = 200;
const LONGEST_TITLE: usize = 200;

/// The prompt for this material, of at most `budget` tokens.
///
/// Only when a budget is too small for the first lines of the task alone is it not kept.
pub fn assemble(
    material: &PromptMaterial,
    templates: &PromptTemplates,
    budget: usize,
) -> Result<BudgetedPrompt, TemplateError> {
    let values = coding_values(material);
    let render = |template: PromptTemplate| templates.render(template, &values);
    let whole = || vec![material.whole_file.clone()];
    let mut others = Vec::new();
    let mut add = |section: PromptSection, text: &str, sources: Vec<String>| {
        let sources = if sources.is_empty() { whole() } else { sources };
        others.push(PromptPart { section, body: body(text), sources });
    };
    if material.is_retry() {
        add(
            PromptSection::FailureContext,
            &render(PromptTemplate::Failure)?,
            failure_sources(material),
        );
    }
    let handoff_file: Vec<String> = material.handoff.iter().map(|h| h.file.clone()).collect();
    add(PromptSection::RetrievedMemory, &render(PromptTemplate::Memory)?, memory_sources(material));
    let previous = match material.handoff {
        Some(_) => PromptTemplate::Handoff,
        None => PromptTemplate::FirstIteration,
    };
    add(PromptSection::PreviousHandoff, &render(previous)?, handoff_file);
    if material.mode != MemoryMode::HandoffOnly
        && let Some(index) = &material.index
    {
        let text = super::markdown::under(index, 2);
        add(PromptSection::RetrievedProjectMemory, &text, vec![material.index_file.clone()]);
    }
    if !material.skills.is_empty() {
        let files = material.skills.iter().map(|s| s.file.clone()).collect();
        add(PromptSection::Skills, &skills(material), files);
    }
    add(PromptSection::OutputInstructions, &render(output(material.format))?, Vec::new());
    let task =
        format!("{}\n\n{}", render(task(material.format))?, render(PromptTemplate::Conditions)?);
    let task =
        PromptPart { section: PromptSection::CurrentTask, body: body(&task), sources: whole() };
    Ok(PromptParts { head: head(material), task, others }.fit(budget))
}

/// A prompt that a context agent wrote, with what every prompt says at the beginning of its current
/// task: how to claim, what the operator noted, the user's files and the gates.
pub fn prepared(
    material: &PromptMaterial,
    templates: &PromptTemplates,
    text: &str,
) -> Result<String, TemplateError> {
    let values = coding_values(material);
    let conditions = body(&templates.render(PromptTemplate::Conditions, &values)?);
    let header = PromptSection::CurrentTask.header();
    let first = format!("{}\n\n{conditions}\n", head(material));
    let place = crate::fence::open_lines(text).find(|(_, line)| line.trim_end() == header);
    let Some((number, _)) = place else {
        return Ok(format!("{header}\n\n{first}\n{text}"));
    };
    let end: usize = text.split_inclusive('\n').take(number + 1).map(str::len).sum();
    let (before, after) = text.split_at(end);
    Ok(format!("{}\n\n{first}\n{}", before.trim_end(), after.trim_start_matches(['\r', '\n'])))
}

/// Return the template of the section Current Task.
fn task(format: PlanFormat) -> PromptTemplate {
    match format {
        PlanFormat::Jsonl | PlanFormat::Deluxe => PromptTemplate::Task,
        PlanFormat::Progress => PromptTemplate::TaskProgress,
        PlanFormat::Implementation => PromptTemplate::TaskImplementation,
    }
}

/// The template of the output instructions.
fn output(format: PlanFormat) -> PromptTemplate {
    match format {
        PlanFormat::Jsonl | PlanFormat::Deluxe => PromptTemplate::Output,
        PlanFormat::Progress => PromptTemplate::OutputProgress,
        PlanFormat::Implementation => PromptTemplate::OutputImplementation,
    }
}

/// Return the first lines of every prompt, whatever the budget and the templates are.
fn head(material: &PromptMaterial) -> String {
    let task = &material.task;
    let id = code(&clip(&one_line(task.id.as_str()), LONGEST_ID));
    let title = clip(&one_line(&task.name), LONGEST_TITLE);
    let plan = code(&material.plan_file);
    format!(
        "Task {id}: {title}\n\n\
         Work on this task and no other. Do not commit, and do not edit ralph's own files \
         ({plan}, `ralph/inbox.jsonl`, anything below `.ralph/`): ralph does both. End your answer \
         with `<TASK_DONE>` alone on its last line when the task is complete, with \
         `<TASK_BLOCKED reason=\"why\">` alone on its last line when you cannot go on, or with a \
         handoff as JSON."
    )
}

/// The skills as instructions beside the prompt, for a backend that takes such; they are no section of
/// the prompt then. Those that would not fit into `budget` stay in the prompt, which says when they are
/// left out.
pub fn skills_beside(material: &mut PromptMaterial, budget: usize) -> Option<String> {
    if material.skills.is_empty() {
        return None;
    }
    let text = format!("{}\n\n{}\n", PromptSection::Skills.header(), body(&skills(material)));
    if tokens(&text) > budget {
        return None;
    }
    material.skills.clear();
    Some(text)
}

fn skills(material: &PromptMaterial) -> String {
    let one = |skill: &super::material::Skill| {
        let content = super::markdown::under(&skill.content, 3);
        format!("### {}\n\n{content}", one_line(&skill.name))
    };
    material.skills.iter().map(one).collect::<Vec<_>>().join("\n\n")
}

fn failure_sources(material: &PromptMaterial) -> Vec<String> {
    let gates = material.gate_failures.iter().filter_map(|g| g.log.clone());
    let setbacks = material.setbacks.iter().filter_map(|s| s.log.clone());
    let mut files: Vec<String> = gates.chain(setbacks).collect();
    // Only the whole prompt has the history.
    if !material.rejections.is_empty() || files.is_empty() {
        files.push(material.whole_file.clone());
    }
    files.dedup();
    files
}

fn memory_sources(material: &PromptMaterial) -> Vec<String> {
    let mut files: Vec<String> = material.handoff.iter().map(|h| h.file.clone()).collect();
    if !material.recent_attempts.is_empty() {
        files.push(material.plan_file.clone());
    }
    files
}
