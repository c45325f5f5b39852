//! Each command while an attempt runs, while the loop waits, while it is paused, and without a loop.

use crate::desk::{Desk, WAITS, desk};
use crate::plans::{records, task};
use crate::repo::{GOOD, Repo, repo, rule, says, until};

#[test]
fn a_pause_lets_the_attempt_end_and_a_resume_goes_on() {
    let desk = desk();
    let run = desk.at_work();
    desk.run(["pause"]).ok().stdout_has("when the attempt that runs has ended");
    desk.taken("pause");
    until(|| desk.status_word() == "paused");
    desk.go();
    until(|| desk.records("landed").len() == 1);
    // Whatever is taken now is taken by a loop that is about to wait, or waits.
    desk.run(["note", "still there?"]).ok();
    desk.taken("inject-note");
    assert_eq!(desk.runs(), ["t-aaa1"]);
    desk.run(["resume"]).ok().stdout_has("goes on at once");
    says(&run.wait().ok(), "Paused: ");
    assert_eq!(desk.landed(), ["t-aaa1", "t-aaa2"]);
    let words: Vec<_> = desk.events("").iter().map(|e| e["event"].to_string()).collect();
    assert!(words.contains(&"\"pause\"".to_owned()) && words.contains(&"\"resume\"".to_owned()));
    assert!(desk.pending().is_empty());
}

/// A loop that is paused between two tasks.
fn paused(desk: &Desk) -> ralph_testkit::Running {
    let run = desk.at_work();
    desk.run(["pause"]).ok();
    desk.taken("pause");
    desk.go();
    until(|| desk.records("landed").len() == 1);
    run
}

#[test]
fn a_paused_loop_takes_notes_skips_and_a_stop() {
    let desk = desk();
    let run = paused(&desk);
    desk.run(["note", "mind the gap"]).ok().stdout_has("the next prompt");
    desk.taken("inject-note");
    desk.run(["skip", "t-aaa2"]).ok().stdout_has("t-aaa2 is left out at once");
    until(|| {
        records(&desk.plan_of_run()).iter().any(|r| r["t"] == "delete" && r["id"] == "t-aaa2")
    });
    desk.run(["stop"]).ok();
    run.wait().ok();
    assert_eq!(desk.landed(), ["t-aaa1"], "nothing was left to do");
}

#[test]
fn a_signal_ends_a_paused_loop() {
    let desk = desk();
    let run = paused(&desk);
    desk.shell(&format!("kill -INT {}", run.pid())).ok();
    run.wait().fails(130);
    assert_eq!(desk.landed(), ["t-aaa1"]);
}

#[test]
fn a_paused_loop_can_be_stopped() {
    let desk = desk();
    let run = paused(&desk);
    desk.run(["stop"]).ok();
    says(&run.wait().fails(4), "asked to stop");
    assert_eq!(desk.landed(), ["t-aaa1"]);
}

#[test]
fn a_stop_lets_the_attempt_land_and_begins_no_other() {
    let desk = desk();
    let run = desk.at_work();
    desk.run(["stop"]).ok().stdout_has("the loop ends when the attempt that runs has ended");
    desk.taken("stop");
    desk.go();
    says(&run.wait().fails(4), "asked to stop");
    assert_eq!(desk.landed(), ["t-aaa1"]);
}

#[test]
fn a_killed_attempt_is_rolled_back_and_not_counted() {
    let desk = desk();
    desk.script(
        &(rule(
            "task = \"t-aaa1\"\nattempt = 1",
            &format!(r#"{{ write = "src/x.c", text = "x\n" }}, {WAITS}"#),
        ) + &rule("", GOOD)),
    );
    let run = desk.at_work();
    desk.run(["kill-attempt"]).ok().stdout_has("ended now");
    let run = run.wait().ok();
    says(&run, "interrupted");
    assert!(!desk.exists("src/x.c"));
    assert_eq!(desk.landed(), ["t-aaa1", "t-aaa2"]);
    assert!(records(&desk.plan_of_run()).iter().all(|r| r["t"] != "reject"), "nothing is counted");
    assert_eq!(desk.runs(), ["t-aaa1", "t-aaa1", "t-aaa2"]);
}

#[test]
fn a_gate_is_ended_with_its_attempt() {
    let desk = desk();
    desk.config(
        "backend = \"sim\"\n[[gates]]\nname = \"slow\"\ncommand = \"test ! -e work || test -e $HOME/once || { touch $HOME/once; exec sleep 600; }\"\n",
    );
    desk.script(&rule("", GOOD));
    let run = desk.spawn(["build"]);
    until(|| desk.home().join("once").exists());
    desk.run(["kill-attempt"]).ok();
    run.wait().ok();
    assert_eq!(desk.landed(), ["t-aaa1", "t-aaa2"]);
    assert_eq!(desk.runs().len(), 3);
}

#[test]
fn the_task_at_hand_is_skipped_after_its_attempt_was_ended() {
    let desk = desk();
    desk.script(&(rule("task = \"t-aaa1\"", WAITS) + &rule("", GOOD)));
    let run = desk.at_work();
    desk.run(["skip", "t-aaa1"]).ok().stdout_has("the attempt on t-aaa1 is ended now");
    run.wait().ok();
    assert_eq!(desk.landed(), ["t-aaa2"]);
    assert!(records(&desk.plan_of_run()).iter().any(|r| r["t"] == "delete" && r["id"] == "t-aaa1"));
    assert!(desk.pending().is_empty());
}

#[test]
fn another_task_is_skipped_while_the_attempt_goes_on() {
    let desk = desk();
    let run = desk.at_work();
    desk.run(["skip", "t-aaa2"]).ok();
    until(|| records(&desk.plan_of_run()).iter().any(|r| r["t"] == "delete"));
    desk.go();
    run.wait().ok();
    assert_eq!(desk.landed(), ["t-aaa1"]);
    assert_eq!(desk.runs(), ["t-aaa1"]);
}

#[test]
fn a_note_is_in_the_next_prompt_and_in_no_other() {
    let desk = desk();
    let run = desk.at_work();
    desk.run(["note", "use the new parser"]).ok();
    desk.taken("inject-note");
    desk.go();
    run.wait().ok();
    assert!(!desk.prompt(1).contains("use the new parser"));
    assert!(desk.prompt(2).contains("use the new parser"));
}

#[test]
fn a_note_without_a_loop_waits_for_the_next_start() {
    let desk = desk();
    desk.go();
    desk.run(["note", "be brief"]).ok().stdout_has("no loop runs");
    desk.build([]).ok();
    assert!(desk.prompt(1).contains("be brief"));
    assert!(!desk.prompt(2).contains("be brief"));
}

#[test]
fn without_a_loop_there_is_nothing_to_pause_but_a_task_can_be_skipped() {
    let desk = desk();
    for command in ["pause", "resume", "stop", "kill-attempt"] {
        let run = desk.run([command]).fails(1);
        says(&run, "no loop runs here");
    }
    desk.run(["skip", "t-aaa2"]).ok().stdout_has("Skipped: t-aaa2");
    assert!(desk.pending().is_empty());
}

#[test]
fn a_task_that_is_not_there_cannot_be_skipped() {
    let desk = desk();
    let run = desk.at_work();
    says(&desk.run(["skip", "t-aaa9"]).fails(1), "no task t-aaa9");
    desk.go();
    run.wait().ok();
}

#[test]
fn json_says_what_was_sent_and_what_it_will_do() {
    let desk = desk();
    let run = desk.at_work();
    let sent = desk.run(["pause", "--json"]).ok().json();
    assert_eq!(
        (sent["command"].as_str(), sent["running"].as_u64()),
        (Some("pause"), Some(run.pid().into()))
    );
    desk.taken("pause");
    assert_eq!(desk.records("command")[0]["id"], sent["id"]);
    desk.run(["resume"]).ok();
    desk.go();
    run.wait().ok();
}

/// A loop that waits for a usage limit.
fn limited() -> (Desk, ralph_testkit::Running) {
    let repo = repo(&["t-aaa1", "t-aaa2"].map(task));
    let limit =
        r#"{ fail = "rate_limit", resets_in = "1h", message = "You have hit your limit." }"#;
    repo.script(&(rule("attempt = 1", limit) + &rule("", GOOD)));
    let desk = Desk(Repo { project: repo.project.real_time(), ..repo });
    let run = desk.spawn(["build"]);
    until(|| !desk.records("waiting").is_empty());
    (desk, run)
}

#[test]
fn a_loop_that_waits_for_a_limit_takes_commands_and_stops_at_once() {
    let (desk, run) = limited();
    desk.run(["pause"]).ok().stdout_has("the loop pauses at once");
    until(|| desk.status_word() == "paused");
    desk.run(["skip", "t-aaa2"]).ok();
    until(|| records(&desk.plan_of_run()).iter().any(|r| r["t"] == "delete"));
    desk.run(["kill-attempt"]).ok().stdout_has("nothing happens: no attempt runs");
    desk.run(["stop"]).ok();
    says(&run.wait().fails(4), "asked to stop");
    assert_eq!(desk.runs().len(), 1);
}

#[test]
fn a_backend_may_not_command_the_loop() {
    let desk = desk();
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let tries = format!(
        r#"{{ run = "{ralph} stop > \"$HOME/said\" 2>&1; echo $? >> \"$HOME/said\"" }}, {GOOD}"#
    );
    desk.script(&rule("", &tries));
    desk.build([]).ok();
    let said = std::fs::read_to_string(desk.home().join("said")).unwrap();
    assert!(said.contains("that command is for people") && said.ends_with("1\n"), "{said}");
    assert_eq!(desk.landed(), ["t-aaa1", "t-aaa2"]);
}
