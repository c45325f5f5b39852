//! Exactly once, wherever a SIGKILL hits.

use crate::desk::{Desk, desk};
use crate::plans::records;
use crate::repo::until;

/// Notes and a skip wait for the loop, which is killed at each point on its way.
fn waiting_commands() -> Desk {
    let desk = desk();
    desk.go();
    desk.write_queue(
        r#"{"pending": [{"command": "inject-note", "note": "only once", "id": "n1"},
            {"command": "skip-task", "task_id": "t-aaa2", "id": "s1"},
            {"command": "set-setting", "key": "max_turns", "value": "7", "id": "x1"}]}"#,
    );
    desk
}

#[test]
fn a_crash_at_any_point_neither_loses_nor_doubles_a_command() {
    let mut kills = 0;
    for point in (1..).step_by(2) {
        let desk = waiting_commands();
        let run = desk.command(["build"]).env("RALPH_CRASH_POINT", point.to_string()).run();
        if run.code == 137 {
            kills += 1;
            desk.build([]).ok();
        } else {
            assert_eq!(run.code, 0, "point {point}: {}", crate::repo::said(&run));
        }
        let what = format!("killed at point {point}");
        for command in ["inject-note", "skip-task", "set-setting"] {
            assert_eq!(desk.carried_out(command), 1, "{what}: {command}");
        }
        assert_eq!(desk.landed(), ["t-aaa1"], "{what}");
        let plan = desk.plan();
        let skips =
            records(&plan).iter().filter(|r| r["t"] == "delete" && r["id"] == "t-aaa2").count();
        assert_eq!(skips, 1, "{what}: {plan}");
        assert_eq!(desk.read("ralph.toml").matches("max_turns = 7").count(), 1, "{what}");
        assert!(desk.pending().is_empty(), "{what}");
        let prompts: Vec<_> = std::fs::read_dir(desk.path("build/ralph-logs"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_string_lossy().ends_with(".prompt.md"))
            .collect();
        assert!(!prompts.is_empty(), "{what}");
        assert!(
            prompts.iter().all(|path| std::fs::read_to_string(path).unwrap().contains("only once")),
            "{what}: the note is lost"
        );
        if run.code == 0 {
            break;
        }
    }
    assert!(kills >= 10, "only {kills} points: the points are gone");
}

#[test]
fn what_was_read_and_not_applied_when_the_loop_was_killed_is_applied_once() {
    let desk = desk();
    let run = desk.at_work();
    desk.run(["config", "set", "max_turns", "7"]).ok();
    desk.run(["note", "only once"]).ok();
    desk.taken("inject-note");
    until(|| desk.pending().len() == 1);
    assert!(!desk.read("ralph.toml").contains("max_turns"), "it waits for the attempt's end");
    desk.shell(&format!("kill -KILL {}", run.pid())).ok();
    run.wait().fails(137);
    desk.go();
    desk.build([]).ok();
    for command in ["set-setting", "inject-note"] {
        assert_eq!(desk.carried_out(command), 1, "{command}");
    }
    assert_eq!(desk.read("ralph.toml").matches("max_turns = 7").count(), 1);
    assert!(desk.pending().is_empty());
    let noted = (1..=3).filter(|n| desk.prompt(*n).contains("only once")).count();
    assert_eq!(noted, 1);
}

#[test]
fn the_same_id_is_never_carried_out_again() {
    let desk = desk();
    desk.go();
    let queue = r#"{"pending": [{"command": "inject-note", "note": "only once", "id": "n1"}]}"#;
    desk.write_queue(queue);
    desk.build(["--once"]).ok();
    desk.write_queue(queue);
    desk.build([]).ok();
    assert_eq!(desk.carried_out("inject-note"), 1);
    assert!(desk.pending().is_empty());
    assert!(!desk.prompt(2).contains("only once"));
}

#[test]
fn a_stop_that_was_sent_to_an_earlier_loop_does_not_end_this_one() {
    let desk = desk();
    desk.go();
    desk.write_queue(r#"{"pending": [{"command": "stop"}, {"command": "kill-attempt"}]}"#);
    desk.build([]).ok().stdout_has("it was sent before this run began");
    assert!(desk.records("command").iter().all(|record| record["ignored"].is_string()));
    assert_eq!(desk.landed(), ["t-aaa1", "t-aaa2"]);
    assert!(desk.pending().is_empty());
}
