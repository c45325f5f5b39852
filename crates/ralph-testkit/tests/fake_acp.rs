//! The ACP dialogue with a real process on the other side.

#![allow(clippy::unwrap_used, reason = "a test may end in a panic")]
#![expect(clippy::disallowed_methods, reason = "the test starts the agent itself")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use ralph_core::backend::acp::{Acp, Options};
use ralph_core::backend::{
    Driver, Ending, Event, Exit, Outcome, Permissions, Request, Session, Spent, Stop,
};

/// How a run went.
struct Run {
    outcome: Outcome,
    events: Vec<Event>,
    answer: String,
    spent: Spent,
}

/// When to ask the agent to stop.
#[derive(Clone, Copy, PartialEq)]
enum Cancel {
    Never,
    AtTheFirstWord,
}

fn run(dir: &Path, prompt: &str, permissions: Permissions, cancel: Cancel) -> Run {
    let request = Request {
        prompt,
        system: None,
        model: None,
        max_turns: None,
        permissions,
        mcp: None,
        schema: None,
        session: Session::New,
        budget: None,
        scratch: "/nowhere",
        as_root: false,
    };
    let driver = Acp::new(Options {
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
        if cancel == Cancel::AtTheFirstWord && matches!(events.last(), Some(Event::Text(_))) {
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
        Exit { ending: Ending::Signal(9), stopped: Some(Stop::Lingered) }
    } else {
        Exit::code(child.wait().unwrap().code().unwrap())
    };
    let outcome = reader.outcome(&exit, "");
    Run { outcome, events, answer: reader.answer().to_owned(), spent: reader.spent() }
}

#[test]
fn the_agent_makes_a_file_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let prompt = "noise\nsay I write.\nread a.txt\nask a.txt\ncost 0.5\nsay Done.";
    let run = run(dir.path(), prompt, Permissions::Bypass, Cancel::Never);
    assert_eq!(run.outcome, Outcome::Success);
    assert_eq!(
        fs::read_to_string(dir.path().join("a.txt")).unwrap(),
        "hello from the fake agent\n"
    );
    assert_eq!(run.answer, "Done.");
    assert_eq!(run.spent.cost, Some(0.5));
    let called = |e: &Event| matches!(e, Event::ToolCall { name, .. } if name == "write");
    assert_eq!(run.events.iter().filter(|event| called(event)).count(), 1);
}

#[test]
fn without_permission_no_file_is_made_and_the_run_says_so() {
    for permissions in [Permissions::Default, Permissions::ReadOnly] {
        let dir = tempfile::tempdir().unwrap();
        let run = run(dir.path(), "ask a.txt", permissions, Cancel::Never);
        let denied = Event::Denied { tool: "write".into(), reason: Some("write a.txt".into()) };
        assert!(run.events.contains(&denied));
        let is_work = permissions == Permissions::Default;
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
        let run = run(dir.path(), prompt, Permissions::Bypass, Cancel::Never);
        assert_eq!(run.outcome.word(), word, "{prompt}");
    }
    let run = run(dir.path(), "say x\nhang", Permissions::Bypass, Cancel::AtTheFirstWord);
    assert_eq!(run.outcome, Outcome::Cancelled);
}
