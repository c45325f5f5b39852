//! The file itself: what strangers write into it.

use crate::desk::{WAITS, desk};
use crate::plans::records;
use crate::repo::{GOOD, rule, says, until};

#[test]
fn the_format_of_the_seed_tools_works_without_ids() {
    let desk = desk();
    let run = desk.at_work();
    desk.write_queue(
        r#"{"pending": [{"command": "pause"}, {"command": "inject-note", "note": "Check auth module"},
            {"command": "skip-task", "task_id": "t-aaa2"}, {"command": "resume"}]}"#,
    );
    desk.taken("resume");
    desk.go();
    run.wait().ok();
    assert_eq!(desk.landed(), ["t-aaa1"]);
    for command in ["pause", "inject-note", "skip-task", "resume"] {
        assert_eq!(desk.carried_out(command), 1, "{command}");
    }
    assert!(desk.pending().is_empty());
    assert_eq!(desk.events("skip_task")[0]["message"], "t-aaa2");
}

#[test]
fn the_same_words_twice_are_two_commands() {
    let desk = desk();
    let run = desk.at_work();
    for n in 1..=2 {
        desk.write_queue(r#"{"pending": [{"command": "inject-note", "note": "again"}]}"#);
        until(|| desk.carried_out("inject-note") == n && desk.pending().is_empty());
    }
    desk.go();
    run.wait().ok();
}

#[test]
fn an_unknown_command_is_told_and_ignored() {
    let desk = desk();
    let run = desk.at_work();
    desk.write_queue(r#"{"pending": [{"command": "dance"}, {"command": "skip-task"}, 7, {"command": "set-setting", "key": "backend", "value": "x"}]}"#);
    until(|| desk.pending().is_empty());
    desk.go();
    let run = run.wait().ok();
    says(&run, "there is no command `dance`");
    says(&run, "`skip-task` has no task_id");
    says(&run, "`backend` cannot be changed here");
    assert_eq!(desk.events("command_ignored").len(), 4);
    assert_eq!(desk.landed(), ["t-aaa1", "t-aaa2"]);
}

#[test]
fn a_damaged_queue_is_moved_aside_and_told_and_the_next_command_works() {
    let desk = desk();
    let run = desk.at_work();
    desk.write_queue("{\"pending\": [{\"command\": \"pa");
    let aside = desk.path(".ralph/control/commands.json.damaged");
    until(|| std::fs::read_to_string(&aside).is_ok_and(|text| text.ends_with('\n')));
    assert_eq!(
        desk.read(".ralph/control/commands.json.damaged"),
        "{\"pending\": [{\"command\": \"pa\n"
    );
    desk.run(["stop"]).ok();
    desk.taken("stop");
    desk.go();
    says(&run.wait().fails(4), "it was moved to .ralph/control/commands.json.damaged");
}

#[test]
fn sending_into_a_damaged_queue_keeps_what_was_there() {
    let desk = desk();
    desk.write_queue("nonsense");
    says(&desk.run(["note", "hello"]).ok(), "could not be read");
    assert_eq!(desk.read(".ralph/control/commands.json.damaged"), "nonsense\n");
    assert_eq!(desk.pending()[0]["note"], "hello");
}

#[test]
fn a_thousand_commands_at_once_are_all_taken_once_and_in_order() {
    let desk = desk();
    let run = desk.at_work();
    let notes: Vec<String> = (0..1000)
        .map(|n| format!(r#"{{"command": "inject-note", "note": "note {n}", "id": "n{n}"}}"#))
        .collect();
    desk.write_queue(&format!("{{\"pending\": [{}]}}", notes.join(", ")));
    until(|| desk.pending().is_empty());
    desk.go();
    run.wait().ok();
    let taken: Vec<String> = desk
        .records("command")
        .iter()
        .map(|record| record["argument"].as_str().unwrap().to_owned())
        .collect();
    let sent: Vec<String> = (0..1000).map(|n| format!("note {n}")).collect();
    assert_eq!(taken, sent);
}

#[test]
fn a_setting_holds_for_the_next_attempt_and_the_next_run() {
    let desk = desk();
    let run = desk.at_work();
    desk.write_queue(r#"{"pending": [{"command": "set-setting", "key": "RALPH_DEFAULT_MAX_TURNS", "value": 7}]}"#);
    desk.taken("set-setting");
    assert_eq!(desk.pending().len(), 1, "the attempt still runs");
    desk.go();
    run.wait().ok();
    assert!(desk.pending().is_empty());
    assert!(desk.read("ralph.toml").contains("max_turns = 7"));
    assert_eq!(desk.landed(), ["t-aaa1", "t-aaa2"]);
}

#[test]
fn a_failed_task_gets_another_chance() {
    let desk = desk();
    desk.set("max_retries = 0");
    desk.script(
        &(rule("task = \"t-aaa1\"\nattempt = 1", r#"{ claim = "blocked" }"#)
            + &rule("task = \"t-aaa1\"", GOOD)
            + &rule("", &format!("{WAITS}, {GOOD}"))),
    );
    let run = desk.at_work();
    assert!(records(&desk.plan()).iter().any(|r| r["id"] == "t-aaa1" && r["blocked"].is_string()));
    desk.write_queue(r#"{"pending": [{"command": "retry-task", "task_id": "t-aaa1"}]}"#);
    desk.taken("retry-task");
    desk.go();
    run.wait().ok();
    assert_eq!(desk.landed(), ["t-aaa2", "t-aaa1"]);
}
