use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::answer::AnswerError;
use crate::construct::testing;
use crate::plan::Priority;

fn said(text: &str) -> BackendAnswer {
    BackendAnswer { structured: None, text: text.to_owned() }
}

fn empty() -> Plan {
    testing::read(&testing::plan(&[]))
}

fn done(id: &str) -> Task {
    Task { id: id.into(), name: "Parse".into(), ..Task::default() }
}

#[test]
fn a_plan_is_found_in_prose_with_the_field_names_of_any_format() {
    let text = "Here it is:\n```json\n{\"tasks\": [\
        {\"id\": \"a\", \"title\": \"Write the parser\", \"acceptance_criteria\": \"`p x` prints 1\", \"priority\": \"HIGH\"},\
        {\"key\": \"b\", \"name\": \"Print\", \"description\": \"to stdout\", \"accept\": [\"prints 2\"], \"dependsOn\": [\"a\"], \"phase\": null}\
        ]}\n```\nGood luck.";
    let answer = plan(&said(text), &empty()).unwrap();
    assert_eq!(answer.tasks.len(), 2);
    assert_eq!(answer.tasks[0].key, "a");
    assert_eq!(answer.tasks[0].accept, ["`p x` prints 1"]);
    assert_eq!(answer.tasks[0].priority, Some(Priority::High));
    assert_eq!(
        (answer.tasks[1].notes.as_str(), &answer.tasks[1].deps[..]),
        ("to stdout", &["a".to_owned()][..])
    );
}

#[test]
fn a_bad_plan_comes_back_with_all_reasons_and_the_schema() {
    let text = r#"{"tasks": [{"name": "Do it", "accept": ["works correctly"], "deps": ["zzzz"]}]}"#;
    let problem = plan(&said(text), &empty()).unwrap_err();
    assert!(problem.why.to_string().contains("works correctly"), "{problem}");
    assert!(problem.question.contains("zzzz") && problem.question.contains("\"deps\""));
    let problem = plan(&said("I could not."), &empty()).unwrap_err();
    assert_eq!(problem.why, AnswerError::Nothing);
}

#[test]
fn a_structured_answer_that_does_not_fit_gives_way_to_one_in_the_text() {
    let wrong = json!({"task_id": "t-zzzz", "verdict": "accept", "reason": "x"});
    let text = r#"{"task_id": "t-1a2b", "verdict": "reject", "reason": "it prints 2"}"#;
    let said = BackendAnswer { structured: Some(wrong), text: text.to_owned() };
    assert_eq!(task_verdict(&said, &done("t-1a2b")).unwrap().verdict, VerdictWord::Reject);
    let said = BackendAnswer { text: String::new(), ..said };
    let problem = task_verdict(&said, &done("t-1a2b")).unwrap_err();
    assert!(problem.to_string().contains("t-zzzz"), "{problem}");
}

#[test]
fn gaps_are_read_as_texts_and_as_objects_and_their_kinds_in_anybodys_words() {
    let text = r#"{"task_id": "t-1", "verdict": "accept", "reason": "", "gaps": [
        "no error handling", "Bug: it crashes on ''", "  ",
        {"kind": "Missing feature", "description": "no --help"},
        {"type": "test-coverage gap", "gap": "no test", "criteria": "a test fails without it"},
        {"kind": "spec ambiguity", "description": "which one?"},
        {"kind": "incomplete_implementation", "description": "half"},
        {"kind": "who knows", "description": "odd"}]}"#;
    let verdict = task_verdict(&said(text), &done("t-1")).unwrap();
    let kinds: Vec<GapKind> = verdict.gaps.iter().map(|gap| gap.kind).collect();
    assert_eq!(
        kinds,
        [
            GapKind::Other,
            GapKind::Bug,
            GapKind::MissingFeature,
            GapKind::TestCoverage,
            GapKind::Ambiguity,
            GapKind::Incomplete,
            GapKind::Other,
        ]
    );
    assert_eq!(verdict.gaps[1].description, "it crashes on ''");
    assert_eq!(verdict.gaps[3].accept, ["a test fails without it"]);
}

#[test]
fn a_rejection_and_a_spec_that_is_not_satisfied_need_a_reason() {
    assert!(task_verdict(&said(r#"{"task_id":"t-1","verdict":"reject"}"#), &done("t-1")).is_err());
    assert!(task_verdict(&said(r#"{"task_id":"t-1","verdict":"maybe"}"#), &done("t-1")).is_err());
    assert!(spec_verdict(&said(r#"{"satisfied": false}"#)).is_err());
    assert!(spec_verdict(&said(r#"{"satisfied": false, "gaps": ["no --help"]}"#)).is_ok());
    assert!(spec_verdict(&said(r#"{"satisfied": true}"#)).unwrap().satisfied);
    assert!(spec_verdict(&said(r#"{"satisfied": "yes"}"#)).is_err());
}

#[test]
fn an_investigation_has_tasks_or_a_reason_and_is_about_its_issue() {
    let issue = Issue { id: "i-1".into(), ..Issue::default() };
    let read = |text: &str| investigation(&said(text), &empty(), &issue);
    assert!(read(r#"{"outcome": "out_of_scope", "reason": "the spec does not ask"}"#).is_ok());
    assert!(read(r#"{"outcome": "out of scope", "reason": ""}"#).is_err());
    assert!(read(r#"{"outcome": "tasks", "tasks": []}"#).is_err());
    assert!(read(r#"{"issue_id": "i-2", "outcome": "out_of_scope", "reason": "x"}"#).is_err());
    let both = r#"{"outcome": "out_of_scope", "reason": "x", "tasks": [{"name": "a", "accept": ["`b`"]}]}"#;
    assert!(read(both).is_err());
}

#[test]
fn a_task_becomes_two_to_five_tasks_and_an_issue_one_to_five_of_either() {
    let parts = |n: usize| {
        let tasks: Vec<Value> = (0..n)
            .map(|i| json!({"name": format!("part {i}"), "accept": ["`x` prints 1"]}))
            .collect();
        json!({ "tasks": tasks }).to_string()
    };
    for (n, good) in [(0, false), (1, false), (2, true), (5, true), (6, false)] {
        assert_eq!(task_parts(&said(&parts(n)), &empty(), &Task::default()).is_ok(), good, "{n}");
    }
    assert!(
        issue_parts(&said(r#"{"issues": [{"description": "is it the cache?"}]}"#), &empty())
            .is_ok()
    );
    assert!(issue_parts(&said(r#"{"issues": [{"desc": " "}]}"#), &empty()).is_err());
    assert!(issue_parts(&said(r#"{"issues": []}"#), &empty()).is_err());
}

#[test]
fn the_schema_of_a_verdict_is_the_seeds() {
    let schema = schema_of::<TaskVerdict>().to_value();
    for field in ["task_id", "verdict", "reason", "gaps"] {
        assert!(schema["properties"][field].is_object(), "{schema}");
    }
    let text = schema.to_string();
    assert!(text.contains("missing_feature") && text.contains("\"accept\""), "{text}");
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_panic_and_every_problem_has_a_question(text in "(\\PC|[{}\"\\\\:,\\[\\]]){0,60}") {
        let issue = Issue::default();
        let said = &said(&text);
        let questions = [
            plan(said, &empty()).err(),
            investigation(said, &empty(), &issue).err(),
            task_verdict(said, &done("t-1")).err(),
            spec_verdict(said).err(),
            task_parts(said, &empty(), &Task::default()).err(),
            issue_parts(said, &empty()).err(),
        ];
        for problem in questions.into_iter().flatten() {
            prop_assert!(problem.question.contains(&problem.why.to_string()));
        }
    }
}
