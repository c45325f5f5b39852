//! The knowledge indexer: handoffs that the index does not know yet, and the index as it is.

use std::fmt::Write as _;

use super::directive::IndexerReport;
use super::post::rules;
use super::values;
use crate::memory::index::{IndexFiles, JSON_FILE, MARKDOWN_FILE, records};
use crate::memory::levels::compaction_input;
use crate::memory::trigger::IndexTrigger;
use crate::plan::Task;
use crate::prompt::markdown::{code, fenced, one_line};
use crate::prompt::{PastHandoff, PromptTemplate, PromptTemplates, TemplateError};

/// Characters of the index that the prompt holds; a longer one is only pointed to.
const INLINE: usize = 40_000;

/// Input for the prompt of the knowledge indexer.
#[derive(Clone, Debug)]
pub struct IndexerInput<'a> {
    /// Number of the next iteration.
    pub iteration: u32,
    /// Task of the next iteration.
    pub task: &'a Task,
    pub trigger: IndexTrigger,
    /// Current files of the index.
    pub files: IndexFiles<'a>,
    /// Handoffs that are not in the index, oldest first.
    pub handoffs: &'a [PastHandoff],
    /// Why the last update was undone.
    pub undone: &'a [String],
}

/// The whole prompt for the indexer.
pub fn indexer_prompt(
    templates: &PromptTemplates,
    input: &IndexerInput<'_>,
) -> Result<String, TemplateError> {
    let values = values::<IndexerReport>(input.iteration, input.task);
    let instructions = templates.render(PromptTemplate::Indexer, &values)?;
    let mut out = format!("{}\n", instructions.trim_end());
    rules(&mut out, input.undone);
    // Writing to a string cannot fail.
    let _ = write!(out, "\n## Why Now\n\n{}.", input.trigger);
    if matches!(input.trigger, IndexTrigger::Metadata { .. }) && !input.task.libraries.is_empty() {
        let libraries: Vec<String> = input.task.libraries.iter().map(|l| code(l)).collect();
        let _ = write!(out, " Note what the next task has to know about {}.", libraries.join(", "));
    }
    let _ = write!(
        out,
        " The next task is {}: {}\n\n## The Index As It Is\n\n",
        code(input.task.id.as_str()),
        one_line(&input.task.name)
    );
    existing(&mut out, input.files);
    out.push_str("\n## New Handoffs\n\n");
    match input.handoffs {
        [] => out.push_str("There are none.\n"),
        handoffs => {
            let _ = writeln!(out, "{}", fenced(&compaction_input(handoffs)));
        }
    }
    Ok(out)
}

fn existing(out: &mut String, files: IndexFiles<'_>) {
    let place = code(MARKDOWN_FILE);
    let _ = match files.markdown {
        None => writeln!(out, "There is no {place} yet: make it."),
        Some(text) if text.chars().count() > INLINE => {
            writeln!(out, "{place} has {} bytes: read it before you change it.", text.len())
        }
        Some(text) => writeln!(out, "{place}:\n\n{}", fenced(text)),
    };
    let place = code(JSON_FILE);
    let _ = match files.json.map(records) {
        None => writeln!(out, "\nThere is no {place} yet: make it."),
        Some(Err(error)) => {
            writeln!(out, "\n{place} is damaged (line {}). Leave it alone.", error.line)
        }
        Some(Ok(all)) => {
            let last = all.iter().filter_map(|record| record.iteration).max();
            let last = last.map_or_else(String::new, |n| format!(", the last for iteration {n}"));
            writeln!(out, "\n{place} has {} entries{last}. Add to its end.", all.len())
        }
    };
}
