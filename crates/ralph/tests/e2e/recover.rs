//! `ralph recover`: what an interrupted run left.

use serde_json::json;

use crate::stage::{stage, steps};

/// A run that was killed while its backend worked, by a ralph whose checkpoints nobody can read.
fn journal() -> String {
    let at = "2025-01-20T10:00:00Z";
    [
        json!({
            "at": at, "record": "run_started", "form": 2, "run": "01JRUN", "command": "build",
            "plan": "ralph/plan.jsonl", "mode": "handoff-only",
        }),
        json!({
            "at": at, "record": "attempt_started", "attempt": "01JAAA1", "run": "01JRUN",
            "iteration": 4, "task_id": "t-aaaa", "name": "First", "retry": 0,
            "backend": "sim", "base": null,
        }),
    ]
    .iter()
    .map(|record| format!("{record}\n"))
    .collect()
}

#[test]
fn what_was_interrupted_is_shown_and_can_be_forgotten_without_touching_a_file() {
    let p = stage(&steps("{ write = \"{task}.txt\", text = \"x\" }, { claim = \"done\" }"));
    p.run(["recover"]).ok().stdout("Nothing was interrupted.\n");
    p.write(".git/ralph/journal.jsonl", journal());
    p.write("half.txt", "half of it\n");
    p.run(["build"]).fails(1).stderr_has("cannot be read").stderr_has("`ralph recover --forget`");
    p.run(["recover"])
        .ok()
        .stdout_has("01JAAA1 (iteration 4)")
        .stdout_has("the backend was at work")
        .stdout_has("1  half.txt")
        .stdout_has("puts the tree back");
    assert_eq!(p.run(["recover", "--json"]).ok().json()["open"]["phase"], "backend");
    p.run(["recover", "--forget"]).ok().stdout_has("kept as refs/ralph/01JRUN/salvage/01JAAA1");
    assert_eq!(p.read("half.txt"), "half of it\n");
    p.run(["salvage", "diff", "4"]).ok().stdout_has("+half of it");
    p.run(["recover", "--forget"]).ok().stdout_has("nothing to forget");
    p.run(["build"]).ok();
    assert_eq!(p.read("half.txt"), "half of it\n");
}

#[test]
fn a_journal_of_a_newer_ralph_is_not_guessed_at() {
    let p = stage("");
    let line = json!({ "at": "2030-01-01T00:00:00Z", "record": "teleported" });
    p.write(".git/ralph/journal.jsonl", format!("{line}\n"));
    p.run(["build"]).fails(1).stderr_has("another version of ralph").stderr_has("teleported");
    assert_eq!(p.read(".git/ralph/journal.jsonl"), format!("{line}\n"));
}
