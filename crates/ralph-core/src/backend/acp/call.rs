//! One tool call, put together from the pieces in which agents report it.

use agent_client_protocol_schema::v1::{
    ContentBlock, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolKind,
};
use serde_json::{Map, Value};

use crate::backend::ToolStatus;
use crate::backend::heard::MOST_TEXT;

/// Title that two agents give to the tool call of a compaction.
const COMPACTION: &str = "Compact conversation";
/// Part of a tool call that has become an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ReportedPart {
    #[default]
    Nothing,
    Call,
    Result,
}

#[derive(Debug, Default)]
pub(super) struct AcpToolCall {
    pub(super) told: ReportedPart,
    name: Option<String>,
    title: Option<String>,
    kind: Option<ToolKind>,
    input: Option<Value>,
    path: Option<String>,
    text: String,
    /// Output of a command so far, from agents that send it in pieces.
    output: String,
}

impl AcpToolCall {
    /// Takes in what is new; says whether that holds input.
    pub(super) fn merge(&mut self, update: ToolCallUpdate) -> bool {
        let meta = |path: [&str; 2]| {
            update.meta.as_ref()?.get(path[0])?.get(path[1])?.as_str().map(str::to_owned)
        };
        if let Some(output) = meta(["terminal_output_delta", "data"]) {
            self.output.push_str(&output);
            shorten(&mut self.output);
        }
        let tool_name = update.meta.as_ref().and_then(|meta| meta.get("toolName")?.as_str());
        let tool_name = tool_name.map(str::to_owned).or_else(|| meta(["claudeCode", "toolName"]));
        let fields = update.fields;
        let has_input = fields.raw_input.as_ref().is_some_and(is_something);
        replace(&mut self.name, fields.name.or(tool_name));
        replace(&mut self.title, fields.title);
        replace(&mut self.kind, fields.kind);
        replace(&mut self.input, fields.raw_input.filter(is_something));
        let mut text = String::new();
        for content in fields.content.as_deref().unwrap_or_default() {
            match content {
                ToolCallContent::Content(content) => {
                    if let ContentBlock::Text(block) = &content.content {
                        text.push_str(&block.text);
                    }
                }
                ToolCallContent::Diff(diff) => {
                    self.path = Some(diff.path.to_string_lossy().into_owned());
                }
                _ => {}
            }
        }
        if text.is_empty() {
            text = fields.raw_output.as_ref().map(output).unwrap_or_default();
        }
        if !text.is_empty() {
            shorten(&mut text);
            self.text = text;
        }
        let location = fields.locations.and_then(|all| Some(all.first()?.path.clone()));
        if let Some(path) = location {
            self.path.get_or_insert_with(|| path.to_string_lossy().into_owned());
        }
        has_input
    }

    /// The tool's name; where an agent has none, what kind of thing it does, or its title.
    pub(super) fn name(&self) -> String {
        let word = match self.kind() {
            ToolKind::Read => Some("read"),
            ToolKind::Edit => Some("edit"),
            ToolKind::Delete => Some("delete"),
            ToolKind::Move => Some("move"),
            ToolKind::Search => Some("search"),
            ToolKind::Execute => Some("execute"),
            ToolKind::Think => Some("think"),
            ToolKind::Fetch => Some("fetch"),
            ToolKind::SwitchMode => Some("switch_mode"),
            _ => None,
        };
        let name = self.name.as_deref().or(word).or(self.title.as_deref());
        name.unwrap_or("tool").to_owned()
    }

    pub(super) fn kind(&self) -> ToolKind {
        self.kind.unwrap_or_default()
    }

    /// Return the title of the call, for people.
    pub(super) fn title(&self) -> Option<String> {
        self.title.clone()
    }

    /// Return the arguments of the call.
    /// If the agent does not send them, return its title and its file instead.
    pub(super) fn input(&self) -> Value {
        self.input.clone().unwrap_or_else(|| {
            let mut input = Map::new();
            let mut put = |name: &str, value: &Option<String>| {
                if let Some(value) = value {
                    input.insert(name.to_owned(), Value::String(value.clone()));
                }
            };
            put("title", &self.title);
            put("path", &self.path);
            Value::Object(input)
        })
    }

    pub(super) fn text(&self) -> String {
        if self.text.is_empty() { self.output.clone() } else { self.text.clone() }
    }

    /// Whether this is the agent compacting its context.
    pub(super) fn is_compaction(&self) -> bool {
        self.kind == Some(ToolKind::Think) && self.title.as_deref() == Some(COMPACTION)
    }

    /// Return the result of a call with this status, or `None` while the call runs.
    pub(super) fn ended(status: ToolCallStatus) -> Option<ToolStatus> {
        match status {
            ToolCallStatus::Completed => Some(ToolStatus::Ok),
            ToolCallStatus::Failed => Some(ToolStatus::Failed),
            _ => None,
        }
    }

    /// Keeps only that it was told; what came with it may be large.
    pub(super) fn forget(&mut self) {
        *self = Self { told: self.told, ..Self::default() };
    }
}

/// Read the text of a raw output from the members in which agents put it.
fn output(raw: &Value) -> String {
    match raw {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        _ => ["content", "output", "text", "stdout", "error"]
            .iter()
            .find_map(|name| raw.get(name)?.as_str())
            .map_or_else(|| raw.to_string(), str::to_owned),
    }
}

fn shorten(text: &mut String) {
    text.truncate(text.floor_char_boundary(MOST_TEXT));
}

fn replace<T>(old: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *old = new;
    }
}

/// Check whether an input contains anything.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Object(object) => !object.is_empty(),
        _ => true,
    }
}
