//! One turn of the dialogue: what the agent reports while the prompt is open.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, PromptResponse, SessionUpdate, ToolCallStatus, ToolCallUpdate,
    ToolKind, UsageUpdate,
};
use serde::Deserialize;
use serde_json::Value;

use super::agents::{AcpAgent, FailureSign, FirstCallDetail};
use super::call::{AcpToolCall, ReportedPart};
use super::usage::PromptMeter;
use crate::backend::heard::AnswerTail;
use crate::backend::{BackendEvent, CompactionTrigger, ContextFill, RunCost, ToolStatus};

/// Most tool calls that are remembered at a time.
const CALLS: usize = 1024;

/// Result of reading an update of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateRecognition {
    /// The update became events, or it contains no information.
    Yes,
    No,
}

/// A compaction that happened and is not told yet, because its numbers may follow.
#[derive(Debug, Default)]
struct PendingCompaction {
    trigger: Option<CompactionTrigger>,
    before: Option<u64>,
    after: Option<u64>,
}

/// State collected from one turn of the agent.
#[derive(Debug)]
pub(super) struct AcpTurn {
    agent: &'static AcpAgent,
    pub(super) meter: PromptMeter,
    /// Context size of the model in tokens.
    window: Option<u64>,
    calls: BTreeMap<String, AcpToolCall>,
    answer: AnswerTail,
    /// The id of the message that `answer` holds.
    message: Option<String>,
    /// Whether the next piece of text begins a new message.
    apart: bool,
    last_piece: String,
    /// Whether the agent said that its system failed.
    system_error: bool,
    /// Whether the prompt asks for a compaction.
    compacting: bool,
    compaction: Option<PendingCompaction>,
    compacted: bool,
}

impl AcpTurn {
    /// A turn that has not begun.
    pub(super) fn new(agent: &'static AcpAgent, meter: PromptMeter) -> Self {
        Self {
            agent,
            meter,
            window: None,
            calls: BTreeMap::new(),
            answer: AnswerTail::default(),
            message: None,
            apart: true,
            last_piece: String::new(),
            system_error: false,
            compacting: false,
            compaction: None,
            compacted: false,
        }
    }

    /// Set the agent after it has given its name.
    pub(super) fn agent(&mut self, agent: &'static AcpAgent) {
        self.agent = agent;
    }

    /// Set the context size of the model from the description of the session.
    pub(super) fn window(&mut self, window: Option<u64>) {
        self.window = window;
    }

    pub(super) fn begin(&mut self, prompt: &str) {
        self.compacting = self.agent.compact.is_some_and(|command| prompt.starts_with(command));
    }

    /// The last message of the answer.
    pub(super) fn answer(&self) -> &str {
        self.answer.as_str()
    }

    /// An update from before the prompt: only where its totals stand is of interest, as the rest is
    /// the history of a session that is continued.
    pub(super) fn before(&mut self, update: &Value) {
        if let Ok(SessionUpdate::UsageUpdate(update)) = SessionUpdate::deserialize(update)
            && let Some(total) = dollars(&update)
        {
            self.meter.dollars_before(total);
        }
    }

    /// An update while the prompt is open.
    pub(super) fn update(
        &mut self,
        update: &Value,
        events: &mut Vec<BackendEvent>,
    ) -> UpdateRecognition {
        match SessionUpdate::deserialize(update) {
            Ok(SessionUpdate::AgentMessageChunk(chunk)) => self.text(&chunk, events),
            Ok(SessionUpdate::AgentThoughtChunk(chunk)) => match text_of(&chunk) {
                Some(text) => {
                    events.push(BackendEvent::Thinking(text.to_owned()));
                    UpdateRecognition::Yes
                }
                None => UpdateRecognition::No,
            },
            Ok(SessionUpdate::ToolCall(call)) => {
                self.tool(call.into(), CallMention::First, events);
                UpdateRecognition::Yes
            }
            Ok(SessionUpdate::ToolCallUpdate(update)) => {
                self.tool(update, CallMention::Later, events);
                UpdateRecognition::Yes
            }
            Ok(SessionUpdate::UsageUpdate(update)) => {
                self.usage(&update, events);
                UpdateRecognition::Yes
            }
            Ok(SessionUpdate::SessionInfoUpdate(_)) => {
                if let Some(Value::String(status)) =
                    update.pointer("/_meta/codex/threadStatus/type")
                {
                    self.system_error = status == "systemError";
                }
                UpdateRecognition::No
            }
            _ => UpdateRecognition::No,
        }
    }

    /// An update after the answer: only what was used may still be told.
    pub(super) fn after(
        &mut self,
        update: &Value,
        events: &mut Vec<BackendEvent>,
    ) -> UpdateRecognition {
        match SessionUpdate::deserialize(update) {
            Ok(SessionUpdate::UsageUpdate(update)) => {
                self.usage(&update, events);
                UpdateRecognition::Yes
            }
            _ => UpdateRecognition::No,
        }
    }

    fn text(&mut self, chunk: &ContentChunk, events: &mut Vec<BackendEvent>) -> UpdateRecognition {
        if let Some(usage) = chunk.meta.as_ref().and_then(|meta| meta.get("usage"))
            && let Some(used) = self.meter.piece(usage)
        {
            // One call to the model has ended with this piece.
            self.apart |= text_of(chunk).is_some_and(str::is_empty);
            events.push(BackendEvent::Context(ContextFill { used, window: self.window }));
        }
        let Some(text) = text_of(chunk) else {
            self.apart = true;
            return UpdateRecognition::No;
        };
        if text.is_empty() {
            return UpdateRecognition::Yes;
        }
        // Such an agent puts its own notes between the words of its model.
        let note = self.agent.tell == FailureSign::ErrorText
            && (text.starts_with("Info: ") || text.starts_with("Error: "));
        let message = chunk.message_id.as_ref().map(|id| &*id.0);
        let other = message.is_some() && message != self.message.as_deref();
        if self.apart || note || other {
            self.answer.set("");
            self.message = message.map(str::to_owned);
        }
        self.apart = note;
        self.answer.push(text);
        text.clone_into(&mut self.last_piece);
        events.push(BackendEvent::Text(text.to_owned()));
        UpdateRecognition::Yes
    }

    fn usage(&mut self, update: &UsageUpdate, events: &mut Vec<BackendEvent>) {
        let window = (update.size > 0).then_some(update.size);
        events.push(BackendEvent::Context(ContextFill { used: update.used, window }));
        if let Some(total) = dollars(update) {
            self.meter.dollars(total);
            events.extend(self.meter.cost().map(|cost| BackendEvent::Cost(RunCost(cost))));
        }
    }

    /// The agent asks whether it may use a tool: its name, kind and title.
    pub(super) fn asked(
        &mut self,
        update: ToolCallUpdate,
        events: &mut Vec<BackendEvent>,
    ) -> (String, ToolKind, Option<String>) {
        let id = update.tool_call_id.to_string();
        self.tool(update, CallMention::Asked, events);
        let call = self.calls.get(&id);
        let kind = call.map_or(ToolKind::Other, AcpToolCall::kind);
        (call.map_or_else(String::new, AcpToolCall::name), kind, call.and_then(AcpToolCall::title))
    }

    /// The tool was refused. Not every agent says that the call is over then.
    pub(super) fn refused(&mut self, id: &str, events: &mut Vec<BackendEvent>) {
        if let Some(call) = self.calls.get_mut(id).filter(|call| call.told == ReportedPart::Call) {
            call.told = ReportedPart::Result;
            call.forget();
            let (status, text) = (ToolStatus::Failed, "not allowed".to_owned());
            events.push(BackendEvent::ToolResult { id: id.to_owned(), status, text });
        }
    }

    fn tool(
        &mut self,
        update: ToolCallUpdate,
        moment: CallMention,
        events: &mut Vec<BackendEvent>,
    ) {
        self.apart = true;
        let id = update.tool_call_id.to_string();
        if !self.calls.contains_key(&id) && self.calls.len() >= CALLS {
            self.calls.pop_first();
        }
        let call = self.calls.entry(id.clone()).or_default();
        let status = update.fields.status.unwrap_or(ToolCallStatus::Pending);
        let raw_output = update.fields.raw_output.clone();
        let has_input = call.merge(update);
        if call.is_compaction() {
            let text = call.text();
            return self.compaction(status, raw_output.as_ref(), text, events);
        }
        let whole = match (moment, self.agent.first_word) {
            (CallMention::Asked, _) => true,
            (CallMention::First, FirstCallDetail::Draft) => false,
            (CallMention::First | CallMention::Later, _) => has_input,
        };
        if call.told == ReportedPart::Nothing && (whole || status != ToolCallStatus::Pending) {
            call.told = ReportedPart::Call;
            events.push(BackendEvent::ToolCall {
                id: id.clone(),
                name: call.name(),
                input: call.input(),
            });
        }
        if call.told == ReportedPart::Call
            && let Some(status) = AcpToolCall::ended(status)
        {
            call.told = ReportedPart::Result;
            events.push(BackendEvent::ToolResult { id, status, text: call.text() });
            call.forget();
        }
    }

    fn compaction(
        &mut self,
        status: ToolCallStatus,
        output: Option<&Value>,
        text: String,
        events: &mut Vec<BackendEvent>,
    ) {
        if status == ToolCallStatus::Failed {
            self.compacted = true;
            events.push(BackendEvent::CompactionFailed(text));
            return;
        }
        if status == ToolCallStatus::Completed {
            self.compaction.get_or_insert_default();
        }
        let (Some(open), Some(output)) = (&mut self.compaction, output) else { return };
        let number = |name: &str| output.get(name).and_then(Value::as_u64);
        open.before = number("preTokens");
        open.after = number("postTokens");
        open.trigger = match output.get("trigger").and_then(Value::as_str) {
            Some("manual") => Some(CompactionTrigger::Manual),
            Some("auto") => Some(CompactionTrigger::Auto),
            _ => None,
        };
        self.tell_compaction(events);
    }

    fn tell_compaction(&mut self, events: &mut Vec<BackendEvent>) {
        let Some(PendingCompaction { trigger, before, after }) = self.compaction.take() else {
            return;
        };
        let usual =
            if self.compacting { CompactionTrigger::Manual } else { CompactionTrigger::Auto };
        self.compacted = true;
        events.push(BackendEvent::Compacted { trigger: trigger.unwrap_or(usual), before, after });
    }

    /// The prompt was answered. Gives the text of a failure that the agent does not call one.
    pub(super) fn end(
        &mut self,
        response: &PromptResponse,
        events: &mut Vec<BackendEvent>,
    ) -> Option<String> {
        let failure = match self.agent.tell {
            FailureSign::ThreadStatus if self.system_error => Some(self.answer().to_owned()),
            FailureSign::ErrorText
                if response.usage.is_none() && self.last_piece.starts_with("Error: ") =>
            {
                Some(self.last_piece.clone())
            }
            _ => None,
        };
        if self.compacting && !self.compacted && failure.is_none() {
            self.compaction.get_or_insert_default();
        }
        self.tell_compaction(events);
        self.meter.answer(response, self.agent.tokens);
        events.extend(self.meter.usage().map(BackendEvent::Usage));
        failure
    }
}

/// When an agent speaks of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallMention {
    First,
    Later,
    Asked,
}

/// A total in dollars. Another currency is no amount of dollars.
fn dollars(update: &UsageUpdate) -> Option<f64> {
    let cost = update.cost.as_ref()?;
    (cost.currency.eq_ignore_ascii_case("usd") && cost.amount >= 0.0).then_some(cost.amount)
}

fn text_of(chunk: &ContentChunk) -> Option<&str> {
    match &chunk.content {
        ContentBlock::Text(text) => Some(&text.text),
        _ => None,
    }
}
