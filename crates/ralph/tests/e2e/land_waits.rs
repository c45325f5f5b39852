//! Every reason for which commits wait, walked to its end with the command that the need prints.

use std::fs::{self, File};
use std::path::PathBuf;

use ralph_testkit::{Run, TestProject};
use serde_json::{Value, json};

use crate::land::{BOTH, need, undo_edit, waiting, waiting_with};
use crate::stage::{stage, steps};

/// `ralph land` waits for this reason, and the need says so. Returns the command of the need.
#[track_caller]
fn waits_for(p: &TestProject, reason: &str) -> String {
    let json = p.run(["land", "--json"]).fails(3).json();
    assert_eq!(json["waits"]["why"]["reason"], reason, "{json}");
    let need = need(p).unwrap();
    let command = need["command"].as_str().unwrap().to_owned();
    let sentence = json["waits"]["sentence"].as_str().unwrap();
    assert!(sentence.contains(&format!("`{command}`")), "{sentence}");
    command
}

/// Run a command as it was printed, in the root of the project.
#[track_caller]
fn run_printed(p: &TestProject, command: &str) -> Run {
    p.shell(&format!("ralph() {{ \"$BIN\" \"$@\"; }}\nexport GIT_EDITOR=true\n{command}"))
}

/// The work of both tasks is on the branch, and nothing waits.
#[track_caller]
fn all_is_there(p: &TestProject) {
    let files = p.git(["ls-tree", "--name-only", "main"]).ok().stdout;
    assert!(files.contains("t-aaaa.txt") && files.contains("t-bbbb.txt"), "{files}");
    assert_eq!(need(p), None);
    p.run(["land"]).ok().stdout("No commits wait.\n");
}

#[test]
fn edited() {
    let p = waiting();
    let command = waits_for(&p, "edited");
    undo_edit(&p);
    run_printed(&p, &command).ok();
    all_is_there(&p);
}

#[test]
fn commits_that_wait_go_before_a_limit() {
    let p = stage(&steps(BOTH));
    p.write("one.txt", "mine\n");
    let run = p.run(["build", "--max-iterations", "1", "--json"]).fails(3);
    run.stdout_has("max iterations (1) reached; 1 commit waits: it touches one.txt");
    let need = need(&p).unwrap();
    assert_eq!(need["command"], "ralph land");
    undo_edit(&p);
    run_printed(&p, "ralph land").ok();
}

#[test]
fn conflict() {
    let p = waiting();
    p.git(["commit", "-qam", "mine"]).ok();
    let command = waits_for(&p, "conflict");
    run_printed(&p, &command).fails(1);
    p.write("one.txt", "mine\nt-aaaa\nt-bbbb\n");
    p.git(["add", "-A"]).ok();
    p.git(["commit", "-qm", "merged"]).ok();
    p.run(["land"]).ok().stdout_has("arrived on main.");
    all_is_there(&p);
    assert_eq!(p.read("one.txt"), "mine\nt-aaaa\nt-bbbb\n");
}

#[test]
fn red_gates() {
    let p = waiting();
    undo_edit(&p);
    p.write(
        "ralph.toml",
        p.read("ralph.toml").replace("-e bad.txt", "-e t-bbbb.txt -o ! -e my.txt"),
    );
    p.write("my.txt", "x\n");
    p.git(["add", "-A"]).ok();
    p.git(["commit", "-qm", "mine"]).ok();
    let command = waits_for(&p, "red_gates");
    run_printed(&p, &command).ok();
    all_is_there(&p);
    assert!(p.exists("my.txt"));
}

/// The first task of a run has arrived, the second waits, and then the branch loses the first.
fn rewritten_with(task: &str) -> (TestProject, String) {
    let p = stage(&steps(task));
    p.write("t-bbbb.txt", "mine\n");
    p.run(["build"]).fails(3);
    assert!(p.exists("t-aaaa.txt"), "what nobody edits arrives");
    fs::remove_file(p.path("t-bbbb.txt")).unwrap();
    let start = p.git(["rev-list", "--max-parents=0", "HEAD"]).ok().stdout;
    p.git(["reset", "-q", "--hard", start.trim()]).ok();
    let command = waits_for(&p, "rewritten");
    assert_eq!(command, "ralph land --rest");
    (p, command)
}

#[test]
fn rewritten() {
    let (p, command) =
        rewritten_with("{ write = \"{task}.txt\", text = \"x\\n\" }, { claim = \"done\" }");
    run_printed(&p, &command).ok().stdout_has("arrived on main.");
    assert!(p.exists("t-bbbb.txt") && !p.exists("t-aaaa.txt"));
    let tally = p.run(["status", "--json"]).ok().json()["tally"].clone();
    assert_eq!((&tally["pending"], &tally["accepted"]), (&1.into(), &1.into()), "{tally}");
    assert_eq!(p.git(["status", "--porcelain"]).ok().stdout, "");
    p.run(["build"]).ok();
    all_is_there(&p);
}

#[test]
fn rewritten_work_that_needs_the_lost_work_is_a_conflict() {
    let (p, command) = rewritten_with(BOTH);
    run_printed(&p, &command).fails(3).stdout_has("conflict with your commits");
    let command = need(&p).unwrap()["command"].as_str().unwrap().to_owned();
    assert!(command.starts_with("git merge refs/ralph/"), "{command}");
    run_printed(&p, &command).ok();
    p.run(["land"]).ok();
    all_is_there(&p);
}

#[test]
fn work_of_an_earlier_run_that_the_branch_lost_is_pending_again() {
    let p = stage(&steps("{ write = \"{task}.txt\", text = \"x\\n\" }, { claim = \"done\" }"));
    p.run(["build", "--once"]).ok();
    p.write("t-bbbb.txt", "mine\n");
    p.run(["build"]).fails(3);
    fs::remove_file(p.path("t-bbbb.txt")).unwrap();
    let start = p.git(["rev-list", "--max-parents=0", "HEAD"]).ok().stdout;
    p.git(["reset", "-q", "--hard", start.trim()]).ok();
    p.run(["land"]).ok().stdout_has("arrived on main.");
    assert!(p.exists("t-bbbb.txt") && !p.exists("t-aaaa.txt"));
    let tally = p.run(["status", "--json"]).ok().json()["tally"].clone();
    assert_eq!((&tally["pending"], &tally["accepted"]), (&1.into(), &1.into()), "{tally}");
}

/// The commits wait for this, and arrive with the command that the need prints.
fn comes_as_printed(p: &TestProject, why: &str) {
    let command = waits_for(p, why);
    run_printed(p, &command).ok();
    all_is_there(p);
}

#[test]
fn branch_gone() {
    let p = waiting();
    undo_edit(&p);
    p.git(["switch", "-q", "-c", "elsewhere"]).ok();
    p.git(["branch", "-D", "main"]).ok();
    let command = waits_for(&p, "branch_gone");
    assert_eq!(command, "ralph land --branch main");
    run_printed(&p, &command).ok();
    all_is_there(&p);
    assert_eq!(p.read("one.txt"), "one\n");
}

#[test]
fn detached() {
    let p = waiting();
    undo_edit(&p);
    p.git(["switch", "-q", "--detach"]).ok();
    comes_as_printed(&p, "detached");
}

#[test]
fn operation() {
    let p = waiting();
    undo_edit(&p);
    p.shell("git switch -qc side; echo y > y; git add y; git commit -qm y; git switch -q main")
        .ok();
    p.git(["merge", "--no-ff", "--no-commit", "-q", "side"]).ok();
    let command = waits_for(&p, "operation");
    assert_eq!(command, "git merge --continue && ralph land");
    run_printed(&p, &command).ok();
    all_is_there(&p);
    assert!(p.exists("y"));
}

#[test]
fn bisect() {
    let p = waiting();
    undo_edit(&p);
    p.git(["bisect", "start"]).ok();
    comes_as_printed(&p, "operation");
}

#[test]
fn process() {
    let p = waiting();
    undo_edit(&p);
    let editor = "touch $HOME/there; while [ ! -e $HOME/go ]; do sleep 0.02; done; false";
    p.shell(&format!(
        "printf '#!/bin/sh\\n{editor}\\n' > $HOME/editor; chmod +x $HOME/editor\n\
         GIT_EDITOR=$HOME/editor git commit --allow-empty > /dev/null 2>&1 &\n\
         while [ ! -e $HOME/there ]; do sleep 0.02; done"
    ))
    .ok();
    let command = waits_for(&p, "process");
    fs::write(p.home().join("go"), "").unwrap();
    ralph_testkit::until(|| run_printed(&p, &command).code == 0);
    all_is_there(&p);
}

#[test]
fn locked() {
    let p = waiting();
    undo_edit(&p);
    let lock = p.path(".git/index.lock");
    File::create(&lock).unwrap();
    let command = waits_for(&p, "locked");
    fs::remove_file(lock).unwrap();
    run_printed(&p, &command).ok();
    all_is_there(&p);
}

#[test]
fn checked_out_elsewhere() {
    let p = waiting();
    undo_edit(&p);
    p.git(["switch", "-qc", "elsewhere"]).ok();
    let other: PathBuf = p.home().join("other tree");
    p.git(["worktree", "add", "-q", other.to_str().unwrap(), "main"]).ok();
    let command = waits_for(&p, "checked_out_elsewhere");
    run_printed(&p, &command).ok();
    all_is_there(&p);
}

#[test]
fn auto_commit_off() {
    let p = stage(&steps(BOTH));
    p.write("ralph.toml", format!("auto_commit = false\n{}", p.read("ralph.toml")));
    p.git(["commit", "-qam", "settings"]).ok();
    p.run(["build"]).fails(3);
    let need = need(&p).unwrap();
    assert!(need["text"].as_str().unwrap().ends_with("auto_commit is off"), "{need}");
    assert!(need["effect"].as_str().unwrap().contains("`ralph land --no-commit`"), "{need}");
    run_printed(&p, need["command"].as_str().unwrap()).ok();
    all_is_there(&p);
}

#[test]
fn home_moved() {
    let p = waiting_with("auto_commit = false");
    undo_edit(&p);
    p.git(["commit", "-q", "--allow-empty", "-m", "mine"]).ok();
    let json = p.run(["land", "--no-commit", "--json"]).fails(3).json();
    assert_eq!(json["waits"]["why"]["reason"], "home_moved", "{json}");
    run_printed(&p, need(&p).unwrap()["command"].as_str().unwrap()).ok();
    all_is_there(&p);
}

#[test]
fn staged_apart() {
    let p = waiting();
    undo_edit(&p);
    let plan = p.read("ralph/plan.jsonl");
    let task =
        |id: &str| format!("{{\"t\":\"task\",\"id\":\"{id}\",\"name\":\"More\",\"s\":\"p\"}}\n");
    p.write("ralph/plan.jsonl", format!("{plan}{}", task("t-cccc")));
    p.git(["add", "ralph/plan.jsonl"]).ok();
    p.write("ralph/plan.jsonl", format!("{plan}{}", task("t-dddd")));
    let command = waits_for(&p, "staged_apart");
    run_printed(&p, &command).ok();
    all_is_there(&p);
    assert!(p.read("ralph/plan.jsonl").contains("t-dddd"));
}

/// A run wrote down this reason when it last tried.
fn journal_says(p: &TestProject, why: &Value) {
    let record = json!({
        "at": "2025-01-20T10:30:00Z", "record": "not_arrived", "why": why, "sentence": "so",
        "commits": 2,
    });
    let journal = p.read(".git/ralph/journal.jsonl");
    p.write(".git/ralph/journal.jsonl", format!("{journal}{record}\n"));
}

#[test]
fn not_taken_over() {
    let p = waiting();
    undo_edit(&p);
    let plan = p.read("ralph/plan.jsonl");
    let task = "{\"t\":\"task\",\"id\":\"t-cccc\",\"name\":\"More\",\"s\":\"p\"}\n";
    p.write("ralph/plan.jsonl", format!("{plan}{task}"));
    journal_says(&p, &json!({ "reason": "not_taken_over", "path": "ralph/plan.jsonl" }));
    let need = need(&p).unwrap();
    assert_eq!(need["effect"], "takes it over and brings them");
    run_printed(&p, need["command"].as_str().unwrap()).ok();
    all_is_there(&p);
    assert!(p.git(["show", "main:ralph/plan.jsonl"]).ok().stdout.contains("t-cccc"));
}

#[test]
fn unsettled_and_refused() {
    for why in [json!({ "reason": "unsettled" }), json!({ "reason": "refused", "message": "no" })] {
        let p = waiting();
        undo_edit(&p);
        journal_says(&p, &why);
        run_printed(&p, need(&p).unwrap()["command"].as_str().unwrap()).ok();
        all_is_there(&p);
    }
}

#[test]
fn wrong_branch_moved() {
    let p = waiting();
    undo_edit(&p);
    let old = p.git(["rev-parse", "HEAD"]).ok().stdout;
    p.git(["switch", "-qc", "topic"]).ok();
    let tip = p.shell("git for-each-ref --format='%(objectname)' 'refs/ralph/*/tip'").ok().stdout;
    p.git(["merge", "-q", "--ff-only", tip.trim()]).ok();
    journal_says(
        &p,
        &json!({ "reason": "wrong_branch_moved", "branch": "topic", "old": old.trim() }),
    );
    run_printed(&p, need(&p).unwrap()["command"].as_str().unwrap()).ok();
    all_is_there(&p);
    assert_eq!(p.git(["rev-parse", "topic"]).ok().stdout, old);
}

#[test]
fn interrupted() {
    let p = waiting();
    undo_edit(&p);
    let old = p.git(["rev-parse", "HEAD"]).ok().stdout;
    let new = p.shell("git for-each-ref --format='%(objectname)' 'refs/ralph/*/tip'").ok().stdout;
    let record = json!({
        "at": "2025-01-20T10:30:00Z", "record": "arrival_intent", "way": "fast_forward",
        "old": old.trim(), "new": new.trim(), "paths": ["one.txt"],
    });
    let journal = p.read(".git/ralph/journal.jsonl");
    p.write(".git/ralph/journal.jsonl", format!("{journal}{record}\n"));
    // Git had written one file.
    p.write("one.txt", "one\nt-aaaa\nt-bbbb\n");
    p.run(["recover"]).ok().stdout_has("were arriving on main").stdout_has("`ralph land`");
    p.run(["doctor", "--no-gates"]).stdout_has("the arrival of commits on main was interrupted");
    run_printed(&p, "ralph land").ok().stdout_has("arrived on main.");
    all_is_there(&p);
    p.run(["recover"]).ok().stdout("Nothing was interrupted.\n");
}
