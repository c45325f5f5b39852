//! The budget: characters / 4, whole sections dropped in a fixed order, and no word lost in silence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::section::PromptSection;

/// Characters that count as one token.
const CHARACTERS: usize = 4;

/// Return the estimated number of tokens in a text: one for every four characters.
pub fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(CHARACTERS)
}

/// A prompt that keeps its budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetedPrompt {
    /// Text for the agent.
    pub text: String,
    /// Sections that were left out or cut, in the order in which this happened.
    pub left_out: Vec<LeftOutSection>,
    /// Estimated number of tokens in the text.
    pub tokens: usize,
    /// Maximum number of tokens.
    pub budget: usize,
    /// Everything, when something was left out: to be written to the material's `whole_file`
    /// before the agent starts, because the prompt names that file.
    pub whole: Option<String>,
}

/// A section that was left out, or cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutSection {
    /// Section that was left out or cut.
    pub section: PromptSection,
    /// Number of its tokens that are missing.
    pub tokens: usize,
    /// Files that contain the missing text.
    pub where_to_read: Vec<String>,
}

/// Size of a prompt, for the log. It is never part of the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptSize {
    /// Maximum number of tokens of the prompt.
    pub budget_tokens: usize,
    /// Estimated number of tokens of the prompt.
    pub tokens: usize,
    /// Estimated number of tokens of the prompt if nothing were left out.
    pub whole_tokens: usize,
    /// Sections that were left out or cut.
    pub left_out: Vec<LeftOutSection>,
}

impl BudgetedPrompt {
    /// Return the size of the prompt, for the journal.
    pub fn size(&self) -> PromptSize {
        PromptSize {
            budget_tokens: self.budget,
            tokens: self.tokens,
            whole_tokens: self.whole.as_deref().map_or(self.tokens, tokens),
            left_out: self.left_out.clone(),
        }
    }
}

/// Section of a prompt, with its text and its sources.
pub(super) struct PromptPart {
    pub(super) section: PromptSection,
    pub(super) body: String,
    pub(super) sources: Vec<String>,
}

/// The sections of one prompt, `## Current Task` apart: its first lines are never dropped.
pub(super) struct PromptParts {
    /// The lines that every prompt has.
    pub(super) head: String,
    /// The rest of `## Current Task`.
    pub(super) task: PromptPart,
    /// Sections other than Current Task, in the order of the prompt.
    pub(super) others: Vec<PromptPart>,
}

impl PromptParts {
    /// The prompt that keeps to `budget` tokens, or the smallest one there is.
    pub(super) fn fit(self, budget: usize) -> BudgetedPrompt {
        let most = budget.saturating_mul(CHARACTERS);
        let mut left_out = Vec::new();
        let mut text = self.text(&left_out, &self.task.body, budget);
        let fits = |text: &str| text.chars().count() <= most;
        if fits(&text) {
            return BudgetedPrompt { tokens: tokens(&text), text, left_out, budget, whole: None };
        }
        let whole = text.clone();
        for section in PromptSection::DISPENSABLE {
            let Some(part) = self.others.iter().find(|p| p.section == section) else { continue };
            left_out.push(part.gone(tokens(&part.body)));
            text = self.text(&left_out, &self.task.body, budget);
            if fits(&text) {
                break;
            }
        }
        if !fits(&text) {
            text = self.cut(&mut left_out, most, budget);
        }
        BudgetedPrompt { tokens: tokens(&text), text, left_out, budget, whole: Some(whole) }
    }

    /// The last resort: only the task is left, and it is cut.
    fn cut(&self, left_out: &mut Vec<LeftOutSection>, most: usize, budget: usize) -> String {
        // The number in the notice is the widest one first, so that the real one fits too.
        left_out.push(self.task.gone(tokens(&self.task.body)));
        let fixed = self.text(left_out, "", budget).chars().count();
        // The blank line between the notice and the rest.
        let room = most.saturating_sub(fixed + 2);
        let end = self.task.body.char_indices().nth(room).map_or(self.task.body.len(), |(i, _)| i);
        let kept = super::markdown::whole_header_gone(self.task.body[..end].trim_end());
        if let Some(last) = left_out.last_mut() {
            last.tokens = tokens(&self.task.body[kept.len()..]);
        }
        self.text(left_out, kept, budget)
    }

    /// The prompt without what is left out, and with a word about that.
    fn text(&self, left_out: &[LeftOutSection], task: &str, budget: usize) -> String {
        let mut text = format!("{}\n\n{}\n", PromptSection::CurrentTask.header(), self.head);
        if !left_out.is_empty() {
            text.extend(["\n", &notice(left_out, budget), "\n"]);
        }
        if !task.is_empty() {
            text.extend(["\n", task, "\n"]);
        }
        let is_here = |part: &&PromptPart| left_out.iter().all(|gone| gone.section != part.section);
        for part in self.others.iter().filter(is_here) {
            text.extend(["\n", &part.section.header(), "\n\n", &part.body, "\n"]);
        }
        text
    }
}

impl PromptPart {
    fn gone(&self, tokens: usize) -> LeftOutSection {
        LeftOutSection { section: self.section, tokens, where_to_read: self.sources.clone() }
    }
}

/// The one place where a prompt says what it does not say.
fn notice(left_out: &[LeftOutSection], budget: usize) -> String {
    let mut text = format!("Left out to stay within {budget} tokens; read it where you need it:");
    for gone in left_out {
        let files: Vec<String> =
            gone.where_to_read.iter().map(|file| super::markdown::code(file)).collect();
        let how = if gone.section == PromptSection::CurrentTask { "the end of " } else { "" };
        let line = format!(
            "\n- {how}{} (about {} tokens): {}",
            gone.section.title(),
            gone.tokens,
            files.join(", ")
        );
        text.push_str(&line);
    }
    text
}
