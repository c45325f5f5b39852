//! The dialogue, against agents in the shape of the real ones.

use serde_json::json;

use super::talk_tests::{Talk, options, request};
use super::turn_tests::usage_update;
use super::*;
use crate::backend::{
    BackendEvent, BackendExit, BackendOutcome, ProcessEnding, RunUsage, StopCause, ToolStatus,
};

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
    let text = |text: &str| BackendEvent::Text(text.into());
    let started = BackendEvent::Started { session: Some("s1".into()), model: None };
    assert_eq!(talk.events, [started, text("It is "), text("done."), BackendEvent::Finished]);
    assert_eq!(talk.client.answer(), "It is done.");
    assert_eq!(talk.client.session(), Some("s1"));
    assert_eq!(talk.client.spent(), RunUsage::default());
    assert!(talk.client.is_finished() && !talk.client.wants_input());
    assert_eq!(talk.outcome(), BackendOutcome::Success);
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
        assert_eq!(talk.events.last(), Some(&BackendEvent::Unknown(ask.to_string())));
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
        assert!(talk.events.iter().all(|event| !matches!(event, BackendEvent::Denied { .. })));
        assert_eq!(talk.outcome(), BackendOutcome::Success);
    }
}

#[test]
fn without_the_bypass_a_question_is_refused() {
    for (permissions, kind, option) in [
        (BackendPermissions::Default, "execute", "no"),
        (BackendPermissions::Default, "read", "no"),
        (BackendPermissions::ReadOnly, "edit", "no"),
        (BackendPermissions::ReadOnly, "execute", "no"),
        (BackendPermissions::ReadOnly, "delete", "no"),
        (BackendPermissions::ReadOnly, "of_tomorrow", "no"),
        (BackendPermissions::ReadOnly, "read", "now"),
        (BackendPermissions::ReadOnly, "search", "now"),
    ] {
        let mut request = request("p");
        request.permissions = permissions;
        let mut talk = Talk::prompted(&request);
        talk.ask(json!(1), kind);
        assert_eq!(talk.last()["result"]["outcome"]["optionId"], option, "{permissions:?} {kind}");
        talk.end();
        let denied =
            BackendEvent::Denied { tool: "Bash".into(), reason: Some("rm -r build".into()) };
        assert_eq!(talk.events.contains(&denied), option == "no", "{permissions:?} {kind}");
        let denied = BackendOutcome::PermissionDenied { tools: vec!["Bash".into()] };
        let is_work = permissions == BackendPermissions::Default;
        assert_eq!(talk.outcome(), if is_work { denied } else { BackendOutcome::Success });
    }
}

#[test]
fn a_refused_call_is_over_even_if_the_agent_does_not_say_so() {
    let mut request = request("p");
    request.permissions = BackendPermissions::Default;
    let mut talk = Talk::prompted(&request);
    talk.ask(json!(1), "edit");
    talk.update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1",
        "status": "failed"}));
    let results = talk.events.iter().filter(|event| {
        matches!(event, BackendEvent::ToolResult { id, status: ToolStatus::Failed, .. } if id == "c1")
    });
    assert_eq!(results.count(), 1);
}

#[test]
fn who_may_only_look_and_gives_up_when_refused_was_denied() {
    let mut request = request("p");
    request.permissions = BackendPermissions::ReadOnly;
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
        assert_eq!(talk.events.last(), Some(&BackendEvent::Finished));
        assert_eq!(talk.outcome().word(), word, "{error}");
    }
    let mut talk = Talk::prompted(&request("p"));
    talk.refuse(&json!({"code": 529, "message": "{\"error\":{\"message\":\"busy\"}}"}));
    assert_eq!(
        talk.outcome(),
        BackendOutcome::ApiError { status: Some(529), message: "busy".into() }
    );
}

#[test]
fn what_the_agent_wrote_explains_a_refused_login_better_than_the_error() {
    let mut talk = Talk::prompted(&request("p"));
    talk.text("Invalid API key · Fix external API key");
    talk.refuse(&json!({"code": -32000, "message": "Authentication required"}));
    let message = "Invalid API key · Fix external API key".to_owned();
    assert_eq!(talk.outcome(), BackendOutcome::NotLoggedIn { message });
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
    assert_eq!(talk.outcome(), BackendOutcome::ContextLimit);
    let mut talk = Talk::with(&request("p"), "codex-acp");
    talk.update(&status("systemError")).update(&status("active")).text("done").end();
    assert_eq!(talk.outcome(), BackendOutcome::Success);
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
    assert_eq!(talk.outcome(), BackendOutcome::Success);
    // Others give no sign, and the gates decide.
    let mut talk = Talk::prompted(&request("p"));
    talk.text("Error: something").end();
    assert_eq!(talk.outcome(), BackendOutcome::Success);
}

#[test]
fn an_agent_that_fails_before_the_prompt_says_why() {
    let login = json!({"code": -32000, "message": "Authentication required"});
    let mut talk = Talk::new(&request("p"), &options(), "somebody", json!({}));
    talk.answer(&json!({"protocolVersion": 1})).refuse(&login);
    assert_eq!(talk.outcome().word(), "not_logged_in");
    let mut talk = Talk::new(&request("p"), &options(), "somebody", json!({}));
    talk.refuse(&json!({"code": -32603, "message": "no luck"}));
    let crash = BackendOutcome::Crash { ending: ProcessEnding::Code(3), message: "no luck".into() };
    assert_eq!(talk.client.outcome(&BackendExit::code(3), ""), crash);
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
    let outcome = |lines: &[&str], exit: BackendExit, stderr: &str| {
        let mut client = AcpClient::new(&request("p"), &options());
        let mut events = Vec::new();
        lines.iter().for_each(|line| client.line(line.as_bytes(), &mut events));
        client.outcome(&exit, stderr)
    };
    let hello = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#;
    assert_eq!(outcome(&[], BackendExit::code(0), ""), BackendOutcome::NoOutput);
    let noise = BackendOutcome::Malformed { message: "Usage: bot".into() };
    assert_eq!(outcome(&["Usage: bot", "more"], BackendExit::code(0), ""), noise);
    assert_eq!(outcome(&[hello], BackendExit::code(0), "").word(), "malformed");
    let crash = BackendOutcome::Crash { ending: ProcessEnding::Code(1), message: "boom".into() };
    assert_eq!(outcome(&[hello], BackendExit::code(1), "trace\nboom\n\n"), crash);
    assert_eq!(outcome(&[], BackendExit::code(1), "please log in first").word(), "not_logged_in");
    let gone = BackendExit { ending: ProcessEnding::NotFound, stopped: None };
    assert_eq!(outcome(&[], gone, ""), BackendOutcome::NotInstalled);
}

#[test]
fn our_own_stop_is_told_before_the_agents_answer() {
    for (stop, word) in [
        (StopCause::Timeout, "timeout"),
        (StopCause::Idle, "idle"),
        (StopCause::Cancelled, "cancelled"),
        (StopCause::Budget, "budget"),
        (StopCause::ContextFull, "context_limit"),
        (StopCause::Lingered, "success"),
    ] {
        let mut talk = Talk::prompted(&request("p"));
        talk.end();
        let exit = BackendExit { ending: ProcessEnding::Signal(15), stopped: Some(stop) };
        assert_eq!(talk.client.outcome(&exit, "").word(), word);
    }
}

#[test]
fn a_cancel_is_a_word_of_the_protocol_once_there_is_a_prompt() {
    let mut client = AcpClient::new(&request("p"), &options());
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
    assert_eq!(talk.outcome(), BackendOutcome::Cancelled);
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
    assert!(late.iter().all(|event| {
        matches!(event, BackendEvent::Unknown(_) | BackendEvent::Context(_) | BackendEvent::Cost(_))
    }));
    assert_eq!(talk.outcome(), BackendOutcome::Success);
}

#[test]
fn a_batch_and_an_id_that_became_a_string_are_understood() {
    let mut talk = Talk::new(&request("p"), &options(), "somebody", json!({"sessionId": "s1"}));
    talk.say(&json!([{"jsonrpc": "2.0", "id": "1", "result": {"protocolVersion": 1}}, 5]));
    assert_eq!(talk.last()["method"], "session/new");
    assert!(matches!(talk.events.last(), Some(BackendEvent::Unknown(_))));
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
    assert_eq!(talk.events.last(), Some(&BackendEvent::Text("a\u{fffd}b".into())));
}

#[test]
fn what_a_backend_can_do_is_what_its_agent_can_do() {
    let driver = |program: &str, args: &[&str]| {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        AcpDriver::new(AcpOptions { program: program.into(), args, ..options() })
    };
    let claude = driver("npx", &["@agentclientprotocol/claude-agent-acp"]);
    assert!(claude.supports().cost && claude.supports().context && claude.supports().compaction);
    assert!(driver("qwen", &["--acp"]).supports().compaction);
    assert!(!driver("gemini", &["--acp"]).supports().compaction);
    let other = driver("bot", &[]);
    assert!(!other.supports().cost && !other.supports().compaction && other.supports().resume);
    assert_eq!((other.name(), other.program()), ("bot", "bot"));
    let mut root = request("p");
    root.as_root = true;
    assert_eq!(claude.invocation(&root).env, [("IS_SANDBOX".to_owned(), "1".to_owned())]);
    assert_eq!(claude.invocation(&request("p")).env, []);
    assert_eq!(driver("gemini", &[]).invocation(&root).env[0].0, "GEMINI_CLI_NO_RELAUNCH");
}
