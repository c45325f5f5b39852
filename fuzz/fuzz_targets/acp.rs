//! A dialogue with an ACP agent that says anything: nothing panics, what the client writes is one
//! JSON message a line, it never goes on after the end, and a success was said.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::backend::acp::{AcpClient, AcpOptions};
use ralph_core::backend::{
    BackendExit, BackendOutcome, BackendPermissions, BackendReader, BackendRequest, RunUsage,
    SessionStart,
};
use ralph_fuzz::request;
use serde_json::Value;

const PROGRAMS: [&str; 6] = ["claude", "codex", "gemini", "opencode", "copilot", "bot"];

fuzz_target!(|data: &[u8]| {
    let Some((choice, stream)) = data.split_first() else { return };
    let before = RunUsage { cost: Some(1.0), input: Some(10), ..RunUsage::default() };
    let session = match choice / 6 % 3 {
        0 => SessionStart::New,
        1 => SessionStart::Resume { id: "s1", before },
        _ => SessionStart::Compact { id: "s1", before },
    };
    let permissions = match choice / 18 % 3 {
        0 => BackendPermissions::Bypass,
        1 => BackendPermissions::Default,
        _ => BackendPermissions::ReadOnly,
    };
    let options = AcpOptions {
        program: PROGRAMS[usize::from(choice % 6)].into(),
        cwd: "/work".into(),
        ..AcpOptions::default()
    };
    let request =
        BackendRequest { prompt: "/x", session, permissions, model: Some("m"), ..request() };
    let mut client = AcpClient::new(&request, &options);
    let mut events = Vec::new();
    check(&client.outgoing());
    for line in stream.split(|byte| *byte == b'\n') {
        let was_over = client.is_finished();
        client.line(line, &mut events);
        let out = client.outgoing();
        check(&out);
        assert!(!was_over || out.is_empty(), "it speaks after the end");
        assert_eq!(client.wants_input(), !client.is_finished());
    }
    client.cancel();
    check(&client.outgoing());
    let is_finished = client.is_finished();
    let outcome = client.outcome(&BackendExit::code(0), "");
    assert!(is_finished || outcome != BackendOutcome::Success);
    let spent = client.spent();
    assert!(spent.cost.is_none_or(|cost| cost >= 0.0), "{spent:?}");
});

fn check(out: &[u8]) {
    assert!(out.is_empty() || out.ends_with(b"\n"));
    for line in out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: Value = serde_json::from_slice(line).expect("it writes JSON");
        assert_eq!(message["jsonrpc"], "2.0");
    }
}
