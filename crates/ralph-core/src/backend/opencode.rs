//! opencode: `opencode run --format json`.
//!
//! Work comes in steps: `step_start`, texts and tool uses, `step_finish` with the tokens and the cost
//! of that step. There is no last event: a run is good when its last step finished with the reason
//! `stop`, no `error` came, and it exits with 0. Without `--auto` the first question that nobody
//! answers ends the run, also with 0. Configuration goes in through one variable, which adds to the
//! user's own. A cost of 0 for tokens that were used means that opencode knows no price.

use serde_json::{Map, Value, json};

use super::heard::{
    ReportedEnd, ReportedFailure, StreamReader, StreamState, for_people, is_true, number, object,
    real, status, text,
};
use super::mcp::{McpTransport, servers};
use super::{
    BackendDriver, BackendEvent, BackendFeatures, BackendOutcome, BackendPermissions,
    BackendReader, BackendRequest, CompactionTrigger, Invocation, RunCost, ScratchFile, TokenUsage,
    ToolStatus, as_words,
};

/// Driver of opencode (`opencode run --format json`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCodeDriver;

impl BackendDriver for OpenCodeDriver {
    fn name(&self) -> &str {
        "opencode"
    }

    fn supports(&self) -> BackendFeatures {
        BackendFeatures {
            resume: true,
            cost: true,
            mcp: true,
            system: true,
            ..BackendFeatures::default()
        }
    }

    fn invocation(&self, request: &BackendRequest<'_>) -> Invocation {
        let mut run = Invocation {
            env: vec![("OPENCODE_DISABLE_AUTOUPDATE".to_owned(), "1".to_owned())],
            stdin: as_words(request.prompt.to_owned()),
            ..Invocation::default()
        };
        run.args.extend(["run", "--format", "json"].map(str::to_owned));
        if request.permissions != BackendPermissions::Default {
            // It allows what is not denied; looking only is a matter of denying the rest.
            run.args.push("--auto".to_owned());
        }
        if let Some(model) = request.model {
            run.args.extend(["-m".to_owned(), model.to_owned()]);
        }
        if let Some(id) = request.session.id() {
            run.args.extend(["--session".to_owned(), id.to_owned()]);
        }
        let mut config = Map::new();
        if request.permissions == BackendPermissions::ReadOnly {
            config.insert("permission".to_owned(), json!({ "edit": "deny", "bash": "deny" }));
        }
        if let Some(system) = request.system {
            let path = format!("{}/instructions.md", request.scratch);
            config.insert("instructions".to_owned(), json!([path]));
            run.files.push(ScratchFile { path, text: system.to_owned() });
        }
        let mcp: Map<String, Value> = servers(request.mcp)
            .iter()
            .map(|server| (server.name.to_owned(), server_config(&server.at)))
            .collect();
        if !mcp.is_empty() {
            config.insert("mcp".to_owned(), Value::Object(mcp));
        }
        if !config.is_empty() {
            let config = Value::Object(config).to_string();
            run.env.push(("OPENCODE_CONFIG_CONTENT".to_owned(), config));
        }
        run
    }

    fn reader(&self, request: &BackendRequest<'_>) -> Box<dyn BackendReader> {
        Box::new(OpenCodeReader {
            heard: StreamState::new(request),
            message: None,
            is_unpriced: false,
        })
    }
}

fn server_config(at: &McpTransport<'_>) -> Value {
    let object = |pairs: &[(&str, &str)]| -> Map<String, Value> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
    };
    match at {
        McpTransport::Program { command, args, env } => {
            let words: Vec<&str> = std::iter::once(*command).chain(args.iter().copied()).collect();
            json!({ "type": "local", "command": words, "environment": object(env), "enabled": true })
        }
        McpTransport::Url { url, headers } => {
            json!({ "type": "remote", "url": url, "headers": object(headers), "enabled": true })
        }
    }
}

struct OpenCodeReader {
    heard: StreamState,
    /// The message that the answer is a part of.
    message: Option<String>,
    /// Some step used tokens that have no price, so the cost is not known.
    is_unpriced: bool,
}

impl StreamReader for OpenCodeReader {
    fn heard(&self) -> &StreamState {
        &self.heard
    }

    fn heard_mut(&mut self) -> &mut StreamState {
        &mut self.heard
    }

    /// Never: after a step that stopped there can be another, as when it has compacted its context.
    fn has_ended(&self) -> bool {
        false
    }

    fn event(&mut self, event: Map<String, Value>, events: &mut Vec<BackendEvent>) -> Option<()> {
        let event = &event;
        let kind = text(event, "type")?;
        if self.heard.session.is_none()
            && let session @ Some(_) = text(event, "sessionID")
        {
            events.push(self.heard.start(session, None));
        }
        match kind {
            "step_start" => self.heard.end = ReportedEnd::Open,
            "text" => self.text(object(event, "part")?, events)?,
            "reasoning" => {
                events
                    .push(BackendEvent::Thinking(text(object(event, "part")?, "text")?.to_owned()));
            }
            "tool_use" => self.tool(object(event, "part")?, events)?,
            "step_finish" => self.step(object(event, "part")?, events),
            "error" => self.failed(object(event, "error")?),
            _ => return None,
        }
        Some(())
    }
}

impl OpenCodeReader {
    /// The last error is the one it ended with, but for the word that it was ended by one.
    fn failed(&mut self, error: &Map<String, Value>) {
        if self.heard.failure.is_none() || text(error, "name") != Some("MessageAbortedError") {
            self.heard.failure = Some(failure(error));
        }
    }

    fn text(&mut self, part: &Map<String, Value>, events: &mut Vec<BackendEvent>) -> Option<()> {
        let said = text(part, "text")?;
        let metadata = object(part, "metadata");
        if metadata.is_some_and(|metadata| metadata.contains_key("compaction_continue")) {
            let trigger = CompactionTrigger::Auto;
            events.push(BackendEvent::Compacted { trigger, before: None, after: None });
            return Some(());
        }
        if is_true(part, "synthetic") {
            return None;
        }
        let message = text(part, "messageID").map(str::to_owned);
        match message.is_some() && message == self.message {
            true => {
                self.heard.answer.push("\n");
                self.heard.answer.push(said);
            }
            false => self.heard.answer.set(said),
        }
        self.message = message;
        events.push(BackendEvent::Text(said.to_owned()));
        Some(())
    }

    /// A tool, told when it has come back.
    fn tool(&mut self, part: &Map<String, Value>, events: &mut Vec<BackendEvent>) -> Option<()> {
        let state = object(part, "state")?;
        let (id, name) = (text(part, "callID")?, text(part, "tool")?);
        let input = state.get("input").cloned().unwrap_or(Value::Null);
        events.push(BackendEvent::ToolCall { id: id.to_owned(), name: name.to_owned(), input });
        let error = text(state, "error");
        if let Some(reason) = error.filter(|error| is_denial(error)) {
            self.heard.deny(name);
            let reason = Some(for_people(reason));
            events.push(BackendEvent::Denied { tool: name.to_owned(), reason });
        }
        let status = match text(state, "status") {
            Some("completed") => ToolStatus::Ok,
            _ => ToolStatus::Failed,
        };
        let text = error.or_else(|| text(state, "output")).unwrap_or_default().to_owned();
        events.push(BackendEvent::ToolResult { id: id.to_owned(), status, text });
        Some(())
    }

    fn step(&mut self, part: &Map<String, Value>, events: &mut Vec<BackendEvent>) {
        self.heard.end = match text(part, "reason") {
            Some("stop") => ReportedEnd::Stopped,
            _ => ReportedEnd::Open,
        };
        self.heard.spent.turns = Some(self.heard.spent.turns.unwrap_or(0) + 1);
        let Some(usage) = object(part, "tokens").map(usage) else { return };
        // A step whose stream broke reports zeros; what it used is not known.
        if usage == TokenUsage::default() {
            return;
        }
        self.heard.spent.add(usage);
        events.extend(self.heard.spent.tokens().map(BackendEvent::Usage));
        let cost = real(part, "cost").filter(|cost| *cost > 0.0);
        self.is_unpriced |= cost.is_none();
        let sum = cost.map(|cost| self.heard.spent.cost.unwrap_or(0.0) + cost);
        self.heard.spent.cost = sum.filter(|_| !self.is_unpriced);
        events.extend(self.heard.spent.cost.map(|cost| BackendEvent::Cost(RunCost(cost))));
    }
}

/// Tokens of one step: what came from and went to the cache is counted beside the input.
fn usage(tokens: &Map<String, Value>) -> TokenUsage {
    let cache = |key| object(tokens, "cache").and_then(|cache| number(cache, key)).unwrap_or(0);
    let count = |key| number(tokens, key).unwrap_or(0);
    let cached = cache("read");
    TokenUsage {
        input: count("input").saturating_add(cached).saturating_add(cache("write")),
        cached,
        output: count("output").saturating_add(count("reasoning")),
    }
}

fn is_denial(error: &str) -> bool {
    error.contains("rejected permission") || error.contains("rule which prevents")
}

/// Convert the error of an `error` event into a failure.
fn failure(error: &Map<String, Value>) -> ReportedFailure {
    let data = object(error, "data");
    let name = text(error, "name").unwrap_or("error");
    let message = for_people(data.and_then(|data| text(data, "message")).unwrap_or(name));
    match name {
        "ContextOverflowError" => ReportedFailure::Known(BackendOutcome::ContextLimit),
        "ProviderAuthError" => ReportedFailure::Known(BackendOutcome::NotLoggedIn { message }),
        "APIError" => ReportedFailure::Model {
            message,
            status: data.and_then(|data| status(data, "statusCode")),
        },
        _ => ReportedFailure::Program { message },
    }
}

#[cfg(test)]
#[path = "opencode_tests.rs"]
mod tests;
