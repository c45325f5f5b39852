//! What a crash left.

use std::process::{Command, Stdio};

use ralph_testkit::TestProject;
use serde_json::json;

use super::{about, healthy, states};

/// What `--fix` says it did, and that nothing is left to say afterwards.
fn fixes(p: &TestProject, what: &str) {
    p.run(["doctor", "--no-gates", "--fix"]).ok().stdout_has(&format!("fixed    {what}"));
    assert_eq!(states(p, "leftover"), ["ok"]);
}

#[test]
fn an_interrupted_attempt_is_told_with_what_goes_on_from_there() {
    let started = json!({
        "at": "2025-01-20T10:00:00Z", "record": "attempt_started", "attempt": "01JAAA1",
        "run": "01JRUN", "iteration": 4, "task_id": "t-aaaa", "name": "First", "retry": 0,
        "backend": "sim",
        "base": { "keeper": "01JRUN", "attempt": "01JAAA1", "commit": "a".repeat(40) },
    });
    let p = healthy().file(".git/ralph/journal.jsonl", format!("{started}\n"));
    p.run(["doctor", "--no-gates"])
        .ok()
        .stdout_has("iteration 4 (t-aaaa) was interrupted: its backend was at work")
        .stdout_has("fix: ralph build");
}

#[test]
fn a_torn_journal_and_a_torn_plan_lose_only_what_was_never_acknowledged() {
    let p = healthy().file(".git/ralph/journal.jsonl", "{\"at\":\"2025-01-20T1");
    fixes(&p, "cut the unfinished last line of the journal off");
    assert_eq!(p.read(".git/ralph/journal.jsonl"), "");
    let p = healthy();
    let plan = p.read("ralph/plan.jsonl");
    p.write("ralph/plan.jsonl", format!("{plan}{{\"t\":\"ta"));
    assert_eq!(states(&p, "leftover"), ["warning"]);
    assert!(p.read("ralph/plan.jsonl").ends_with("{\"t\":\"ta"), "looking changes nothing");
    p.run(["doctor", "--no-gates", "--fix"]).ok().stdout_has("ralph/plan.jsonl.torn");
    assert_eq!(p.read("ralph/plan.jsonl"), plan);
    p.run(["doctor", "--no-gates"]).ok().stdout_has("then: rm ralph/plan.jsonl.torn");
}

#[test]
fn unfinished_files_go_when_they_are_old() {
    let p = healthy().real_time();
    p.write("ralph/.ralph-tmp-abc", "half");
    p.write(".ralph/.ralph-tmp-state.json.spare", "written over with the next task");
    p.write(".git/ralph/run-01J-1/mcp.json", "secret");
    assert_eq!(states(&p, "leftover"), ["ok"], "somebody may be at work");
    p.shell("touch -d '1 hour ago' ralph/.ralph-tmp-abc .ralph/.ralph-tmp-* .git/ralph/run-01J-1")
        .ok();
    fixes(&p, "removed 2 unfinished files");
    assert!(!p.exists("ralph/.ralph-tmp-abc") && !p.exists(".git/ralph/run-01J-1"));
    assert!(p.exists(".ralph/.ralph-tmp-state.json.spare"), "it is no leftover");
}

#[test]
fn a_process_of_a_killed_run_is_ended_and_no_other() {
    let p = healthy();
    let place = ralph_host_place(&p);
    let start = |place: &str| {
        Command::new("sleep")
            .arg("300")
            .env("RALPH_RUN", "01JGONE")
            .env("RALPH_PLACE", place)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let (mut ours, mut other) = (start(&place), start("0123456789abcdef"));
    let run = p.run(["doctor", "--no-gates"]).ok();
    assert!(run.stdout.contains(&format!("{} (sleep)", ours.id())), "{}", run.stdout);
    fixes(&p, "ended what an earlier run had left running (1)");
    assert!(!ours.wait().unwrap().success());
    assert!(other.try_wait().unwrap().is_none(), "it belongs to another place");
    other.kill().unwrap();
    other.wait().unwrap();
}

/// The mark of a loop's place, as a loop itself writes it.
fn ralph_host_place(p: &TestProject) -> String {
    let path = p.path(".git").canonicalize().unwrap();
    let bytes = path.as_os_str().as_encoded_bytes();
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[test]
fn a_held_inbox_is_set_free_when_nobody_wrote_it_by_hand() {
    let p = healthy();
    p.write(".git/ralph/inbox.held", "{\"text\":null,\"by_hand\":null}");
    fixes(&p, "the inbox is nobody's any more");
    assert!(!p.exists(".git/ralph/inbox.held"));
    p.write(".git/ralph/inbox.held", "{\"text\":null,\"by_hand\":\"mine\\n\"}");
    p.run(["doctor", "--no-gates", "--fix"]).ok().stdout_has("wrote the inbox by hand");
    assert!(p.exists(".git/ralph/inbox.held"), "what was written is not lost");
}

#[test]
fn old_salvage_is_given_up() {
    let p = healthy();
    p.git(["update-ref", "refs/ralph/01JRUN/commits/01AN4Z07BY79KA1307SR9X4MV3/1", "HEAD"]).ok();
    fixes(&p, "gave 1 ref up");
    assert_eq!(p.git(["for-each-ref", "refs/ralph"]).ok().stdout, "");
}

#[test]
fn commands_for_a_loop_that_is_gone_are_taken_out_and_notes_stay() {
    let queue = json!({ "pending": [
        { "id": "1", "command": "pause" },
        { "command": "stop" },
        { "id": "3", "command": "inject-note", "note": "mind the gap" },
    ]});
    let p = healthy().file(".ralph/control/commands.json", queue.to_string());
    let run = p.run(["doctor", "--no-gates", "--json"]).ok();
    let found = &about(&run, "control")[0];
    assert_eq!(found["what"], "2 commands for a loop that is gone: pause, stop");
    assert_eq!(found["fixable"], true);
    p.run(["doctor", "--no-gates", "--fix"]).ok().stdout_has("took 2 old commands out");
    let left = p.read(".ralph/control/commands.json");
    assert!(left.contains("mind the gap") && !left.contains("pause"), "{left}");
    assert_eq!(states(&p, "control"), ["ok"]);
}

#[test]
fn a_queue_that_cannot_be_read_is_moved_away() {
    let p = healthy().file(".ralph/control/commands.json", "{nonsense");
    assert_eq!(states(&p, "control"), ["warning"]);
    p.run(["doctor", "--no-gates", "--fix"])
        .ok()
        .stdout_has("moved the damaged queue to .ralph/control/commands.json.damaged");
    assert_eq!(states(&p, "control"), ["ok"]);
}
