//! What a progress file says.

use super::testing::{FULL, id, names, plan, task};
use super::{LogRow, PlanCodec, ProgressCodec, RecentAttempt, read, task_id};
use crate::plan::TaskState;

fn tasks_under(text: &str) -> Vec<String> {
    names(&format!("# Progress: x\n\n## Tasks\n\n{text}"))
}

fn error(text: &str) -> String {
    ProgressCodec.parse(text).map(|p| format!("{p:?}")).expect_err("should not parse").to_string()
}

#[test]
fn every_section_of_a_full_file_is_read() {
    let file = read(FULL).expect("reads");
    assert_eq!(file.status, "In Progress: the sensor talks, the display does not.");
    assert!(file.analysis.starts_with("The firmware polls") && file.analysis.ends_with("```"));
    assert_eq!(file.testing_strategy, "Hardware in the loop, once a night.");
    assert_eq!(file.completed, ["Convert to degrees, see [the table](docs/table.md)"]);
    let first = RecentAttempt {
        iteration: 2,
        tried: "reading both registers at once".into(),
        result: "failed — the second one is stale".into(),
        next: Some("read them one by one".into()),
    };
    assert_eq!(file.attempts.first(), Some(&first));
    assert_eq!(file.attempts.len(), 3);
    let row = LogRow {
        iteration: 1,
        started: "2026-01-18 10:00".into(),
        duration: "4m 10s".into(),
        tasks_completed: "1".into(),
        notes: "registers `a|b`".into(),
    };
    assert_eq!(file.log.first(), Some(&row));
    assert_eq!(file.log.iter().map(|r| r.iteration).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn every_task_of_a_full_file_is_read() {
    let plan = plan(FULL);
    assert_eq!(plan.title.as_deref(), Some("Weather station"));
    assert!(!plan.says_done);
    let brief: Vec<_> = plan
        .tasks
        .iter()
        .map(|t| (t.line, t.state.word(), t.phase.as_deref().unwrap_or("-"), t.name.as_str()))
        .collect();
    let (one, two) = ("Phase 1: Sensor", "Phase 2: Display");
    assert_eq!(
        brief,
        [
            (23, "pending", "-", "Write down what the *first* board taught us"),
            (27, "accepted", one, "Read `TEMP` and `HUM` registers"),
            (28, "accepted", one, "Convert to degrees, see [the table](docs/table.md)"),
            (29, "pending", one, "Retry a failed read **three** times"),
            (42, "blocked", two, "Draw the numbers"),
            (43, "blocked", two, "Draw the icons"),
            (44, "skipped", two, "Animate the icons"),
            (45, "failed", two, "Port to the old board"),
        ]
    );
    assert_eq!(plan.tasks[4].state, TaskState::Blocked("the display has not come".into()));
    assert_eq!(plan.tasks[5].state, TaskState::Blocked(String::new()));
    assert_eq!(plan.tasks[7].state, TaskState::Failed(Some("there is none left".into())));
}

#[test]
fn what_is_nested_in_a_task_is_its_notes_and_criteria() {
    let task = task(FULL, "Retry");
    let notes = "The bus needs 2 ms between tries.\n- [ ] measure the pause on the scope";
    assert_eq!(task.notes.as_deref(), Some(notes));
    assert_eq!(
        task.accept,
        ["a pulled wire gives an error, not a hang", "no reading is lost while the wire is in"]
    );
}

#[test]
fn tasks_without_a_phase_are_counted() {
    assert_eq!(tasks_under("- [ ] a\n- [x] b\n"), ["a", "b"]);
    assert_eq!(tasks_under("- [ ] a\n\n### P\n- [x] b\n"), ["a", "b"]);
}

#[test]
fn a_checkbox_in_a_plain_item_is_a_task_and_in_a_task_it_is_a_note() {
    assert_eq!(
        tasks_under("- Group\n  - [ ] a\n    - [ ] note\n  - deeper\n    - [ ] b\n"),
        ["a", "b"]
    );
}

#[test]
fn every_kind_of_bullet_and_tick_counts() {
    let text = "- [ ] a\n* [x] b\n+ [X] c\n\n1. [ ] d\n2) [x] e\n\ntext\n\n   - [ ]  f  \n";
    assert_eq!(tasks_under(text), ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn code_comments_and_quotations_hold_no_tasks_and_no_headings() {
    let text = "```\n- [ ] no\n## Status\n```\n~~~md\n- [ ] no\n~~~\n\n    - [ ] no\n\n\
                <!--\n- [ ] no\n## Log\n-->\n> - [ ] no\n> ## Status\n\n- [ ] yes\n";
    assert_eq!(tasks_under(text), ["yes"]);
}

#[test]
fn sections_may_be_anywhere_among_unknown_ones_and_under_any_spelling() {
    let text = "# Progress: x\n## Iteration Log\n## Mystery\n- [ ] no\n## **TASKS**:\n- [ ] a\n\
                Tasks\n-----\n- [ ] b\n\n## Status\nRALPH_DONE\n# Other\n- [ ] no\n";
    assert_eq!(names(text), ["a", "b"]);
    assert!(plan(text).says_done);
}

#[test]
fn underlined_headings_are_headings() {
    let text = "Progress: two\nlines\n===\n\nTasks\n---\n\n### P ###\n- [ ] a\n";
    assert_eq!(plan(text).title.as_deref(), Some("two lines"));
    assert_eq!(task(text, "a").phase.as_deref(), Some("P"));
}

#[test]
fn line_ends_byte_order_mark_and_a_missing_last_line_end_do_not_matter() {
    let text = "# Progress: x\n\n## Status\n\nRALPH_DONE\n\n## Tasks\n\n- [ ] a\n  note\n- [x] b";
    for text in [
        text.to_owned(),
        text.replace('\n', "\r\n"),
        text.replace('\n', "\r"),
        format!("\u{feff}{text}\n"),
        text.replace('\n', "  \n"),
    ] {
        let plan = plan(&text);
        let found: Vec<_> =
            plan.tasks.iter().map(|t| (t.name.as_str(), t.notes.as_deref())).collect();
        assert_eq!(found, [("a", Some("note")), ("b", None)], "{text:?}");
        assert!(plan.says_done, "{text:?}");
        assert_eq!(plan.title.as_deref(), Some("x"), "{text:?}");
    }
}

#[test]
fn ralph_done_counts_only_alone_on_a_line_of_the_status_section() {
    let status =
        |body: &str| plan(&format!("# Progress: x\n\n## Status\n\n{body}\n\n## Tasks\n")).says_done;
    assert!(status("RALPH_DONE"));
    assert!(status("All is well.\nRALPH_DONE  \nReally."));
    for no in [
        "Not RALPH_DONE yet",
        "RALPH_DONE.",
        "```\nRALPH_DONE\n```",
        "    RALPH_DONE",
        "`a\nRALPH_DONE\nb`",
        "<!--\nRALPH_DONE\n-->",
        "ralph_done",
        "> RALPH_DONE",
    ] {
        assert!(!status(no), "{no}");
    }
    assert!(
        !plan("# Progress: x\n\n## Analysis\n\nRALPH_DONE\n\n## Tasks\n- [ ] a\n\n  RALPH_DONE\n")
            .says_done
    );
}

#[test]
fn only_a_mark_at_the_end_of_the_line_blocks_a_task() {
    let blocked = |line: &str| {
        let task = plan(&format!("## Tasks\n- [ ] {line}\n")).tasks.remove(0);
        (task.name, if let TaskState::Blocked(reason) = task.state { Some(reason) } else { None })
    };
    let reason = |name: &str, why: &str| (name.to_owned(), Some(why.to_owned()));
    assert_eq!(blocked("a [BLOCKED]  "), reason("a", ""));
    assert_eq!(blocked("a [blocked: no key]"), reason("a", "no key"));
    assert_eq!(blocked("a [BLOCKED by [b](c)]"), reason("a", "by [b](c)"));
    assert_eq!(blocked("a ] [BLOCKED — ö]"), reason("a ]", "ö"));
    for no in ["[BLOCKED]", "a [BLOCKED] b", "a `[BLOCKED]`", "a [BLOCKEDish]", "a[BLOCKED]", "a ]"]
    {
        assert_eq!(blocked(no), (no.to_owned(), None));
    }
}

#[test]
fn a_ticked_task_keeps_its_id_whatever_mark_it_bears() {
    let text = "## Tasks\n- [x] a [BLOCKED: old]\n";
    assert_eq!(task(text, "a").state, TaskState::Accepted);
    assert_eq!(id(text, "a"), task_id("a", 0));
}

#[test]
fn ids_depend_on_the_text_alone_and_for_equal_texts_on_their_order() {
    let before = "## Tasks\n- [ ] same\n- [ ] other\n- [ ] same\n";
    let after = "## Tasks\n### New\n- [ ] new\n- [x] other\n\n### Old\n* [ ] same\n\n1. [ ] same\n";
    let (before, after) = (plan(before).tasks, plan(after).tasks);
    assert_eq!(before[0].id, after[2].id);
    assert_eq!(before[1].id, after[1].id);
    assert_eq!(before[2].id, after[3].id);
    assert_ne!(before[0].id, before[2].id);
}

/// A file with one task `a` and these results for it, oldest first.
fn with_results(boxed: &str, results: &[&str]) -> String {
    let entries = results.iter().enumerate().map(|(n, r)| {
        format!("\n### Iteration {n}\n- Tried: {} — a\n- Result: {r}\n", task_id("a", 0))
    });
    format!("## Tasks\n- [{boxed}] a\n\n## Recent Attempts\n{}", entries.collect::<String>())
}

#[test]
fn the_newest_entry_about_an_open_task_decides() {
    let state = |boxed, results: &[&str]| task(&with_results(boxed, results), "a").state;
    let failed = |why: &str| TaskState::Failed(Some(why.to_owned()));
    assert_eq!(state(" ", &["skipped"]), TaskState::Skipped);
    assert_eq!(state(" ", &["skipped — why", "failed — red"]), failed("red"));
    assert_eq!(state(" ", &["failed: red - still"]), failed("red - still"));
    assert_eq!(state(" ", &["failed", "retry"]), TaskState::Pending);
    assert_eq!(state(" ", &["skipped", "rejected — no"]), TaskState::Pending);
    assert_eq!(state("x", &["skipped — why"]), TaskState::Accepted);
    for history in ["failed to compile", "skipped two tests", "ok", "Failed", "", "retrying"] {
        assert_eq!(state(" ", &[history]), TaskState::Pending, "{history}");
    }
}

#[test]
fn rejections_are_counted_until_a_fresh_start() {
    let read = |results: &[&str]| {
        let task = task(&with_results(" ", results), "a");
        (task.retries, task.reject)
    };
    assert_eq!(read(&["rejected — one", "rejected — two"]), (2, Some("two".into())));
    assert_eq!(read(&["rejected — one", "retry"]), (0, None));
    assert_eq!(read(&["rejected — one", "failed", "rejected — x"]), (1, Some("x".into())));
    assert_eq!(read(&["rejected — one", "failed — for good"]), (1, Some("one".into())));
}

#[test]
fn an_entry_that_names_no_task_changes_nothing() {
    let text = "## Tasks\n- [ ] a\n## Recent Attempts\n### Iteration 1\n- Tried: a\n- Result: failed\n\
                ### Notes\n- Tried: x\n### Iteration one\n- Result: skipped\n";
    assert_eq!(task(text, "a").state, TaskState::Pending);
    assert_eq!(read(text).expect("reads").attempts.len(), 1);
}

#[test]
fn the_log_is_read_by_its_column_names() {
    let text = "# Progress\n## Iteration Log\nwords\n\n| Notes | Iteration | Extra |\n|-|-:|-|\n\
                | a \\| b | 7 | x |\n| none | - | |\n| short\n\n| other | table |\n|-|-|\n| 1 | 2 |\n";
    let log = read(text).expect("reads").log;
    assert_eq!(log, [LogRow { iteration: 7, notes: "a | b".into(), ..LogRow::default() }]);
}

#[test]
fn a_file_without_tasks_is_a_plan_without_tasks() {
    assert_eq!(plan("# Progress: nothing yet\n").tasks, []);
    assert_eq!(plan("# PROGRESS").title, None);
    assert_eq!(plan("# Other\n## Tasks\n").title.as_deref(), Some("Other"));
    assert_eq!(names("## Tasks\n- [ ]\n- [ ] \n-\n- plain\n- [link](x)\n- [x][ref]\n"), [""; 0]);
}

#[test]
fn what_is_no_progress_file_is_refused_with_what_is_expected() {
    for text in [
        "",
        "\u{feff}",
        "hello\n",
        "# Progressive house\n",
        "### Tasks\n- [ ] a\n",
        "```\n## Tasks\n```\n",
    ] {
        assert!(error(text).contains("it needs a title `# Progress: <name>`"), "{text}");
    }
    assert!(error("## Tasks\n- [ ] a\0b\n").starts_with("line 2: there is a NUL byte"));
}

#[test]
fn a_box_that_is_almost_one_is_an_error_with_its_line() {
    for item in ["[] a", "[-] a", "[ ]a", "[x]a", "[  ] a", "[✓] a", "[ ]\n  a", "[ ]\n  - [ ] b"]
    {
        let message = error(&format!("## Tasks\n\n- fine\n- {item}\n"));
        assert!(message.starts_with("line 4: [") && message.contains("`- [ ] text`"), "{message}");
    }
    assert_eq!(tasks_under("-      [] code\n- [ ] a\n  - [-] b\n"), ["a"]);
}

#[test]
fn deep_nesting_is_refused_or_read_but_never_too_much() {
    for mark in ["> ", ">", "+ ", "1. ", "> - "] {
        let text = format!("## Tasks\n{}[ ] a\n", mark.repeat(100_000));
        assert_eq!(error(&text), "line 2: lists or quotations are nested too deep here", "{mark}");
    }
    let steps: String = (0..400).map(|n| format!("{}- x\n", "  ".repeat(n))).collect();
    assert_eq!(tasks_under(&format!("{steps}{}- [ ] a\n", "  ".repeat(400))), ["a"]);
    for line in
        ["- ".repeat(5000), "*".repeat(5000), "-".repeat(5000), "[".repeat(5000), "1.".repeat(5000)]
    {
        assert_eq!(tasks_under(&format!("{line}\n\n- [ ] a\n")), ["a"]);
    }
}

#[test]
fn an_empty_plan_is_a_progress_file_with_all_sections() {
    let text = ProgressCodec.empty("a\nb", "2026-01-18T10:00:00Z");
    let plan = plan(&text);
    assert_eq!((plan.title.as_deref(), plan.tasks.len(), plan.says_done), (Some("a b"), 0, false));
    assert_eq!(read(&text).expect("reads").status, "In Progress");
    assert_eq!(text.matches("\n## ").count(), 7);
}

#[test]
fn a_fresh_id_is_not_taken() {
    let mut words = ["aaaa", "bbbb"].into_iter().map(String::from);
    let mut random = || words.next().expect("asked twice at most");
    let plan = plan("## Tasks\n");
    let id = ProgressCodec.fresh_id(&plan, None, &|id| id.as_str() == "t-aaaa", &mut random);
    assert_eq!(id.as_str(), "t-bbbb");
}
