//! Seed 000, "Prioritization": the boxes that a command without an agent can keep.
//!
//! "PLAN calls prioritize" and "VERIFY calls prioritize" come with those stages; they will call the
//! function that these tests drive.

use ralph_testkit::{TestProject, project};
use serde_json::{Value, json};

fn plan_of(tasks: Value) -> TestProject {
    let p = project!().git_init();
    p.run(["task", "add", &tasks.to_string()]).ok();
    p
}

fn priorities(p: &TestProject) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = p
        .run(["task", "list", "--json"])
        .ok()
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|t| (t["name"].as_str().unwrap().into(), t["priority"].as_str().unwrap_or("-").into()))
        .collect();
    found.sort();
    found
}

#[test]
fn task_prioritize_prints_the_totals_as_json() {
    let p = plan_of(json!([
        {"id": "schema", "name": "Add the schema"},
        {"id": "api", "name": "Implement the endpoint", "deps": ["schema"]},
        {"name": "Call it from the page", "deps": ["api"]},
        {"name": "Reject large files", "deps": ["schema"]},
        {"name": "Write documentation"},
    ]));
    p.run(["task", "prioritize"])
        .ok()
        .stdout("{\"prioritized\":5,\"high\":2,\"medium\":2,\"low\":1}\n");
}

#[test]
fn prioritization_considers_dependencies_complexity_and_critical_path() {
    let p = plan_of(json!([
        {"id": "wide", "name": "Add a type"},
        {"name": "Use it here", "deps": ["wide"]},
        {"name": "Use it there", "deps": ["wide"]},
        {"id": "one", "name": "Read the file"},
        {"id": "two", "name": "Check the file", "deps": ["one"]},
        {"name": "Print the file", "deps": ["two"]},
        {"name": "Tidy the comments"},
        {"name": "Log errors"},
    ]));
    p.run(["task", "prioritize"]).ok();
    let expected = [
        ("Add a type", "high"),       // small, and two tasks wait for it
        ("Check the file", "high"),   // on the longest chain
        ("Log errors", "medium"),     // standard work
        ("Print the file", "medium"), // the end of the chain unblocks nobody
        ("Read the file", "high"),
        ("Tidy the comments", "low"), // nice to have
        ("Use it here", "medium"),
        ("Use it there", "medium"),
    ];
    assert_eq!(priorities(&p), expected.map(|(n, p)| (n.to_owned(), p.to_owned())));
}

#[test]
fn an_explicit_priority_is_kept() {
    let p = plan_of(json!([
        {"id": "a", "name": "A", "priority": "low"},
        {"name": "B", "deps": ["a"]},
        {"name": "C", "deps": ["a"]},
    ]));
    p.run(["task", "prioritize"]).ok();
    assert_eq!(priorities(&p)[0], ("A".to_owned(), "low".to_owned()));
}

#[test]
fn a_computed_priority_follows_the_plan_and_a_hand_edit_stays() {
    let p = plan_of(json!([{"name": "A"}, {"name": "B"}]));
    p.run(["task", "prioritize"]).ok();
    assert_eq!(priorities(&p)[0].1, "medium");
    let id = p.run(["task", "list", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    p.run([
        "task",
        "add",
        &json!([{"name": "C", "deps": [id]}, {"name": "D", "deps": [id]}]).to_string(),
    ])
    .ok();
    p.run(["task", "prioritize"]).ok();
    assert_eq!(priorities(&p)[0].1, "high", "two tasks wait for it now");
    // Somebody edits the file by hand.
    let text = p.read("ralph/plan.jsonl").replace(r#""priority":"high""#, r#""priority":"low""#);
    p.write("ralph/plan.jsonl", text);
    p.run(["task", "prioritize"]).ok();
    assert_eq!(priorities(&p)[0].1, "low");
}

#[test]
fn only_pending_tasks_of_the_spec_are_looked_at() {
    let p = plan_of(json!([
        {"name": "A", "spec": "a.md"}, {"name": "B", "spec": "b.md"}, {"name": "C", "spec": "b.md"},
    ]));
    p.run(["task", "prioritize", "--spec", "b.md"]).ok().stdout_has("\"prioritized\":2");
    assert_eq!(priorities(&p)[0].1, "-");
    p.run(["task", "prioritize", "--spec", "c.md"]).fails(1).stderr_has("c.md");
}

#[test]
fn a_second_run_changes_no_byte() {
    let p = plan_of(json!([{"id": "a", "name": "A"}, {"name": "B", "deps": ["a"]}]));
    p.run(["task", "prioritize"]).ok();
    let before = p.read("ralph/plan.jsonl");
    p.run(["task", "prioritize"]).ok();
    assert_eq!(p.read("ralph/plan.jsonl"), before);
}
