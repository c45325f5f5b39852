//! What the model says, before a protocol writes it down.

use serde_json::Value;

use crate::conversation::{Conversation, ToolInput};
use crate::scenario::{Due, Step, Usage};
use crate::tools;

/// One part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// Words of reasoning.
    Thinking(String),
    /// Words of the answer.
    Text(String),
    /// A tool to use.
    Call(Call),
}

/// A tool to use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// The tool's name.
    pub(crate) name: String,
    /// A JSON object, or a string where the tool takes free text.
    pub(crate) input: Value,
    /// How the tool takes it.
    pub(crate) kind: ToolInput,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    /// Different for each answer; ids of its parts are made from it.
    pub(crate) number: usize,
    /// The model that was asked for.
    pub(crate) model: String,
    /// In order.
    pub(crate) parts: Vec<Part>,
    /// Tokens to report.
    pub(crate) usage: Usage,
}

impl Answer {
    /// The answer that the scenario gives now.
    pub(crate) fn new(number: usize, talk: &Conversation, due: Option<&Due<'_>>) -> Self {
        let step = due.and_then(|due| Some((due, due.step?)));
        let (parts, usage) = match step {
            Some((due, step)) => (parts(talk, due, step), step.usage),
            None => (vec![Part::Text("There is nothing more to do.".into())], Usage::default()),
        };
        Self { number, model: talk.model.clone(), parts, usage }
    }

    /// Whether it wants tools to be used.
    pub(crate) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call(_)))
    }

    /// An id for the part with this index, beginning as the protocol wants it.
    pub(crate) fn id(&self, prefix: &str, index: usize) -> String {
        format!("{prefix}{:04}{index:02}", self.number)
    }
}

fn parts(talk: &Conversation, due: &Due<'_>, step: &Step) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.extend(step.thinking.as_deref().map(|text| Part::Thinking(due.fill(text))));
    parts.extend(step.text.as_deref().map(|text| Part::Text(due.fill(text))));
    if let Some(file) = &step.write {
        parts.push(tools::write(talk, &due.fill(&file.path), &due.fill(&file.content)));
    }
    if let Some(command) = &step.shell {
        parts.push(tools::shell(talk, &due.fill(command)));
    }
    if let Some(tool) = &step.tool {
        parts.push(tools::exactly(talk, &tool.name, due.fill_value(&tool.input)));
    }
    if let Some(answer) = &step.answer {
        parts.push(tools::structured(talk, due.fill_value(answer)));
    }
    if parts.is_empty() {
        parts.push(Part::Text("Done.".into()));
    }
    parts
}
