//! `ralph query`: the answers that scripts and agents rely on.

use ralph_testkit::{TestProject, project};
use serde_json::json;

fn with_plan(lines: &[&str]) -> TestProject {
    project!().git_init().file("ralph/plan.jsonl", lines.join("\n") + "\n")
}

const A: &str = r#"{"t":"task","id":"t-aaaa","name":"A","s":"p"}"#;
const B: &str =
    r#"{"t":"task","id":"t-bbbb","name":"B","s":"p","deps":["t-aaaa"],"priority":"high"}"#;
const D: &str = r#"{"t":"task","id":"t-dddd","name":"D","s":"d","done_at":"2025-01-20T10:00:00Z"}"#;
const I: &str = r#"{"t":"issue","id":"i-iiii","desc":"why?"}"#;
const K: &str =
    r#"{"t":"task","id":"t-kkkk","name":"K","s":"p","kill_reason":"timeout","kill_log":"x.log"}"#;
const X: &str = r#"{"t":"task","id":"t-xxxx","name":"X","s":"p","deps":["t-none"]}"#;

#[test]
fn stage_is_a_bare_word_and_follows_the_plan() {
    for (lines, stage) in [
        (&[A, D, I, K][..], "DECOMPOSE"),
        (&[A, D, I], "INVESTIGATE"),
        (&[A, B, D], "BUILD"),
        (&[D, X], "VERIFY"),
        (&[D], "VERIFY"),
        (&[X], "BLOCKED"),
        (&[], "COMPLETE"),
    ] {
        with_plan(lines).run(["query", "stage"]).ok().stdout(&format!("{stage}\n"));
    }
}

#[test]
fn a_stored_stage_decides_nothing() {
    let p = with_plan(&[r#"{"t":"stage","stage":"COMPLETE"}"#, A]);
    p.run(["query", "stage"]).ok().stdout("BUILD\n");
}

#[test]
fn iteration_is_a_bare_number_and_0_before_the_first_run() {
    let p = with_plan(&[A]);
    p.run(["query", "iteration"]).ok().stdout("0\n");
    p.write(".ralph/state.json", "oops");
    p.run(["query", "iteration"]).ok().stdout("0\n");
}

#[test]
fn tasks_are_pending_and_done() {
    let p = with_plan(&[A, B, D]);
    let tasks = p.run(["query", "tasks"]).ok().json();
    assert_eq!(tasks["pending"][0]["id"], "t-aaaa");
    assert_eq!(tasks["pending"][1]["deps"], json!(["t-aaaa"]));
    assert_eq!(tasks["done"][0]["id"], "t-dddd");
    assert_eq!(p.run(["query", "tasks", "--done"]).ok().json(), tasks["done"]);
}

#[test]
fn next_names_the_action_and_its_items() {
    let next = |lines: &[&str]| with_plan(lines).run(["query", "next"]).ok().json();
    let build = next(&[A, B, r#"{"t":"task","id":"t-cccc","name":"C","s":"p"}"#]);
    assert_eq!(build["action"], "BUILD");
    assert_eq!(build["item"]["id"], "t-aaaa");
    assert_eq!(build["items"][1]["id"], "t-cccc");
    assert_eq!(build["items"].as_array().unwrap().len(), 2, "t-bbbb has to wait");
    assert_eq!(next(&[I])["item"], json!({"id": "i-iiii", "desc": "why?"}));
    assert_eq!(next(&[])["item"], json!(null));
    assert_eq!(next(&[])["items"], json!([]));
    assert_eq!(next(&[X])["item"]["why"], "needs t-none, which does not exist");
    assert_eq!(next(&[K])["item"]["reason"]["kill_log"], "x.log");
}

#[test]
fn issues_are_an_array() {
    assert_eq!(
        with_plan(&[I, A]).run(["query", "issues"]).ok().json(),
        json!([{"id": "i-iiii", "desc": "why?"}])
    );
}

#[test]
fn a_bare_query_is_everything_in_one_object() {
    let p = with_plan(&[r#"{"t":"spec","spec":"a.md"}"#, A, I]);
    let all = p.run(["query"]).ok().json();
    let keys: Vec<&String> = all.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["stage", "iteration", "spec", "tasks", "issues", "next"]);
    assert_eq!(all["spec"], "a.md");
    assert_eq!(all["stage"], "INVESTIGATE");
}

#[test]
fn only_the_current_spec_is_seen() {
    let p = with_plan(&[
        r#"{"t":"spec","spec":"a.md"}"#,
        r#"{"t":"task","id":"t-aaaa","spec":"a.md","name":"A","s":"p"}"#,
        r#"{"t":"task","id":"t-bbbb","spec":"b.md","name":"B","s":"p"}"#,
        r#"{"t":"spec","spec":"b.md"}"#,
    ]);
    assert_eq!(p.run(["query", "next"]).ok().json()["item"]["id"], "t-bbbb");
}

#[test]
fn the_project_is_found_from_a_folder_below_it() {
    let p = with_plan(&[A]).dir("src/deep");
    p.command(["query", "stage"]).dir("src/deep").run().ok().stdout("BUILD\n");
    p.command(["-C", "src/deep", "query", "stage"]).run().ok().stdout("BUILD\n");
}
