//! `ralph convert`: any format to any other, and what got lost.

use ralph_testkit::{TestProject, project};
use serde_json::json;

const JSONL: &str = r#"{"t":"task","id":"t-aaaa","name":"A","s":"p","notes":"n","accept":["x is 1","y is 2"]}
{"t":"task","id":"t-bbbb","name":"B","s":"p","deps":["t-aaaa"],"priority":"high","blocked":"no key"}
{"t":"accept","id":"t-zzzz","name":"Z","done_at":"2025-01-20T10:00:00Z","at":"2025-01-20T10:20:00Z"}
{"t":"delete","id":"t-yyyy","name":"Y","reason":"no","at":"2025-01-20T10:20:00Z"}
{"t":"issue","id":"i-iiii","desc":"why?"}
"#;

const FILES: [&str; 4] = ["plan.jsonl", "plan.json", "progress.md", "implementation.json"];

fn names(p: &TestProject, plan: &str) -> Vec<(String, String)> {
    let list = p.run(["task", "list", "--all", "--json", "--plan", plan]).ok().json();
    let mut found: Vec<(String, String)> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|t| (t["name"].as_str().unwrap().into(), t["state"].as_str().unwrap().into()))
        .collect();
    found.sort();
    found
}

#[test]
fn every_format_converts_to_every_other_and_keeps_names_and_states() {
    let p = project!().git_init().file("in.jsonl", JSONL);
    for (i, first) in FILES.iter().enumerate() {
        let first = format!("p/{first}");
        p.run(["convert", "in.jsonl", &first]).ok().stdout_has(&format!("Wrote {first}"));
        for second in FILES {
            let again = format!("q{i}/{second}");
            p.run(["convert", &first, &again]).ok();
            assert_eq!(names(&p, &again), names(&p, &first), "{first} to {second}");
        }
    }
    let expected = [("A", "pending"), ("B", "blocked"), ("Y", "skipped"), ("Z", "accepted")];
    let expected = expected.map(|(n, s)| (n.to_owned(), s.to_owned()));
    for file in &FILES[1..] {
        assert_eq!(names(&p, &format!("p/{file}")), expected, "{file}");
    }
}

#[test]
fn what_the_target_cannot_hold_is_said() {
    let p = project!().git_init().file("in.jsonl", JSONL);
    let run = p.run(["convert", "in.jsonl", "progress.md", "--json"]).ok();
    let lost = run.json()["lost"].to_string();
    for part in ["issue i-iiii", "dependencies", "priority", "ids of tasks"] {
        assert!(lost.contains(part), "{part} is not in {lost}");
    }
    p.run(["convert", "in.jsonl", "plan.json"])
        .ok()
        .stderr_has("plan.json cannot hold:")
        .stderr_has("why?");
}

#[test]
fn the_native_format_loses_nothing_of_the_others() {
    let deluxe = r#"{"tasks":[{"id":"T-001","title":"A","description":"d","status":"pending","skills":["s"],"needs_docs":true,"libraries":["l"],"acceptance_criteria":["c"],"depends_on":[],"max_turns":7,"retry_count":1,"max_retries":4}]}"#;
    let p = project!().git_init().file("plan.json", deluxe);
    assert_eq!(
        p.run(["convert", "plan.json", "out.jsonl", "--json"]).ok().json()["lost"],
        json!([])
    );
}

#[test]
fn an_existing_file_is_kept_unless_told_otherwise() {
    let p = project!().git_init().file("in.jsonl", JSONL).file("plan.json", "mine");
    p.run(["convert", "in.jsonl", "plan.json"])
        .fails(1)
        .stderr_has("exists already")
        .stderr_has("--force");
    assert_eq!(p.read("plan.json"), "mine");
    p.run(["convert", "in.jsonl", "plan.json", "--force"]).ok();
    p.run(["convert", "in.jsonl", "what.txt"]).fails(2).stderr_has("--to");
    let printed = p.run(["convert", "in.jsonl", "-", "--to", "implementation"]).ok();
    assert_eq!(printed.json()["version"], 1);
}
