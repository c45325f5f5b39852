//! The file itself: what strangers write into it.

use crate::desk::{Desk, WAITS, desk};
use crate::plans::records;
use crate::repo::{GOOD, rule, says, until};

#[test]
fn the_format_of_the_seed_tools_works_without_ids() {
    let desk = desk();
    let run = desk.at_work();
    desk.run(["pause"]).ok();
    desk.go();
    until(|| desk.landed() == ["t-aaa1"] && desk.status_word() == "paused");
    desk.write_queue(
        r#"{"pending": [{"command": "pause"}, {"command": "inject-note", "note": "Check auth module"},
            {"command": "skip-task", "task_id": "t-aaa2"}, {"command": "resume"}]}"#,
    );
    run.wait().ok();
    assert_eq!(desk.landed(), ["t-aaa1"]);
    for (command, times) in [("pause", 2), ("inject-note", 1), ("skip-task", 1), ("resume", 1)] {
        assert_eq!(desk.carried_out(command), times, "{command}");
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
    assert_eq!(desk.events("command_refused").len(), 4);
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
    desk.run(["config", "set", "max_turns", "7"]).ok().stdout_has("max_turns = 7 when the attempt");
    let text = desk.read("ralph.toml");
    let refused = desk.run(["config", "set", "max_retries", "1"]).fails(1);
    refused.stderr_has("while a loop works, `max_retries` cannot be changed here");
    assert_eq!(desk.read("ralph.toml"), text, "it would be taken for the agent's work");
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
    let plan = records(&desk.plan_of_run());
    assert!(plan.iter().any(|r| r["id"] == "t-aaa1" && r["blocked"].is_string()));
    desk.run(["task", "retry", "t-aaa1"]).ok();
    desk.go();
    run.wait().ok();
    assert_eq!(desk.landed(), ["t-aaa2", "t-aaa1"]);
}

/// What a backend writes into the control file to have less to do.
const WISHES: &str = r#"{\"pending\": [{\"command\": \"inject-note\", \"note\": \"be quick\"},
    {\"command\": \"skip-task\", \"task_id\": \"t-aaa2\"}, {\"command\": \"kill-attempt\"},
    {\"command\": \"set-setting\", \"key\": \"gate_strategy\", \"value\": \"lenient\"}]}"#;

/// In home, where nothing keeps a backend from writing without a fence.
fn wishes(desk: &Desk) -> String {
    let file = desk.path(".ralph/control/commands.json");
    format!(r#"{{ write = "{}", text = "{}" }}"#, file.display(), WISHES.replace('\n', ""))
}

#[test]
fn a_skip_or_a_setting_in_the_file_while_a_backend_works_becomes_a_need() {
    let desk = desk();
    desk.script(
        &(rule("task = \"t-aaa1\"", &format!("{}, {GOOD}", wishes(&desk))) + &rule("", GOOD)),
    );
    let run = desk.build(["--once"]).ok();
    assert_eq!(desk.landed(), ["t-aaa1"], "nothing was skipped, nothing killed");
    assert!(!desk.read("ralph.toml").contains("gate_strategy"));
    let needs = || desk.run(["status", "--json"]).ok().json()["view"]["needs"].to_string();
    for command in ["ralph skip t-aaa2", "ralph config set gate_strategy lenient"] {
        says(&run, &format!("`{command}` does it"));
        desk.run(["report"]).ok().stdout_has(command);
        assert!(needs().contains(command), "{}", needs());
    }
    assert!(desk.pending().is_empty());
    assert_eq!(desk.events("command_ignored").len(), 3);
    desk.build([]).ok();
    assert_eq!(desk.landed(), ["t-aaa1", "t-aaa2"]);
    assert!(desk.prompt(2).contains("be quick"), "a note is obeyed");
    assert!(!needs().contains("ralph skip"), "a task that is done cannot be skipped: {}", needs());
}

#[test]
fn what_a_backend_wrote_in_its_last_moment_is_not_believed_by_the_next_run() {
    let desk = desk();
    let waits = format!("{}, {WAITS}", wishes(&desk).replace("commands.json", "late.json"));
    desk.script(&(rule("task = \"t-aaa1\"\nattempt = 1", &waits) + &rule("", GOOD)));
    let run = desk.at_work();
    // The loop is dead before the file is there, so nobody has read it.
    desk.shell(&format!("kill -KILL {}", run.pid())).ok();
    run.wait().fails(137);
    desk.write_queue(&desk.read(".ralph/control/late.json"));
    desk.build(["--once"]).ok();
    assert_eq!(desk.landed(), ["t-aaa1"]);
    assert!(!desk.read("ralph.toml").contains("gate_strategy"));
    desk.run(["report"]).ok().stdout_has("ralph skip t-aaa2");
}

#[test]
fn what_a_gate_writes_into_the_file_is_not_believed_either() {
    let desk = desk();
    let tool = format!(r#"{{ write = "work/wish.json", text = "{}" }}"#, WISHES.replace('\n', ""));
    desk.config(&format!("backend = \"sim\"\n[[gates]]\nname = \"test\"\nkind = \"test\"\ncommand = \"cp -n work/wish.json {}; rm -f work/wish.json\"\n", desk.path(".ralph/control/commands.json").display()));
    desk.script(&(rule("task = \"t-aaa1\"", &format!("{tool}, {GOOD}")) + &rule("", GOOD)));
    desk.write_queue("{\"pending\": []}");
    std::fs::remove_file(desk.path(".ralph/control/commands.json")).unwrap();
    desk.build(["--once"]).ok();
    assert_eq!(desk.landed(), ["t-aaa1"]);
    desk.run(["report"]).ok().stdout_has("ralph skip t-aaa2");
}

/// A backend can read the token of the dashboard.
#[cfg(target_os = "linux")]
#[test]
fn a_backend_cannot_skip_a_task_through_the_dashboard() {
    let desk = desk();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let serve = desk.spawn(["serve", "--port", &port.to_string()]);
    serve.until_prints("/?token=");
    let body = r#"{"command":"skip-task","task_id":"t-aaa2"}"#;
    std::fs::write(
        desk.home().join("skip.sh"),
        format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port}\nprintf 'POST /api/command HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\
             Authorization: Bearer %s\\r\\nContent-Type: application/json\\r\\nContent-Length: {}\\r\\n\\r\\n%s' \
             \"$(cat {}/.git/ralph/serve-token)\" '{body}' >&3\ncat <&3 >$HOME/answer\n",
            body.len(),
            desk.root().display(),
        ),
    )
    .unwrap();
    let skips = format!(r#"{{ run = "env -i HOME=$HOME PATH=$PATH bash $HOME/skip.sh" }}, {GOOD}"#);
    desk.script(&(rule("task = \"t-aaa1\"", &skips) + &rule("", GOOD)));
    desk.build([]).ok();
    assert_eq!(desk.landed(), ["t-aaa1", "t-aaa2"]);
    let answer = std::fs::read_to_string(desk.home().join("answer")).unwrap();
    assert!(answer.contains("403") && answer.contains("inside an attempt"), "{answer}");
    // The same from a person's shell is obeyed.
    desk.shell("bash $HOME/skip.sh").ok();
    let answer = std::fs::read_to_string(desk.home().join("answer")).unwrap();
    assert!(answer.contains("202"), "{answer}");
    serve.kill();
}

#[test]
fn a_need_from_the_file_is_over_when_a_person_gives_the_command() {
    let desk = desk();
    let run = desk.at_work();
    desk.write_queue(r#"{"pending": [{"command": "skip-task", "task_id": "t-aaa2"}]}"#);
    desk.taken("skip-task");
    desk.run(["report"]).ok().stdout_has("ralph skip t-aaa2");
    desk.run(["skip", "t-aaa2"]).ok();
    until(|| desk.carried_out("skip-task") == 2);
    desk.run(["report"]).ok().stdout_lacks("ralph skip t-aaa2");
    desk.go();
    run.wait().ok();
    assert_eq!(desk.landed(), ["t-aaa1"]);
}
