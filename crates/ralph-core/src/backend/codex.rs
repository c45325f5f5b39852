//! OpenAI Codex: `codex exec --json`.
//!
//! One *turn* is one run: it ends in `turn.completed` or `turn.failed`. `error` events before that
//! are retries ("Reconnecting... 2/5") or the reason of the failure that follows. What the agent
//! does comes as items that start and complete. Tokens are totals of the whole session, so what an
//! earlier run used is taken off. Neither cost nor context is reported. A schema goes in as a file, in
//! the form that [`strict`] makes of it; the last message is then JSON, which codex does not check.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::codex_args;
use super::heard::{
    ReportedEnd, ReportedFailure, StreamReader, StreamState, for_people, number, object, text,
};
use super::{
    BackendDriver, BackendEvent, BackendFeatures, BackendReader, BackendRequest, Invocation,
    RunUsage, ScratchFile, ToolStatus, as_words, strict,
};

/// Tools at work that are remembered; beyond that a start is not paired with its end.
const OPEN_TOOLS: usize = 4096;

/// Driver of OpenAI Codex (`codex exec --json`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodexDriver;

impl BackendDriver for CodexDriver {
    fn name(&self) -> &str {
        "codex"
    }

    fn supports(&self) -> BackendFeatures {
        BackendFeatures {
            schema: true,
            resume: true,
            mcp: true,
            system: true,
            ..BackendFeatures::default()
        }
    }

    fn invocation(&self, request: &BackendRequest<'_>) -> Invocation {
        let mut run =
            Invocation { stdin: as_words(request.prompt.to_owned()), ..Invocation::default() };
        run.args.push("exec".to_owned());
        if let Some(id) = request.session.id() {
            run.args.extend(["resume", id].map(str::to_owned));
        }
        // Plugins cost a wait of five seconds at the end of a run without network.
        run.args
            .extend(["--json", "--skip-git-repo-check", "--disable", "plugins"].map(str::to_owned));
        run.args.extend(codex_args::permissions(request.permissions));
        if let Some(model) = request.model {
            run.args.extend(["-m".to_owned(), model.to_owned()]);
        }
        match request.system.map(codex_args::instructions) {
            None => {}
            Some(Some(setting)) => run.args.extend(["-c".to_owned(), setting]),
            Some(None) => run.stdin = super::system_in_prompt(request.system, request.prompt),
        }
        codex_args::mcp(request, &mut run);
        if let Some(schema) = request.schema.and_then(strict::strict) {
            let path = format!("{}/schema.json", request.scratch);
            run.args.extend(["--output-schema".to_owned(), path.clone()]);
            run.files.push(ScratchFile { path, text: schema.to_string() });
        }
        run.args.push("-".to_owned());
        run
    }

    fn reader(&self, request: &BackendRequest<'_>) -> Box<dyn BackendReader> {
        Box::new(CodexReader {
            schema: request.schema.cloned(),
            before: request.session.before(),
            heard: StreamState::new(request),
            open: BTreeSet::new(),
        })
    }
}

struct CodexReader {
    schema: Option<Value>,
    before: RunUsage,
    heard: StreamState,
    open: BTreeSet<String>,
}

impl StreamReader for CodexReader {
    fn heard(&self) -> &StreamState {
        &self.heard
    }

    fn heard_mut(&mut self) -> &mut StreamState {
        &mut self.heard
    }

    fn event(&mut self, event: Map<String, Value>, events: &mut Vec<BackendEvent>) -> Option<()> {
        let event = &event;
        match text(event, "type")? {
            "thread.started" => events.push(self.heard.start(text(event, "thread_id"), None)),
            "turn.started" => self.heard.end = ReportedEnd::Open,
            "turn.completed" => self.completed(event, events),
            "turn.failed" => {
                let error = object(event, "error").and_then(|error| text(error, "message"));
                self.failed(error.unwrap_or("the turn failed"));
                self.heard.end = ReportedEnd::Failed;
                events.push(BackendEvent::Finished);
            }
            "error" => {
                let message = text(event, "message")?;
                match retry(message) {
                    Some(retry) => events.push(retry),
                    None => self.failed(message),
                }
            }
            "item.started" => self.started(object(event, "item")?, events)?,
            "item.completed" => self.done(object(event, "item")?, events)?,
            _ => return None,
        }
        Some(())
    }
}

impl CodexReader {
    fn failed(&mut self, message: &str) {
        let message = for_people(message);
        self.heard.failure = Some(ReportedFailure::Model { message, status: None });
    }

    fn completed(&mut self, event: &Map<String, Value>, events: &mut Vec<BackendEvent>) {
        // What had gone wrong before has been got over.
        self.heard.failure = None;
        self.heard.end = ReportedEnd::Done;
        if let Some(schema) = &self.schema {
            let answer = self.heard.answer.as_str().trim();
            self.heard.structured = serde_json::from_str(answer).ok();
            self.heard.structured.iter_mut().for_each(|answer| strict::loosen(answer, schema));
        }
        if let Some(usage) = object(event, "usage") {
            let total = RunUsage {
                input: number(usage, "input_tokens"),
                cached: number(usage, "cached_input_tokens"),
                output: number(usage, "output_tokens"),
                ..RunUsage::default()
            };
            self.heard.spent = total.since(self.before);
            events.extend(self.heard.spent.tokens().map(BackendEvent::Usage));
        }
        events.push(BackendEvent::Finished);
    }

    fn started(&mut self, item: &Map<String, Value>, events: &mut Vec<BackendEvent>) -> Option<()> {
        let (id, name, input) = tool(item)?;
        if self.open.len() < OPEN_TOOLS {
            self.open.insert(id.to_owned());
        }
        events.push(BackendEvent::ToolCall { id: id.to_owned(), name, input });
        Some(())
    }

    fn done(&mut self, item: &Map<String, Value>, events: &mut Vec<BackendEvent>) -> Option<()> {
        match text(item, "type")? {
            "agent_message" => {
                let said = text(item, "text")?;
                self.heard.answer.set(said);
                events.push(BackendEvent::Text(said.to_owned()));
            }
            "reasoning" => events.push(BackendEvent::Thinking(text(item, "text")?.to_owned())),
            _ => {
                let (id, name, input) = tool(item)?;
                if !self.open.remove(id) {
                    events.push(BackendEvent::ToolCall {
                        id: id.to_owned(),
                        name: name.clone(),
                        input,
                    });
                }
                if text(item, "status") == Some("declined") {
                    self.heard.deny(&name);
                    events.push(BackendEvent::Denied { tool: name, reason: None });
                }
                let (status, text) = result(item);
                events.push(BackendEvent::ToolResult { id: id.to_owned(), status, text });
            }
        }
        Some(())
    }
}

/// Id, name and input of an item that is a tool at work.
fn tool(item: &Map<String, Value>) -> Option<(&str, String, Value)> {
    let kind = text(item, "type")?;
    let field = |key: &str| item.get(key).cloned().unwrap_or(Value::Null);
    let (name, input) = match kind {
        "command_execution" => (kind.to_owned(), json!({ "command": field("command") })),
        "file_change" => (kind.to_owned(), json!({ "changes": field("changes") })),
        "web_search" => (kind.to_owned(), json!({ "query": field("query") })),
        "mcp_tool_call" => {
            (format!("mcp__{}__{}", text(item, "server")?, text(item, "tool")?), field("arguments"))
        }
        _ => return None,
    };
    Some((text(item, "id")?, name, input))
}

/// Return the status and the output of a completed item.
fn result(item: &Map<String, Value>) -> (ToolStatus, String) {
    let error = object(item, "error").and_then(|error| text(error, "message"));
    let exit = item.get("exit_code").and_then(Value::as_i64).unwrap_or(0);
    let bad = matches!(text(item, "status"), Some("failed" | "declined"));
    let status = match bad || exit != 0 || error.is_some() {
        true => ToolStatus::Failed,
        false => ToolStatus::Ok,
    };
    let content = object(item, "result").and_then(|result| result.get("content")?.as_array());
    let said: Vec<&str> = content
        .into_iter()
        .flatten()
        .filter_map(|part| part.get("text")?.as_str())
        .chain(text(item, "aggregated_output"))
        .chain(error)
        .collect();
    (status, said.join("\n"))
}

/// A retry, from `Reconnecting... 2/5 (why)`.
fn retry(message: &str) -> Option<BackendEvent> {
    let rest = message.strip_prefix("Reconnecting... ")?;
    let (count, why) = rest.split_once(' ').unwrap_or((rest, ""));
    let (attempt, of) = count.split_once('/')?;
    let why = why.strip_prefix('(').and_then(|why| why.strip_suffix(')')).unwrap_or(why);
    Some(BackendEvent::Retry {
        attempt: attempt.parse().ok()?,
        of: of.parse().ok(),
        delay_ms: None,
        reason: for_people(why),
    })
}

#[cfg(test)]
#[path = "codex_tests.rs"]
mod tests;
