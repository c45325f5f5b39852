//! The ACP dialogue with a real process on the other side.

#![allow(clippy::unwrap_used, reason = "a test may end in a panic")]
#![expect(clippy::disallowed_methods, reason = "the test starts the agent itself")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use ralph_core::backend::acp::{AcpDriver, AcpOptions};
use ralph_core::backend::{
    BackendDriver, BackendEvent, BackendExit, BackendOutcome, BackendPermissions, BackendRequest,
    ProcessEnding, RunUsage, SessionStart, StopCause,
};

/// How a run went.
struct Run {
    outcome: BackendOutcome,
    events: Vec<BackendEvent>,
    answer: String,
    spent: RunUsage,
}

/// When to ask the agent to stop.
#[derive(Clone, Copy, PartialEq)]
enum Cancel {
    Never,
    AtTheFirstWord,
}

fn run(dir: &Path, prompt: &str, permissions: BackendPermissions, cancel: Cancel) -> Run {
    let request = BackendRequest {
        prompt,
        system: None,
        model: None,
        max_turns: None,
        permissions,
        mcp: None,
        schema: None,
        session: SessionStart::New,
        budget: None,
        scratch: "/nowhere",
        as_root: false,
    };
    let driver = AcpDriver::new(AcpOptions {
        name: "fake".into(),
        program: env!("CARGO_BIN_EXE_fake-acp").into(),
        args: vec!["--modes".into()],
        mode: None,
        cwd: dir.to_str().unwrap().into(),
    });
    let mut reader = driver.reader(&request);
    let mut child = Command::new(driver.program())
        .args(driver.invocation(&request).args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).split(b'\n');
    let mut events = Vec::new();
    while let Some(pipe) = &mut stdin {
        // The agent may be gone already, which its exit will tell.
        let _gone = pipe.write_all(&reader.outgoing());
        let Some(line) = lines.next() else { break };
        reader.line(&line.unwrap(), &mut events);
        if cancel == Cancel::AtTheFirstWord && matches!(events.last(), Some(BackendEvent::Text(_)))
        {
            reader.cancel();
        }
        if !reader.wants_input() {
            stdin = None;
        }
    }
    // What a runner does after a grace time.
    let exit = if prompt.contains("linger") {
        child.kill().unwrap();
        child.wait().unwrap();
        BackendExit { ending: ProcessEnding::Signal(9), stopped: Some(StopCause::Lingered) }
    } else {
        BackendExit::code(child.wait().unwrap().code().unwrap())
    };
    let outcome = reader.outcome(&exit, "");
    Run { outcome, events, answer: reader.answer().to_owned(), spent: reader.spent() }
}

#[test]
fn the_agent_makes_a_file_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let prompt = "noise\nsay I write.\nread a.txt\nask a.txt\ncost 0.5\nsay Done.";
    let run = run(dir.path(), prompt, BackendPermissions::Bypass, Cancel::Never);
    assert_eq!(run.outcome, BackendOutcome::Success);
    assert_eq!(
        fs::read_to_string(dir.path().join("a.txt")).unwrap(),
        "hello from the fake agent\n"
    );
    assert_eq!(run.answer, "Done.");
    assert_eq!(run.spent.cost, Some(0.5));
    let called =
        |e: &BackendEvent| matches!(e, BackendEvent::ToolCall { name, .. } if name == "write");
    assert_eq!(run.events.iter().filter(|event| called(event)).count(), 1);
}

#[test]
fn without_permission_no_file_is_made_and_the_run_says_so() {
    for permissions in [BackendPermissions::Default, BackendPermissions::ReadOnly] {
        let dir = tempfile::tempdir().unwrap();
        let run = run(dir.path(), "ask a.txt", permissions, Cancel::Never);
        let denied =
            BackendEvent::Denied { tool: "write".into(), reason: Some("write a.txt".into()) };
        assert!(run.events.contains(&denied));
        let is_work = permissions == BackendPermissions::Default;
        assert_eq!(run.outcome.word(), if is_work { "permission_denied" } else { "success" });
        assert!(!dir.path().join("a.txt").exists());
    }
}

#[test]
fn every_way_to_fail_has_its_outcome() {
    let dir = tempfile::tempdir().unwrap();
    for (prompt, word) in [
        ("login", "not_logged_in"),
        ("fail prompt is too long", "context_limit"),
        ("fail 429 Too Many Requests", "rate_limit"),
        ("fail of the model", "api_error"),
        ("say half\ncrash", "crash"),
        ("say all\nlinger", "success"),
    ] {
        let run = run(dir.path(), prompt, BackendPermissions::Bypass, Cancel::Never);
        assert_eq!(run.outcome.word(), word, "{prompt}");
    }
    let run = run(dir.path(), "say x\nhang", BackendPermissions::Bypass, Cancel::AtTheFirstWord);
    assert_eq!(run.outcome, BackendOutcome::Cancelled);
}
