//! Nothing that ralph writes about its work holds a secret.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::plans::task;
use crate::repo::{GOOD, repo, rule};

const KEY: &str = "sk-ant-api03-0123456789abcdefghij";
const VALUE: &str = "correct-horse-battery";
const OWN: &str = "internal-4711-4712";

fn files(place: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn secrets_are_hidden_in_everything_that_ralph_writes_and_logs_are_for_their_owner() {
    let repo = repo(&[task("t-aaa1")]);
    let gate = format!("echo gate {KEY}; echo token $MY_TOKEN; ! grep -qs broken work/t-aaa1.txt");
    repo.config(&format!(
        "redact = [\"internal-*\"]\nbackend = \"sim\"\n[[gates]]\nname = \"test\"\nkind = \"test\"\ncommand = \"{gate}\"\n"
    ));
    let says = format!(
        r#"{{ say = "a\nkey is {KEY} and {OWN}" }}, {{ run = "echo {KEY} $MY_TOKEN" }}, {{ stderr = "{KEY}" }}"#
    );
    let handoff = format!(
        r#"{{ claim = "done", form = "json", handoff = {{ summary = "used {KEY}", freeform = "The key {KEY} and the password {OWN} were used by me to get this done in the end." }} }}"#
    );
    let writes = |text: &str| format!(r#"{{ write = "work/t-aaa1.txt", text = "{text}\n" }}"#);
    repo.script(
        &(rule("attempt = 1", &format!("{says}, {}, {handoff}", writes("broken")))
            + &rule("", &format!("{says}, {}, {handoff}", writes("fixed")))),
    );
    repo.run(["note", &format!("the key is {KEY}")]).ok();
    let run = repo.command(["build", "--json"]).env("MY_TOKEN", VALUE).run().ok();
    let said = crate::repo::said(&run);
    assert_eq!(repo.landed(), ["t-aaa1"], "{said}");
    assert!(said.contains("key is [hidden]"), "what the backend says is told live: {said}");
    for secret in [KEY, VALUE, OWN] {
        assert!(!said.contains(secret), "{secret} is told live: {said}");
    }
    let mut found = Vec::new();
    for place in [".ralph", "build/ralph-logs", "ralph"] {
        files(&repo.path(place), &mut found);
    }
    files(&repo.git_dir().join("ralph"), &mut found);
    assert!(found.len() > 10, "{found:?}");
    for path in &found {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        for secret in [KEY, VALUE, OWN] {
            assert!(!text.contains(secret), "{secret} in {}", path.display());
        }
    }
    let logs = found.iter().filter(|path| {
        let name = path.to_string_lossy();
        name.ends_with(".log")
            || name.contains("/handoffs/")
            || name.contains("/events.jsonl")
            || name.ends_with(".prompt.md")
            || name.contains("/validation/")
    });
    let modes: Vec<_> =
        logs.map(|path| (path, fs::metadata(path).unwrap().permissions().mode() & 0o777)).collect();
    assert!(modes.len() >= 8, "{modes:?}");
    assert!(modes.iter().all(|(_, mode)| *mode == 0o600), "{modes:?}");
    let log = repo.ask_git(["log", "--format=%B"]);
    assert!(!log.contains(KEY), "{log}");
    assert!(repo.prompt(2).contains("[hidden]"), "the failure's output is there without the key");
}

#[test]
fn a_secret_in_a_task_or_an_issue_that_a_backend_adds_is_hidden_and_a_persons_words_stay() {
    let repo = repo(&[task("t-aaa1")]);
    let bin = env!("CARGO_BIN_EXE_ralph");
    let add = format!(
        r#"{{ run = "{bin} task add 'Rotate {KEY}'" }}, {{ run = "{bin} issue add 'who has {KEY}?'" }}"#
    );
    repo.script(&(rule("task = \"t-aaa1\"", &format!("{add}, {GOOD}")) + &rule("", GOOD)));
    repo.run(["task", "add", "Read docs of sk-ant keys"]).ok();
    repo.build(["--once"]);
    let plan = repo.plan();
    assert!(plan.contains("Rotate ") && plan.contains("who has "), "{plan}");
    assert!(!plan.contains(KEY) && plan.contains("Read docs of sk-ant keys"), "{plan}");
}

#[test]
fn a_secret_in_the_error_of_a_backend_reaches_no_plan_and_no_journal() {
    for steps in [
        format!(r#"{{ fail = "api_error", status = 500, message = "Bad {KEY}" }}"#),
        format!(r#"{{ stderr = "panic {KEY}" }}, {{ exit = 70 }}"#),
    ] {
        let repo = repo(&[task("t-aaa1")]);
        repo.set("max_retries = 0").script(&rule("", &steps));
        repo.build([]).fails(3);
        let journal = fs::read_to_string(repo.git_dir().join("ralph/journal.jsonl")).unwrap();
        let report = repo.run(["report"]).ok().stdout;
        for text in [repo.plan(), journal, report, repo.ask_git(["show", "HEAD"])] {
            assert!(!text.contains(KEY), "{steps}: {text}");
        }
    }
}

#[test]
fn a_secret_of_several_lines_or_printed_as_json_is_hidden_in_the_logs_of_gates() {
    let repo = repo(&[task("t-aaa1")]);
    let gate = "echo \\\"$ML_TOKEN\\\"; printf '%s' '{\\\"k\\\":\\\"quo\\\\\\\"ted-secret-77\\\"}'; exit 1";
    repo.config(&format!(
        "max_retries = 0\nbackend = \"sim\"\n[[gates]]\nname = \"test\"\nkind = \"test\"\ncommand = \"{gate}\"\n"
    ));
    repo.script(&rule("", GOOD));
    let run = repo.command(["build"]);
    let run = run.env("ML_TOKEN", "multi-line-first-9911\nsecond-line-token-8812");
    run.env("QUOTED_TOKEN", "quo\"ted-secret-77").run();
    let mut found = Vec::new();
    files(&repo.path(".ralph"), &mut found);
    files(&repo.git_dir().join("ralph"), &mut found);
    let texts = found.iter().map(|path| fs::read_to_string(path).unwrap_or_default());
    let all: String = texts.collect();
    assert!(all.contains("iter-1-test.log"), "the gate has printed something");
    for secret in ["multi-line-first-9911", "second-line-token-8812", "ted-secret-77"] {
        assert!(!all.contains(secret), "{secret} is in a file");
    }
}

#[test]
fn a_secret_that_a_refusing_hook_prints_reaches_no_plan_and_no_commit() {
    let repo = repo(&[task("t-aaa1")]);
    repo.set("max_retries = 0").script(&rule("", GOOD));
    let hook = repo.git_dir().join("hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let words = format!("#!/bin/sh\necho \"refused: $MY_TOKEN {KEY}\"\nexit 1\n");
    fs::write(&hook, words).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    repo.command(["build"]).env("MY_TOKEN", VALUE).run().fails(3);
    assert!(repo.plan().contains("refused: [hidden]"), "the plan says why: {}", repo.plan());
    let log = fs::read_to_string(repo.path(".ralph/progress-log.md")).unwrap_or_default();
    let status = repo.run(["status", "--json"]).stdout;
    let report = repo.run(["report"]).stdout;
    for text in [repo.plan(), log, status, report] {
        assert!(!text.contains(KEY) && !text.contains(VALUE), "{text}");
    }
}

#[test]
fn a_private_key_that_a_backend_says_line_by_line_is_not_told_live() {
    let repo = repo(&[task("t-aaa1")]);
    let lines = [
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU",
        "-----END OPENSSH PRIVATE KEY-----",
    ];
    let says: Vec<String> = lines.iter().map(|line| format!(r#"{{ say = "{line}\n" }}"#)).collect();
    repo.script(&rule("", &format!("{}, {GOOD}", says.join(", "))));
    let run = repo.command(["build", "--json"]).run().ok();
    assert!(!crate::repo::said(&run).contains(lines[1]), "{}", crate::repo::said(&run));
}
