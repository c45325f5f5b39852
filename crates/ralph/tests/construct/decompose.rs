//! DECOMPOSE: work that was killed becomes smaller work, at once.

use serde_json::{Value, json};

use crate::lab::{Lab, answers, builds, decomposer, decomposes, new, planned, task, with};
use crate::repo::says;

/// A task that hangs, with a short time of its own, and one that waits for it.
fn hangs() -> Lab {
    let lab = planned(&[
        with(task("t-aaa1"), json!({ "timeout_ms": 2500, "priority": "high" })),
        with(task("t-aaa2"), json!({ "deps": ["t-aaa1"], "priority": "high" })),
    ]);
    lab.agents(&hanging());
    lab
}

/// The first task prints a thousand lines and hangs.
fn hanging() -> String {
    let lines: Vec<String> =
        (1..=1000).map(|n| format!("{{ say = \"line {n} of it\" }}")).collect();
    builds("task = \"t-aaa1\"", &format!("{}, {{ hang = true }}", lines.join(", ")))
}

#[test]
fn work_that_takes_too_long_is_killed_broken_down_and_goes_on_at_once() {
    let lab = hangs();
    let run = lab.construct([]).ok();
    assert_eq!(lab.stages(), ["1 build", "1 decompose", "2 build", "2 verify"]);
    says(&run, "killed   took too long; t-aaa1 is broken down next");
    assert!(lab.is_satisfied());
    let accepted = lab.accepted();
    assert_eq!(accepted.len(), 3, "{accepted:?}");
    assert_eq!(lab.built().last().map(String::as_str), Some("t-aaa2"), "it waited for the parts");
}

#[test]
fn a_killed_task_has_kill_reason_and_kill_log_until_it_is_broken_down() {
    let lab = hangs();
    lab.agents(&(hanging() + &decomposer("", r#"{ fault = "not_logged_in" }"#)));
    lab.construct([]).fails(1);
    let task = lab.item("t-aaa1");
    assert_eq!((&task["s"], &task["kill_reason"]), (&json!("p"), &json!("timeout")));
    let log = task["kill_log"].as_str().unwrap().to_owned();
    assert!(log.starts_with("build/ralph-logs/ralph-") && log.contains("-build"), "{log}");
    assert!(lab.read(&log).contains("line 1000 of it"));
    assert_eq!(lab.query("stage"), "DECOMPOSE");
    // The next start goes on from there.
    lab.agents(&hanging());
    lab.construct([]).ok();
    assert_eq!(lab.stages()[0], "2 decompose");
}

#[test]
fn only_the_first_50_and_the_last_100_lines_of_the_log_are_told() {
    let lab = hangs();
    lab.construct([]).ok();
    let prompt = lab.prompt_of("decompose-t-aaa1");
    let told = |n: usize| prompt.contains(&format!("line {n} of it"));
    assert!(told(1) && told(1000), "both ends are there");
    let count = (1..=1000).filter(|n| told(*n)).count();
    assert!(count <= 150, "{count} lines of the log are in the prompt");
    assert!(!told(500) && prompt.contains("head -50") && prompt.contains("tail -100"));
    assert!(prompt.len() < 100_000, "{} bytes", prompt.len());
}

#[test]
fn the_parent_goes_the_parts_inherit_and_whoever_waited_waits_for_the_parts() {
    let lab = hangs();
    lab.agents(&(hanging() + &builds("with = \"half of it\"", r#"{ fault = "not_logged_in" }"#)));
    lab.construct([]).fails(1);
    let (a, b) = (lab.named("Do the first half of it"), lab.named("Do the second half of it"));
    for part in [&a, &b] {
        assert_eq!((&part["parent"], &part["priority"]), (&json!("t-aaa1"), &json!("high")));
        let notes = part["notes"].as_str().unwrap();
        assert!(notes.contains("Part of t-aaa1") && notes.contains("ran out of time"), "{notes}");
    }
    assert_eq!(lab.item("t-aaa2")["deps"], json!([a["id"], b["id"]]));
    let stone = &lab.of_type("delete")[0];
    assert_eq!(stone["id"], "t-aaa1");
    assert!(stone["reason"].as_str().unwrap().starts_with("broken down into t-"), "{stone}");
}

#[test]
fn work_that_was_broken_down_three_times_is_given_up_and_becomes_an_issue() {
    let lab = planned(&[task("t-aaa1")]);
    // Every part hangs too.
    let parts = |n: usize| {
        let (peel, cook) = (format!("Peel layer {n} off"), format!("Cook layer {n} well"));
        json!({ "tasks": [new("a", &peel), new("b", &cook)] })
    };
    let depth = |n: usize| format!("with = \"broken down {n} times before\"");
    lab.agents(
        &(builds("", r#"{ hang = true }"#)
            + &decomposes(&depth(1), parts(2))
            + &decomposes(&depth(2), parts(3))
            + &decomposes("", parts(1))),
    );
    let run = lab.construct(["--timeout", "1200", "--max-iterations", "6"]).fails(4);
    let issue = lab.of_type("issue")[0]["desc"].as_str().unwrap().to_owned();
    assert!(issue.contains("it was broken down 3 times already"), "{issue}");
    says(&run, "has no attempt left");
    assert!(lab.accepted().is_empty());
}

#[test]
fn an_answer_that_is_no_breakdown_is_asked_for_again_and_then_the_task_is_given_up() {
    for bad in [
        json!({ "tasks": [new("a", "Do all of it at once")] }),
        json!({ "tasks": [new("a", "Do t-aaa1"), new("b", "do t-aaa1.")] }),
        json!({ "tasks": [] }),
    ] {
        let lab = planned(&[with(task("t-aaa1"), json!({ "timeout_ms": 1500 })), task("t-aaa2")]);
        lab.agents(
            &(builds("task = \"t-aaa1\"", r#"{ hang = true }"#) + &decomposer("", &answers(&bad))),
        );
        let run = lab.construct(["--max-iterations", "1"]).fails(4);
        let failed = lab.of_type("reject").into_iter().filter(|r| r["id"] == "t-aaa1").count();
        assert_eq!(failed, 1, "{bad}: {}\n{}", lab.plan(), run.stdout);
        assert_eq!(lab.of_type("issue").len(), 1, "{bad}: an issue takes its place");
    }
}

#[test]
fn a_task_is_not_deleted_for_parts_that_the_plan_has_already() {
    let lab = planned(&[with(task("t-aaa1"), json!({ "timeout_ms": 1500 })), task("t-aaa2")]);
    let old = json!({ "tasks": [new("a", "Do t-aaa1"), new("b", "Do t-aaa2")] });
    lab.agents(&(builds("task = \"t-aaa1\"", r#"{ hang = true }"#) + &decomposes("", old)));
    let run = lab.construct(["--max-iterations", "1"]).fails(4);
    says(&run, "unusable: ");
    says(&run, "fewer than two parts are new: “Do t-aaa1” is t-aaa1; “Do t-aaa2” is t-aaa2");
    assert!(lab.of_type("delete").is_empty(), "{}", lab.plan());
    let issue = lab.of_type("issue")[0]["desc"].as_str().unwrap().to_owned();
    assert!(issue.contains("t-aaa1") && issue.contains("it could not be broken down"), "{issue}");
    // The repair question says what is wrong, so that a better answer can follow.
    let lab = planned(&[with(task("t-aaa1"), json!({ "timeout_ms": 1500 })), task("t-aaa2")]);
    let half = json!({ "tasks": [new("a", "Do the first half"), new("b", "Do t-aaa2")] });
    let parts = json!({ "tasks": [new("a", "Do the first half"), new("b", "Do the second half")] });
    lab.agents(
        &(format!(
            "[[rule]]\nwhen = \"fewer than two parts are new\"\nsteps = [{}]\n",
            answers(&parts)
        ) + &builds("task = \"t-aaa1\"", r#"{ hang = true }"#)
            + &decomposes("", half)),
    );
    lab.construct([]).ok();
    let mut accepted = lab.accepted();
    accepted.sort();
    assert_eq!(accepted, ["Do t-aaa2", "Do the first half", "Do the second half"]);
}

#[test]
fn parts_that_say_the_same_are_one() {
    let lab = planned(&[with(task("t-aaa1"), json!({ "timeout_ms": 1500 }))]);
    let parts = json!({ "tasks": [new("a", "Write the upper part of the file"),
                                  new("b", "Write upper part of the file."), new("c", "Write the rest")] });
    lab.agents(&(builds("task = \"t-aaa1\"", r#"{ hang = true }"#) + &decomposes("", parts)));
    lab.construct([]).ok();
    let mut accepted = lab.accepted();
    accepted.sort();
    assert_eq!(accepted, ["Write the rest", "Write the upper part of the file"]);
}

#[test]
fn whoever_breaks_work_down_may_change_nothing() {
    let lab = hangs();
    // The sim obeys when it may only look; this step of it does not.
    let scribble = r#"{ half = "src/main.c", text = "rubbish rubbish" }, { half = "ralph/plan.jsonl", text = "xxxxxxxx" }"#;
    let parts = json!({ "tasks": [new("a", "Do the first half of it"), new("b", "Do the second half of it")] });
    lab.agents(&(hanging() + &decomposer("", &format!("{scribble}, {}", answers(&parts)))));
    let run = lab.construct([]).ok();
    says(&run, "decompose may change nothing, and changed src/main.c");
    says(&run, "ralph/plan.jsonl: decompose may not write it; its changes are left out");
    assert_eq!(lab.read("src/main.c"), "int main(void) { return 0; }\n");
    let live: Vec<Value> = lab.of_type("task");
    assert!(live.is_empty() && lab.is_satisfied());
}
