//! Gemini CLI: `gemini -o stream-json`.
//!
//! `init`, then pieces of assistant text, tool uses and their results, then one `result` with the
//! tokens of this run. A failed call ends in a `result` with an error, and the exit code is the HTTP
//! status modulo 256. Retries are told on standard error only. There is no option for instructions,
//! so they go before the prompt. MCP servers and a number of turns can only be set in the user's or
//! the project's settings, or in a system file that must belong to root: none of them is ralph's.

use serde_json::{Map, Value};

use super::heard::{
    ReportedEnd, ReportedFailure, StreamReader, StreamState, for_people, is_true, last_lines,
    number, object, of_model, of_our_doing, status, text,
};
use super::{
    BackendDriver, BackendEvent, BackendExit, BackendFeatures, BackendOutcome, BackendPermissions,
    BackendReader, BackendRequest, Invocation, ProcessEnding, ToolStatus, as_words,
};

/// Statuses that a provider answers with and that an exit code can stand for.
const STATUSES: [u16; 14] = [400, 401, 402, 403, 404, 408, 413, 429, 500, 502, 503, 504, 522, 529];

/// Tools that change files or run commands.
const CHANGING: [&str; 3] = ["write_file", "replace", "run_shell_command"];

/// Exit codes with a meaning of their own.
const NO_CREDENTIALS: i32 = 41;
const TURN_LIMIT: i32 = 53;
const NOT_TRUSTED: i32 = 55;

/// Driver of Gemini CLI (`gemini -o stream-json`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeminiDriver;

impl BackendDriver for GeminiDriver {
    fn name(&self) -> &str {
        "gemini"
    }

    fn supports(&self) -> BackendFeatures {
        BackendFeatures { resume: true, ..BackendFeatures::default() }
    }

    fn invocation(&self, request: &BackendRequest<'_>) -> Invocation {
        let mut run = Invocation {
            // Otherwise it starts itself again as a child, and the parent ignores signals.
            env: vec![("GEMINI_CLI_NO_RELAUNCH".to_owned(), "true".to_owned())],
            stdin: as_words(super::system_in_prompt(request.system, request.prompt)),
            ..Invocation::default()
        };
        // An untrusted folder would take back what is allowed here.
        run.args.extend(["--skip-trust", "-o", "stream-json"].map(str::to_owned));
        match request.permissions {
            BackendPermissions::Bypass => run.args.push("--yolo".to_owned()),
            BackendPermissions::Default => {}
            // The tools that change something are then not offered at all.
            BackendPermissions::ReadOnly => {
                run.args.extend(["--approval-mode", "default"].map(str::to_owned));
            }
        }
        if let Some(model) = request.model {
            run.args.extend(["-m".to_owned(), model.to_owned()]);
        }
        if let Some(id) = request.session.id() {
            run.args.extend(["--resume".to_owned(), id.to_owned()]);
        }
        run
    }

    fn reader(&self, request: &BackendRequest<'_>) -> Box<dyn BackendReader> {
        Box::new(GeminiReader { heard: StreamState::new(request), in_message: false })
    }
}

struct GeminiReader {
    heard: StreamState,
    /// Whether the next piece of text goes on with the last one.
    in_message: bool,
}

impl StreamReader for GeminiReader {
    fn heard(&self) -> &StreamState {
        &self.heard
    }

    fn heard_mut(&mut self) -> &mut StreamState {
        &mut self.heard
    }

    fn judge(&self, exit: &BackendExit, stderr: &str) -> BackendOutcome {
        if let Some(outcome) = of_our_doing(exit) {
            return outcome;
        }
        let said = last_lines(stderr);
        let status = status_of(exit.ending);
        match (exit.ending, &self.heard.failure) {
            (_, None) if self.heard.end == ReportedEnd::Done => self.heard.judge(exit, stderr),
            (ProcessEnding::Code(NO_CREDENTIALS), _) => {
                BackendOutcome::NotLoggedIn { message: said }
            }
            (ProcessEnding::Code(TURN_LIMIT), _) => BackendOutcome::MaxTurns,
            (ProcessEnding::Code(NOT_TRUSTED), _) => BackendOutcome::PermissionDenied {
                tools: vec!["a folder that it does not trust".into()],
            },
            (_, Some(ReportedFailure::Model { message, status: None })) => {
                of_model(message, status)
            }
            (_, None) if status.is_some() => of_model(&said, status),
            _ => self.heard.judge(exit, stderr),
        }
    }

    fn event(&mut self, event: Map<String, Value>, events: &mut Vec<BackendEvent>) -> Option<()> {
        let event = &event;
        let kind = text(event, "type")?;
        if kind == "message" {
            return self.message(event, events);
        }
        self.in_message = false;
        match kind {
            "init" => {
                events.push(self.heard.start(text(event, "session_id"), text(event, "model")));
            }
            "tool_use" => events.push(BackendEvent::ToolCall {
                id: text(event, "tool_id")?.to_owned(),
                name: text(event, "tool_name")?.to_owned(),
                input: event.get("parameters").cloned().unwrap_or(Value::Null),
            }),
            "tool_result" => self.tool_result(event, events)?,
            "error" if text(event, "severity") == Some("error") => {
                self.failed(text(event, "message")?, None);
            }
            "result" => self.result(event, events),
            _ => return None,
        }
        Some(())
    }
}

impl GeminiReader {
    fn message(
        &mut self,
        event: &Map<String, Value>,
        events: &mut Vec<BackendEvent>,
    ) -> Option<()> {
        let content = text(event, "content")?;
        match text(event, "role")? {
            // The prompt, said back.
            "user" => self.in_message = false,
            "assistant" => {
                match self.in_message {
                    true => self.heard.answer.push(content),
                    false => self.heard.answer.set(content),
                }
                self.in_message = is_true(event, "delta");
                events.push(BackendEvent::Text(content.to_owned()));
            }
            _ => return None,
        }
        Some(())
    }

    fn tool_result(
        &mut self,
        event: &Map<String, Value>,
        events: &mut Vec<BackendEvent>,
    ) -> Option<()> {
        let id = text(event, "tool_id")?;
        let error = object(event, "error");
        // An id is made of the tool's name and a number of the call.
        let tool = id.rsplit_once("__").map_or(id, |(tool, _)| tool);
        if is_denial(tool, error.and_then(|error| text(error, "type"))) {
            let reason = error.and_then(|error| text(error, "message")).map(for_people);
            self.heard.deny(tool);
            events.push(BackendEvent::Denied { tool: tool.to_owned(), reason });
        }
        let status = match text(event, "status") {
            Some("success") => ToolStatus::Ok,
            _ => ToolStatus::Failed,
        };
        let said = text(event, "output").or_else(|| error.and_then(|error| text(error, "message")));
        let text = said.unwrap_or_default().to_owned();
        events.push(BackendEvent::ToolResult { id: id.to_owned(), status, text });
        Some(())
    }

    fn result(&mut self, event: &Map<String, Value>, events: &mut Vec<BackendEvent>) {
        // A run whose first call failed reports nothing but zeros, which means that it has no count.
        if let Some(stats) = object(event, "stats")
            && number(stats, "total_tokens") != Some(0)
        {
            self.heard.spent.input = number(stats, "input_tokens");
            self.heard.spent.cached = number(stats, "cached");
            self.heard.spent.output = number(stats, "output_tokens");
            events.extend(self.heard.spent.tokens().map(BackendEvent::Usage));
        }
        self.heard.end = match text(event, "status") {
            Some("success") => ReportedEnd::Done,
            _ => {
                let error = object(event, "error");
                let message = error.and_then(|error| text(error, "message"));
                let kind = error.and_then(|error| text(error, "type"));
                self.failed(message.unwrap_or("the run failed"), kind);
                ReportedEnd::Failed
            }
        };
        events.push(BackendEvent::Finished);
    }

    fn failed(&mut self, message: &str, kind: Option<&str>) {
        self.heard.failure = Some(match kind {
            Some("FatalTurnLimitedError") => ReportedFailure::Known(BackendOutcome::MaxTurns),
            _ => api_error(message),
        });
    }
}

/// Read the failure from the message of a failed call.
/// The message is `[API Error: …]` with the provider's JSON or a sentence inside.
fn api_error(message: &str) -> ReportedFailure {
    let inner = message.trim().strip_prefix("[API Error: ").unwrap_or(message);
    let json = inner.strip_suffix(']').unwrap_or(inner);
    if let Ok(Value::Object(outer)) = serde_json::from_str(json)
        && let Some(error) = object(&outer, "error")
    {
        let status = status(error, "code");
        // `RESOURCE_EXHAUSTED` and its like say more than many a sentence.
        let words = [text(error, "message"), text(error, "status")];
        let message = words.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        return ReportedFailure::Model { message: for_people(&message), status };
    }
    ReportedFailure::Model { message: for_people(message), status: None }
}

/// Whether a tool failed because it may not be used. Those that change something are not even known
/// in a run without `--yolo`.
fn is_denial(tool: &str, error: Option<&str>) -> bool {
    match error {
        Some("policy_violation") => true,
        Some("tool_not_registered") => CHANGING.contains(&tool),
        _ => false,
    }
}

/// The HTTP status that an exit code stands for.
fn status_of(ending: ProcessEnding) -> Option<u16> {
    let ProcessEnding::Code(code) = ending else { return None };
    STATUSES.into_iter().find(|status| i32::from(*status % 256) == code)
}

#[cfg(test)]
#[path = "gemini_tests.rs"]
mod tests;
