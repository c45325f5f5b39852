//! Ralph is killed with SIGKILL at every point of a construct where it changes the world, and started
//! again. Nothing is lost, nothing is accepted twice or without its code, and no rubbish of an agent is
//! left in the tree.

use std::collections::BTreeSet;
use std::path::Path;

use ralph_testkit::{TestProject, project};
use serde_json::{Value, json};

use crate::lab::{
    Lab, SPEC, answers, builds, decomposes, investigates, issue, new, rejects, task, verifier, with,
};
use crate::repo::{GOOD, said};

/// Parts of the points that are tried. The quick tests take every sixth part, the long one all.
const PARTS: usize = 24;

/// A project on a file system in memory where there is one.
fn on_memory() -> TestProject {
    let shm = Path::new("/dev/shm");
    let place = tempfile::Builder::new().prefix("ralph-test-").tempdir_in(shm);
    match place {
        Ok(place) => TestProject::in_room(env!("CARGO_BIN_EXE_ralph"), place),
        Err(_) => project!(),
    }
}

/// An issue, a task, one that is killed and broken down, one that is rejected once, and verifiers that
/// scribble: every stage has something to do.
fn victim() -> Lab {
    let records = [
        json!({ "t": "spec", "spec": SPEC }),
        issue("i-aaa1", "what is three"),
        task("t-aaa1"),
        with(task("t-aaa2"), json!({ "deps": ["t-aaa1"] })),
        json!({ "t": "task", "id": "t-aaa4", "spec": SPEC, "name": "Do t-aaa4", "s": "p",
                "kill_reason": "timeout", "kill_log": "build/ralph-logs/gone.log" }),
        json!({ "t": "task", "id": "t-zzz1", "spec": "other.md", "name": "Not mine", "s": "p" }),
    ];
    let plan: String = records.iter().map(|record| format!("{record}\n")).collect();
    let lab = Lab::inside(on_memory(), &plan);
    let three = json!({ "outcome": "tasks", "tasks": [new("three", "Write three")] });
    let accept = answers(&json!({ "task_id": "{task}", "verdict": "accept", "reason": "yes" }));
    let scribble = r#"{ write = "rubbish.txt", text = "rubbish\n" }"#;
    let again = r#"{ write = "work/{task}.txt", text = "{task} is better\n" }, { claim = "done" }"#;
    lab.agents(
        &[
            investigates("", three),
            decomposes("", json!({ "tasks": [new("a", "Write the upper part"), new("b", "Write the lower part")] })),
            builds("with = \"an edge case is missing\"", again),
            rejects("task = \"t-aaa2\"\nunless = \"Rejected before\""),
            verifier("task = \"t-aaa1\"", &format!("{scribble}, {accept}")),
            verifier("", &accept),
            builds("", GOOD),
        ]
        .concat(),
    );
    lab.write("user/edited.txt", "the user's own work\n");
    lab
}

/// Everything that must hold at the end, however often ralph died.
#[track_caller]
fn holds(lab: &Lab, what: &str) {
    ralph_testkit::none_is_left(lab.home());
    assert!(lab.is_satisfied(), "{what}: the spec is not accepted\n{}", lab.plan());
    let mut accepted = lab.accepted();
    accepted.sort();
    let expected =
        ["Do t-aaa1", "Do t-aaa2", "Write the lower part", "Write the upper part", "Write three"];
    assert_eq!(accepted, expected, "{what}: each is accepted exactly once");
    let stones = lab.of_type("accept");
    let whole = stones.iter().filter(|r| r["id"].is_null()).count();
    assert_eq!(whole, 1, "{what}: the spec is accepted once");
    let landed: BTreeSet<String> = lab.landed().into_iter().collect();
    for id in stones.iter().filter_map(|r| r["id"].as_str()) {
        assert!(landed.contains(id), "{what}: {id} is accepted and has no commit");
        assert!(lab.exists(format!("work/{id}.txt")), "{what}: {id} is accepted without its code");
    }
    let other: Vec<Value> = lab.of_type("task");
    assert_eq!(other.len(), 1, "{what}: {other:?}");
    assert_eq!(other[0]["id"], "t-zzz1", "{what}");
    assert!(!lab.exists("rubbish.txt"), "{what}: a verifier's rubbish is in the tree");
    assert_eq!(lab.read("user/edited.txt"), "the user's own work\n", "{what}");
    assert_eq!(lab.status(), " M user/edited.txt", "{what}");
}

fn at_every_point(part: usize) {
    let mut kills = 0;
    for point in (part + 1..).step_by(PARTS) {
        let lab = victim();
        let what = format!("killed at point {point}");
        let run =
            lab.command(["construct", SPEC]).env("RALPH_CRASH_POINT", point.to_string()).run();
        if run.code != 137 {
            assert_eq!(run.code, 0, "{what}: {}", said(&run));
            break;
        }
        kills += 1;
        let run = lab.construct([]);
        assert_eq!(run.code, 0, "{what}: the restart failed\n{}\n{}", said(&run), lab.plan());
        holds(&lab, &what);
    }
    println!("{kills} kill points, part {part} of {PARTS}");
    assert!(kills * PARTS >= 60, "only {kills} points: the points are gone");
}

#[test]
fn an_undisturbed_construct_holds_all_of_it() {
    let lab = victim();
    lab.construct([]).ok();
    holds(&lab, "undisturbed");
    assert_eq!(
        lab.stages(),
        ["1 decompose", "2 investigate", "2 build", "2 verify", "3 build", "3 verify"]
    );
}

#[test]
fn killed_at_every_24th_point_from_1() {
    at_every_point(0);
}

#[test]
fn killed_at_every_24th_point_from_7() {
    at_every_point(6);
}

#[test]
fn killed_at_every_24th_point_from_13() {
    at_every_point(12);
}

#[test]
fn killed_at_every_24th_point_from_19() {
    at_every_point(18);
}

#[test]
#[ignore = "long: docs/reliability.md"]
fn killed_at_every_point() {
    std::thread::scope(|scope| {
        for first in 0..4 {
            scope.spawn(move || (first..PARTS).step_by(4).for_each(at_every_point));
        }
    });
}
