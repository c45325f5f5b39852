//! `ralph attempts` and `ralph show`, on a journal as a loop writes it.

use ralph_testkit::{TestProject, project};
use serde_json::{Value, json};

const LOG: &str = "build/ralph-logs/ralph-1-build-2.log";
const GATE_LOG: &str = ".ralph/logs/validation/iter-2-test.log";
const SALVAGE: &str = "refs/ralph/01JRUN/salvage/01JAAA1";

/// Four attempts: one failed, one landed, one met a usage limit, one was interrupted.
fn journal(commit: &str) -> String {
    let attempt = |id: &str, iteration: u32, task: &str| {
        json!({
            "at": "2025-01-20T10:00:00Z", "record": "attempt_started", "attempt": id, "run": "01JRUN",
            "iteration": iteration, "task_id": task, "name": "Resize (画像)", "retry": iteration - 1,
            "backend": "claude", "model": "opus", "base": {"keeper": "r", "attempt": "a", "commit": "0000000000000000000000000000000000000000"},
            "log": format!("build/ralph-logs/ralph-1-build-{iteration}.log"),
        })
    };
    let ended = |id: &str, changed: u32, cost: Value| {
        json!({
            "at": "2025-01-20T10:05:00Z", "record": "backend_ended", "attempt": id,
            "outcome": "success", "cost_usd": cost, "tokens": [43_210, 950],
            "claim": { "kind": "done" }, "summary": "Resized", "candidate": {"paths": []},
            "changed_files": changed, "duration_ms": 72_000,
        })
    };
    let judged = |id: &str, passed: bool| {
        let (ruling, standing) = match passed {
            true => (json!("proven"), "green"),
            false => (json!({ "refused": {} }), "new"),
        };
        let none = json!({ "names": [] });
        json!({
            "at": "2025-01-20T10:06:00Z", "record": "judged", "attempt": id, "ruling": ruling,
            "checks": [
                { "name": "lint", "command": "npm run lint", "standing": "green" },
                {
                    "name": "test", "command": "npm test", "standing": standing, "log": GATE_LOG,
                    "new": none, "old": none,
                },
            ],
            "judges": [{
                "path": "tests/a.rs", "kind": "tests", "extent": "changed", "deleted": [],
                "weakened": [],
            }],
            "report": ".ralph/logs/validation/iter-2.json",
        })
    };
    let failure = json!({ "kind": "gates", "message": "test", "fingerprint": "x" });
    let at = "2025-01-20T10:07:00Z";
    let run = json!({
        "at": at, "record": "run_started", "form": 3, "run": "01JRUN", "command": "build",
        "plan": "ralph/plan.jsonl", "mode": "handoff-only",
    });
    let records = [
        run,
        attempt("01JAAA1", 1, "t-7jla"),
        ended("01JAAA1", 4, json!(0.03)),
        judged("01JAAA1", false),
        json!({ "at": at, "record": "fail_intent", "attempt": "01JAAA1", "failure": failure, "retries": 1 }),
        json!({ "at": at, "record": "rolled_back", "attempt": "01JAAA1", "salvage": SALVAGE }),
        attempt("01JAAB2", 2, "t-7jla"),
        ended("01JAAB2", 1, Value::Null),
        judged("01JAAB2", true),
        json!({
            "at": at, "record": "land_intent", "attempt": "01JAAB2", "landing": "complete",
            "proof": "unproven", "summary": "Resized", "task": {"state": "pending"},
        }),
        json!({ "at": at, "record": "landed", "attempt": "01JAAB2", "commit": commit }),
        attempt("01JBBB3", 3, "t-other"),
        json!({
            "at": at, "record": "backend_ended", "attempt": "01JBBB3", "outcome": "rate_limit",
            "resets_at": null, "message": "usage limit", "claim": { "kind": "none" }, "candidate": {"paths": []},
            "changed_files": 0, "duration_ms": 2_000,
        }),
        json!({ "at": at, "record": "rolled_back", "attempt": "01JBBB3", "salvage": null }),
        attempt("01JBBB4", 4, "t-other"),
    ];
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn with_journal(text: impl AsRef<[u8]>) -> TestProject {
    project!().git_init().file(".git/ralph/journal.jsonl", text)
}

fn built() -> TestProject {
    with_journal(journal("3f2a9c1d5e6f708192a3b4c5d6e7f8091a2b3c4d"))
}

#[test]
fn attempts_are_listed_newest_first_with_how_they_ended_and_where_their_work_is() {
    built().run(["attempts"]).ok().stdout(
        "\
#  task     backend  result            files  gates   cost   time    kept as
4  t-other  claude   interrupted       -      -       -      -       -
3  t-other  claude   usage limit       0      -       -      2.0s    -
2  t-7jla   claude   landed, unproven  1      2 of 2  -      1m 12s  3f2a9c1d5e
1  t-7jla   claude   gates failed      4      1 of 2  $0.03  1m 12s  refs/ralph/01JRUN/salvage/01JAAA1
",
    );
}

#[test]
fn attempts_of_one_task_can_be_asked_for_also_as_json() {
    let p = built();
    let found = p.run(["attempts", "--task", "t-7jla", "--json"]).ok().json();
    assert_eq!(found.as_array().unwrap().len(), 2);
    assert_eq!((&found[0]["iteration"], &found[0]["result"]), (&json!(2), &json!("landed")));
    assert_eq!(
        (&found[1]["failure"]["kind"], &found[1]["salvage"]),
        (&json!("gates"), &json!(SALVAGE))
    );
    assert_eq!((&found[0]["cost_usd"], &found[1]["cost_usd"]), (&Value::Null, &json!(0.03)));
    let newest = p.run(["attempts", "-n", "1", "--json"]).ok().json();
    assert_eq!(
        (newest.as_array().unwrap().len(), &newest[0]["result"]),
        (1, &json!("interrupted"))
    );
    p.run(["attempts", "--task", "t-7jal"]).ok().stdout_has("Did you mean t-7jla?");
}

#[test]
fn an_attempt_is_shown_from_its_beginning_to_its_end() {
    let p = built();
    p.run(["show", "1"]).ok().stdout(
        "\
Attempt:  01JAAA1 (iteration 1)
Task:     t-7jla  Resize (画像)
Began:    2025-01-20T10:00:00Z (30m ago)
Backend:  claude opus
Outcome:  finished; 4 files changed, $0.03, 1m 12s, 43k tokens in, 950 out
Claim:    done
Summary:  Resized
Gates:    lint: passed
          test: failed  .ralph/logs/validation/iter-2-test.log
Judges:   tests changed: tests/a.rs
Report:   .ralph/logs/validation/iter-2.json
Result:   gates failed: test
Ended:    2025-01-20T10:07:00Z
Kept as:  refs/ralph/01JRUN/salvage/01JAAA1  (`ralph show 1 --diff`)
Log:      build/ralph-logs/ralph-1-build-1.log
",
    );
    p.run(["show", "01jaab"]).ok().stdout_has("Result:   landed, unproven").stdout_has("(retry 1)");
    p.run(["show"]).ok().stdout_has("Attempt:  01JBBB4").stdout_has("Result:   interrupted");
    assert_eq!(p.run(["show", "last", "--json"]).ok().json()["attempt"], "01JBBB4");
}

#[test]
fn an_unknown_attempt_is_refused_with_what_was_meant() {
    let p = built();
    p.run(["show", "9"]).fails(1).stderr_has("there is no attempt 9").stderr_has("from 1 to 4");
    p.run(["show", "t-7jla"]).fails(1).stderr_has("`ralph attempts --task t-7jla`");
    p.run(["show", "01JAAA7"]).fails(1).stderr_has("did you mean 01JAAA1?");
    p.run(["show", "01JBBB"]).fails(1).stderr_has("several attempts").stderr_has("01JBBB3");
    p.run(["show", "lost"]).fails(1).stderr_has("did you mean last?");
    let empty = project!().git_init();
    empty.run(["show"]).fails(1).stderr_has("no attempt was made here yet");
    empty.run(["attempts"]).ok().stdout("No attempt was made here yet.\n");
    empty.run(["attempts", "--json"]).ok().stdout("[]\n");
}

#[test]
fn the_prompt_and_what_the_backend_did_are_read_from_beside_the_log() {
    let log = include_str!("../../../ralph-core/tests/fixtures/claude/edit.jsonl");
    let p = built().file(LOG, log).file(LOG.replace(".log", ".prompt.md"), "# Do it\n\twell\n");
    p.run(["show", "2", "--prompt"]).ok().stdout("# Do it\n\twell\n");
    p.run(["show", "2"]).ok().stdout_has("Prompt:   build/ralph-logs/ralph-1-build-2.prompt.md");
    p.run(["show", "2", "--events"]).ok().stdout_has("\ntool     ").stdout_has("\nsays     ");
    p.run(["show", "1", "--events"]).fails(1).stderr_has("ralph-1-build-1.log").stderr_has("hint:");
    p.run(["show", "2", "--events", "--prompt"]).fails(2);
}

#[test]
fn the_output_of_gates_is_printed_whole() {
    let p = built().file(GATE_LOG, "ok 1\nok 2\n");
    p.run(["show", "2", "--gates"])
        .ok()
        .stdout("== lint: passed  npm run lint\n== test: passed  npm test\nok 1\nok 2\n");
    p.run(["show", "2"]).ok().stdout_has("test: passed  .ralph/logs/validation/iter-2-test.log\n");
    p.run(["show", "4", "--gates"]).fails(1).stderr_has("iteration 4 has no gate result");
}

#[test]
fn the_patch_of_a_landed_or_rolled_back_attempt_can_be_applied() {
    let p = project!().git_init().file("a.txt", "one\n");
    p.git(["add", "a.txt"]).ok();
    p.git(["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "one"]).ok();
    p.write("a.txt", "one\ntwo\n");
    p.git(["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qam", "two"]).ok();
    let commit = p.git(["rev-parse", "HEAD"]).ok().stdout.trim().to_owned();
    p.git(["update-ref", SALVAGE, &commit]).ok();
    p.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    p.write(".git/ralph/journal.jsonl", journal(&commit));
    for which in ["1", "2"] {
        p.run(["show", which, "--diff"]).ok().stdout_has("\n+two\n");
    }
    p.shell(&format!("{} show 1 --diff | git apply", env!("CARGO_BIN_EXE_ralph"))).ok();
    assert_eq!(p.read("a.txt"), "one\ntwo\n");
    p.run(["show", "3", "--diff"]).fails(1).stderr_has("iteration 3 has no change");
    p.git(["update-ref", "-d", SALVAGE]).ok();
    p.run(["show", "1", "--diff"]).fails(1).stderr_has("git cannot show").stderr_has("retention");
}

#[test]
fn a_line_that_is_being_written_is_no_damage_and_a_damaged_one_is_named() {
    let text = journal("3f2a");
    let torn = format!("{text}{{\"at\":\"2025-01-");
    let list = |p: &TestProject| p.run(["attempts", "--json"]);
    assert_eq!(list(&with_journal(&torn)).ok().json().as_array().unwrap().len(), 4);
    let damaged = text.replacen("attempt_started", "attempt_stated", 1);
    list(&with_journal(damaged)).fails(1).stderr_has("journal.jsonl:2:").stderr_has("hint:");
}

#[test]
fn options_that_make_no_sense_are_refused_in_their_own_name() {
    let p = project!().git_init().file("ralph/plan.jsonl", "");
    p.run(["build", "--max-iterations", "many"]).fails(2).stderr_has("--max-iterations");
    p.run(["start", "build", "--max-cost", "-1"]).fails(2);
    p.run(["build", "--mode", "psychic"]).fails(2).stderr_has("handoff-only");
    p.run(["start", "plan"]).fails(1).stderr_has("`ralph task add`");
}
