//! `ralph recover`: what an interrupted run left.

use ralph_testkit::until;
use serde_json::json;

use crate::stage::{WAITS, stage, steps};

#[test]
fn what_was_interrupted_is_shown_and_can_be_forgotten_without_touching_a_file() {
    let p = stage(&steps(&format!(
        "{{ write = \"half.txt\", text = \"half of it\\n\" }}, {WAITS} {{ claim = \"done\" }}"
    )));
    p.run(["recover"]).ok().stdout("Nothing was interrupted.\n");
    let run = p.spawn(["build"]);
    until(|| p.home().join("there").exists());
    p.run(["recover"]).ok().stdout_has("already running");
    run.kill();
    p.write("mine.txt", "mine\n");
    p.run(["recover"])
        .ok()
        .stdout_has("(iteration 1)")
        .stdout_has("the backend was at work")
        .stdout_has("`ralph build` keeps what it left aside, and tries again");
    assert_eq!(p.run(["recover", "--json"]).ok().json()["open"]["phase"], "backend");
    p.run(["land", "--discard"]).fails(1).stderr_has("an attempt on t-aaaa was interrupted");
    p.run(["recover", "--forget"]).ok().stdout_has("Its work is kept as refs/ralph/");
    assert!(!p.exists("half.txt"), "its work was never in home");
    p.run(["salvage", "diff", "1"]).ok().stdout_has("+half of it");
    p.run(["recover", "--forget"]).ok().stdout_has("nothing to forget");
    std::fs::write(p.home().join("go"), "").unwrap();
    p.run(["build"]);
    assert_eq!(p.read("mine.txt"), "mine\n");
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
