//! The dialogue, against agents in the shape of the real ones.

use serde_json::{Value, json};

use super::*;
use crate::backend::{
    CompactionTrigger, Context, Ending, Event, Exit, Money, Outcome, Spent, Stop, ToolStatus, Usage,
};

pub(super) fn request(prompt: &str) -> Request<'_> {
    Request {
        prompt,
        system: None,
        model: None,
        max_turns: None,
        permissions: Permissions::Bypass,
        mcp: None,
        schema: None,
        session: Session::New,
        budget: None,
        scratch: "/scratch",
        as_root: false,
    }
}

pub(super) fn options() -> Options {
    Options {
        name: "bot".into(),
        program: "bot".into(),
        args: vec!["--acp".into()],
        mode: None,
        cwd: "/repo".into(),
    }
}

/// Both sides of a dialogue.
pub(super) struct Talk {
    pub(super) client: Client,
    pub(super) events: Vec<Event>,
    /// Everything the client wrote.
    pub(super) sent: Vec<Value>,
    agent: &'static str,
    session: Value,
}

impl Talk {
    /// With an agent of this name that opens sessions like this.
    pub(super) fn new(
        request: &Request<'_>,
        options: &Options,
        agent: &'static str,
        session: Value,
    ) -> Self {
        let client = Client::new(request, options);
        let mut talk = Self { client, events: Vec::new(), sent: Vec::new(), agent, session };
        talk.listen();
        talk
    }

    /// With a plain agent, as far as the open prompt.
    fn prompted(request: &Request<'_>) -> Self {
        Self::with(request, "somebody")
    }

    /// With this agent, as far as the open prompt.
    fn with(request: &Request<'_>, agent: &'static str) -> Self {
        let mut talk = Self::new(request, &options(), agent, json!({"sessionId": "s1"}));
        talk.open();
        talk
    }

    fn listen(&mut self) {
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

    fn text(&mut self, text: &str) -> &mut Self {
        let content = json!({"type": "text", "text": text});
        self.update(&json!({"sessionUpdate": "agent_message_chunk", "content": content}))
    }

    fn end(&mut self) -> &mut Self {
        self.prompt_answer(&json!({"stopReason": "end_turn"}))
    }

    /// Answers the prompt, whatever the client wrote since.
    fn prompt_answer(&mut self, result: &Value) -> &mut Self {
        let id = self.prompt()["id"].clone();
        self.say(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn prompt(&self) -> &Value {
        self.sent.iter().find(|sent| sent["method"] == "session/prompt").unwrap()
    }

    fn ask(&mut self, id: Value, kind: &str) -> &mut Self {
        let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission",
            "params": {"sessionId": "s1",
                "toolCall": {"toolCallId": "c1", "title": "rm -r build", "kind": kind, "name": "Bash",
                    "rawInput": {"command": "rm -r build"}},
                "options": [
                    option("ever", "allow_always"), option("now", "allow_once"),
                    option("no", "reject_once"), option("new", "a_kind_of_tomorrow")]}}))
    }

    fn methods(&self) -> Vec<&str> {
        self.sent.iter().filter_map(|sent| sent["method"].as_str()).collect()
    }

    pub(super) fn outcome(&mut self) -> Outcome {
        self.client.outcome(&Exit::code(0), "")
    }

    /// The events but those that are kept raw.
    fn known(&self) -> Vec<&Event> {
        self.events.iter().filter(|event| !matches!(event, Event::Unknown(_))).collect()
    }
}

#[test]
fn the_dialogue_goes_from_hello_to_the_end_of_the_turn() {
    let mut request = request("write it");
    request.system = Some("be brief");
    let mut talk = Talk::prompted(&request);
    assert_eq!(talk.methods(), ["initialize", "session/new", "session/prompt"]);
    assert_eq!(talk.sent[1]["params"], json!({"cwd": "/repo", "mcpServers": []}));
    let blocks = json!([{"type": "text", "text": crate::backend::system_in_prompt(Some("be brief"), "write it")}]);
    assert_eq!(talk.sent[2]["params"], json!({"sessionId": "s1", "prompt": blocks}));
    assert!(talk.client.wants_input() && !talk.client.is_finished());
    talk.text("It is ").text("done.").end();
    let text = |text: &str| Event::Text(text.into());
    let started = Event::Started { session: Some("s1".into()), model: None };
    assert_eq!(talk.events, [started, text("It is "), text("done."), Event::Finished]);
    assert_eq!(talk.client.answer(), "It is done.");
    assert_eq!(talk.client.session(), Some("s1"));
    assert_eq!(talk.client.spent(), Spent::default());
    assert!(talk.client.is_finished() && !talk.client.wants_input());
    assert_eq!(talk.outcome(), Outcome::Success);
}

#[test]
fn files_and_terminals_are_not_offered() {
    let talk = Talk::prompted(&request("p"));
    let can = &talk.sent[0]["params"]["clientCapabilities"];
    assert_eq!(can["fs"]["readTextFile"], false);
    assert_eq!(can["fs"]["writeTextFile"], false);
    assert_eq!(can["terminal"], false);
}

#[test]
fn what_the_agent_may_not_ask_is_answered_at_once_and_kept() {
    let mut talk = Talk::prompted(&request("p"));
    for id in [json!(7), json!("a-b-c")] {
        let ask = json!({"jsonrpc": "2.0", "id": id, "method": "fs/write_text_file", "params": {}});
        talk.say(&ask);
        assert_eq!(talk.last()["id"], id);
        assert_eq!(talk.last()["error"]["code"], -32601);
        assert_eq!(talk.events.last(), Some(&Event::Unknown(ask.to_string())));
    }
    assert!(talk.client.wants_input());
}

#[test]
fn the_bypass_allows_once_and_never_for_ever() {
    for id in [json!(0), json!("x")] {
        let mut talk = Talk::prompted(&request("p"));
        talk.ask(id.clone(), "execute");
        let chosen = json!({"outcome": {"outcome": "selected", "optionId": "now"}});
        assert_eq!(*talk.last(), json!({"jsonrpc": "2.0", "id": id, "result": chosen}));
        talk.end();
        assert!(talk.events.iter().all(|event| !matches!(event, Event::Denied { .. })));
        assert_eq!(talk.outcome(), Outcome::Success);
    }
}

#[test]
fn without_the_bypass_a_question_is_refused() {
    for (permissions, kind, option) in [
        (Permissions::Default, "execute", "no"),
        (Permissions::Default, "read", "no"),
        (Permissions::ReadOnly, "edit", "no"),
        (Permissions::ReadOnly, "execute", "no"),
        (Permissions::ReadOnly, "delete", "no"),
        (Permissions::ReadOnly, "of_tomorrow", "no"),
        (Permissions::ReadOnly, "read", "now"),
        (Permissions::ReadOnly, "search", "now"),
    ] {
        let mut request = request("p");
        request.permissions = permissions;
        let mut talk = Talk::prompted(&request);
        talk.ask(json!(1), kind);
        assert_eq!(talk.last()["result"]["outcome"]["optionId"], option, "{permissions:?} {kind}");
        talk.end();
        let denied = Event::Denied { tool: "Bash".into(), reason: Some("rm -r build".into()) };
        assert_eq!(talk.events.contains(&denied), option == "no", "{permissions:?} {kind}");
        let denied = Outcome::PermissionDenied { tools: vec!["Bash".into()] };
        let is_work = permissions == Permissions::Default;
        assert_eq!(talk.outcome(), if is_work { denied } else { Outcome::Success });
    }
}

#[test]
fn who_may_only_look_and_gives_up_when_refused_was_denied() {
    let mut request = request("p");
    request.permissions = Permissions::ReadOnly;
    let mut talk = Talk::prompted(&request);
    talk.ask(json!(1), "edit").prompt_answer(&json!({"stopReason": "cancelled"}));
    assert_eq!(talk.outcome().word(), "permission_denied");
}

#[test]
fn a_question_without_a_fitting_answer_is_called_off_and_counts_as_denied() {
    let mut talk = Talk::prompted(&request("p"));
    talk.say(&json!({"id": 1, "method": "session/request_permission",
        "params": {"toolCall": {"toolCallId": "c"}, "options": []}}));
    assert_eq!(talk.last()["result"]["outcome"], json!({"outcome": "cancelled"}));
    talk.end();
    assert_eq!(talk.outcome().word(), "permission_denied");
}

fn modes(current: &str, ids: &[&str]) -> Value {
    let all: Vec<_> = ids.iter().map(|id| json!({"id": id, "name": id})).collect();
    json!({"sessionId": "s1", "modes": {"currentModeId": current, "availableModes": all}})
}

fn option(id: &str, category: &str, current: &str, values: &[&str]) -> Value {
    let values: Vec<_> =
        values.iter().map(|value| json!({"value": value, "name": value})).collect();
    json!({"id": id, "name": id, "category": category, "type": "select", "currentValue": current,
        "options": values})
}

/// What is set between opening the session and the prompt.
fn settings(permissions: Permissions, mode: Option<&str>, session: Value) -> Vec<(String, Value)> {
    let mut request = request("p");
    request.permissions = permissions;
    let options = Options { mode: mode.map(str::to_owned), ..options() };
    let mut talk = Talk::new(&request, &options, "somebody", session);
    talk.open();
    let set = talk.sent.iter().filter(|sent| {
        sent["method"].as_str().is_some_and(|method| method.starts_with("session/set_"))
    });
    set.map(|sent| (sent["method"].as_str().unwrap().to_owned(), sent["params"].clone())).collect()
}

#[test]
fn the_mode_fits_the_permissions() {
    use Permissions::{Bypass, Default, ReadOnly};
    let claude = || modes("default", &["default", "acceptEdits", "plan", "bypassPermissions"]);
    let qwen = || modes("auto", &["plan", "default", "auto", "yolo"]);
    let codex = || modes("agent", &["read-only", "agent", "agent-full-access"]);
    for (permissions, session, mode) in [
        (Bypass, claude(), Some("bypassPermissions")),
        (ReadOnly, claude(), None),
        (Default, claude(), None),
        (Bypass, qwen(), Some("yolo")),
        (ReadOnly, qwen(), Some("default")),
        (Default, qwen(), None),
        (Bypass, codex(), Some("agent-full-access")),
        (ReadOnly, codex(), Some("read-only")),
        (Bypass, modes("full-access", &["full-access"]), None),
        (Bypass, modes("x", &["x", "y"]), None),
    ] {
        let expected: Vec<_> = mode
            .map(|mode| {
                let params = json!({"sessionId": "s1", "modeId": mode});
                ("session/set_mode".to_owned(), params)
            })
            .into_iter()
            .collect();
        assert_eq!(settings(permissions, None, session.clone()), expected, "{session}");
    }
}

#[test]
fn modes_and_permissions_that_are_options_are_set_as_options() {
    let set = |id: &str, value: &str| {
        let params = json!({"sessionId": "s1", "configId": id, "value": value});
        vec![("session/set_config_option".to_owned(), params)]
    };
    let opencode = || json!({"sessionId": "s1", "configOptions": [option("mode", "mode", "build", &["build", "plan"])]});
    assert_eq!(settings(Permissions::Bypass, None, opencode()), []);
    assert_eq!(settings(Permissions::ReadOnly, None, opencode()), set("mode", "plan"));
    let copilot = |current: &str| {
        let allow = option("allow_all", "permissions", current, &["on", "off"]);
        json!({"sessionId": "s1", "configOptions": [allow]})
    };
    assert_eq!(settings(Permissions::Bypass, None, copilot("off")), set("allow_all", "on"));
    assert_eq!(settings(Permissions::ReadOnly, None, copilot("on")), set("allow_all", "off"));
    assert_eq!(settings(Permissions::Default, None, copilot("on")), []);
}

#[test]
fn a_mode_of_the_configuration_is_set_or_the_run_ends() {
    let url = "https://modes.example/m#autopilot";
    let offered = || modes("plain", &["plain", url]);
    let set = settings(Permissions::Bypass, Some("autopilot"), offered());
    assert_eq!(set[0].1["modeId"], url);
    // What may only look may not be told to do more.
    assert_eq!(settings(Permissions::ReadOnly, Some("autopilot"), offered()), []);
    let wrong = Options { mode: Some("turbo".into()), ..options() };
    let mut talk = Talk::new(&request("p"), &wrong, "somebody", offered());
    talk.open();
    let outcome = talk.outcome();
    assert_eq!(outcome.word(), "crash");
    assert!(outcome.to_string().contains("it has no mode `turbo`, but plain, "), "{outcome}");
}

#[test]
fn a_refused_bypass_goes_on_and_a_refused_read_only_mode_does_not() {
    let error = json!({"code": -32603, "message": "not now"});
    let mut talk =
        Talk::new(&request("p"), &options(), "somebody", modes("default", &["default", "yolo"]));
    talk.answer(&json!({"protocolVersion": 1})).answer(&modes("default", &["default", "yolo"]));
    assert_eq!(talk.last()["method"], "session/set_mode");
    talk.refuse(&error);
    assert_eq!(talk.last()["method"], "session/prompt");
    let mut read_only = request("p");
    read_only.permissions = Permissions::ReadOnly;
    let mut talk = Talk::new(&read_only, &options(), "somebody", json!({}));
    talk.answer(&json!({"protocolVersion": 1})).answer(&modes("auto", &["auto", "read-only"]));
    talk.refuse(&error);
    assert!(talk.client.is_finished());
    assert!(talk.outcome().to_string().contains("did not accept mode `read-only`: not now"));
}

#[test]
fn a_model_is_chosen_in_the_way_the_agent_offers() {
    let run = |session: &Value| {
        let mut request = request("p");
        request.model = Some("big");
        let mut talk = Talk::new(&request, &options(), "somebody", session.clone());
        talk.open();
        talk
    };
    let options =
        json!({"sessionId": "s1", "configOptions": [option("m", "model", "small", &["big"])]});
    let talk = run(&options);
    assert_eq!(talk.sent[2]["method"], "session/set_config_option");
    assert_eq!(talk.sent[2]["params"]["value"], "big");
    assert_eq!(
        talk.events[0],
        Event::Started { session: Some("s1".into()), model: Some("big".into()) }
    );
    let models = |current: &str| json!({"sessionId": "s1", "models": {"currentModelId": current, "availableModels": []}});
    let talk = run(&models("small"));
    assert_eq!(talk.sent[2]["method"], "session/set_model");
    assert_eq!(talk.sent[2]["params"], json!({"sessionId": "s1", "modelId": "big"}));
    assert_eq!(run(&models("big")).methods(), ["initialize", "session/new", "session/prompt"]);
    let mut talk = run(&json!({"sessionId": "s1"}));
    assert!(talk.outcome().to_string().contains("offers no choice of a model"));
}

#[test]
fn mcp_servers_go_into_the_session_and_not_into_arguments() {
    let mcp = json!({"mcpServers": {
        "lab": {"command": "lab-mcp", "args": ["-x"], "env": {"KEY": "secret"}},
        "net": {"type": "http", "url": "https://mcp.example", "headers": {"A": "b"}},
        "old": {"type": "sse", "url": "https://sse.example"},
        "bad": {"what": 1},
    }});
    let mut request = request("p");
    request.mcp = Some(&mcp);
    let talk = Talk::prompted(&request);
    assert_eq!(
        talk.sent[1]["params"]["mcpServers"],
        json!([
            {"name": "lab", "command": "lab-mcp", "args": ["-x"],
                "env": [{"name": "KEY", "value": "secret"}]},
            {"type": "http", "name": "net", "url": "https://mcp.example",
                "headers": [{"name": "A", "value": "b"}]},
            {"type": "sse", "name": "old", "url": "https://sse.example", "headers": []},
        ])
    );
    let invocation = Acp::new(options()).invocation(&request);
    assert_eq!(invocation.args, ["--acp"]);
    assert_eq!(invocation.stdin, "");
}

#[test]
fn a_session_is_continued_without_its_history_becoming_events() {
    let mut request = request("p");
    let before = Spent { cost: Some(1.0), ..Spent::default() };
    request.session = Session::Resume { id: "s1", before };
    let mut talk = Talk::new(&request, &options(), "somebody", json!({}));
    talk.answer(&json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}));
    assert_eq!(talk.last()["method"], "session/load");
    assert_eq!(talk.last()["params"]["sessionId"], "s1");
    talk.text("an old answer");
    let id = talk.last()["id"].clone();
    talk.say(&json!({"id": id, "result": null}));
    assert_eq!(talk.last()["method"], "session/prompt");
    assert!(talk.known().iter().all(|event| matches!(event, Event::Started { .. })));
    assert_eq!(talk.client.answer(), "");
    assert_eq!(talk.client.session(), Some("s1"));
    let can = json!({"loadSession": true, "sessionCapabilities": {"resume": {}}});
    let mut talk = Talk::new(&request, &options(), "somebody", json!({}));
    talk.answer(&json!({"protocolVersion": 1, "agentCapabilities": can}));
    assert_eq!(talk.last()["method"], "session/resume");
    let mut talk = Talk::new(&request, &options(), "somebody", json!({}));
    talk.answer(&json!({"protocolVersion": 1}));
    assert!(talk.outcome().to_string().contains("cannot continue an earlier session"));
}

#[test]
fn a_tool_call_is_one_call_and_one_result_however_it_is_told() {
    let call = |input: Value| Event::ToolCall { id: "c1".into(), name: "Write".into(), input };
    let result =
        |status, text: &str| Event::ToolResult { id: "c1".into(), status, text: text.into() };
    // First without its input, then with it, then again and again.
    let mut talk = Talk::with(&request("p"), "claude-agent-acp");
    let meta = json!({"claudeCode": {"toolName": "Write"}});
    talk.update(&json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Preparing",
        "kind": "edit", "rawInput": {}, "status": "pending", "_meta": meta}));
    assert_eq!(talk.known().len(), 1);
    talk.update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1",
        "rawInput": {"file": "a"}, "title": "Write a"}));
    talk.update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "_meta": meta}));
    let done = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed",
        "rawOutput": "made"});
    talk.update(&done).update(&done);
    assert_eq!(talk.known()[1..], [&call(json!({"file": "a"})), &result(ToolStatus::Ok, "made")]);
    // Never begun, only ended.
    let mut talk = Talk::prompted(&request("p"));
    talk.update(
        &json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "failed",
        "title": "Writing to a", "kind": "edit", "locations": [{"path": "/repo/a"}],
        "content": [{"type": "content", "content": {"type": "text", "text": "no space"}}]}),
    );
    let edit = Event::ToolCall {
        id: "c1".into(),
        name: "edit".into(),
        input: json!({"title": "Writing to a", "path": "/repo/a"}),
    };
    assert_eq!(talk.known()[1..], [&edit, &result(ToolStatus::Failed, "no space")]);
    // A draft whose command follows, and whose output comes in pieces.
    let mut talk = Talk::with(&request("p"), "OpenCode");
    talk.update(&json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "bash",
        "kind": "execute", "status": "pending", "rawInput": {"cwd": "/repo"}}));
    for data in ["one\n", "two\n"] {
        talk.update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1",
            "status": "in_progress", "rawInput": {"command": "ls"},
            "_meta": {"terminal_output_delta": {"data": data}}}));
    }
    talk.update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1",
        "status": "completed"}));
    let execute = Event::ToolCall {
        id: "c1".into(),
        name: "execute".into(),
        input: json!({"command": "ls"}),
    };
    assert_eq!(talk.known()[1..], [&execute, &result(ToolStatus::Ok, "one\ntwo\n")]);
}

#[test]
fn the_answer_is_the_last_message() {
    let chunk = |id: &str, text: &str| {
        json!({"sessionUpdate": "agent_message_chunk", "messageId": id,
            "content": {"type": "text", "text": text}})
    };
    let mut talk = Talk::prompted(&request("p"));
    talk.update(&chunk("m1", "I look.")).update(&chunk("m2", "It ")).update(&chunk("m2", "works."));
    assert_eq!(talk.client.answer(), "It works.");
    // Without ids a tool call parts two messages.
    let mut talk = Talk::prompted(&request("p"));
    talk.text("I look.").update(&json!({"sessionUpdate": "tool_call", "toolCallId": "c",
        "title": "t", "status": "in_progress"}));
    talk.text("It ").text("works.");
    assert_eq!(talk.client.answer(), "It works.");
    // The notes of the agent itself are not its model's words.
    let mut talk = Talk::with(&request("p"), "Copilot");
    talk.text("Info: trying again").text("It ").text("works.");
    assert_eq!(talk.client.answer(), "It works.");
}

#[test]
fn thoughts_are_told_and_what_is_new_is_kept() {
    let mut talk = Talk::prompted(&request("p"));
    let content = json!({"type": "text", "text": "hm"});
    talk.update(&json!({"sessionUpdate": "agent_thought_chunk", "content": content}));
    assert_eq!(talk.events.last(), Some(&Event::Thinking("hm".into())));
    let updates = [
        json!({"sessionUpdate": "plan", "entries": []}),
        json!({"sessionUpdate": "of_tomorrow", "x": 1}),
        json!({"sessionUpdate": "agent_message_chunk",
            "content": {"type": "image", "data": "", "mimeType": "image/png"}}),
        json!(3),
    ];
    for update in updates {
        talk.update(&update);
        let Some(Event::Unknown(raw)) = talk.events.last() else { panic!("{update}") };
        assert!(raw.contains(&update.to_string()));
    }
    // Another session is not ours.
    let params = json!({"sessionId": "s2", "update": {"sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "x"}}});
    talk.say(&json!({"method": "session/update", "params": params}));
    assert!(matches!(talk.events.last(), Some(Event::Unknown(_))));
    assert_eq!(talk.client.answer(), "");
}

fn usage_update(cost: f64) -> Value {
    json!({"sessionUpdate": "usage_update", "used": 1500, "size": 200_000,
        "cost": {"amount": cost, "currency": "USD"}})
}

#[test]
fn context_and_cost_come_with_usage_updates() {
    let mut talk = Talk::with(&request("p"), "claude");
    talk.update(&usage_update(0.25)).update(&usage_update(0.5));
    let context = Event::Context(Context { used: 1500, window: Some(200_000) });
    let cost = |dollars: f64| Event::Cost(Money(dollars));
    assert_eq!(talk.known()[1..], [&context, &cost(0.25), &context, &cost(0.5)]);
    assert_eq!(talk.client.spent().cost, Some(0.5));
    // Euros are no dollars.
    let mut talk = Talk::with(&request("p"), "claude");
    talk.update(&json!({"sessionUpdate": "usage_update", "used": 1, "size": 0,
        "cost": {"amount": 1.0, "currency": "EUR"}}));
    assert_eq!(talk.client.spent().cost, None);
    assert_eq!(talk.known()[1], &Event::Context(Context { used: 1, window: None }));
}

#[test]
fn the_cost_of_a_continued_session_is_that_of_this_run() {
    let run = |before: Option<f64>, seen: Option<f64>, then: f64| {
        let mut request = request("p");
        request.session =
            Session::Resume { id: "s1", before: Spent { cost: before, ..Spent::default() } };
        let mut talk = Talk::new(&request, &options(), "claude", json!({}));
        talk.answer(&json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}));
        if let Some(seen) = seen {
            talk.update(&usage_update(seen));
        }
        talk.open();
        talk.update(&usage_update(then)).end();
        talk.client.spent().cost
    };
    assert_eq!(run(Some(1.0), None, 1.5), Some(0.5));
    assert_eq!(run(Some(1.0), Some(1.25), 1.5), Some(0.25), "what the agent says is nearer");
    assert_eq!(run(None, None, 1.5), Some(1.5));
    assert_eq!(run(Some(1.0), None, 0.5), Some(0.5), "a total that shrank began anew");
}

#[test]
fn tokens_are_read_wherever_an_agent_puts_them() {
    let usage = |cached: u64, input: u64| {
        json!({"stopReason": "end_turn", "usage": {"totalTokens": 1560, "inputTokens": input,
            "outputTokens": 60, "cachedReadTokens": cached}})
    };
    let spent = |input, cached, output| Spent { input, cached, output, ..Spent::default() };
    let all = spent(Some(1500), Some(300), Some(60));
    let quota = json!({"input_tokens": 1500, "output_tokens": 60});
    let by_model = json!([{"token_count": {"totalTokens": 100, "inputTokens": 90, "outputTokens": 10}},
        {"token_count": {"totalTokens": 20, "inputTokens": 15, "outputTokens": 5}}]);
    for (agent, result, expected) in [
        ("codex", usage(300, 1200), all),
        ("Copilot", usage(300, 1500), all),
        ("somebody", usage(300, 1200), all),
        ("OpenCode", usage(300, 1200), Spent::default()),
        (
            "gemini-cli",
            json!({"stopReason": "end_turn", "_meta": {"quota": {"token_count": quota}}}),
            spent(Some(1500), None, Some(60)),
        ),
        (
            "claude",
            json!({"stopReason": "end_turn", "usage": usage(0, 0)["usage"],
                "_meta": {"quota": {"model_usage": by_model}}}),
            spent(Some(105), None, Some(15)),
        ),
        ("codex", json!({"stopReason": "end_turn", "usage": null}), Spent::default()),
        ("codex", json!({"stopReason": "end_turn", "usage": "many"}), Spent::default()),
    ] {
        let mut talk = Talk::with(&request("p"), agent);
        talk.prompt_answer(&result);
        assert_eq!(talk.client.spent(), expected, "{agent} {result}");
        let told = talk.events.iter().find_map(|event| match event {
            Event::Usage(usage) => Some(*usage),
            _ => None,
        });
        let usage = expected.input.map(|input| Usage {
            input,
            cached: expected.cached.unwrap_or(0),
            output: expected.output.unwrap_or(0),
        });
        assert_eq!(told, usage, "{agent}");
        assert_eq!(talk.outcome(), Outcome::Success);
    }
}

#[test]
fn tokens_that_come_with_pieces_of_text_are_added_up() {
    let piece = json!({"sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": ""},
        "_meta": {"usage": {"inputTokens": 100, "outputTokens": 10, "totalTokens": 110,
            "cachedReadTokens": 30}}});
    let model = json!({"modelId": "m", "name": "m", "_meta": {"contextLimit": 1000}});
    let session = json!({"sessionId": "s1",
        "models": {"currentModelId": "m", "availableModels": [model]}});
    let mut talk = Talk::new(&request("p"), &options(), "qwen-code", session);
    talk.open();
    talk.text("a").update(&piece).text("b").update(&piece).end();
    let spent = talk.client.spent();
    assert_eq!((spent.input, spent.cached, spent.output), (Some(200), Some(60), Some(20)));
    assert!(talk.events.contains(&Event::Context(Context { used: 110, window: Some(1000) })));
    assert_eq!(talk.client.answer(), "b");
}

#[test]
fn totals_of_a_whole_session_are_told_as_what_this_run_used() {
    let mut request = request("p");
    let before = Spent { input: Some(1000), output: Some(50), ..Spent::default() };
    request.session = Session::Resume { id: "s1", before };
    let mut talk = Talk::new(&request, &options(), "Copilot", json!({}));
    talk.open();
    talk.prompt_answer(&json!({"stopReason": "end_turn", "usage": {"totalTokens": 3120,
        "inputTokens": 3000, "outputTokens": 120}}));
    let spent = talk.client.spent();
    assert_eq!((spent.input, spent.output), (Some(2000), Some(70)));
}

#[test]
fn a_compaction_is_told_once_with_its_numbers_where_there_are_any() {
    let begin = json!({"sessionUpdate": "tool_call", "toolCallId": "k",
        "title": "Compact conversation", "kind": "think", "status": "in_progress"});
    let step = |more: Value| {
        let mut step = json!({"sessionUpdate": "tool_call_update", "toolCallId": "k"});
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        step
    };
    let compacted = |trigger, before, after| Event::Compacted { trigger, before, after };
    // The numbers come after the end.
    let mut talk = Talk::with(&request("/compact keep it"), "claude");
    talk.update(&begin).update(&step(json!({"status": "completed"})));
    talk.update(&step(json!({"rawOutput": {"trigger": "auto", "preTokens": 9, "postTokens": 3}})));
    talk.end();
    let known = talk.known();
    assert_eq!(known[1], &compacted(CompactionTrigger::Auto, Some(9), Some(3)));
    assert_eq!(known.len(), 3);
    // There are none.
    let mut talk = Talk::with(&request("/compact"), "codex");
    talk.update(&begin).update(&step(json!({"status": "completed"}))).end();
    assert_eq!(talk.known()[1], &compacted(CompactionTrigger::Manual, None, None));
    // It says nothing at all about it.
    let mut talk = Talk::with(&request("/compact"), "Copilot");
    talk.end();
    assert_eq!(talk.known()[1], &compacted(CompactionTrigger::Manual, None, None));
    // It went wrong.
    let mut talk = Talk::with(&request("/compact"), "codex");
    talk.update(&begin).update(&step(json!({"status": "failed", "rawOutput": "too short"}))).end();
    assert_eq!(talk.known()[1..], [&Event::CompactionFailed("too short".into()), &Event::Finished]);
    // To an agent without such a command it is a prompt like any other.
    let mut talk = Talk::with(&request("/compact"), "gemini-cli");
    talk.end();
    assert_eq!(talk.known().len(), 2);
}

#[test]
fn every_end_of_a_turn_has_its_outcome() {
    for (reason, word) in [
        ("end_turn", "success"),
        ("max_tokens", "context_limit"),
        ("max_turn_requests", "max_turns"),
        ("refusal", "api_error"),
        ("cancelled", "cancelled"),
        ("of_tomorrow", "malformed"),
    ] {
        let mut talk = Talk::prompted(&request("p"));
        talk.prompt_answer(&json!({"stopReason": reason}));
        assert!(talk.client.is_finished());
        assert_eq!(talk.outcome().word(), word, "{reason}");
    }
}

#[test]
fn every_error_has_its_outcome() {
    for (error, word) in [
        (json!({"code": -32000, "message": "Authentication required"}), "not_logged_in"),
        (json!({"code": -32603, "message": "Internal error: Prompt is too long"}), "context_limit"),
        (
            json!({"code": -32603, "message": "Internal error", "data": {"details": "401 no key"}}),
            "not_logged_in",
        ),
        (
            json!({"code": -32603, "message": "Internal error: Session too large to compact - \
                context exceeds model limit", "data": {"errorName": "ContextOverflowError"}}),
            "context_limit",
        ),
        (
            json!({"code": 400, "message": "{\"error\":{\"message\":\"prompt is too long\"}}"}),
            "context_limit",
        ),
        (json!({"code": 401, "message": "no"}), "not_logged_in"),
        (json!({"code": 429, "message": "slow down"}), "rate_limit"),
        (
            json!({"code": -32603, "message": "x", "data": {"errorKind": "rate_limit"}}),
            "rate_limit",
        ),
        (json!({"code": 529, "message": "busy"}), "api_error"),
        (json!({"code": -32603, "message": "Internal error"}), "api_error"),
        (json!({"code": -32602, "message": "Invalid params"}), "crash"),
        (json!({"code": -32800, "message": "Request cancelled"}), "cancelled"),
        (json!({"code": "odd"}), "api_error"),
        (json!({}), "api_error"),
    ] {
        let mut talk = Talk::prompted(&request("p"));
        talk.refuse(&error);
        assert!(talk.client.is_finished());
        assert_eq!(talk.events.last(), Some(&Event::Finished));
        assert_eq!(talk.outcome().word(), word, "{error}");
    }
    let mut talk = Talk::prompted(&request("p"));
    talk.refuse(&json!({"code": 529, "message": "{\"error\":{\"message\":\"busy\"}}"}));
    assert_eq!(talk.outcome(), Outcome::ApiError { status: Some(529), message: "busy".into() });
}

#[test]
fn what_the_agent_wrote_explains_a_refused_login_better_than_the_error() {
    let mut talk = Talk::prompted(&request("p"));
    talk.text("Invalid API key · Fix external API key");
    talk.refuse(&json!({"code": -32000, "message": "Authentication required"}));
    let message = "Invalid API key · Fix external API key".to_owned();
    assert_eq!(talk.outcome(), Outcome::NotLoggedIn { message });
}

#[test]
fn a_failed_turn_that_ends_like_a_good_one_is_found_out_where_the_agent_gives_a_sign() {
    let status = |status: &str| {
        json!({"sessionUpdate": "session_info_update",
            "_meta": {"codex": {"threadStatus": {"type": status}}}})
    };
    let mut talk = Talk::with(&request("p"), "codex-acp");
    talk.update(&status("active")).update(&status("systemError"));
    talk.text("{\"error\": {\"code\": \"context_length_exceeded\"}}").end();
    assert_eq!(talk.outcome(), Outcome::ContextLimit);
    let mut talk = Talk::with(&request("p"), "codex-acp");
    talk.update(&status("systemError")).update(&status("active")).text("done").end();
    assert_eq!(talk.outcome(), Outcome::Success);
    let mut talk = Talk::with(&request("p"), "Copilot");
    talk.text("Error: Authentication failed with provider (HTTP 401).").end();
    assert_eq!(talk.outcome().word(), "not_logged_in");
    let mut talk = Talk::with(&request("p"), "Copilot");
    talk.text("Error: the disk is on fire").end();
    assert_eq!(talk.outcome().word(), "api_error");
    // Its model may speak of errors; then there is a usage.
    let mut talk = Talk::with(&request("p"), "Copilot");
    talk.text("Error: is what the log says").prompt_answer(&json!({"stopReason": "end_turn",
        "usage": {"totalTokens": 2, "inputTokens": 1, "outputTokens": 1}}));
    assert_eq!(talk.outcome(), Outcome::Success);
    // Others give no sign, and the gates decide.
    let mut talk = Talk::prompted(&request("p"));
    talk.text("Error: something").end();
    assert_eq!(talk.outcome(), Outcome::Success);
}

#[test]
fn an_agent_that_fails_before_the_prompt_says_why() {
    let login = json!({"code": -32000, "message": "Authentication required"});
    let mut talk = Talk::new(&request("p"), &options(), "somebody", json!({}));
    talk.answer(&json!({"protocolVersion": 1})).refuse(&login);
    assert_eq!(talk.outcome().word(), "not_logged_in");
    let mut talk = Talk::new(&request("p"), &options(), "somebody", json!({}));
    talk.refuse(&json!({"code": -32603, "message": "no luck"}));
    let crash = Outcome::Crash { ending: Ending::Code(3), message: "no luck".into() };
    assert_eq!(talk.client.outcome(&Exit::code(3), ""), crash);
    for (hello, session, word) in [
        (json!({"protocolVersion": 2}), json!({}), "malformed"),
        (json!({}), json!({}), "malformed"),
        (json!({"protocolVersion": 1}), json!({"session": 1}), "malformed"),
    ] {
        let mut talk = Talk::new(&request("p"), &options(), "somebody", json!({}));
        talk.answer(&hello);
        if talk.client.wants_input() {
            talk.answer(&session);
        }
        assert!(talk.client.is_finished());
        assert_eq!(talk.outcome().word(), word);
    }
}

#[test]
fn an_end_without_the_agents_word_is_never_a_success() {
    let outcome = |lines: &[&str], exit: Exit, stderr: &str| {
        let mut client = Client::new(&request("p"), &options());
        let mut events = Vec::new();
        lines.iter().for_each(|line| client.line(line.as_bytes(), &mut events));
        client.outcome(&exit, stderr)
    };
    let hello = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#;
    assert_eq!(outcome(&[], Exit::code(0), ""), Outcome::NoOutput);
    let noise = Outcome::Malformed { message: "Usage: bot".into() };
    assert_eq!(outcome(&["Usage: bot", "more"], Exit::code(0), ""), noise);
    assert_eq!(outcome(&[hello], Exit::code(0), "").word(), "malformed");
    let crash = Outcome::Crash { ending: Ending::Code(1), message: "boom".into() };
    assert_eq!(outcome(&[hello], Exit::code(1), "trace\nboom\n\n"), crash);
    assert_eq!(outcome(&[], Exit::code(1), "please log in first").word(), "not_logged_in");
    let gone = Exit { ending: Ending::NotFound, stopped: None };
    assert_eq!(outcome(&[], gone, ""), Outcome::NotInstalled);
}

#[test]
fn our_own_stop_is_told_before_the_agents_answer() {
    for (stop, word) in [
        (Stop::Timeout, "timeout"),
        (Stop::Idle, "idle"),
        (Stop::Cancelled, "cancelled"),
        (Stop::Budget, "budget"),
        (Stop::ContextFull, "context_limit"),
        (Stop::Lingered, "success"),
    ] {
        let mut talk = Talk::prompted(&request("p"));
        talk.end();
        let exit = Exit { ending: Ending::Signal(15), stopped: Some(stop) };
        assert_eq!(talk.client.outcome(&exit, "").word(), word);
    }
}

#[test]
fn a_cancel_is_a_word_of_the_protocol_once_there_is_a_prompt() {
    let mut client = Client::new(&request("p"), &options());
    client.outgoing();
    client.cancel();
    assert!(client.outgoing().is_empty());
    let mut talk = Talk::prompted(&request("p"));
    talk.client.cancel();
    talk.listen();
    let cancel =
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}});
    assert_eq!(*talk.last(), cancel);
    talk.prompt_answer(&json!({"stopReason": "cancelled"}));
    assert_eq!(talk.outcome(), Outcome::Cancelled);
    talk.client.cancel();
    assert!(talk.client.outgoing().is_empty());
}

#[test]
fn after_the_answer_only_what_was_used_still_counts() {
    let mut talk = Talk::with(&request("p"), "claude");
    talk.text("done").end();
    let (events, sent) = (talk.events.len(), talk.sent.len());
    talk.text("late").ask(json!(9), "edit").update(&usage_update(0.5));
    talk.say(&json!({"id": 1, "result": {"stopReason": "refusal"}}));
    assert_eq!(talk.client.answer(), "done");
    assert_eq!(talk.client.spent().cost, Some(0.5));
    assert_eq!(talk.sent.len(), sent, "nobody listens any more");
    let late = &talk.events[events..];
    assert!(
        late.iter().all(|event| {
            matches!(event, Event::Unknown(_) | Event::Context(_) | Event::Cost(_))
        })
    );
    assert_eq!(talk.outcome(), Outcome::Success);
}

#[test]
fn a_batch_and_an_id_that_became_a_string_are_understood() {
    let mut talk = Talk::new(&request("p"), &options(), "somebody", json!({"sessionId": "s1"}));
    talk.say(&json!([{"jsonrpc": "2.0", "id": "1", "result": {"protocolVersion": 1}}, 5]));
    assert_eq!(talk.last()["method"], "session/new");
    assert!(matches!(talk.events.last(), Some(Event::Unknown(_))));
}

#[test]
fn bytes_that_are_no_text_do_not_lose_a_message() {
    let mut talk = Talk::prompted(&request("p"));
    let mut line = br#"{"method":"session/update","params":{"sessionId":"s1","update":
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"#
        .to_vec();
    line.push(0xff);
    line.extend(br#"b"}}}}"#);
    talk.client.line(&line, &mut talk.events);
    assert_eq!(talk.events.last(), Some(&Event::Text("a\u{fffd}b".into())));
}

#[test]
fn what_a_backend_can_do_is_what_its_agent_can_do() {
    let driver = |program: &str, args: &[&str]| {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Acp::new(Options { program: program.into(), args, ..options() })
    };
    let claude = driver("npx", &["@agentclientprotocol/claude-agent-acp"]);
    assert!(claude.supports().cost && claude.supports().context && claude.supports().compaction);
    let run = claude.compaction("s1", "keep the tests").unwrap();
    assert_eq!((run.session.as_str(), run.prompt.as_str()), ("s1", "/compact keep the tests"));
    assert_eq!(driver("qwen", &["--acp"]).compaction("s", "").unwrap().prompt, "/compress");
    assert_eq!(driver("gemini", &["--acp"]).compaction("s", ""), None);
    let other = driver("bot", &[]);
    assert!(!other.supports().cost && !other.supports().compaction && other.supports().resume);
    assert_eq!((other.name(), other.program()), ("bot", "bot"));
    let mut root = request("p");
    root.as_root = true;
    assert_eq!(claude.invocation(&root).env, [("IS_SANDBOX".to_owned(), "1".to_owned())]);
    assert_eq!(claude.invocation(&request("p")).env, []);
    assert_eq!(driver("gemini", &[]).invocation(&root).env[0].0, "GEMINI_CLI_NO_RELAUNCH");
}
