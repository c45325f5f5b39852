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

const DELUXE: &str = r#"{
    "project": "Shop", "tasks": [
  {"id":"T-001","title":"Cart","status":"done","done_at":"4f2a91c","sprint":"Q1"},
  {"id":"T-002","title":"Pay","status":"skipped","skipped_reason":"no key yet"}]}"#;

const PROGRESS: &str = "# Progress: Shop\n\n## Analysis\n\nThe cart is slow.\n\n## Tasks\n\n- [X] Cart\n* [ ] Pay\n\n## Ideas\n\n- Gift cards\n";

const SPECS: &str = r#"{"version": 1, "specs": [{"id": "cart", "file": "specs/the-cart.md", "context": "slow",
"tasks": [{"id": "cart-1", "description": "Cart", "status": "completed", "completedAt": "4f2a91c", "size": 3}]}]}"#;

#[test]
fn every_loss_of_a_conversion_is_named() {
    let p = project!()
        .git_init()
        .file("plan.json", DELUXE)
        .file("progress.md", PROGRESS)
        .file("implementation.json", SPECS);
    let lost = |from: &str, to: &str| {
        let out = format!("{from}.d/{to}");
        p.run(["convert", from, &out, "--json"]).ok().json()["lost"].to_string()
    };
    for to in ["plan.jsonl", "progress.md", "implementation.json"] {
        let lost = lost("plan.json", to);
        for part in ["`sprint` of T-001", "`skipped_reason` of T-002"] {
            assert!(lost.contains(part), "{to}: {part} is not in {lost}");
        }
    }
    for to in ["plan.jsonl", "plan.json", "implementation.json"] {
        let lost = lost("progress.md", to);
        for part in ["section `Analysis`: The cart is slow.", "section `Ideas`: - Gift cards"] {
            assert!(lost.contains(part), "{to}: {part} is not in {lost}");
        }
        assert!(!lost.contains("`Tasks`"), "{to}: {lost}");
    }
    for to in ["plan.jsonl", "plan.json", "progress.md"] {
        let lost = lost("implementation.json", to);
        for part in ["`file` of spec cart", "`context` of spec cart", "`size` of cart-1"] {
            assert!(lost.contains(part), "{to}: {part} is not in {lost}");
        }
    }
}

#[test]
fn a_commit_id_is_never_written_as_a_time() {
    let p = project!().git_init().file("plan.json", DELUXE).file("implementation.json", SPECS);
    p.run(["convert", "plan.json", "a/implementation.json"]).ok();
    let new = p.read("a/implementation.json");
    assert!(
        new.contains(r#""notes": "done_at: 4f2a91c""#) && !new.contains("completedAt"),
        "{new}"
    );
    p.run(["convert", "implementation.json", "b/plan.jsonl"]).ok();
    let new = p.read("b/plan.jsonl");
    assert!(new.contains(r#""done_at":"4f2a91c""#) && !new.contains(r#""at":"#), "{new}");
}

#[test]
fn a_conversion_into_the_same_format_copies_every_byte() {
    let jsonl = format!("\n{JSONL}  {{\"t\": \"memo\"}}\n");
    let p = project!().git_init();
    for (name, text) in FILES.iter().zip([&jsonl, DELUXE, PROGRESS, SPECS]) {
        p.write(name, text);
        let copy = format!("copy/{name}");
        p.run(["convert", name, &copy, "--json"]).ok();
        assert_eq!(p.read(&copy), text, "{name}");
    }
}
