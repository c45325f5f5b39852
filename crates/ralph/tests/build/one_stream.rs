//! One run has one stream: `--json`, events.jsonl, the page's API, `ralph show` and the report tell it with
//! equal fields.

use ralph_testkit::Dashboard;
use serde_json::{Value, json};

use crate::plans::task;
use crate::repo::{BROKEN, GOOD, Repo, repo, rule};

/// Kinds that only a running loop tells; the page of events calls them live.
const LIVE: [&str; 2] = ["backend", "paused"];

/// A task for each way in which an attempt can end, and the command that gates them.
fn every_ending() -> Repo {
    let names = ["t-land", "t-gate", "t-idle", "t-died", "t-mute", "t-hold", "t-part"];
    let repo = repo(&names.map(task));
    let steps = [
        ("t-land", GOOD),
        ("t-gate", BROKEN),
        ("t-idle", r#"{ claim = "done" }"#),
        ("t-died", r#"{ write = "src/died.c", text = "x\n" }, { fault = "early_exit" }"#),
        ("t-mute", r#"{ answer = "I thought about it." }"#),
        (
            "t-part",
            r#"{ write = "src/part-{attempt}.c", text = "x\n" }, { claim = "not_complete" }"#,
        ),
        ("t-hold", r#"{ claim = "blocked", why = "no key" }"#),
    ];
    let rules = steps.map(|(name, steps)| rule(&format!("task = \"{name}\""), steps));
    repo.script(&rules.concat());
    repo.set("max_retries = 0");
    repo
}

fn parse(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_line_of_the_file_is_on_json_with_equal_fields_and_only_live_kinds_are_extra() {
    let repo = every_ending();
    let run = repo.build(["--json", "--max-iterations", "12"]);
    let streamed: Vec<Value> = parse(&run.stdout);
    let (live, streamed): (Vec<_>, Vec<_>) =
        streamed.into_iter().partition(|event| LIVE.iter().any(|kind| event["event"] == *kind));
    let kept = parse(&repo.read(".ralph/logs/events.jsonl"));
    assert_eq!(streamed, kept);
    assert!(live.iter().any(|event| event["event"] == "backend"), "a backend was heard");
    let ends = kept.iter().filter(|event| event["event"] == "iteration_end");
    let results: Vec<String> = ends.map(|end| how(&end["metadata"])).collect();
    for result in ["landed", "gates", "no_change", "backend", "bad_output", "blocked"] {
        assert!(results.iter().any(|r| r == result), "{result} is missing: {results:?}");
    }
    let last = kept.last().unwrap();
    assert_eq!(last["event"], "orchestrator_end");
    assert_eq!(last["metadata"]["exit_code"], run.code, "{last:#}");
}

/// How an attempt ended, in a word.
fn how(attempt: &Value) -> String {
    let word = match attempt["result"].as_str().unwrap() {
        "failed" => &attempt["failure"]["kind"],
        _ => &attempt["result"],
    };
    word.as_str().unwrap().to_owned()
}

#[test]
fn events_the_api_and_the_report_tell_the_same_of_every_attempt_and_of_the_end() {
    let repo = every_ending();
    repo.build(["--max-iterations", "12"]);
    let dashboard = Dashboard::of(&repo);
    let listed = repo.run(["attempts", "--json"]).ok().json();
    for end in repo.events("iteration_end") {
        let end = &end["metadata"];
        let id = end["attempt"].as_str().unwrap();
        let of_api = dashboard.get(&format!("/api/attempts/{id}"));
        let of_list = listed.as_array().unwrap().iter().find(|a| a["attempt"] == id).unwrap();
        for key in ["result", "commit", "landing", "proof", "failure", "salvage", "task_id"] {
            assert_eq!(end[key], of_api[key], "{key} of {id} in the API: {of_api:#}");
            assert_eq!(end[key], of_list[key], "{key} of {id} in `ralph attempts --json`");
        }
    }
    let end = repo.events("orchestrator_end").pop().unwrap();
    let report = repo.run(["report", "--json"]).ok().json();
    let status = repo.run(["status", "--json"]).ok().json();
    assert_eq!(end["metadata"]["needs"], report["needs"], "{report:#}");
    assert_eq!(end["metadata"]["needs"], status["view"]["needs"], "{status:#}");
    assert_eq!(end["metadata"]["needs"], dashboard.get("/api/state")["needs"]);
    assert_ne!(end["metadata"]["needs"], json!([]));
}
