use proptest::prelude::*;

use super::*;
use crate::format::PlanFormat;
use crate::plan::Task;

const AT: &str = "2026-01-17T10:30:00Z";

fn plan(states: &[TaskState]) -> Plan {
    let task = |(n, state): (usize, &TaskState)| Task {
        id: format!("T-{n}").as_str().into(),
        name: format!("task {n}"),
        state: state.clone(),
        ..Task::default()
    };
    Plan { tasks: states.iter().enumerate().map(task).collect(), ..Plan::empty(PlanFormat::Deluxe) }
}

fn entry(task: &str, iteration: u32, summary: &str) -> ProgressEntry {
    ProgressEntry {
        task_id: task.into(),
        iteration,
        timestamp: AT.into(),
        summary: summary.into(),
        fully_complete: true,
        ..ProgressEntry::default()
    }
}

fn log(old: &str, entries: &[ProgressEntry]) -> String {
    progress_json(old, &plan(&[TaskState::Pending]), entries, AT).unwrap()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}:\n{text}"))
}

/// (task, iteration, summary) of each entry.
fn told(text: &str) -> Vec<(String, u64, String)> {
    let word = |v: &Value| v.as_str().unwrap().to_owned();
    let entries = value(text)["entries"].as_array().unwrap().clone();
    entries
        .iter()
        .map(|e| (word(&e["task_id"]), e["iteration"].as_u64().unwrap(), word(&e["summary"])))
        .collect()
}

#[test]
fn the_file_has_the_fields_that_its_readers_know() {
    let text = log("", &[entry("T-0", 1, "wrote it")]);
    let log = value(&text);
    let keys = |v: &Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&log), "generated_at plan_summary entries");
    assert_eq!(keys(&log["plan_summary"]), "total_tasks completed pending failed skipped");
    assert_eq!(
        keys(&log["entries"][0]),
        "task_id iteration timestamp summary files_changed tests_added design_decisions constraints \
         deviations bugs fully_complete"
    );
}

#[test]
fn the_summary_counts_the_plan_as_it_is_now() {
    let old = log("", &[]);
    let states = [
        TaskState::Accepted,
        TaskState::Accepted,
        TaskState::Pending,
        TaskState::Blocked("x".into()),
        TaskState::Running,
        TaskState::Failed(None),
        TaskState::Skipped,
    ];
    let text = progress_json(&old, &plan(&states), &[], "later").unwrap();
    let log = value(&text);
    assert_eq!(log["generated_at"], "later");
    assert_eq!(
        log["plan_summary"],
        json!({"total_tasks": 7, "completed": 2, "pending": 3, "failed": 1, "skipped": 1})
    );
}

#[test]
fn entries_keep_their_order_and_one_about_the_same_iteration_takes_its_place() {
    let text = log("", &[entry("T-0", 1, "one"), entry("T-1", 2, "two")]);
    let text = log(&text, &[entry("T-0", 3, "three")]);
    let text = log(&text, &[entry("T-0", 1, "better"), entry("T-0", 3, "best")]);
    let expected = [("T-0", 1, "better"), ("T-1", 2, "two"), ("T-0", 3, "best")];
    assert_eq!(told(&text), expected.map(|(t, n, s)| (t.to_owned(), n, s.to_owned())));
    assert_eq!(log(&text, &[entry("T-0", 3, "best")]), text, "told twice, nothing changes");
}

#[test]
fn a_file_in_another_layout_keeps_it_and_what_else_is_in_it() {
    let old = "{\n    \"mine\": 1.50,\n    \"entries\": [\n        {\n            \"task_id\": \"T-0\",\n            \
               \"iteration\": 1,\n            \"summary\": \"old\"\n        }\n    ]\n}";
    let text = log(old, &[entry("T-0", 1, "new"), entry("T-1", 2, "two")]);
    assert!(text.starts_with("{\n    \"mine\": 1.50,\n"), "{text}");
    let expected =
        [("T-0".to_owned(), 1, "new".to_owned()), ("T-1".to_owned(), 2, "two".to_owned())];
    assert_eq!(told(&text), expected);
    assert_eq!(value(&text)["plan_summary"]["total_tasks"], 1);
}

#[test]
fn an_empty_object_gets_everything() {
    let text = log("{}\n", &[entry("T-0", 1, "one")]);
    assert_eq!(told(&text).len(), 1);
}

#[test]
fn a_damaged_file_is_refused_and_named_by_its_line() {
    let error = progress_json("{\n\"entries\": [", &plan(&[]), &[], AT).unwrap_err();
    assert_eq!(error.line, 2);
    assert!(progress_json("[]", &plan(&[]), &[], AT).is_err());
    assert!(progress_json("{\"entries\":7}", &plan(&[]), &[entry("T", 1, "x")], AT).is_err());
}

#[test]
fn an_entry_has_what_the_handoff_says() {
    let handoff: Handoff = serde_json::from_value(json!({
        "task_completed": {"task_id": "T-9", "summary": "short", "fully_complete": true},
        "deviations": [{"planned": "a", "actual": "b", "reason": "c"}],
        "bugs_encountered": [{"description": "d", "resolution": "e", "resolved": true}],
        "architectural_notes": ["note"], "unfinished_business": [], "recommendations": [],
        "files_touched": [{"path": "a.rs", "action": "created"}], "plan_amendments": [],
        "tests_added": [{"file": "t.rs", "test_names": ["x"]}],
        "constraints_discovered": [{"constraint": "f", "impact": "g"}],
        "summary": " ", "freeform": "x".repeat(50),
    }))
    .unwrap();
    let entry = ProgressEntry::of(&handoff, "T-3", 4, AT);
    assert_eq!((entry.task_id.as_str(), entry.summary.as_str()), ("T-3", "short"));
    assert!(entry.fully_complete);
    assert_eq!(entry.design_decisions, ["note"]);
    let counts = [
        entry.files_changed.len(),
        entry.tests_added.len(),
        entry.constraints.len(),
        entry.deviations.len(),
        entry.bugs.len(),
    ];
    assert_eq!(counts, [1; 5]);
}

proptest! {
    #[test]
    fn splicing_says_the_same_as_reading_and_writing_the_whole(
        steps in proptest::collection::vec(("[a-c\"\\\\\n]{0,2}", 0..3u32, "\\PC{0,6}"), 0..12),
    ) {
        let mut text = String::new();
        let mut model: Vec<(String, u64, String)> = Vec::new();
        for (task, iteration, summary) in steps {
            text = log(&text, &[entry(&task, iteration, &summary)]);
            let known = model.iter_mut().find(|e| e.0 == task && e.1 == u64::from(iteration));
            match known {
                Some(known) => known.2 = summary,
                None => model.push((task, u64::from(iteration), summary)),
            }
            prop_assert!(our_entries(&text).is_some(), "the layout is kept:\n{}", text);
            prop_assert_eq!(told(&text), model.clone());
        }
    }
}
