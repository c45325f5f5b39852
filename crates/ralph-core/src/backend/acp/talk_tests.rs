//! Both sides of a dialogue, for the tests.

use serde_json::{Value, json};

use super::*;
use crate::backend::{BackendEvent, BackendExit, BackendOutcome, RunUsage};

pub(super) fn request(prompt: &str) -> BackendRequest<'_> {
    BackendRequest { scratch: "/scratch", ..BackendRequest::plain(prompt) }
}

/// A request to compact the session.
pub(super) fn compact(focus: &str) -> BackendRequest<'_> {
    BackendRequest {
        session: SessionStart::Compact { id: "s1", before: RunUsage::default() },
        ..request(focus)
    }
}

pub(super) fn options() -> AcpOptions {
    AcpOptions {
        name: "bot".into(),
        program: "bot".into(),
        args: vec!["--acp".into()],
        mode: None,
        cwd: "/repo".into(),
    }
}

/// Both sides of a dialogue.
pub(super) struct Talk {
    pub(super) client: AcpClient,
    pub(super) events: Vec<BackendEvent>,
    pub(super) sent: Vec<Value>,
    agent: &'static str,
    session: Value,
}

impl Talk {
    /// With an agent of this name that opens sessions like this.
    pub(super) fn new(
        request: &BackendRequest<'_>,
        options: &AcpOptions,
        agent: &'static str,
        session: Value,
    ) -> Self {
        let client = AcpClient::new(request, options);
        let mut talk = Self { client, events: Vec::new(), sent: Vec::new(), agent, session };
        talk.listen();
        talk
    }

    /// With a plain agent, as far as the open prompt.
    pub(super) fn prompted(request: &BackendRequest<'_>) -> Self {
        Self::with(request, "somebody")
    }

    /// With this agent, as far as the open prompt.
    pub(super) fn with(request: &BackendRequest<'_>, agent: &'static str) -> Self {
        let options = AcpOptions { program: agent.into(), ..options() };
        let mut talk = Self::new(request, &options, agent, json!({"sessionId": "s1"}));
        talk.open();
        talk
    }

    pub(super) fn listen(&mut self) {
        let out = self.client.outgoing();
        for line in out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.sent.push(serde_json::from_slice(line).unwrap());
        }
    }

    /// One line of the agent.
    pub(super) fn say(&mut self, message: &Value) -> &mut Self {
        self.client.line(message.to_string().as_bytes(), &mut self.events);
        self.listen();
        self
    }

    pub(super) fn last(&self) -> &Value {
        self.sent.last().unwrap()
    }

    /// Answers the last request of the client.
    pub(super) fn answer(&mut self, result: &Value) -> &mut Self {
        let id = self.last()["id"].clone();
        self.say(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    pub(super) fn refuse(&mut self, error: &Value) -> &mut Self {
        let id = self.last()["id"].clone();
        self.say(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
    }

    /// Answers everything before the prompt.
    pub(super) fn open(&mut self) -> &mut Self {
        while self.client.wants_input() && self.last()["method"] != "session/prompt" {
            let result = match self.last()["method"].as_str() {
                Some("initialize") => json!({
                    "protocolVersion": 1,
                    "agentCapabilities": {"loadSession": true},
                    "agentInfo": {"name": self.agent, "version": "1"},
                }),
                Some("session/new" | "session/load" | "session/resume") => self.session.clone(),
                _ => json!({}),
            };
            self.answer(&result);
        }
        self
    }

    pub(super) fn update(&mut self, update: &Value) -> &mut Self {
        let params = json!({"sessionId": "s1", "update": update});
        self.say(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        let content = json!({"type": "text", "text": text});
        self.update(&json!({"sessionUpdate": "agent_message_chunk", "content": content}))
    }

    pub(super) fn end(&mut self) -> &mut Self {
        self.prompt_answer(&json!({"stopReason": "end_turn"}))
    }

    /// Answers the prompt, whatever the client wrote since.
    pub(super) fn prompt_answer(&mut self, result: &Value) -> &mut Self {
        let id = self.prompt()["id"].clone();
        self.say(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn prompt(&self) -> &Value {
        self.sent.iter().find(|sent| sent["method"] == "session/prompt").unwrap()
    }

    pub(super) fn ask(&mut self, id: Value, kind: &str) -> &mut Self {
        let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission",
            "params": {"sessionId": "s1",
                "toolCall": {"toolCallId": "c1", "title": "rm -r build", "kind": kind, "name": "Bash",
                    "rawInput": {"command": "rm -r build"}},
                "options": [
                    option("ever", "allow_always"), option("now", "allow_once"),
                    option("no", "reject_once"), option("new", "a_kind_of_tomorrow")]}}))
    }

    pub(super) fn methods(&self) -> Vec<&str> {
        self.sent.iter().filter_map(|sent| sent["method"].as_str()).collect()
    }

    pub(super) fn outcome(&mut self) -> BackendOutcome {
        self.client.outcome(&BackendExit::code(0), "")
    }

    /// The events but those that are kept raw.
    pub(super) fn known(&self) -> Vec<&BackendEvent> {
        self.events.iter().filter(|event| !matches!(event, BackendEvent::Unknown(_))).collect()
    }
}
