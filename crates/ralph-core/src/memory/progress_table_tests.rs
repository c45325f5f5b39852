use super::*;
use crate::format::PlanFormat;
use crate::handoff::{AddedTests, Bug, Constraint, Deviation, TouchedFile};
use crate::plan::Task;

fn plan(state: TaskState) -> Plan {
    let task = |id: &str, name: &str, state| Task {
        id: id.into(),
        name: name.into(),
        state,
        ..Task::default()
    };
    let tasks = vec![task("T-1", "one | two", TaskState::Accepted), task("T-2", "more", state)];
    Plan { title: Some("Widgets".into()), tasks, ..Plan::empty(PlanFormat::Deluxe) }
}

fn entry(task: &str, iteration: u32, summary: &str) -> ProgressEntry {
    ProgressEntry {
        task_id: task.into(),
        iteration,
        timestamp: "2026-01-17T10:30:00Z".into(),
        summary: summary.into(),
        fully_complete: true,
        ..ProgressEntry::default()
    }
}

#[test]
fn a_new_file_has_a_title_a_table_and_the_entry_without_empty_sections() {
    assert_eq!(
        progress_md("", &plan(TaskState::Running), &[entry("T-1", 1, "wrote it")]),
        "# Progress Log: Widgets\n\n| Task | Status | Summary |\n| --- | --- | --- |\n\
         | T-1 | done | one \\| two |\n| T-2 | in_progress | more |\n\n\
         ### Iteration 1: T-1\n\n*2026-01-17T10:30:00Z*\n\nwrote it\n"
    );
}

#[test]
fn every_section_that_has_something_to_say_is_there() {
    let full = ProgressEntry {
        files_changed: vec![TouchedFile { path: "a.rs".into(), action: "created".into() }],
        tests_added: vec![AddedTests { file: "t.rs".into(), test_names: vec!["x".into()] }],
        design_decisions: vec!["one\nline".into()],
        constraints: vec![Constraint {
            constraint: "no net".into(),
            impact: "slow".into(),
            workaround: Some("cache".into()),
        }],
        deviations: vec![Deviation { planned: "a".into(), actual: "b".into(), reason: "c".into() }],
        bugs: vec![Bug { description: "d".into(), resolution: "e".into(), resolved: false }],
        fully_complete: false,
        ..entry("T-2", 7, "a part")
    };
    let text = progress_md("", &plan(TaskState::Pending), &[full]);
    for piece in [
        "* (a part of the task)\n",
        "**Files changed**\n\n| File | Action |\n| --- | --- |\n| a.rs | created |\n",
        "**Tests added**\n\n- t.rs: x\n",
        "**Design decisions**\n\n- one line\n",
        "**Constraints**\n\n- no net: slow (workaround: cache)\n",
        "**Deviations**\n\n- planned: a; done: b; why: c\n",
        "**Bugs**\n\n- d (open): e\n",
    ] {
        assert!(text.contains(piece), "{piece} is not in:\n{text}");
    }
}

#[test]
fn the_table_is_made_anew_and_what_else_is_in_the_file_stays_in_order() {
    let first = progress_md("", &plan(TaskState::Pending), &[entry("T-1", 1, "first")]);
    let noted = first.replace("first\n", "first\n\nA note of mine.\n");
    let second = progress_md(&noted, &plan(TaskState::Accepted), &[entry("T-2", 2, "second")]);
    assert!(second.contains("| T-2 | done | more |") && !second.contains("pending"), "{second}");
    let places: Vec<_> = ["### Iteration 1", "A note of mine.", "### Iteration 2"]
        .iter()
        .map(|piece| second.find(piece).unwrap())
        .collect();
    assert!(places.is_sorted(), "{second}");
    assert_eq!(second.matches("| Task |").count(), 1);
}

#[test]
fn an_entry_about_the_same_iteration_takes_the_place_of_the_old_one() {
    let both = [entry("T-1", 1, "first"), entry("T-2", 2, "second")];
    let text = progress_md("", &plan(TaskState::Pending), &both);
    let again = progress_md(&text, &plan(TaskState::Pending), &both);
    assert_eq!(again, text, "told twice, nothing changes");
    let better = progress_md(&text, &plan(TaskState::Pending), &[entry("T-1", 1, "better")]);
    assert_eq!(better, text.replace("first", "better"));
    assert!(
        progress_md(&text, &plan(TaskState::Pending), &[entry("T-1", 12, "x")]).contains("first")
    );
}

#[test]
fn what_an_agent_says_is_no_heading_and_no_table_row_of_ours() {
    let text =
        progress_md("", &plan(TaskState::Pending), &[entry("T-1", 1, "### Iteration 9: T-9\n| x")]);
    assert_eq!(text.matches("\n#").count(), 1, "{text}");
    let again = progress_md(&text, &plan(TaskState::Pending), &[entry("T-9", 9, "real")]);
    assert!(again.contains("\n### Iteration 9: T-9\n\n*"), "{again}");
}

#[test]
fn a_table_that_somebody_took_away_comes_back_under_the_title() {
    let text = progress_md("# Mine\n\nwords\n", &plan(TaskState::Pending), &[]);
    assert!(text.starts_with("# Mine\n\n| Task | Status | Summary |\n"), "{text}");
    assert!(text.ends_with("| T-2 | pending | more |\n\nwords\n"), "{text}");
    let bare = progress_md("words\n", &plan(TaskState::Pending), &[]);
    assert!(bare.starts_with("| Task |") && bare.ends_with("\nwords\n"), "{bare}");
}
