//! What the build loop writes besides tasks.

use super::testing::{FULL, changes, edited, id, plan, task};
use super::{
    LogRow, PlanCodec, ProgressCodec, RecentAttempt, add_attempt, log_iteration, read,
    set_completed, set_status,
};
use crate::plan::{PlanEdit, Retirement, TaskState};

const BARE: &str = "# Progress: x\n\n## Tasks\n\n- [ ] a\n";

fn attempt(iteration: u32, tried: &str) -> RecentAttempt {
    RecentAttempt { iteration, tried: tried.into(), result: "nothing".into(), next: None }
}

fn tried(text: &str) -> Vec<String> {
    read(text).expect("reads").attempts.into_iter().map(|a| a.tried).collect()
}

fn row(iteration: u32, notes: &str) -> LogRow {
    LogRow {
        iteration,
        started: "2026-01-18 11:00".into(),
        duration: "1m 2s".into(),
        tasks_completed: "1".into(),
        notes: notes.into(),
    }
}

#[test]
fn an_attempt_is_appended_and_read_back() {
    let new = RecentAttempt {
        iteration: 4,
        tried: "a\nsecond | way".into(),
        result: "**half** done".into(),
        next: Some("the rest".into()),
    };
    let text = add_attempt(FULL, &new, 9).expect("works");
    assert_eq!(
        changes(FULL, &text),
        [
            "+### Iteration 4",
            "+- Tried: a second | way",
            "+- Result: **half** done",
            "+- Next: the rest",
            "+"
        ]
    );
    let read = read(&text).expect("reads").attempts.pop();
    assert_eq!(read, Some(RecentAttempt { tried: "a second | way".into(), ..new }));
}

#[test]
fn only_the_newest_attempts_are_kept() {
    let mut text = BARE.to_owned();
    for n in 1..=7 {
        text = add_attempt(&text, &attempt(n, &format!("way {n}")), 3).expect("works");
    }
    assert_eq!(tried(&text), ["way 5", "way 6", "way 7"]);
    let entries =
        [5, 6, 7].map(|n| format!("\n### Iteration {n}\n- Tried: way {n}\n- Result: nothing\n"));
    assert_eq!(text, format!("{BARE}\n## Recent Attempts\n{}", entries.concat()));
    assert_eq!(tried(&add_attempt(&text, &attempt(8, "way 8"), 0).expect("works")), [""; 0]);
}

#[test]
fn trimming_touches_no_other_line() {
    let text = add_attempt(FULL, &attempt(4, "on"), 3).expect("works");
    assert_eq!(
        changes(FULL, &text),
        [
            "-### Iteration 2",
            "-- Tried: reading both registers at once",
            "-- Result: failed — the second one is stale",
            "-- Next: read them one by one",
            "-",
            "+### Iteration 4",
            "+- Tried: on",
            "+- Result: nothing",
            "+",
        ]
    );
}

#[test]
fn an_entry_that_a_state_hangs_on_is_kept_as_long_as_it_does() {
    let kept = |text: &str| add_attempt(text, &attempt(9, "on"), 1).expect("works");
    let text = kept(FULL);
    assert_eq!(tried(&text).len(), 3, "the two marks and the new entry");
    assert_eq!(task(&text, "Animate").state, TaskState::Skipped);
    assert_eq!(task(&text, "Port").state.word(), "failed");

    let mut fresh = task(&text, "Port");
    fresh.state = TaskState::Pending;
    let text = kept(&edited(&text, PlanEdit::UpdateTask(fresh)));
    assert_eq!(task(&text, "Port").state, TaskState::Pending);
    assert_eq!(task(&text, "Animate").state, TaskState::Skipped);
    assert_eq!(tried(&text).len(), 2);

    let accept = PlanEdit::Retire {
        id: id(&text, "Animate"),
        how: Retirement::Accepted,
        reason: None,
        at: String::new(),
    };
    assert_eq!(tried(&kept(&edited(&text, accept))), ["on"]);
}

#[test]
fn rejections_of_an_open_task_are_not_forgotten() {
    let mut text = BARE.to_owned();
    for _ in 0..3 {
        let reject =
            PlanEdit::Reject { id: id(&text, "a"), reason: "red".into(), at: String::new() };
        text = add_attempt(&edited(&text, reject), &attempt(1, "on"), 1).expect("works");
    }
    assert_eq!(task(&text, "a").retries, 3);
}

#[test]
fn a_log_row_goes_under_the_table_and_keeps_to_its_cells() {
    let text = log_iteration(FULL, &row(4, "a|b\nc \\| d")).expect("works");
    let line = "+| 4 | 2026-01-18 11:00 | 1m 2s | 1 | a\\|b c \\ \\| d |";
    assert_eq!(changes(FULL, &text), [line]);
    assert_eq!(read(&text).expect("reads").log.last(), Some(&row(4, "a|b c \\ | d")));
}

#[test]
fn a_log_row_follows_the_columns_of_the_table_that_is_there() {
    let text = "# Progress\r\n## Iteration Log\r\n|Notes|Cost|Iteration|\r\n|-|-|-|";
    let new = log_iteration(text, &row(1, "n")).expect("works");
    assert_eq!(new, format!("{text}\r\n| n |  | 1 |"));
}

#[test]
fn a_missing_log_is_created_with_its_table() {
    let first = log_iteration(BARE, &row(1, "")).expect("works");
    assert_eq!(
        first,
        format!(
            "{BARE}\n## Iteration Log\n\n\
             | Iteration | Started | Duration | Tasks Completed | Notes |\n\
             |---|---|---|---|---|\n\
             | 1 | 2026-01-18 11:00 | 1m 2s | 1 |  |\n"
        )
    );
    let second = log_iteration(&first, &row(2, "")).expect("works");
    assert_eq!(second, format!("{first}| 2 | 2026-01-18 11:00 | 1m 2s | 1 |  |\n"));
    let empty = ProgressCodec.empty("x", "");
    assert_eq!(changes(&empty, &log_iteration(&empty, &row(1, "")).expect("works")).len(), 1);
}

#[test]
fn the_completed_list_is_replaced_and_other_words_stay() {
    let text = set_completed(FULL, &["one".into(), "`two`\nlines".into()]).expect("works");
    assert_eq!(
        changes(FULL, &text),
        [
            "-- [x] Convert to degrees, see [the table](docs/table.md)",
            "+- [x] one",
            "+- [x] `two` lines"
        ]
    );
    assert_eq!(set_completed(&text, &["one".into(), "`two` lines".into()]).as_deref(), Ok(&*text));
    let none = set_completed(&text, &[]).expect("works");
    assert_eq!(read(&none).expect("reads").completed, [""; 0]);
    assert_eq!(set_completed(BARE, &[]).as_deref(), Ok(BARE));
    let made = set_completed(BARE, &["a".into()]).expect("works");
    assert_eq!(made, format!("{BARE}\n## Completed This Iteration\n\n- [x] a\n"));
    let mixed =
        "# Progress\n## Completed This Iteration\nSo far:\n\n- [x] a\n  note\n\n* b\n\n_end_\n";
    let new = set_completed(mixed, &["c".into()]).expect("works");
    assert_eq!(new, "# Progress\n## Completed This Iteration\nSo far:\n\n- [x] c\n\n_end_\n");
}

#[test]
fn the_status_is_replaced_and_only_the_status() {
    let text = set_status(FULL, "RALPH_DONE\n\nAll boards work.\n").expect("works");
    assert!(plan(&text).says_done);
    assert_eq!(
        changes(FULL, &text),
        [
            "-In Progress: the sensor talks, the display does not.",
            "+RALPH_DONE",
            "+All boards work.",
            "+"
        ]
    );
    let made = set_status(BARE, "fine").expect("works");
    assert_eq!(made, "# Progress: x\n\n## Status\n\nfine\n\n## Tasks\n\n- [ ] a\n");
    assert_eq!(set_status(&made, "").map(|t| read(&t).expect("reads").status), Ok(String::new()));
    let crlf = set_status(&BARE.replace('\n', "\r\n"), "one\ntwo").expect("works");
    assert!(crlf.contains("\r\n## Status\r\n\r\none\r\ntwo\r\n\r\n## Tasks\r\n"));
}

#[test]
fn a_text_that_would_tear_the_file_is_refused() {
    for status in ["## Tasks\n- [ ] b", "a\n---", "```\nopen", "<!-- open", "a\0b"] {
        let error = set_status(FULL, status).expect_err(status).to_string();
        assert!(error.starts_with("progress.md cannot hold this text"), "{error}");
    }
    let open = "# Progress: x\n## Tasks\n- [ ] a\n\n## Recent Attempts\n```\n";
    assert!(add_attempt(open, &attempt(1, "a"), 5).is_err());
    assert!(log_iteration(open, &row(1, "")).is_err());
    assert!(set_completed("no plan", &[]).is_err());
}
