//! What a session is opened with and set to.

use serde_json::{Value, json};

use super::talk_tests::{Talk, options, request};
use super::*;
use crate::backend::{BackendEvent, RunUsage};

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
fn settings(
    permissions: BackendPermissions,
    mode: Option<&str>,
    session: Value,
) -> Vec<(String, Value)> {
    let mut request = request("p");
    request.permissions = permissions;
    let options = AcpOptions { mode: mode.map(str::to_owned), ..options() };
    let mut talk = Talk::new(&request, &options, "somebody", session);
    talk.open();
    let set = talk.sent.iter().filter(|sent| {
        sent["method"].as_str().is_some_and(|method| method.starts_with("session/set_"))
    });
    set.map(|sent| (sent["method"].as_str().unwrap().to_owned(), sent["params"].clone())).collect()
}

#[test]
fn the_mode_fits_the_permissions() {
    use BackendPermissions::{Bypass, Default, ReadOnly};
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
    assert_eq!(settings(BackendPermissions::Bypass, None, opencode()), []);
    assert_eq!(settings(BackendPermissions::ReadOnly, None, opencode()), set("mode", "plan"));
    let copilot = |current: &str| {
        let allow = option("allow_all", "permissions", current, &["on", "off"]);
        json!({"sessionId": "s1", "configOptions": [allow]})
    };
    assert_eq!(settings(BackendPermissions::Bypass, None, copilot("off")), set("allow_all", "on"));
    assert_eq!(
        settings(BackendPermissions::ReadOnly, None, copilot("on")),
        set("allow_all", "off")
    );
    assert_eq!(settings(BackendPermissions::Default, None, copilot("on")), []);
}

#[test]
fn a_mode_of_the_configuration_is_set_or_the_run_ends() {
    let url = "https://modes.example/m#autopilot";
    let offered = || modes("plain", &["plain", url]);
    let set = settings(BackendPermissions::Bypass, Some("autopilot"), offered());
    assert_eq!(set[0].1["modeId"], url);
    // What may only look may not be told to do more.
    assert_eq!(settings(BackendPermissions::ReadOnly, Some("autopilot"), offered()), []);
    let wrong = AcpOptions { mode: Some("turbo".into()), ..options() };
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
    read_only.permissions = BackendPermissions::ReadOnly;
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
        BackendEvent::Started { session: Some("s1".into()), model: Some("big".into()) }
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
    let invocation = AcpDriver::new(options()).invocation(&request);
    assert_eq!(invocation.args, ["--acp"]);
    assert_eq!(invocation.stdin, "");
}

#[test]
fn a_session_is_continued_without_its_history_becoming_events() {
    let mut request = request("p");
    let before = RunUsage { cost: Some(1.0), ..RunUsage::default() };
    request.session = SessionStart::Resume { id: "s1", before };
    let mut talk = Talk::new(&request, &options(), "somebody", json!({}));
    talk.answer(&json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}));
    assert_eq!(talk.last()["method"], "session/load");
    assert_eq!(talk.last()["params"]["sessionId"], "s1");
    talk.text("an old answer");
    let id = talk.last()["id"].clone();
    talk.say(&json!({"id": id, "result": null}));
    assert_eq!(talk.last()["method"], "session/prompt");
    assert!(talk.known().iter().all(|event| matches!(event, BackendEvent::Started { .. })));
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
