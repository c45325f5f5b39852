//! Lines of claude's stream, turned into events.
//!
//! Only what the end needs is kept: the last answer, the totals, what was denied and the last error.
//! An `assistant` event holds one block of a message, and its `usage` is that of the whole call of
//! the model, so context and tokens are taken once per message. Events with a `parent_tool_use_id`
//! come from a subagent, which has a context of its own and does not give the answer.

use serde_json::{Map, Value};

use super::account::{ClaudeUsageTracker, tokens};
use super::events::{is_tool_result, objects, owned, retry, tool_result, window};
use super::judge;
use crate::backend::heard::{
    MOST_TEXT, ReportedEnd, StreamReader, StreamState, is_true, number, object, status, text,
};
use crate::backend::{
    BackendEvent, BackendExit, BackendOutcome, BackendRequest, CompactionTrigger, ContextFill,
    LimitStatus, RateLimit, RunCost, TokenUsage, wire,
};

/// Reader for the output of one run of claude.
#[derive(Debug)]
pub(super) struct ClaudeReader {
    pub(super) heard: StreamState,
    wants_schema: bool,
    model: Option<String>,
    window: Option<u64>,
    context: Option<ContextFill>,
    /// The message that the answer, the context and the counted tokens belong to.
    message: String,
    /// The next words are those of another message.
    answer_is_old: bool,
    is_started: bool,
    account: ClaudeUsageTracker,
    /// When the limit that was hit is lifted.
    pub(super) resets_at: Option<i64>,
    pub(super) error: Option<ApiFailure>,
    pub(super) result: Option<ClaudeResult>,
}

/// Report of the program that a call to its model failed for good.
#[derive(Debug, Default)]
pub(super) struct ApiFailure {
    pub(super) kind: String,
    pub(super) status: Option<u16>,
    pub(super) text: String,
}

#[derive(Clone, Copy)]
enum MessageSpeaker {
    Main,
    Subagent,
    /// The program itself, about a call that failed.
    Failure,
}

/// The `result` event, as far as the judgement needs it.
#[derive(Debug)]
pub(super) struct ClaudeResult {
    pub(super) subtype: String,
    pub(super) reason: String,
    pub(super) is_error: bool,
    pub(super) status: Option<u16>,
    pub(super) text: String,
}

impl StreamReader for ClaudeReader {
    fn heard(&self) -> &StreamState {
        &self.heard
    }

    fn heard_mut(&mut self) -> &mut StreamState {
        &mut self.heard
    }

    fn judge(&self, exit: &BackendExit, stderr: &str) -> BackendOutcome {
        judge::outcome(self, &self.heard, exit, stderr)
    }

    fn event(&mut self, line: Map<String, Value>, events: &mut Vec<BackendEvent>) -> Option<()> {
        if self.heard.session.is_none() {
            self.heard.session = text(&line, "session_id").map(str::to_owned);
        }
        match text(&line, "type")? {
            "assistant" => self.assistant(&line, events),
            // Other words in a `user` event are the program's own, to its model.
            "user" => {
                let blocks =
                    objects(line.get("message").and_then(|message| message.get("content")));
                events.extend(blocks.filter(|block| is_tool_result(block)).map(tool_result));
                Some(())
            }
            "system" => self.system(&line, events),
            "result" => {
                self.result(line, events);
                Some(())
            }
            "rate_limit_event" => self.rate_limit(object(&line, "rate_limit_info")?, events),
            _ => None,
        }
    }
}

impl ClaudeReader {
    pub(super) fn new(request: &BackendRequest<'_>) -> Self {
        Self {
            heard: StreamState::new(request),
            wants_schema: request.schema.is_some(),
            account: ClaudeUsageTracker::new(&request.session),
            model: None,
            window: None,
            context: None,
            message: String::new(),
            answer_is_old: false,
            is_started: false,
            resets_at: None,
            error: None,
            result: None,
        }
    }

    fn assistant(
        &mut self,
        line: &Map<String, Value>,
        events: &mut Vec<BackendEvent>,
    ) -> Option<()> {
        let message = object(line, "message")?;
        let blocks = message.get("content").filter(|content| content.is_array())?;
        let speaker = if is_true(line, "is_api_error_message") || text(line, "error").is_some() {
            self.error = Some(ApiFailure {
                kind: owned(line, "error"),
                status: status(line, "api_error_status"),
                text: String::new(),
            });
            MessageSpeaker::Failure
        } else if text(line, "parent_tool_use_id").is_some() {
            MessageSpeaker::Subagent
        } else {
            self.turn(text(message, "id").unwrap_or_default(), object(message, "usage"), events);
            MessageSpeaker::Main
        };
        let mut understood = Some(());
        for block in objects(Some(blocks)) {
            match text(block, "type") {
                Some("text") => self.text(owned(block, "text"), speaker, events),
                Some("thinking") => {
                    let thought = text(block, "thinking").map(str::to_owned);
                    events.extend(thought.map(BackendEvent::Thinking));
                }
                // Encrypted: there is nothing to read in it.
                Some("redacted_thinking") => {}
                Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
                    events.push(BackendEvent::ToolCall {
                        id: owned(block, "id"),
                        name: owned(block, "name"),
                        input: block.get("input").cloned().unwrap_or_default(),
                    });
                }
                // Tools that run on the provider's side come back in the same message.
                _ if is_tool_result(block) => events.push(tool_result(block)),
                _ => understood = None,
            }
        }
        understood
    }

    /// A block of the main agent's message: the first one of each message counts.
    fn turn(
        &mut self,
        id: &str,
        usage: Option<&Map<String, Value>>,
        events: &mut Vec<BackendEvent>,
    ) {
        // It goes on: what it said about being finished was about an earlier turn.
        self.result = None;
        self.heard.end = ReportedEnd::Open;
        let is_new = id.is_empty() || self.message != id;
        if is_new {
            id.clone_into(&mut self.message);
            self.answer_is_old = true;
        }
        let Some(call) = usage.map(tokens) else { return };
        let Some(input) = call.input else { return };
        if is_new {
            self.heard.spent = self.account.with_call(self.heard.spent, call);
        }
        self.fill(input, events);
    }

    fn text(&mut self, text: String, speaker: MessageSpeaker, events: &mut Vec<BackendEvent>) {
        if text.is_empty() {
            return;
        }
        match speaker {
            MessageSpeaker::Main => match std::mem::take(&mut self.answer_is_old) {
                true => self.heard.answer.set(&text),
                false => self.heard.answer.push(&text),
            },
            MessageSpeaker::Failure => {
                if let Some(error) = &mut self.error {
                    error.text.push_str(wire::tail(&text, MOST_TEXT));
                }
            }
            MessageSpeaker::Subagent => {}
        }
        events.push(BackendEvent::Text(text));
    }

    /// The context holds this much now.
    fn fill(&mut self, used: u64, events: &mut Vec<BackendEvent>) {
        let now = ContextFill { used, window: self.window };
        if self.context != Some(now) {
            self.context = Some(now);
            events.push(BackendEvent::Context(now));
        }
    }

    fn system(&mut self, line: &Map<String, Value>, events: &mut Vec<BackendEvent>) -> Option<()> {
        match text(line, "subtype")? {
            "init" => self.init(line, events),
            "api_retry" => events.push(retry(line)),
            "status" => {
                if text(line, "compact_result") == Some("failed") {
                    events.push(BackendEvent::CompactionFailed(owned(line, "compact_error")));
                }
            }
            "compact_boundary" => {
                let done = object(line, "compact_metadata")?;
                let trigger = match text(done, "trigger") {
                    Some("manual") => CompactionTrigger::Manual,
                    _ => CompactionTrigger::Auto,
                };
                let (before, after) = (number(done, "pre_tokens"), number(done, "post_tokens"));
                events.push(BackendEvent::Compacted { trigger, before, after });
                if let Some(after) = after {
                    self.fill(after, events);
                }
            }
            "permission_denied" => {
                let reason = text(line, "message").map(|why| wire::head(why.to_owned(), MOST_TEXT));
                let tool = owned(line, "tool_name");
                self.heard.deny(&tool);
                events.push(BackendEvent::Denied { tool, reason });
            }
            _ => return None,
        }
        Some(())
    }

    /// Report the start of the session.
    /// The `init` event comes again for each turn and after a compaction. Only changes are reported.
    fn init(&mut self, line: &Map<String, Value>, events: &mut Vec<BackendEvent>) {
        let (session, model) = (text(line, "session_id"), text(line, "model"));
        if self.is_started
            && session == self.heard.session.as_deref()
            && model == self.model.as_deref()
        {
            return;
        }
        self.is_started = true;
        self.model = model.map(str::to_owned);
        events.push(self.heard.start(session, model));
    }

    fn rate_limit(
        &mut self,
        limit: &Map<String, Value>,
        events: &mut Vec<BackendEvent>,
    ) -> Option<()> {
        let resets_at = number(limit, "resetsAt").and_then(|time| i64::try_from(time).ok());
        let status = match text(limit, "status")? {
            "allowed" => return Some(()),
            "allowed_warning" => LimitStatus::Warning,
            "rejected" => {
                self.resets_at = resets_at;
                LimitStatus::Rejected
            }
            _ => return None,
        };
        let kind = text(limit, "rateLimitType").map(str::to_owned);
        events.push(BackendEvent::RateLimit(RateLimit { status, resets_at, kind }));
        Some(())
    }

    fn result(&mut self, mut line: Map<String, Value>, events: &mut Vec<BackendEvent>) {
        let spent = self.account.with_result(&line);
        self.heard.spent = spent;
        if spent.input.is_some() || spent.output.is_some() {
            let [input, cached, output] =
                [spent.input, spent.cached, spent.output].map(Option::unwrap_or_default);
            events.push(BackendEvent::Usage(TokenUsage { input, cached, output }));
        }
        events.extend(spent.cost.map(|dollars| BackendEvent::Cost(RunCost(dollars))));
        if let Some(models) = object(&line, "modelUsage") {
            self.window = window(models, self.model.as_deref()).or(self.window);
        }
        if let Some(context) = self.context {
            self.fill(context.used, events);
        }
        // Old versions tell of denials only here.
        let is_news = self.heard.denied.is_empty();
        for denial in objects(line.get("permission_denials")) {
            let tool = owned(denial, "tool_name");
            self.heard.deny(&tool);
            if is_news {
                events.push(BackendEvent::Denied { tool, reason: None });
            }
        }
        // Any one of the three is enough: none of them comes with a good end.
        let status = status(&line, "api_error_status");
        let reason = owned(&line, "terminal_reason");
        let is_error = is_true(&line, "is_error") || status.is_some() || reason == "api_error";
        let structured = line.remove("structured_output").filter(|answer| !answer.is_null());
        let answer = text(&line, "result");
        let said = answer.map_or_else(|| errors(&line), str::to_owned);
        if structured.is_some() {
            self.heard.structured = structured;
        } else if self.wants_schema && !is_error {
            self.heard.structured = serde_json::from_str(&said).ok().filter(is_composed);
        }
        if let Some(answer) = answer.filter(|_| !is_error) {
            self.heard.answer.set(answer);
        }
        let (subtype, text) = (owned(&line, "subtype"), wire::head(said, MOST_TEXT));
        self.result = Some(ClaudeResult { subtype, reason, is_error, status, text });
        self.heard.end = ReportedEnd::Done;
        events.push(BackendEvent::Finished);
    }
}

fn errors(line: &Map<String, Value>) -> String {
    let errors = line.get("errors").and_then(Value::as_array).into_iter().flatten();
    errors.filter_map(Value::as_str).collect::<Vec<_>>().join("; ")
}

/// A schema asks for an object or a list; a bare word that happens to be JSON is prose.
fn is_composed(value: &Value) -> bool {
    value.is_object() || value.is_array()
}
