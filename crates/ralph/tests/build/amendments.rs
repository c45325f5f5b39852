//! What an agent does to the plan is seen wherever a person looks.

use serde_json::json;

use crate::memory::{hands_over, has};
use crate::plans::{Format, task};
use crate::repo::{GOOD, Repo, repo, repo_with, rule, said};

/// An agent removes two of three tasks and adds one.
fn removing() -> Repo {
    let repo = repo_with(Format::Deluxe, &[task("T-001"), task("T-002"), task("T-003")]);
    let remove = |id: &str| {
        format!(r#"{{ action = "remove", task_id = "{id}", reason = "it is in the way" }}"#)
    };
    let add = r#"{ action = "add", task = { id = "T-009", title = "Write the guide", description = "All of it" } }"#;
    let fields = format!("plan_amendments = [{}, {}, {add}]", remove("T-002"), remove("T-003"));
    repo.script(&(rule("task = \"T-001\"", &hands_over(&fields)) + &rule("", &hands_over(""))));
    repo
}

#[test]
fn changes_of_the_plan_by_an_agent_are_in_the_output_the_log_and_the_report() {
    let repo = removing();
    let run = repo.build([]).ok();
    let changes = [
        "removed T-002 Do T-002 (it is in the way)",
        "removed T-003 Do T-003 (it is in the way)",
        "added T-009 Write the guide",
    ];
    has(&said(&run), &changes);
    has(&repo.read(".ralph/logs/ralph.log"), &changes);
    has(&repo.run(["report"]).ok().stdout, &["## Plan changed by agents", changes[0], changes[2]]);
    repo.run(["report", "--html", "report.html"]).ok();
    has(&repo.read("report.html"), &["Plan changed by agents", changes[1]]);
    let rows = repo.run(["report", "--json"]).ok().json()["amendments"].clone();
    assert_eq!(rows[0]["words"], changes[0]);
    assert_eq!((&rows[2]["action"], &rows[2]["id"]), (&json!("add"), &json!("T-009")));
    let event = &repo.events("amendments")[0];
    assert_eq!(event["metadata"]["amendments"][1]["name"], "Do T-003");
}

#[test]
fn tasks_that_an_agent_removed_are_listed_at_the_end_with_their_names() {
    for quiet in [&["build"][..], &["build", "-q"]] {
        let repo = removing();
        let run = repo.run(quiet.iter().copied()).ok();
        let told = said(&run);
        let end = &told[told.find("Complete").unwrap_or_else(|| panic!("{told}"))..];
        has(end, &["Removed by an agent: T-002 Do T-002", "Removed by an agent: T-003 Do T-003"]);
    }
}

#[test]
fn tasks_that_an_agent_removed_are_listed_by_the_run_that_completes() {
    let repo = removing();
    repo.build(["--once"]).ok();
    let told = said(&repo.build([]).ok());
    has(&told, &["Removed by an agent: T-002 Do T-002", "Removed by an agent: T-003 Do T-003"]);
}

#[test]
fn a_refused_change_of_the_plan_is_told_with_its_reason() {
    let repo = repo_with(Format::Deluxe, &[task("T-001")]);
    let fields = r#"plan_amendments = [{ action = "remove", task_id = "T-001" }]"#;
    repo.script(&rule("", &hands_over(fields)));
    let told = said(&repo.build([]).ok());
    has(&told, &["refused to remove T-001 Do T-001: "]);
    assert!(!told.contains("Removed by an agent"), "{told}");
}

#[test]
fn a_task_that_an_agent_adds_with_a_command_is_told() {
    let repo = repo(&[task("t-aaa1")]);
    let bin = env!("CARGO_BIN_EXE_ralph");
    let add = format!(r#"{{ run = "{bin} task add 'Write the guide'" }}"#);
    let steps = format!("{add}, {}", GOOD);
    repo.script(&(rule("task = \"t-aaa1\"", &steps) + &rule("", GOOD)));
    let run = repo.build([]).ok();
    has(&said(&run), &[" Write the guide\n", "plan     added t-"]);
}
