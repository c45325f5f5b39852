//! The dialogue: which request of ours is open, and what follows from its answer.

use std::collections::VecDeque;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, CLIENT_METHOD_NAMES, CancelNotification, ClientCapabilities, ContentBlock,
    Error, ErrorCode, Implementation, InitializeRequest, InitializeResponse, LoadSessionRequest,
    McpServer, NewSessionRequest, PromptRequest, PromptResponse, RequestPermissionResponse,
    ResumeSessionRequest, StopReason, ToolCallUpdate,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agents;
use super::failure::{AcpFailure, of_error, of_text};
use super::permission::{PermissionAnswer, choose, outcome, verdict};
use super::servers::servers;
use super::setup::{SessionOffer, SessionSetting, SettingNeed};
use super::turn::{AcpTurn, UpdateRecognition};
use super::usage::PromptMeter;
use super::wire::{self, AcpMessage};
use super::{AcpOptions, BackendRequest, SessionStart};
use crate::backend::heard::of_our_doing;
use crate::backend::{
    BackendEvent, BackendExit, BackendOutcome, BackendPermissions, BackendReader, ProcessEnding,
    RunUsage, as_words, failure, slash, system_in_prompt,
};

/// Most names of denied tools that are kept.
const DENIED: usize = 32;
/// Most characters of a line that are kept for a message.
const SAMPLE: usize = 200;

/// Request to the agent that is not answered yet.
#[derive(Clone, Debug, PartialEq)]
enum UnansweredRequest {
    Initialize,
    Session,
    Setting(SessionSetting),
    Prompt,
}

#[derive(Clone, Debug, PartialEq)]
enum PromptEnd {
    Answered(StopReason),
    Failed(AcpFailure),
}

/// Kind of output received from the agent so far.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ReceivedOutput {
    Nothing,
    /// Lines, but none of the protocol; this was the first.
    Noise(String),
    Protocol,
}

/// One dialogue with one agent, for one prompt.
#[derive(Debug)]
pub struct AcpClient {
    policy: BackendPermissions,
    prompt: String,
    mode: Option<String>,
    model: Option<String>,
    cwd: String,
    servers: Vec<McpServer>,
    resume: Option<String>,
    open: Option<(u64, UnansweredRequest)>,
    last_id: u64,
    out: Vec<u8>,
    session: Option<String>,
    settings: VecDeque<SessionSetting>,
    turn: AcpTurn,
    denied: Vec<String>,
    end: Option<PromptEnd>,
    heard: ReceivedOutput,
}

impl AcpClient {
    /// Begins the dialogue for a request; the first line is in [`BackendReader::outgoing`] at once.
    pub fn new(request: &BackendRequest<'_>, options: &AcpOptions) -> Self {
        let command = options.agent().and_then(|agent| agent.compact);
        let prompt = match (&request.session, command) {
            (SessionStart::Compact { .. }, Some(command)) => slash(command, request.prompt),
            _ => as_words(system_in_prompt(request.system, request.prompt)),
        };
        let mut client = Self {
            policy: request.permissions,
            prompt,
            mode: options.mode.clone(),
            model: request.model.map(str::to_owned),
            cwd: options.cwd.clone(),
            servers: servers(request.mcp),
            resume: request.session.id().map(str::to_owned),
            open: None,
            last_id: 0,
            out: Vec::new(),
            session: None,
            settings: VecDeque::new(),
            turn: AcpTurn::new(agents::unknown(), PromptMeter::new(request.session.before())),
            denied: Vec::new(),
            end: None,
            heard: ReceivedOutput::Nothing,
        };
        let hello = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::default())
            .client_info(Implementation::new("ralph", env!("CARGO_PKG_VERSION")));
        client.request(UnansweredRequest::Initialize, AGENT_METHOD_NAMES.initialize, hello);
        client
    }

    fn request(&mut self, step: UnansweredRequest, method: &str, params: impl Serialize) {
        self.last_id += 1;
        self.open = Some((self.last_id, step));
        self.out.extend(wire::request(self.last_id, method, params));
    }

    fn message(&mut self, message: AcpMessage, raw: &str, events: &mut Vec<BackendEvent>) {
        let unknown = || BackendEvent::Unknown(raw.to_owned());
        match message {
            // Nobody listens any more.
            AcpMessage::Request { .. } if self.end.is_some() => events.push(unknown()),
            AcpMessage::Request { id, method, params } => {
                if method == CLIENT_METHOD_NAMES.session_request_permission {
                    self.permission(&id, &params, events);
                } else {
                    let error = Error::method_not_found();
                    self.out.extend(wire::answer(&id, Err::<(), _>(error)));
                    events.push(unknown());
                }
            }
            AcpMessage::Notification { method, params } => {
                let known = method == CLIENT_METHOD_NAMES.session_update && self.is_ours(&params);
                let understood = match params.get("update").filter(|_| known) {
                    Some(update) => self.update(update, events),
                    None => UpdateRecognition::No,
                };
                if understood == UpdateRecognition::No {
                    events.push(unknown());
                }
            }
            AcpMessage::Response { id, result } => match self.open.take() {
                Some((open, step)) if open == id => self.answered(step, result, raw, events),
                open => {
                    self.open = open;
                    events.push(unknown());
                }
            },
            AcpMessage::Other(_) => events.push(unknown()),
        }
    }

    /// Whether a message is about our session.
    fn is_ours(&self, params: &Value) -> bool {
        let session = params.get("sessionId").and_then(Value::as_str);
        session.is_some() && session == self.session.as_deref().or(self.resume.as_deref())
    }

    fn update(&mut self, update: &Value, events: &mut Vec<BackendEvent>) -> UpdateRecognition {
        match &self.open {
            _ if self.end.is_some() => self.turn.after(update, events),
            Some((_, UnansweredRequest::Prompt)) => self.turn.update(update, events),
            _ => {
                self.turn.before(update);
                UpdateRecognition::No
            }
        }
    }

    fn permission(&mut self, id: &Value, params: &Value, events: &mut Vec<BackendEvent>) {
        let Some(Ok(call)) = params.get("toolCall").map(ToolCallUpdate::deserialize) else {
            let error = Error::invalid_params();
            self.out.extend(wire::answer(id, Err::<(), _>(error)));
            events.push(BackendEvent::Unknown(params.to_string()));
            return;
        };
        let call_id = call.tool_call_id.to_string();
        let (tool, kind, title) = self.turn.asked(call, events);
        let options = params.get("options").and_then(Value::as_array).into_iter().flatten();
        let options: Vec<_> = options.filter_map(|o| Deserialize::deserialize(o).ok()).collect();
        let verdict = verdict(self.policy, kind);
        let chosen = choose(verdict, &options);
        let response = RequestPermissionResponse::new(outcome(chosen));
        self.out.extend(wire::answer(id, Ok(response)));
        if verdict == PermissionAnswer::Reject || chosen.is_none() {
            if self.denied.len() < DENIED && !self.denied.contains(&tool) {
                self.denied.push(tool.clone());
            }
            events.push(BackendEvent::Denied { tool, reason: title });
            self.turn.refused(&call_id, events);
        }
    }

    fn answered(
        &mut self,
        step: UnansweredRequest,
        result: Result<Value, Error>,
        raw: &str,
        events: &mut Vec<BackendEvent>,
    ) {
        match (step, result) {
            (UnansweredRequest::Initialize, Ok(result)) => self.initialized(&result, events),
            (UnansweredRequest::Session, Ok(result)) => self.opened(&result, events),
            (UnansweredRequest::Setting(_), Ok(_)) => self.proceed(),
            (UnansweredRequest::Setting(SessionSetting { need: SettingNeed::May, .. }), Err(_)) => {
                events.push(BackendEvent::Unknown(raw.to_owned()));
                self.proceed();
            }
            (UnansweredRequest::Setting(setting), Err(error)) => {
                let message = format!("it did not accept {}: {}", setting.what, error.message);
                self.fail(AcpFailure::Program(message), events);
            }
            (UnansweredRequest::Prompt, Ok(result)) => self.done(&result, events),
            (UnansweredRequest::Prompt, Err(error))
                if error.code == ErrorCode::RequestCancelled =>
            {
                self.finish(PromptEnd::Answered(StopReason::Cancelled), events);
            }
            (UnansweredRequest::Prompt, Err(error)) => {
                let failure = of_error(&error, self.turn.answer());
                self.fail(failure, events);
            }
            (UnansweredRequest::Initialize | UnansweredRequest::Session, Err(error)) => {
                let failure = match of_error(&error, "") {
                    // No model was asked yet.
                    AcpFailure::Known(BackendOutcome::ApiError { message, .. }) => {
                        AcpFailure::Program(message)
                    }
                    failure => failure,
                };
                self.fail(failure, events);
            }
        }
    }

    fn initialized(&mut self, result: &Value, events: &mut Vec<BackendEvent>) {
        let Ok(hello) = InitializeResponse::deserialize(result) else {
            return self.fail(AcpFailure::malformed("its answer to `initialize`", result), events);
        };
        if hello.protocol_version != ProtocolVersion::V1 {
            let message =
                format!("it speaks version {} of ACP, ralph version 1", hello.protocol_version);
            return self.fail(AcpFailure::Known(BackendOutcome::Malformed { message }), events);
        }
        if let Some(agent) = hello.agent_info.as_ref().and_then(|info| agents::known(&info.name)) {
            self.turn.agent(agent);
        }
        let servers = std::mem::take(&mut self.servers);
        let cwd = self.cwd.clone();
        let can = &hello.agent_capabilities;
        match self.resume.clone() {
            None => {
                let new = NewSessionRequest::new(cwd).mcp_servers(servers);
                self.request(UnansweredRequest::Session, AGENT_METHOD_NAMES.session_new, new);
            }
            // Loading tells the whole history again, which resuming does not.
            Some(id) if can.session_capabilities.resume.is_some() => {
                let resume = ResumeSessionRequest::new(id, cwd).mcp_servers(servers);
                self.request(UnansweredRequest::Session, AGENT_METHOD_NAMES.session_resume, resume);
            }
            Some(id) if can.load_session => {
                let load = LoadSessionRequest::new(id, cwd).mcp_servers(servers);
                self.request(UnansweredRequest::Session, AGENT_METHOD_NAMES.session_load, load);
            }
            Some(_) => {
                let message = "it cannot continue an earlier session".to_owned();
                self.fail(AcpFailure::Program(message), events);
            }
        }
    }

    fn opened(&mut self, result: &Value, events: &mut Vec<BackendEvent>) {
        let id = result.get("sessionId").and_then(Value::as_str).map(str::to_owned);
        let Some(id) = self.resume.clone().or(id) else {
            return self.fail(AcpFailure::malformed("its answer to `session/new`", result), events);
        };
        let offer = SessionOffer::new(&id, result);
        self.turn.window(offer.window());
        let settings = offer.settings(self.policy, self.mode.as_deref(), self.model.as_deref());
        let model = self.model.clone().or_else(|| offer.model());
        events.push(BackendEvent::Started { session: Some(id.clone()), model });
        self.session = Some(id);
        match settings {
            Ok(settings) => {
                self.settings = settings.into();
                self.proceed();
            }
            Err(message) => self.fail(AcpFailure::Program(message), events),
        }
    }

    /// The next setting, or the prompt.
    fn proceed(&mut self) {
        if let Some(setting) = self.settings.pop_front() {
            let (method, params) = (setting.method, setting.params.clone());
            return self.request(UnansweredRequest::Setting(setting), method, params);
        }
        let session = self.session.clone().unwrap_or_default();
        self.turn.begin(&self.prompt);
        let prompt = vec![ContentBlock::from(std::mem::take(&mut self.prompt))];
        let prompt = PromptRequest::new(session, prompt);
        self.request(UnansweredRequest::Prompt, AGENT_METHOD_NAMES.session_prompt, prompt);
    }

    fn done(&mut self, result: &Value, events: &mut Vec<BackendEvent>) {
        let Ok(response) = PromptResponse::deserialize(result) else {
            return self.fail(AcpFailure::malformed("the end of its turn", result), events);
        };
        match self.turn.end(&response, events) {
            Some(text) if response.stop_reason == StopReason::EndTurn => {
                self.fail(of_text(&text), events);
            }
            _ => self.finish(PromptEnd::Answered(response.stop_reason), events),
        }
    }

    fn fail(&mut self, failure: AcpFailure, events: &mut Vec<BackendEvent>) {
        self.finish(PromptEnd::Failed(failure), events);
    }

    fn finish(&mut self, end: PromptEnd, events: &mut Vec<BackendEvent>) {
        self.end = Some(end);
        events.push(BackendEvent::Finished);
    }

    /// Whether it was denied what it had to do. Who asked for looking only has asked for denials,
    /// as long as the agent goes on to its end.
    fn was_kept_from_work(&self, reason: StopReason) -> bool {
        let as_asked = self.policy == BackendPermissions::ReadOnly && reason == StopReason::EndTurn;
        !self.denied.is_empty() && !as_asked
    }

    /// Return the outcome of a process that ended before the agent ended its turn.
    fn cut_short(&self, ending: ProcessEnding, stderr: &str) -> BackendOutcome {
        let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.map(|line| line.trim().to_owned());
        if ending != ProcessEnding::Code(0) {
            return failure::judge_text(stderr, None).unwrap_or_else(|| BackendOutcome::Crash {
                ending,
                message: last.unwrap_or_else(|| "it said nothing about why".to_owned()),
            });
        }
        match &self.heard {
            ReceivedOutput::Nothing => BackendOutcome::NoOutput,
            ReceivedOutput::Noise(line) => BackendOutcome::Malformed { message: line.clone() },
            ReceivedOutput::Protocol => BackendOutcome::Malformed {
                message: "it stopped before its turn had ended".to_owned(),
            },
        }
    }
}

impl BackendReader for AcpClient {
    fn line(&mut self, line: &[u8], events: &mut Vec<BackendEvent>) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let raw = String::from_utf8_lossy(line);
        let Some(messages) = wire::read(line) else {
            if self.heard == ReceivedOutput::Nothing {
                self.heard = ReceivedOutput::Noise(raw.chars().take(SAMPLE).collect());
            }
            events.push(BackendEvent::Unknown(raw.into_owned()));
            return;
        };
        self.heard = ReceivedOutput::Protocol;
        for message in messages {
            self.message(message, &raw, events);
        }
    }

    fn is_finished(&self) -> bool {
        self.end.is_some()
    }

    /// The exit code says nothing once the turn has ended: then it was ralph that hung up.
    fn outcome(&mut self, exit: &BackendExit, stderr: &str) -> BackendOutcome {
        if let Some(outcome) = of_our_doing(exit) {
            return outcome;
        }
        match &self.end {
            None => self.cut_short(exit.ending, stderr),
            Some(PromptEnd::Failed(failure)) => failure.outcome(exit.ending),
            Some(PromptEnd::Answered(reason)) if self.was_kept_from_work(*reason) => {
                BackendOutcome::PermissionDenied { tools: self.denied.clone() }
            }
            Some(PromptEnd::Answered(reason)) => match reason {
                StopReason::EndTurn => BackendOutcome::Success,
                StopReason::MaxTokens => BackendOutcome::ContextLimit,
                StopReason::MaxTurnRequests => BackendOutcome::MaxTurns,
                StopReason::Cancelled => BackendOutcome::Cancelled,
                reason => {
                    let message = match reason {
                        StopReason::Refusal => "it refused to go on".to_owned(),
                        other => format!("its turn ended for an unknown reason: {other:?}"),
                    };
                    BackendOutcome::ApiError { status: None, message }
                }
            },
        }
    }

    fn answer(&self) -> &str {
        self.turn.answer()
    }

    fn structured(&self) -> Option<&Value> {
        None
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn spent(&self) -> RunUsage {
        self.turn.meter.spent()
    }

    fn outgoing(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    fn wants_input(&self) -> bool {
        self.end.is_none()
    }

    fn cancel(&mut self) {
        if let (Some((_, UnansweredRequest::Prompt)), Some(session)) = (&self.open, &self.session) {
            let cancel = CancelNotification::new(session.clone());
            self.out.extend(wire::notification(AGENT_METHOD_NAMES.session_cancel, cancel));
        }
    }
}
