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
use super::failure::{Failure, of_error, of_text};
use super::permission::{Verdict, choose, outcome, verdict};
use super::servers::servers;
use super::setup::{Need, Offer, Setting};
use super::turn::{Turn, Understood};
use super::usage::Meter;
use super::wire::{self, Message};
use super::{Options, Request, Session};
use crate::backend::heard::of_our_doing;
use crate::backend::{
    Ending, Event, Exit, Outcome, Permissions, Reader, Spent, as_words, failure, slash,
    system_in_prompt,
};

/// Most names of denied tools that are kept.
const DENIED: usize = 32;
/// Most characters of a line that are kept for a message.
const SAMPLE: usize = 200;

/// Request to the agent that is not answered yet.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Initialize,
    Session,
    Setting(Setting),
    Prompt,
}

#[derive(Clone, Debug, PartialEq)]
enum End {
    Answered(StopReason),
    Failed(Failure),
}

/// Kind of output received from the agent so far.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Heard {
    Nothing,
    /// Lines, but none of the protocol; this was the first.
    Noise(String),
    Protocol,
}

/// One dialogue with one agent, for one prompt.
#[derive(Debug)]
pub struct Client {
    policy: Permissions,
    prompt: String,
    mode: Option<String>,
    model: Option<String>,
    cwd: String,
    servers: Vec<McpServer>,
    resume: Option<String>,
    open: Option<(u64, Step)>,
    last_id: u64,
    out: Vec<u8>,
    session: Option<String>,
    settings: VecDeque<Setting>,
    turn: Turn,
    denied: Vec<String>,
    end: Option<End>,
    heard: Heard,
}

impl Client {
    /// Begins the dialogue for a request; the first line is in [`Reader::outgoing`] at once.
    pub fn new(request: &Request<'_>, options: &Options) -> Self {
        let command = options.agent().and_then(|agent| agent.compact);
        let prompt = match (&request.session, command) {
            (Session::Compact { .. }, Some(command)) => slash(command, request.prompt),
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
            turn: Turn::new(agents::unknown(), Meter::new(request.session.before())),
            denied: Vec::new(),
            end: None,
            heard: Heard::Nothing,
        };
        let hello = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::default())
            .client_info(Implementation::new("ralph", env!("CARGO_PKG_VERSION")));
        client.request(Step::Initialize, AGENT_METHOD_NAMES.initialize, hello);
        client
    }

    fn request(&mut self, step: Step, method: &str, params: impl Serialize) {
        self.last_id += 1;
        self.open = Some((self.last_id, step));
        self.out.extend(wire::request(self.last_id, method, params));
    }

    fn message(&mut self, message: Message, raw: &str, events: &mut Vec<Event>) {
        let unknown = || Event::Unknown(raw.to_owned());
        match message {
            // Nobody listens any more.
            Message::Request { .. } if self.end.is_some() => events.push(unknown()),
            Message::Request { id, method, params } => {
                if method == CLIENT_METHOD_NAMES.session_request_permission {
                    self.permission(&id, &params, events);
                } else {
                    let error = Error::method_not_found();
                    self.out.extend(wire::answer(&id, Err::<(), _>(error)));
                    events.push(unknown());
                }
            }
            Message::Notification { method, params } => {
                let known = method == CLIENT_METHOD_NAMES.session_update && self.is_ours(&params);
                let understood = match params.get("update").filter(|_| known) {
                    Some(update) => self.update(update, events),
                    None => Understood::No,
                };
                if understood == Understood::No {
                    events.push(unknown());
                }
            }
            Message::Response { id, result } => match self.open.take() {
                Some((open, step)) if open == id => self.answered(step, result, raw, events),
                open => {
                    self.open = open;
                    events.push(unknown());
                }
            },
            Message::Other(_) => events.push(unknown()),
        }
    }

    /// Whether a message is about our session.
    fn is_ours(&self, params: &Value) -> bool {
        let session = params.get("sessionId").and_then(Value::as_str);
        session.is_some() && session == self.session.as_deref().or(self.resume.as_deref())
    }

    fn update(&mut self, update: &Value, events: &mut Vec<Event>) -> Understood {
        match &self.open {
            _ if self.end.is_some() => self.turn.after(update, events),
            Some((_, Step::Prompt)) => self.turn.update(update, events),
            _ => {
                self.turn.before(update);
                Understood::No
            }
        }
    }

    fn permission(&mut self, id: &Value, params: &Value, events: &mut Vec<Event>) {
        let Some(Ok(call)) = params.get("toolCall").map(ToolCallUpdate::deserialize) else {
            let error = Error::invalid_params();
            self.out.extend(wire::answer(id, Err::<(), _>(error)));
            events.push(Event::Unknown(params.to_string()));
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
        if verdict == Verdict::Reject || chosen.is_none() {
            if self.denied.len() < DENIED && !self.denied.contains(&tool) {
                self.denied.push(tool.clone());
            }
            events.push(Event::Denied { tool, reason: title });
            self.turn.refused(&call_id, events);
        }
    }

    fn answered(
        &mut self,
        step: Step,
        result: Result<Value, Error>,
        raw: &str,
        events: &mut Vec<Event>,
    ) {
        match (step, result) {
            (Step::Initialize, Ok(result)) => self.initialized(&result, events),
            (Step::Session, Ok(result)) => self.opened(&result, events),
            (Step::Setting(_), Ok(_)) => self.proceed(),
            (Step::Setting(Setting { need: Need::May, .. }), Err(_)) => {
                events.push(Event::Unknown(raw.to_owned()));
                self.proceed();
            }
            (Step::Setting(setting), Err(error)) => {
                let message = format!("it did not accept {}: {}", setting.what, error.message);
                self.fail(Failure::Program(message), events);
            }
            (Step::Prompt, Ok(result)) => self.done(&result, events),
            (Step::Prompt, Err(error)) if error.code == ErrorCode::RequestCancelled => {
                self.finish(End::Answered(StopReason::Cancelled), events);
            }
            (Step::Prompt, Err(error)) => {
                let failure = of_error(&error, self.turn.answer());
                self.fail(failure, events);
            }
            (Step::Initialize | Step::Session, Err(error)) => {
                let failure = match of_error(&error, "") {
                    // No model was asked yet.
                    Failure::Known(Outcome::ApiError { message, .. }) => Failure::Program(message),
                    failure => failure,
                };
                self.fail(failure, events);
            }
        }
    }

    fn initialized(&mut self, result: &Value, events: &mut Vec<Event>) {
        let Ok(hello) = InitializeResponse::deserialize(result) else {
            return self.fail(Failure::malformed("its answer to `initialize`", result), events);
        };
        if hello.protocol_version != ProtocolVersion::V1 {
            let message =
                format!("it speaks version {} of ACP, ralph version 1", hello.protocol_version);
            return self.fail(Failure::Known(Outcome::Malformed { message }), events);
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
                self.request(Step::Session, AGENT_METHOD_NAMES.session_new, new);
            }
            // Loading tells the whole history again, which resuming does not.
            Some(id) if can.session_capabilities.resume.is_some() => {
                let resume = ResumeSessionRequest::new(id, cwd).mcp_servers(servers);
                self.request(Step::Session, AGENT_METHOD_NAMES.session_resume, resume);
            }
            Some(id) if can.load_session => {
                let load = LoadSessionRequest::new(id, cwd).mcp_servers(servers);
                self.request(Step::Session, AGENT_METHOD_NAMES.session_load, load);
            }
            Some(_) => {
                let message = "it cannot continue an earlier session".to_owned();
                self.fail(Failure::Program(message), events);
            }
        }
    }

    fn opened(&mut self, result: &Value, events: &mut Vec<Event>) {
        let id = result.get("sessionId").and_then(Value::as_str).map(str::to_owned);
        let Some(id) = self.resume.clone().or(id) else {
            return self.fail(Failure::malformed("its answer to `session/new`", result), events);
        };
        let offer = Offer::new(&id, result);
        self.turn.window(offer.window());
        let settings = offer.settings(self.policy, self.mode.as_deref(), self.model.as_deref());
        let model = self.model.clone().or_else(|| offer.model());
        events.push(Event::Started { session: Some(id.clone()), model });
        self.session = Some(id);
        match settings {
            Ok(settings) => {
                self.settings = settings.into();
                self.proceed();
            }
            Err(message) => self.fail(Failure::Program(message), events),
        }
    }

    /// The next setting, or the prompt.
    fn proceed(&mut self) {
        if let Some(setting) = self.settings.pop_front() {
            let (method, params) = (setting.method, setting.params.clone());
            return self.request(Step::Setting(setting), method, params);
        }
        let session = self.session.clone().unwrap_or_default();
        self.turn.begin(&self.prompt);
        let prompt = vec![ContentBlock::from(std::mem::take(&mut self.prompt))];
        let prompt = PromptRequest::new(session, prompt);
        self.request(Step::Prompt, AGENT_METHOD_NAMES.session_prompt, prompt);
    }

    fn done(&mut self, result: &Value, events: &mut Vec<Event>) {
        let Ok(response) = PromptResponse::deserialize(result) else {
            return self.fail(Failure::malformed("the end of its turn", result), events);
        };
        match self.turn.end(&response, events) {
            Some(text) if response.stop_reason == StopReason::EndTurn => {
                self.fail(of_text(&text), events);
            }
            _ => self.finish(End::Answered(response.stop_reason), events),
        }
    }

    fn fail(&mut self, failure: Failure, events: &mut Vec<Event>) {
        self.finish(End::Failed(failure), events);
    }

    fn finish(&mut self, end: End, events: &mut Vec<Event>) {
        self.end = Some(end);
        events.push(Event::Finished);
    }

    /// Whether it was denied what it had to do. Who asked for looking only has asked for denials,
    /// as long as the agent goes on to its end.
    fn was_kept_from_work(&self, reason: StopReason) -> bool {
        let as_asked = self.policy == Permissions::ReadOnly && reason == StopReason::EndTurn;
        !self.denied.is_empty() && !as_asked
    }

    /// Return the outcome of a process that ended before the agent ended its turn.
    fn cut_short(&self, ending: Ending, stderr: &str) -> Outcome {
        let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.map(|line| line.trim().to_owned());
        if ending != Ending::Code(0) {
            return failure::judge_text(stderr, None).unwrap_or_else(|| Outcome::Crash {
                ending,
                message: last.unwrap_or_else(|| "it said nothing about why".to_owned()),
            });
        }
        match &self.heard {
            Heard::Nothing => Outcome::NoOutput,
            Heard::Noise(line) => Outcome::Malformed { message: line.clone() },
            Heard::Protocol => {
                Outcome::Malformed { message: "it stopped before its turn had ended".to_owned() }
            }
        }
    }
}

impl Reader for Client {
    fn line(&mut self, line: &[u8], events: &mut Vec<Event>) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let raw = String::from_utf8_lossy(line);
        let Some(messages) = wire::read(line) else {
            if self.heard == Heard::Nothing {
                self.heard = Heard::Noise(raw.chars().take(SAMPLE).collect());
            }
            events.push(Event::Unknown(raw.into_owned()));
            return;
        };
        self.heard = Heard::Protocol;
        for message in messages {
            self.message(message, &raw, events);
        }
    }

    fn is_finished(&self) -> bool {
        self.end.is_some()
    }

    /// The exit code says nothing once the turn has ended: then it was ralph that hung up.
    fn outcome(&mut self, exit: &Exit, stderr: &str) -> Outcome {
        if let Some(outcome) = of_our_doing(exit) {
            return outcome;
        }
        match &self.end {
            None => self.cut_short(exit.ending, stderr),
            Some(End::Failed(failure)) => failure.outcome(exit.ending),
            Some(End::Answered(reason)) if self.was_kept_from_work(*reason) => {
                Outcome::PermissionDenied { tools: self.denied.clone() }
            }
            Some(End::Answered(reason)) => match reason {
                StopReason::EndTurn => Outcome::Success,
                StopReason::MaxTokens => Outcome::ContextLimit,
                StopReason::MaxTurnRequests => Outcome::MaxTurns,
                StopReason::Cancelled => Outcome::Cancelled,
                reason => {
                    let message = match reason {
                        StopReason::Refusal => "it refused to go on".to_owned(),
                        other => format!("its turn ended for an unknown reason: {other:?}"),
                    };
                    Outcome::ApiError { status: None, message }
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

    fn spent(&self) -> Spent {
        self.turn.meter.spent()
    }

    fn outgoing(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    fn wants_input(&self) -> bool {
        self.end.is_none()
    }

    fn cancel(&mut self) {
        if let (Some((_, Step::Prompt)), Some(session)) = (&self.open, &self.session) {
            let cancel = CancelNotification::new(session.clone());
            self.out.extend(wire::notification(AGENT_METHOD_NAMES.session_cancel, cancel));
        }
    }
}
