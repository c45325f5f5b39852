//! A conversation as far as a scripted model has to understand it.

use serde_json::Value;

/// Who said what, without the details of a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A text of the user's own.
    User(String),
    /// Something the model said or asked for.
    Model,
    /// What a tool gave back.
    ToolResult,
}

/// A tool that the program offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    /// Its name.
    pub(crate) name: String,
    /// How it takes its input.
    pub(crate) input: ToolInput,
}

/// How a tool takes its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolInput {
    /// As a JSON object.
    Json,
    /// As free text.
    Free,
}

/// One call of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conversation {
    /// The model that was asked for.
    pub(crate) model: String,
    /// All that was said, oldest first.
    pub(crate) entries: Vec<Entry>,
    /// What the program can do.
    pub(crate) tools: Vec<Tool>,
}

impl Conversation {
    /// The user's texts with their places, oldest first.
    pub(crate) fn user_texts(&self) -> impl Iterator<Item = (usize, &str)> {
        self.entries.iter().enumerate().filter_map(|(at, entry)| match entry {
            Entry::User(text) => Some((at, text.as_str())),
            _ => None,
        })
    }

    /// How often the model has answered after this place. What it says in one go counts once.
    pub(crate) fn answers_after(&self, at: usize) -> usize {
        let later = self.entries.get(at..).unwrap_or_default();
        later.windows(2).filter(|pair| pair[0] != Entry::Model && pair[1] == Entry::Model).count()
    }

    /// Add a text of the role `user`. Programs put much there that no user wrote, and mark it with
    /// a tag; that is left out.
    pub(crate) fn add_user(&mut self, text: &str) {
        let text = text.trim().trim_matches('"').trim();
        if !text.is_empty() && !text.starts_with('<') {
            self.entries.push(Entry::User(text.to_owned()));
        }
    }
}

/// The string in this member, or nothing.
pub(crate) fn text_of<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// The list in this member, or an empty one.
pub(crate) fn list_of<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
