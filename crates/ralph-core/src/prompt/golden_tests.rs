//! Whole prompts, as an agent gets them: one for each format, a first attempt and a retry.

use super::sample::full;
use super::*;
use crate::config::MemoryMode;
use crate::format::PlanFormat;
use crate::plan::{Id, Task};

fn text(material: &PromptMaterial) -> String {
    let prompt = assemble(material, &PromptTemplates::embedded(), 100_000).unwrap();
    assert!(prompt.left_out.is_empty() && prompt.whole.is_none());
    prompt.text
}

/// The first attempt at the first task of a plan: nothing is known yet.
fn first(format: PlanFormat, plan_file: &str) -> PromptMaterial {
    let whole = full();
    PromptMaterial {
        gates: whole.gates,
        ..PromptMaterial::new(format, plan_file, Task { skills: Vec::new(), ..whole.task })
    }
}

#[test]
fn the_first_attempt_of_a_plan_jsonl_task() {
    insta::assert_snapshot!(text(&first(PlanFormat::Jsonl, "ralph/plan.jsonl")));
}

#[test]
fn a_retry_of_a_plan_json_task_with_everything_there_is() {
    let material =
        PromptMaterial { format: PlanFormat::Deluxe, plan_file: "plan.json".into(), ..full() };
    insta::assert_snapshot!(text(&material));
}

#[test]
fn an_implementation_json_task_with_its_spec() {
    let whole = full();
    let task = Task {
        id: Id::new("user-avatar-upload-2"),
        name: "Create S3 upload endpoint".into(),
        ..Task::default()
    };
    let material = PromptMaterial {
        spec: PromptSpec {
            name: "User Avatar Upload".into(),
            context: "Allow users to upload avatars. Use S3 client in src/lib/aws.ts.".into(),
            accept: vec!["Users can upload JPG/PNG up to 5MB".into()],
            ..PromptSpec::default()
        },
        completed: vec!["Add avatarUrl field to User schema".into()],
        gates: whole.gates,
        ..PromptMaterial::new(PlanFormat::Implementation, "implementation.json", task)
    };
    insta::assert_snapshot!(text(&material));
}

#[test]
fn a_progress_md_task_with_recent_attempts() {
    let whole = full();
    let material = PromptMaterial {
        recent_attempts: whole.recent_attempts,
        spec: PromptSpec { name: "A parser".into(), ..whole.spec },
        completed: whole.completed,
        ..first(PlanFormat::Progress, "progress.md")
    };
    insta::assert_snapshot!(text(&material));
}

#[test]
fn a_prompt_that_is_too_long_says_once_what_is_missing_and_where_it_is() {
    let material = full();
    let whole = text(&material);
    let prompt = assemble(&material, &PromptTemplates::embedded(), 760).unwrap();
    assert_eq!(prompt.whole.as_deref(), Some(whole.as_str()));
    assert!(prompt.tokens <= 760);
    let gone: Vec<PromptSection> = prompt.left_out.iter().map(|l| l.section).collect();
    assert_eq!(
        gone,
        [PromptSection::Skills, PromptSection::OutputInstructions, PromptSection::PreviousHandoff]
    );
    assert_eq!(prompt.text.matches("Left out to stay within 760 tokens").count(), 1);
    for file in [".ralph/skills/rust-errors.md", &material.whole_file, "handoff-003.json"] {
        assert!(prompt.text.contains(file), "{file} is not named:\n{}", prompt.text);
    }
    let log = serde_json::to_value(prompt.size()).unwrap();
    assert_eq!(log["left_out"][0]["section"], "skills");
    assert_eq!(log["budget_tokens"], 760);
    assert!(log["whole_tokens"].as_u64() > log["tokens"].as_u64());
}

#[test]
fn the_smallest_prompt_still_says_which_task_it_is_and_how_to_claim() {
    let prompt = assemble(&full(), &PromptTemplates::embedded(), 1).unwrap();
    assert!(prompt.text.starts_with("## Current Task\n\nTask `t-1a2b`: Parse the header\n"));
    assert!(prompt.text.contains("<TASK_DONE>") && prompt.text.contains("<TASK_BLOCKED reason="));
    assert!(prompt.text.contains("the end of Current Task"));
    assert_eq!(prompt.left_out.len(), PromptSection::ALL.len());
}

#[test]
fn the_index_is_for_its_own_mode_only() {
    let with = |mode| text(&PromptMaterial { mode, ..full() });
    let header = PromptSection::RetrievedProjectMemory.header();
    let structured = "### Structured context from previous iteration";
    assert!(with(MemoryMode::HandoffPlusIndex).contains(&header));
    assert!(with(MemoryMode::HandoffPlusIndex).contains(structured));
    assert!(!with(MemoryMode::HandoffOnly).contains(&header));
    assert!(!with(MemoryMode::HandoffOnly).contains(structured));
}

#[test]
fn the_whole_excerpt_of_a_gate_is_shown_and_the_path_of_its_output() {
    let mut material = full();
    material.gate_failures[0].excerpt = format!("BEGIN{}END", "é".repeat(4_000));
    let text = text(&material);
    assert!(text.contains(&material.gate_failures[0].excerpt));
    assert!(text.contains("(exit code 101):\n\n- empty_line\n"));
    assert!(text.contains("`.ralph/logs/validation/iter-3.json`"));
}

#[test]
fn the_simulated_backend_finds_the_task_in_every_format() {
    for format in PlanFormat::ALL {
        for id in ["t-1a2b", "T-001", "TASK-007", "user-avatar-upload-2"] {
            let mut material = PromptMaterial { format, ..full() };
            material.task.id = Id::new(id);
            let text = text(&material);
            assert_eq!(crate::backend::sim::task_of(&text), Some(id), "{text}");
        }
    }
}

#[test]
fn lists_that_grow_with_a_project_are_capped() {
    let many = |n: usize| (0..n).map(|i| format!("name-{i}-")).collect::<Vec<_>>();
    let material = PromptMaterial { completed: many(1000), ..full() };
    let text = text(&material);
    assert!(text.contains("name-999-") && !text.contains("name-0-"));
    assert!(text.contains("950 earlier ones"), "{text}");
    assert!(tokens(&text) < 5000);
}
