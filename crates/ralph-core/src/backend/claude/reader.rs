//! Lines of claude's stream, turned into events.
//!
//! Only what the end needs is kept: the last answer, the totals, what was denied and the last error.
//! An `assistant` event holds one block of a message, and its `usage` is that of the whole call of
//! the model, so context and tokens are taken once per message. Events with a `parent_tool_use_id`
//! come from a subagent, which has a context of its own and does not give the answer.

use serde_json::Value;

use super::account::{Account, sum};
use super::events::{MOST_TEXT, retry, tool_result, tool_results, unknown, window};
use super::judge;
use super::line::{Limit, Line, Message, Tokens};
use crate::backend::wire::{self, Object, Scalar, Shape};
use crate::backend::{
    CompactionTrigger, Context, Event, Exit, LimitStatus, MOST_ANSWER, Money, Outcome, Permissions,
    RateLimit, Reader, Request, Spent, Usage,
};

/// Most distinct tools that are remembered as denied.
const MOST_DENIED: usize = 32;

/// Reads one run of claude.
#[derive(Debug)]
pub(super) struct ClaudeReader {
    pub(super) permissions: Permissions,
    wants_schema: bool,
    session: Option<String>,
    model: Option<String>,
    window: Option<u64>,
    context: Option<Context>,
    /// The message that the answer, the context and the counted tokens belong to.
    message: String,
    answer: String,
    /// The next words are those of another message.
    answer_is_old: bool,
    structured: Option<Value>,
    is_started: bool,
    account: Account,
    pub(super) denied: Vec<String>,
    /// When the limit that was hit is lifted.
    pub(super) resets_at: Option<i64>,
    pub(super) error: Option<ApiFailure>,
    pub(super) result: Option<Ended>,
    pub(super) seen: Seen,
}

/// What the program says when its model fails for good.
#[derive(Debug, Default)]
pub(super) struct ApiFailure {
    pub(super) kind: String,
    pub(super) status: Option<u16>,
    pub(super) text: String,
}

#[derive(Clone, Copy)]
enum Speaker {
    Main,
    Subagent,
    /// The program itself, about a call that failed.
    Failure,
}

/// The `result` event, as far as the judgement needs it.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) subtype: String,
    pub(super) reason: String,
    pub(super) is_error: bool,
    pub(super) status: Option<u16>,
    pub(super) text: String,
}

/// Whether there were events at all, and what was not one.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) events: bool,
    /// The first line that is no JSON object.
    pub(super) broken: Option<String>,
    pub(super) last_is_broken: bool,
}

impl ClaudeReader {
    pub(super) fn new(request: &Request<'_>) -> Self {
        Self {
            permissions: request.permissions,
            wants_schema: request.schema.is_some(),
            account: Account::new(&request.session),
            session: None,
            model: None,
            window: None,
            context: None,
            message: String::new(),
            answer: String::new(),
            answer_is_old: false,
            structured: None,
            is_started: false,
            denied: Vec::new(),
            resets_at: None,
            error: None,
            result: None,
            seen: Seen::default(),
        }
    }

    fn take(&mut self, line: Line<'_>, raw: &[u8], events: &mut Vec<Event>) {
        self.seen.events = true;
        self.seen.last_is_broken = false;
        if self.session.is_none() {
            self.session = line.session_id.str().map(str::to_owned);
        }
        match line.kind.str() {
            Some("assistant") => self.assistant(line, raw, events),
            Some("user") => tool_results(line, events),
            Some("system") => self.system(line, raw, events),
            Some("result") => self.result(line, events),
            Some("rate_limit_event") => self.rate_limit(line.rate_limit_info, raw, events),
            _ => unknown(raw, events),
        }
    }

    fn assistant(&mut self, line: Line<'_>, raw: &[u8], events: &mut Vec<Event>) {
        let Shape::Object(Message { id, content: Shape::List(blocks), usage }) = line.message
        else {
            return unknown(raw, events);
        };
        let speaker = if line.is_api_error_message.is_true() || line.error.str().is_some() {
            self.error = Some(ApiFailure {
                kind: line.error.into_string().unwrap_or_default(),
                status: status(&line.api_error_status),
                text: String::new(),
            });
            Speaker::Failure
        } else if line.parent_tool_use_id.str().is_some() {
            Speaker::Subagent
        } else {
            self.turn(id.str().unwrap_or_default(), usage.0, events);
            Speaker::Main
        };
        for block in blocks.into_iter().filter_map(|block| block.0) {
            match block.kind.str() {
                Some("text") => self.text(block.text, speaker, events),
                Some("thinking") => {
                    events.extend(block.thinking.into_string().map(Event::Thinking));
                }
                // Encrypted: there is nothing to read in it.
                Some("redacted_thinking") => {}
                Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
                    events.push(Event::ToolCall {
                        id: block.id.into_string().unwrap_or_default(),
                        name: block.name.into_string().unwrap_or_default(),
                        input: block.input,
                    });
                }
                // Tools that run on the provider's side come back in the same message.
                Some(kind) if kind.ends_with("tool_result") => events.push(tool_result(block)),
                _ => unknown(raw, events),
            }
        }
    }

    /// A block of the main agent's message: the first one of each message counts.
    fn turn(&mut self, id: &str, usage: Option<Tokens<'_>>, events: &mut Vec<Event>) {
        // It goes on: what it said about being finished was about an earlier turn.
        self.result = None;
        let is_new = id.is_empty() || self.message != id;
        if is_new {
            id.clone_into(&mut self.message);
            self.answer_is_old = true;
        }
        let Some(usage) = usage else { return };
        let cached = usage.cache_read_input_tokens.whole();
        let created = usage.cache_creation_input_tokens.whole();
        let Some(input) = sum([usage.input_tokens.whole(), cached, created]) else { return };
        if is_new {
            self.account.message(input, cached);
        }
        self.fill(input, events);
    }

    fn text(&mut self, text: Scalar<'_>, speaker: Speaker, events: &mut Vec<Event>) {
        let Some(text) = text.into_string().filter(|text| !text.is_empty()) else { return };
        match speaker {
            Speaker::Main => {
                if std::mem::take(&mut self.answer_is_old) {
                    self.answer.clear();
                }
                self.answer.push_str(wire::tail(&text, MOST_ANSWER));
                let extra = self.answer.len().saturating_sub(MOST_ANSWER);
                self.answer.drain(..self.answer.ceil_char_boundary(extra));
            }
            Speaker::Failure => {
                if let Some(error) = &mut self.error {
                    error.text.push_str(wire::tail(&text, MOST_TEXT));
                }
            }
            Speaker::Subagent => {}
        }
        events.push(Event::Text(text));
    }

    /// The context holds this much now.
    fn fill(&mut self, used: u64, events: &mut Vec<Event>) {
        let now = Context { used, window: self.window };
        if self.context != Some(now) {
            self.context = Some(now);
            events.push(Event::Context(now));
        }
    }

    fn system(&mut self, line: Line<'_>, raw: &[u8], events: &mut Vec<Event>) {
        match line.subtype.str() {
            Some("init") => self.init(line, events),
            Some("api_retry") => events.push(retry(&line)),
            Some("status") => {
                if line.compact_result.str() == Some("failed") {
                    let why = line.compact_error.into_string().unwrap_or_default();
                    events.push(Event::CompactionFailed(why));
                }
            }
            Some("compact_boundary") => {
                let Some(done) = line.compact_metadata.0 else { return unknown(raw, events) };
                let trigger = match done.trigger.str() {
                    Some("manual") => CompactionTrigger::Manual,
                    _ => CompactionTrigger::Auto,
                };
                let (before, after) = (done.pre_tokens.whole(), done.post_tokens.whole());
                events.push(Event::Compacted { trigger, before, after });
                if let Some(after) = after {
                    self.fill(after, events);
                }
            }
            Some("permission_denied") => {
                let reason = match line.message {
                    Shape::Text(text) => Some(wire::head(text.into_owned(), MOST_TEXT)),
                    _ => None,
                };
                let tool = line.tool_name.into_string().unwrap_or_default();
                self.deny(&tool);
                events.push(Event::Denied { tool, reason });
            }
            _ => unknown(raw, events),
        }
    }

    /// It comes again for each turn and after a compaction; only news is told.
    fn init(&mut self, line: Line<'_>, events: &mut Vec<Event>) {
        let session = line.session_id.into_string();
        let model = line.model.into_string();
        if self.is_started && session == self.session && model == self.model {
            return;
        }
        self.is_started = true;
        self.session.clone_from(&session);
        self.model.clone_from(&model);
        events.push(Event::Started { session, model });
    }

    fn deny(&mut self, tool: &str) {
        if self.denied.len() < MOST_DENIED && !self.denied.iter().any(|known| known == tool) {
            self.denied.push(tool.to_owned());
        }
    }

    fn rate_limit(&mut self, limit: Object<Limit<'_>>, raw: &[u8], events: &mut Vec<Event>) {
        let Some(limit) = limit.0 else { return unknown(raw, events) };
        let resets_at = limit.resets_at.whole().and_then(|time| i64::try_from(time).ok());
        let status = match limit.status.str() {
            Some("allowed") => return,
            Some("allowed_warning") => LimitStatus::Warning,
            Some("rejected") => {
                self.resets_at = resets_at;
                LimitStatus::Rejected
            }
            _ => return unknown(raw, events),
        };
        let kind = limit.rate_limit_type.into_string();
        events.push(Event::RateLimit(RateLimit { status, resets_at, kind }));
    }

    fn result(&mut self, line: Line<'_>, events: &mut Vec<Event>) {
        self.account.result(&line);
        let Spent { input, cached, output, cost, .. } = self.account.spent;
        if input.is_some() || output.is_some() {
            let [input, cached, output] = [input, cached, output].map(Option::unwrap_or_default);
            events.push(Event::Usage(Usage { input, cached, output }));
        }
        events.extend(cost.map(|dollars| Event::Cost(Money(dollars))));
        if let Some(models) = &line.models.0 {
            self.window = window(models, self.model.as_deref()).or(self.window);
        }
        if let Some(context) = self.context {
            self.fill(context.used, events);
        }
        // Old versions tell of denials only here.
        let is_news = self.denied.is_empty();
        for denial in line.permission_denials.0.into_iter().filter_map(|denial| denial.0) {
            let tool = denial.tool_name.into_string().unwrap_or_default();
            self.deny(&tool);
            if is_news {
                events.push(Event::Denied { tool, reason: None });
            }
        }
        // Any one of the three is enough: none of them comes with a good end.
        let status = status(&line.api_error_status);
        let reason = line.terminal_reason.into_string().unwrap_or_default();
        let is_error = line.is_error.is_true() || status.is_some() || reason == "api_error";
        let text = line.result.into_string();
        let said = match &text {
            Some(text) => text.clone(),
            None => line.errors.0.iter().filter_map(Scalar::str).collect::<Vec<_>>().join("; "),
        };
        if !line.structured_output.is_null() {
            self.structured = Some(line.structured_output);
        } else if self.wants_schema && !is_error {
            self.structured = serde_json::from_str(&said).ok().filter(is_composed);
        }
        if let Some(text) = text.filter(|_| !is_error) {
            self.answer = wire::tail(&text, MOST_ANSWER).to_owned();
        }
        self.result = Some(Ended {
            subtype: line.subtype.into_string().unwrap_or_default(),
            reason,
            is_error,
            status,
            text: wire::head(said, MOST_TEXT),
        });
        events.push(Event::Finished);
    }
}

impl Reader for ClaudeReader {
    fn line(&mut self, line: &[u8], events: &mut Vec<Event>) {
        let start = line.trim_ascii_start();
        if start.is_empty() {
            return;
        }
        // A list would pass for the fields in order.
        if start.starts_with(b"{") {
            if let Ok(parsed) = serde_json::from_slice(start) {
                return self.take(parsed, start, events);
            }
            if let Some(text) = wire::repair(start)
                && let Ok(parsed) = serde_json::from_str(&text)
            {
                return self.take(parsed, start, events);
            }
        }
        unknown(line, events);
        self.seen.last_is_broken = true;
        self.seen.broken.get_or_insert_with(|| {
            let most = start.len().min(200);
            String::from_utf8_lossy(&start[..most]).into_owned()
        });
    }

    fn is_finished(&self) -> bool {
        self.result.is_some()
    }

    fn outcome(&mut self, exit: &Exit, stderr: &str) -> Outcome {
        judge::outcome(self, exit, stderr)
    }

    fn answer(&self) -> &str {
        &self.answer
    }

    fn structured(&self) -> Option<&Value> {
        self.structured.as_ref()
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn spent(&self) -> Spent {
        self.account.spent
    }
}

fn status(status: &Scalar<'_>) -> Option<u16> {
    status.whole().and_then(|status| u16::try_from(status).ok())
}

/// A schema asks for an object or a list; a bare word that happens to be JSON is prose.
fn is_composed(value: &Value) -> bool {
    value.is_object() || value.is_array()
}
