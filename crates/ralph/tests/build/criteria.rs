//! The acceptance criteria of task-level orchestration: one test each, on implementation.json.
//!
//! A spec is one commit, so what the plan says about a part of it is in the ledger of the open run alone.

use crate::plans::{Format, field, task, value};
use crate::repo::{BROKEN, GOOD, Repo, repo_with, rule, says};

fn three() -> Repo {
    repo_with(Format::Implementation, &[task("work-1"), task("work-2"), task("work-3")])
}

fn spec(repo: &Repo, id: &str, name: &str) -> serde_json::Value {
    field(&value(&repo.plan_of_run())["specs"], id, name)
}

fn is_done(repo: &Repo, task: &str) -> bool {
    repo.format.says_done(&repo.plan_of_run(), task)
}

#[test]
fn a_spec_with_three_tasks_is_three_backend_runs() {
    let repo = three();
    repo.build([]).ok();
    assert_eq!(repo.runs(), ["work-1", "work-2", "work-3"]);
    for (n, own) in [(1, "Do work-1"), (2, "Do work-2"), (3, "Do work-3")] {
        assert!(repo.prompt(n).contains(&format!("> {own}\n")), "{}", repo.prompt(n));
    }
}

#[test]
fn a_task_that_passes_its_gates_is_completed_in_implementation_json() {
    let repo = three();
    repo.build(["--once"]).ok();
    let tasks = spec(&repo, "work", "tasks");
    assert_eq!(field(&tasks, "work-1", "status"), "completed");
    assert_eq!(field(&tasks, "work-2", "status"), "pending");
    assert_eq!(spec(&repo, "work", "status"), "in_progress");
}

#[test]
fn a_task_whose_gates_fail_is_run_again_with_the_failure_in_its_prompt() {
    let repo = three();
    repo.script(
        &(rule("task = \"work-1\"\nattempt = 1", BROKEN)
            + &rule("task = \"work-1\"", GOOD)
            + &rule("", GOOD)),
    );
    repo.build([]).ok();
    assert_eq!(repo.runs(), ["work-1", "work-1", "work-2", "work-3"]);
    assert!(!repo.prompt(1).contains("## Failure Context"));
    let retry = repo.prompt(2);
    assert!(retry.contains("## Failure Context"), "{retry}");
    assert!(retry.contains("work/work-1.txt:1:BROKEN"), "the gate's own words:\n{retry}");
    assert!(!repo.prompt(3).contains("## Failure Context"), "another task has no failure");
}

#[test]
fn a_complete_spec_is_one_commit_with_its_name_and_the_next_spec_follows() {
    let repo = repo_with(Format::Implementation, &[task("work-1"), task("work-2")]);
    let mut plan = repo.plan_json();
    let mut second = plan["specs"][0].clone();
    second["id"] = "more".into();
    second["name"] = "More Work".into();
    second["priority"] = 2.into();
    second["tasks"] =
        serde_json::json!([{ "id": "more-1", "description": "Do more-1", "status": "pending" }]);
    plan["specs"].as_array_mut().unwrap().push(second);
    repo.write("implementation.json", format!("{plan:#}\n"));
    repo.commit("two specs");
    repo.build([]).ok();
    assert_eq!(repo.subjects()[2..], ["ralph: The Work", "ralph: More Work"]);
    assert_eq!(repo.runs(), ["work-1", "work-2", "more-1"]);
    let files = repo.ask_git(["show", "--name-only", "--format=", "HEAD~1"]);
    assert!(files.contains("work/work-1.txt") && files.contains("work/work-2.txt"), "{files}");
    for id in ["work", "more"] {
        assert_eq!(spec(&repo, id, "status"), "completed");
    }
    assert_eq!(repo.status(), "");
}

#[test]
fn with_a_commit_a_task_the_last_commit_of_a_spec_names_it() {
    let repo = three();
    repo.set("commit = \"task\"").build([]).ok();
    assert_eq!(repo.landed(), ["work-1", "work-2", "work-3"]);
    let last = repo.ask_git(["log", "-1", "--format=%B"]);
    assert!(last.contains("The Work"), "{last}");
}

#[test]
fn implementation_json_is_read_without_asking_a_model() {
    let repo = three();
    repo.build(["--max-iterations", "1"]).fails(4);
    // The one run there was worked on a task: nothing was asked before it.
    assert_eq!(repo.runs(), ["work-1"]);
    assert!(is_done(&repo, "work-1"));
}

#[test]
fn every_write_says_when_and_by_whom() {
    let repo = three();
    repo.build(["--once"]).ok();
    let plan = value(&repo.plan_of_run());
    assert_eq!(plan["updatedBy"], "build-mode");
    assert_eq!(plan["updatedAt"], ralph_testkit::NOW);
}

#[test]
fn a_task_without_criteria_gets_those_of_its_spec() {
    let repo = three();
    repo.build(["--once"]).ok();
    assert!(repo.prompt(1).contains("- [ ] all of it is done\n"), "{}", repo.prompt(1));
}

#[test]
fn a_complete_spec_is_written_into_the_progress_log() {
    let repo = three();
    repo.build([]).ok();
    let log = repo.read("PROGRESS.md");
    assert!(log.contains("## 2025-01-20 The Work\n"), "{log}");
    for word in ["Do work-1", "Do work-3", "test"] {
        assert!(log.contains(word), "{word} is missing:\n{log}");
    }
}

#[test]
fn a_blocked_task_keeps_its_reason_and_the_others_go_on() {
    let repo = three();
    let blocked = r#"{ claim = "blocked", form = "marker", why = "there is no key" }"#;
    repo.script(&(rule("task = \"work-1\"", blocked) + &rule("", GOOD)));
    let run = repo.build([]).fails(3);
    says(&run, "there is no key");
    let tasks = spec(&repo, "work", "tasks");
    assert_eq!(field(&tasks, "work-1", "status"), "blocked");
    assert_eq!(field(&tasks, "work-1", "blockedReason"), "there is no key");
    assert!(is_done(&repo, "work-2") && is_done(&repo, "work-3"));
    assert!(!repo.is_done("work-2"), "home's plan says nothing that no commit has");
    assert_eq!(repo.runs(), ["work-1", "work-2", "work-3"]);
}

#[test]
fn retries_are_counted_in_the_file() {
    let repo = three();
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    repo.build(["--once"]).fails(3);
    assert_eq!(field(&spec(&repo, "work", "tasks"), "work-1", "retryCount"), 1);
}

#[test]
fn ralph_start_build_is_another_spelling() {
    let repo = three();
    repo.run(["start", "build", "--once"]).ok();
    assert!(is_done(&repo, "work-1"));
}

#[test]
fn quality_gates_of_the_plan_are_used_when_nothing_else_is_configured() {
    let repo = three();
    let mut plan = repo.plan_json();
    plan["qualityGates"] = serde_json::json!([
        { "name": "unit", "command": "! grep -rs BROKEN work", "required": true },
        { "name": "style", "command": "false", "required": false },
    ]);
    repo.write("implementation.json", format!("{plan:#}\n"));
    repo.config("backend = \"sim\"\n");
    repo.build(["--once"]).ok();
    let report = repo.report(1);
    assert_eq!(field_by_name(&report, "unit")["passed"], true);
    assert_eq!(field_by_name(&report, "style")["passed"], false);
    assert_eq!(report["passed"], true);
    assert!(is_done(&repo, "work-1"));
    assert_eq!(value(&repo.plan_of_run())["qualityGates"], plan["qualityGates"]);
}

fn field_by_name<'v>(report: &'v serde_json::Value, name: &str) -> &'v serde_json::Value {
    report["checks"].as_array().unwrap().iter().find(|c| c["name"] == name).unwrap()
}
