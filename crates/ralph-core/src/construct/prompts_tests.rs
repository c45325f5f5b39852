use std::slice;

use proptest::prelude::*;

use super::*;
use crate::answer::BackendAnswer;
use crate::construct::answer;
use crate::plan::Plan;

fn spec(text: &str) -> SpecText<'_> {
    SpecText { name: "calc.md", file: Some("ralph/specs/calc.md"), text }
}

fn task() -> Task {
    Task {
        id: "t-1a2b".into(),
        name: "Add numbers".into(),
        notes: Some("In `src/add.rs`.".into()),
        accept: vec!["`calc 1 + 2` prints 3".into()],
        ..Task::default()
    }
}

fn issue() -> Issue {
    Issue { id: "i-1a2b".into(), desc: "Is `1 +` an error?".into(), ..Issue::default() }
}

fn kill() -> KilledRun {
    KilledRun { reason: KillReason::ContextLimit, log: Some("build/ralph-logs/a.log".into()) }
}

fn all(text: &str, log: &str) -> Vec<String> {
    let templates = PromptTemplates::embedded();
    let (task, issue, kill) = (task(), issue(), kill());
    let rulings = [ScopeRuling { issue: text.to_owned(), reason: text.to_owned() }];
    let input = VerifyInput {
        task: &task,
        spec: spec(text),
        diff: text,
        diff_command: Some("git show 1234"),
        gates: &[GateCheck { name: "test".into(), ..GateCheck::default() }],
        rulings: &rulings,
    };
    let killed = DecomposeInput {
        item: KilledItem::Task(&task),
        kill: &kill,
        spec: spec(text),
        log,
        depth: 1,
    };
    vec![
        plan(&templates, spec(text), slice::from_ref(&task), PlanFormat::Progress).unwrap(),
        investigate(&templates, &issue, Some(&task), spec(text)).unwrap(),
        verify(&templates, &input).unwrap(),
        verify_spec(
            &templates,
            spec(text),
            slice::from_ref(&task),
            slice::from_ref(&issue),
            &rulings,
        )
        .unwrap(),
        decompose(&templates, &killed).unwrap(),
        decompose(&templates, &DecomposeInput { item: KilledItem::Issue(&issue), ..killed })
            .unwrap(),
    ]
}

#[test]
fn every_prompt_has_its_material_the_rule_about_it_and_the_fields_of_its_answer() {
    let prompts = all("# Calc\n\nIt adds.", "line one\nline two");
    for prompt in &prompts {
        assert!(
            prompt.contains("It adds.") && prompt.contains("`ralph/specs/calc.md`"),
            "{prompt}"
        );
        assert!(prompt.contains("skip, weaken or delete tests"), "{prompt}");
        assert!(!prompt.contains("\n\n\n\n"), "{prompt}");
    }
    for (prompt, words) in prompts.iter().zip([
        ["`tasks` [{key, name", "phase", "Tasks That The Plan Has"],
        ["`outcome` tasks or out_of_scope", "Is `1 +` an error?", "came from this task"],
        ["`verdict` accept or reject", "`calc 1 + 2` prints 3", "- test: passed"],
        ["`satisfied` boolean", "t-1a2b (pending): Add numbers", "Open Issues"],
        ["head -50", "line two", "its context was full"],
        ["narrower issues", "Is `1 +` an error?", "broken down 1 times before"],
    ]) {
        for word in words {
            assert!(prompt.contains(word), "{word}: {prompt}");
        }
    }
}

#[test]
fn a_spec_of_five_megabytes_is_cut_and_the_prompt_says_which_file_has_it() {
    let long = |words: usize| format!("# Start\n{}\n# The end", "word ".repeat(words));
    let (huge, text) = (long(1_000_000), long(20_000));
    let plan = plan(&PromptTemplates::embedded(), spec(&huge), &[], PlanFormat::Jsonl).unwrap();
    for prompt in all(&text, &text).into_iter().chain([plan]) {
        assert!(prompt.len() < 250_000, "{}", prompt.len());
        assert!(prompt.contains("characters of the middle are left out"), "{}", &prompt[..2000]);
        assert!(prompt.contains("read `ralph/specs/calc.md`") && prompt.contains("# The end"));
    }
}

#[test]
fn free_text_has_no_file_to_point_to() {
    let free = SpecText { name: "add a --help", file: None, text: "add a --help" };
    let prompt = plan(&PromptTemplates::embedded(), free, &[], PlanFormat::Jsonl).unwrap();
    assert!(prompt.contains("BEGIN THE SPEC\n```\nadd a --help\n```\nEND THE SPEC"), "{prompt}");
    assert!(
        !prompt.contains("The spec is `") && !prompt.contains("Give each a `phase`"),
        "{prompt}"
    );
}

#[test]
fn an_override_keeps_the_material() {
    let mut templates = PromptTemplates::embedded();
    templates
        .replace(PromptTemplate::Plan, "ralph/prompts/plan-prompt.md", "Plan {{ spec.name }}!")
        .unwrap();
    let prompt = plan(&templates, spec("It adds."), &[], PlanFormat::Jsonl).unwrap();
    assert!(prompt.starts_with("Plan calc.md!\n\n# Material\n") && prompt.contains("It adds."));
}

#[test]
fn the_answer_that_a_template_asks_for_is_the_one_that_is_read() {
    let text = r#"{"task_id":"t-1a2b","verdict":"reject","reason":"x","gaps":[{"kind":"test_coverage","description":"d","title":"t","accept":["a"]}]}"#;
    let said = &BackendAnswer { structured: None, text: text.to_owned() };
    assert_eq!(answer::task_verdict(said, &task()).unwrap().gaps.len(), 1);
    assert!(answer::plan(said, &Plan::empty(PlanFormat::Jsonl)).is_err());
}

proptest! {
    #[test]
    fn no_text_of_others_can_end_its_block(
        text in "(END THE SPEC|BEGIN THE LOG|`{1,5}|~~~|# x|[a-z\n ]){0,30}",
    ) {
        for prompt in all(&text, &text) {
            // Fences are closed where ralph closes them: the last line of every block is its marker.
            let mut open: Option<(usize, String)> = None;
            let mut blocks = 0;
            let mut lines = prompt.lines().skip_while(|line| *line != "# Material").peekable();
            while let Some(line) = lines.next() {
                match &open {
                    None if line.starts_with("BEGIN ") => {
                        let fence = lines.next().unwrap_or_default();
                        prop_assert!(fence.len() >= 3 && fence.bytes().all(|b| b == b'`'));
                        open = Some((fence.len(), line.replacen("BEGIN", "END", 1)));
                    }
                    Some((length, end)) if line.trim().len() >= *length && line.trim().bytes().all(|b| b == b'`') && !line.trim().is_empty() => {
                        prop_assert_eq!(lines.next(), Some(end.as_str()));
                        open = None;
                        blocks += 1;
                    }
                    _ => {}
                }
            }
            prop_assert!(open.is_none() && blocks >= 1);
        }
    }
}
