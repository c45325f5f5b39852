//! One ledger of costs, one time, one voice: what the views of an agent say about it.

use ralph_testkit::{Dashboard, project};

use crate::lab::{GOOD, Lab, ONE_TASK, PLAN, VERIFY, WHOLE, coder, lab, rule, touch, wait_for};
use crate::repo::{said, says};

/// Every stage costs something.
fn paid() -> String {
    let accept = r#"{ answer = { task_id = "{task}", verdict = "accept", reason = "good" } }"#;
    let satisfied = r#"{ answer = { satisfied = true, reason = "all there" } }"#;
    rule(&[PLAN], "", &format!("{{ cost = 0.50 }}, {ONE_TASK}"))
        + &rule(&[VERIFY], "", &format!("{{ cost = 0.25 }}, {accept}"))
        + &coder("", &format!("{{ cost = 3.25 }}, {GOOD}"))
        + &rule(
            &[WHOLE],
            "attempt = 1",
            &format!("{{ cost = 0.05 }}, {}, {}, {satisfied}", touch("began"), wait_for("go")),
        )
}

#[test]
fn every_view_shows_the_same_sum() {
    let lab = lab(&["a.md"]);
    lab.agents(&paid());
    let agent = lab.spawn(["agent", "--allow-unknown-cost"]);
    lab.until_home_has("began");
    // While it runs, before the session file knows: $4.00 in plan, build and verify.
    let status = lab.run(["status"]).ok();
    says(&status, "Session: 0 specs completed, $4.00 spent");
    says(&status, "Cost:");
    assert!(said(&status).lines().any(|line| line.starts_with("Cost:") && line.ends_with("$4.00")));
    says(&status, "(iteration 1)");
    assert_eq!(lab.run(["status", "--json"]).ok().json()["agent"]["total_cost"], 4.0);
    lab.allow("go");
    agent.wait().ok();
    let report = lab.run(["report", "--json"]).ok().json();
    let view = lab.run(["status", "--json"]).ok().json();
    let dashboard = Dashboard::of(&lab);
    let (state, numbers) = (dashboard.get("/api/state"), dashboard.get("/api/numbers"));
    let models: f64 =
        numbers["models"].as_array().unwrap().iter().filter_map(|m| m["cost_usd"].as_f64()).sum();
    let stages: f64 =
        report["stages"].as_array().unwrap().iter().filter_map(|s| s["cost_usd"].as_f64()).sum();
    let sums = [
        &report["totals"]["cost_usd"],
        &report["spending"].as_array().unwrap().last().unwrap()["total_usd"],
        &view["view"]["cost"]["run"]["cost_usd"],
        &state["cost"]["total"]["cost_usd"],
        &numbers["cost_usd"],
        &numbers["curve"].as_array().unwrap().last().unwrap()["cost_usd"],
    ];
    let all = sums.iter().map(|sum| sum.as_f64().unwrap()).chain([models, stages]);
    for sum in all {
        assert!((sum - 4.05).abs() < 1e-9, "{sum} is not 4.05: {sums:?} {models} {stages}");
    }
    assert!(lab.ask_git(["log", "-1", "--format=%b"]).contains("Cost: $4.05"));
    let spec = report["specs"][0]["cost_usd"].as_f64().unwrap();
    assert!((spec - 4.05).abs() < 1e-9, "the spec has its planning: {spec}");
    let names = |stages: &serde_json::Value, key: &str| {
        let stages = stages.as_array().unwrap().iter();
        let mut names: Vec<String> = stages.map(|stage| stage[key].to_string()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&numbers["stages"], "name"), names(&report["stages"], "name"));
    assert!(names(&numbers["stages"], "name").len() >= 3, "plan, build and verify");
}

#[test]
fn the_duration_of_a_resumed_spec_counts_the_time_before_the_resume() {
    let lab = lab(&["a.md"]);
    let waits = format!("{}, {}, {GOOD}", touch("began"), wait_for("go"));
    let reject = r#"{ answer = { task_id = "{task}", verdict = "reject", reason = "more" } }"#;
    lab.agents(&(coder("attempt = 1", &waits) + &rule(&[VERIFY], "attempt = 1", reject)));
    let agent = lab.command(["agent"]).env("RALPH_NOW", "2025-01-20T10:00:00Z").spawn();
    lab.until_home_has("began");
    lab.signal("INT", agent.pid());
    lab.allow("go");
    agent.wait().fails(130);
    // The same session goes on an hour later, after ten minutes of work.
    let text = lab.read("ralph/.agent-session");
    assert!(text.contains("\"spec_since\": \"2025-01-20T10:00:00Z\""), "{text}");
    let text = text.replace(
        "\"spec_since\": \"2025-01-20T10:00:00Z\"",
        "\"spec_since\": \"2025-01-20T09:50:00Z\"",
    );
    lab.write("ralph/.agent-session", text);
    lab.command(["agent"]).env("RALPH_NOW", "2025-01-20T11:00:00Z").run().ok();
    let body = lab.ask_git(["log", "-1", "--format=%b"]);
    assert!(body.contains("Duration: 10m 0s"), "{body}");
}

#[test]
fn one_signal_is_told_once() {
    let lab = lab(&["a.md"]);
    let waits = format!("{}, {}, {GOOD}", touch("began"), wait_for("go"));
    lab.agents(&coder("attempt = 1", &waits));
    let agent = lab.spawn(["agent", "--json"]);
    lab.until_home_has("began");
    lab.signal("INT", agent.pid());
    lab.allow("go");
    let run = agent.wait();
    let told = run.stdout.lines().filter(|line| line.contains("\"event\":\"stop\"")).count();
    assert_eq!(told, 1, "{}", run.stdout);
}

#[test]
fn work_that_a_verifier_accepted_is_proven_by_review() {
    let lab = Lab::inside(project!().with_proofs(), &["a.md"]);
    lab.config("backend = \"sim\"\n");
    lab.agent([]).ok();
    let report = lab.run(["report"]).ok();
    says(&report, "accepted by review");
    says(&report, "nothing needs you");
    let events = lab.read(".ralph/logs/events.jsonl");
    let reviewed: Vec<&str> =
        events.lines().filter(|line| line.contains("\"event\":\"work_reviewed\"")).collect();
    assert!(!reviewed.is_empty(), "{events}");
    assert!(reviewed.iter().all(|line| line.contains("\"proof\":\"reviewed\"")), "{reviewed:?}");
}
