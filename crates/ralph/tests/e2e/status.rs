//! `ralph status`, `ralph log`, and what every command has in common.

use ralph_host::store::{LockHolder, RunLock};
use ralph_testkit::project;
use serde_json::json;

const PLAN: &str = r#"{"t":"spec","spec":"a.md"}
{"t":"task","id":"t-aaaa","spec":"a.md","name":"Read","s":"p"}
{"t":"task","id":"t-bbbb","spec":"a.md","name":"Print","s":"p","deps":["t-aaaa"]}
{"t":"task","id":"t-cccc","spec":"a.md","name":"Sign","s":"p","blocked":"no key"}
{"t":"reject","id":"t-aaaa","name":"Read","reason":"no test","at":"2025-01-20T09:30:00Z"}
{"t":"accept","id":"t-zzzz","name":"Start","done_at":"2025-01-20T10:00:00Z","at":"2025-01-20T10:20:00Z"}
"#;

#[test]
fn status_says_where_the_plan_stands() {
    let p = project!().git_init().file("ralph/plan.jsonl", PLAN);
    p.run(["status"]).ok().stdout(
        "Plan:   ralph/plan.jsonl
Spec:   a.md
Stage:  BUILD: tasks are ready
Tasks:  2 pending, 1 accepted, 1 blocked
Needs:  t-cccc is blocked: no key (`ralph task retry t-cccc` gives it another attempt)
Next:   t-aaaa  Read
",
    );
    let json = p.run(["status", "--json"]).ok().json();
    assert_eq!(json["tally"]["accepted"], 1);
    assert_eq!(json["stage"], "BUILD");
}

#[test]
fn a_blocked_plan_says_what_is_in_the_way_and_is_never_complete() {
    let p = project!().git_init().file(
        "ralph/plan.jsonl",
        "{\"t\":\"task\",\"id\":\"t-cccc\",\"name\":\"Sign\",\"s\":\"p\",\"blocked\":\"no key\"}\n",
    );
    p.run(["status"])
        .ok()
        .stdout_has("Stage:  BLOCKED: work is left, but none of it can go on")
        .stdout_has("Stuck:  t-cccc  Sign [blocked: no key]");
}

const SESSION: &str = r#"{
  "started_at": "2025-01-20T09:07:00Z",
  "specs_completed": 3,
  "specs_failed": 0,
  "total_cost": 2.45,
  "current_spec_id": "q-e5f6",
  "host": "night"
}
"#;
const INBOX: &str = r#"{"t":"inbox","id":"q-aaaa","spec":"a.md","added_at":"2025-01-20T08:00:00Z","status":"done"}
{"t":"inbox","id":"q-e5f6","spec":"refactor-z.md","added_at":"2025-01-20T08:00:00Z","status":"active"}
{"t":"inbox","id":"q-bbbb","spec":"b.md","added_at":"2025-01-20T08:00:00Z","status":"pending"}
"#;

fn night() -> ralph_testkit::TestProject {
    project!()
        .git_init()
        .file("ralph/plan.jsonl", PLAN)
        .file("ralph/inbox.jsonl", INBOX)
        .file("ralph/.agent-session", SESSION)
}

#[test]
fn status_has_the_block_of_a_running_agent_from_another_terminal() {
    let p = night();
    let lock = RunLock::acquire(&p.path(".git/ralph"), &LockHolder::this_process("now")).unwrap();
    p.run(["status"]).ok().stdout(
        "Mode: agent
Current spec: refactor-z.md (q-e5f6)
Inbox: 1 pending, 1 active, 1 done, 0 failed
Session: 3 specs completed, $2.45 spent, 1h 23m elapsed

Plan:   ralph/plan.jsonl
Spec:   a.md
Stage:  BUILD: tasks are ready
Tasks:  2 pending, 1 accepted, 1 blocked
Needs:  t-cccc is blocked: no key (`ralph task retry t-cccc` gives it another attempt)
Next:   t-aaaa  Read
",
    );
    let agent = p.run(["status", "--json"]).ok().json()["agent"].clone();
    assert_eq!((&agent["running"], &agent["elapsed_seconds"]), (&json!(true), &json!(4980)));
    assert_eq!((&agent["total_cost"], &agent["host"]), (&json!(2.45), &json!("night")));
    drop(lock);
    p.run(["status"]).ok().stdout_has("Mode: agent (interrupted; `ralph agent` goes on)\n");
    assert_eq!(p.run(["status", "--json"]).ok().json()["agent"]["running"], false);
}

#[test]
fn a_damaged_session_does_not_hide_the_rest_of_the_status() {
    let p = night().file("ralph/.agent-session", "{\"started_at\": ");
    p.run(["status"])
        .ok()
        .stdout_has("Mode: agent (ralph/.agent-session cannot be read: ")
        .stdout_has("Stage:  BUILD: tasks are ready");
    let plain = project!().git_init().file("ralph/plan.jsonl", PLAN);
    assert_eq!(plain.run(["status", "--json"]).ok().json()["agent"], json!(null));
}

#[test]
fn a_watched_status_shows_each_change_as_one_more_block_and_ends_when_it_is_told() {
    let p = night();
    for (more, first, second) in [
        (None, "Inbox: 1 pending", "Inbox: 2 pending"),
        (Some("--json"), "\"q-bbbb\"", "\"q-cccc\""),
    ] {
        p.write("ralph/inbox.jsonl", INBOX);
        let told = p.home().join("told");
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_ralph"))
            .args(["status", "--watch"].into_iter().chain(more))
            .current_dir(p.root())
            .env("RALPH_NOW", ralph_testkit::NOW)
            .stdout(std::fs::File::create(&told).unwrap())
            .spawn()
            .unwrap();
        let until = |part: &str| {
            let limit = std::time::Instant::now() + std::time::Duration::from_secs(60);
            while !std::fs::read_to_string(&told).unwrap().contains(part) {
                assert!(std::time::Instant::now() < limit, "{part} was never shown");
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        };
        until(first);
        let more =
            INBOX.replace("q-aaaa", "q-cccc").lines().next().unwrap().replace("done", "pending");
        p.write("ralph/inbox.jsonl", format!("{INBOX}{more}\n"));
        until(second);
        child.kill().unwrap();
        child.wait().unwrap();
        let told = std::fs::read_to_string(&told).unwrap();
        assert!(!told.contains('\u{1b}'), "no terminal, no commands for one: {told:?}");
    }
}

#[test]
fn log_shows_the_history_newest_first() {
    let p = project!().git_init().file("ralph/plan.jsonl", PLAN);
    p.run(["log"]).ok().stdout(
        "t-zzzz  accepted  10m ago  Start
t-aaaa  rejected  1h ago   Read: no test
",
    );
    p.run(["log", "-n", "1"]).ok().stdout("t-zzzz  accepted  10m ago  Start\n");
    assert_eq!(
        p.run(["log", "--json"]).ok().json()[1],
        json!({"event": "rejected", "id": "t-aaaa", "name": "Read", "reason": "no test", "at": "2025-01-20T09:30:00Z"})
    );
}

#[test]
fn every_command_has_help_with_an_example() {
    let p = project!();
    for command in [
        "init",
        "build",
        "start",
        "status",
        "task",
        "issue",
        "spec",
        "inbox",
        "query",
        "log",
        "report",
        "attempts",
        "show",
        "salvage",
        "recover",
        "knowledge",
        "validate",
        "convert",
        "import",
        "config",
        "backends",
        "completions",
        "man",
    ] {
        let help = p.run([command, "--help"]).ok().stdout;
        assert!(help.contains("Example"), "ralph {command} --help has no example:\n{help}");
        assert!(help.contains(&format!("ralph {command}")), "{help}");
    }
    for command in [
        "add",
        "done",
        "accept",
        "reject",
        "prioritize",
        "list",
        "show",
        "edit",
        "skip",
        "block",
        "retry",
        "delete",
    ] {
        p.run(["task", command, "--help"]).ok().stdout_has("Example");
    }
    for command in ["list", "show", "search", "verify"] {
        p.run(["knowledge", command, "--help"]).ok().stdout_has("Example");
    }
    p.run(["backends", "try", "--help"]).ok().stdout_has("Example");
    for command in ["list", "diff", "restore", "prune"] {
        p.run(["salvage", command, "--help"]).ok().stdout_has("Example");
    }
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    let p = project!().git_init();
    p.run(["tsk"]).fails(2).stderr_has("task");
    p.run(["task", "add"]).fails(2);
    p.run(["query", "stage", "--plna", "x"]).fails(2).stderr_has("--plan");
}

#[test]
fn version_completions_and_manual_pages_are_printed() {
    let p = project!();
    p.run(["--version"]).ok().stdout(&format!("ralph {}\n", env!("CARGO_PKG_VERSION")));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        p.run(["completions", shell]).ok().stdout_has("ralph").stdout_has("prioritize");
    }
    p.run(["man"]).ok().stdout_has(".TH ralph 1");
    p.run(["man", "pages"]).ok();
    assert!(p.exists("pages/ralph.1") && p.exists("pages/ralph-task-prioritize.1"));
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    use std::io::Read;
    use std::process::{Command, Stdio};
    let p = project!().git_init().file("ralph/plan.jsonl", PLAN);
    let mut child = Command::new(env!("CARGO_BIN_EXE_ralph"))
        .args(["completions", "zsh"])
        .current_dir(p.root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}
