//! Every view of what happened says the same, and none says more than is known.

use ralph_testkit::Dashboard;
use serde_json::{Value, json};

use crate::plans::{Format, task};
use crate::repo::{BROKEN, GOOD, repo, repo_with, rule, says, touch, wait_for};

fn paid(conditions: &str, cost: &str, steps: &str) -> String {
    rule(conditions, &format!("{{ cost = {cost} }}, {steps}"))
}

#[test]
fn a_run_of_unknown_cost_is_counted_beside_the_dollars_in_every_view() {
    let repo = repo(&[task("t-aaaa"), task("t-bbbb")]);
    repo.script(&(paid("task = \"t-aaaa\"", "0.24", GOOD) + &rule("", GOOD)));
    let words = "$0.24 and 1 run of unknown cost";
    says(&repo.build([]).ok(), &format!("2 landed in 2 attempts, {words}, "));
    repo.run(["report"]).ok().stdout_has(words).stdout_has(&format!("| {words} |"));
    let dashboard = Dashboard::of(&repo);
    let (state, numbers) = (dashboard.get("/api/state"), dashboard.get("/api/numbers"));
    assert_eq!(
        (&state["cost"]["run"]["cost_words"], &state["cost"]["run"]["cost_unknown"]),
        (&json!(words), &json!(1))
    );
    for value in [
        &state["cost"]["total"]["cost_words"],
        &numbers["cost_words"],
        &numbers["models"][0]["cost_words"],
        &numbers["stages"][0]["cost_words"],
    ] {
        assert_eq!(value, words);
    }
}

#[test]
fn nothing_known_is_unknown_and_never_zero() {
    let repo = repo(&[task("t-aaaa")]);
    says(&repo.build([]).ok(), "1 landed in 1 attempt, cost unknown, ");
    assert_eq!(Dashboard::of(&repo).get("/api/state")["cost"]["run"]["cost_words"], "unknown");
    let text = repo.run(["report"]).ok().stdout;
    assert!(text.contains(" | unknown |\n") && !text.contains("$0.00"), "{text}");
}

#[test]
fn the_cost_of_a_task_has_its_failed_tries_and_the_parts_add_up() {
    let repo = repo(&[task("t-aaaa"), task("t-bbbb")]);
    repo.script(
        &(paid("task = \"t-aaaa\"\nattempt = 1", "0.04", BROKEN) + &paid("", "0.03", GOOD)),
    );
    repo.build([]).ok();
    repo.run(["report"])
        .ok()
        .stdout_has("**t-aaaa Do t-aaaa**: green: test; 2 tries, $0.07")
        .stdout_has("2 tasks landed, 1 attempt failed on the way, $0.10");
    let report = repo.run(["report", "--json"]).ok().json();
    let tasks = report["specs"][0]["tasks"].as_array().unwrap();
    let sum: f64 = tasks.iter().filter_map(|task| task["cost"]["cost_usd"].as_f64()).sum();
    assert!((sum - report["totals"]["cost_usd"].as_f64().unwrap()).abs() < 1e-9, "{report:#}");
}

#[test]
fn a_killed_loop_is_called_killed_and_its_attempt_interrupted_before_and_after_recovery() {
    let repo = repo(&[task("t-aaaa")]);
    repo.script(&rule("", &format!("{}, {}, {GOOD}", touch("there"), wait_for("go"))));
    let run = repo.spawn(["build"]);
    repo.until_home_has("there");
    repo.run(["attempts"]).ok().stdout_has("under way");
    run.kill();
    repo.run(["attempts"]).ok().stdout_has("interrupted");
    repo.run(["show", "last"]).ok().stdout_has("Result:   interrupted");
    repo.run(["report"]).ok().stdout_has("ralph build, killed");
    repo.allow("go");
    repo.build([]).ok();
    let text = repo.run(["report"]).ok().stdout;
    assert!(text.contains("ralph build, killed") && !text.contains("still running"), "{text}");
    let numbers = Dashboard::of(&repo).get("/api/numbers");
    let spans = numbers["timeline"].as_array().unwrap();
    let attempts: Vec<&Value> =
        spans.iter().filter(|span| span["kind"] == "attempt").map(|span| &span["result"]).collect();
    assert_eq!(attempts, ["ended", "landed"], "{numbers:#}");
}

#[test]
fn the_report_takes_its_needs_from_the_plan_of_the_last_run() {
    let repo = repo(&[task("t-aaaa")]);
    repo.write("my plans/plan.jsonl", Format::Jsonl.text(&[task("t-mine")]));
    repo.commit("another plan");
    repo.script(&rule("", r#"{ claim = "blocked", why = "no key" }"#));
    repo.build(["my plans/plan.jsonl"]).fails(3);
    let text = repo.run(["report"]).ok().stdout;
    assert!(text.contains("t-mine asks a person") && !text.contains("nothing needs you"), "{text}");
    let default = repo.run(["report", "--plan", "ralph/plan.jsonl"]).ok().stdout;
    assert!(!default.contains("t-mine asks a person"), "{default}");
}

#[test]
fn a_spec_of_which_nothing_is_left_is_done() {
    let repo = repo_with(Format::Implementation, &[task("work-1"), task("work-2")]);
    repo.set("commit = \"task\"").build(["--once"]).ok();
    repo.run(["report"]).ok().stdout_has("### The Work: not finished");
    repo.build([]).ok();
    repo.run(["report"]).ok().stdout_has("### The Work: done");
}
