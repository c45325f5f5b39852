//! plan.json: what a task of Ralph Deluxe can say, and what becomes of it.

use serde_json::json;

use crate::plans::{Format, field, task};
use crate::repo::{BROKEN, GOOD, Repo, repo_with, rule, says};

/// One task with these fields.
fn with(fields: &serde_json::Value) -> Repo {
    let repo = repo_with(Format::Deluxe, &[task("T-001")]);
    let mut plan = repo.plan_json();
    for (name, value) in fields.as_object().unwrap() {
        plan["tasks"][0][name] = value.clone();
    }
    repo.write("plan.json", format!("{plan:#}\n"));
    repo.write(".ralph/skills/house-style.md", "# House style\n\nFour spaces, never tabs.\n");
    repo.commit("what the task says");
    repo
}

#[test]
fn skills_and_libraries_of_a_task_are_in_its_prompt() {
    let repo =
        with(&json!({ "skills": ["house-style"], "libraries": ["nom"], "needs_docs": true }));
    repo.build([]).ok();
    let prompt = repo.prompt(1);
    assert!(
        prompt.contains("## Skills") && prompt.contains("Four spaces, never tabs."),
        "{prompt}"
    );
    assert!(prompt.contains("nom"), "{prompt}");
}

#[test]
fn a_skill_is_told_beside_the_prompt_or_in_it_and_never_twice() {
    let repo = with(&json!({ "skills": ["house-style"] }));
    let look = |backend: &str| {
        repo.run(["build", "--dry-run", "--json", "--backend", backend]).ok().json()
    };
    let told = |look: &serde_json::Value| {
        let prompt = look["prompt"].as_str().unwrap();
        assert_eq!(prompt.matches("Four spaces, never tabs.").count(), 1, "{prompt}");
        prompt.starts_with("=== INSTRUCTIONS FOR THE WHOLE RUN ===\n## Skills\n")
    };
    let claude = look("claude");
    assert!(told(&claude), "{claude:#}");
    let args: Vec<&str> =
        claude["backend"]["args"].as_array().unwrap().iter().filter_map(|a| a.as_str()).collect();
    let at = args.iter().position(|a| *a == "--append-system-prompt").unwrap();
    assert!(args[at + 1].contains("Four spaces, never tabs."), "{args:?}");
    assert_eq!(claude["backend"]["stdin"], "prompt");
    assert!(!told(&look("gemini")), "gemini takes no instructions beside its prompt");
}

#[test]
fn a_skill_that_is_a_directory_is_a_warning_and_no_reason_to_stop() {
    let repo = with(&json!({ "skills": ["folder"] }));
    repo.write(".ralph/skills/folder.md/x", "");
    let run = repo.build([]).ok();
    says(&run, "the task goes on without a skill");
    says(&run, "it is a directory");
}

#[test]
fn a_skill_that_is_missing_is_a_warning_and_no_reason_to_stop() {
    let repo = with(&json!({ "skills": ["no-such-skill"] }));
    let run = repo.build([]).ok();
    says(&run, "no-such-skill");
}

#[test]
fn the_turns_of_a_task_limit_its_backend() {
    let repo = with(&json!({ "max_turns": 2, "max_retries": 0 }));
    let turns = r#"{ run = "true" }, { run = "true" }, { run = "true" }, "#;
    repo.script(&rule("", &format!("{turns}{GOOD}")));
    let run = repo.build([]).fails(3);
    says(&run, "out of turns");
}

#[test]
fn the_retries_of_a_task_win_over_the_configured_ones() {
    let repo = with(&json!({ "max_retries": 1 }));
    repo.script(&rule("", BROKEN));
    repo.build([]).fails(3);
    assert_eq!(repo.runs().len(), 2);
    let tasks = repo.plan_json()["tasks"].clone();
    assert_eq!(field(&tasks, "T-001", "status"), "failed");
}

#[test]
fn statuses_and_retry_counts_are_those_of_ralph_deluxe() {
    let repo = with(&json!({}));
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    repo.build(["--once"]).fails(3);
    let tasks = repo.plan_json()["tasks"].clone();
    assert_eq!(field(&tasks, "T-001", "status"), "pending");
    assert_eq!(field(&tasks, "T-001", "retry_count"), 1);
    repo.build(["--once"]).ok();
    assert!(repo.is_done("T-001"));
}
