//! What edits change, and what they leave alone.

use super::testing::{FULL, changes, edited, id, names, plan, task, try_edit, updated};
use super::{EditError, PlanCodec, ProgressCodec, task_id};
use crate::plan::{
    Id, Issue, KillReason, KilledRun, PlanEdit, Priority, Retirement, Task, TaskState,
};

const AT: &str = "2026-01-18T10:00:00Z";

fn add(name: &str, phase: Option<&str>) -> PlanEdit {
    let task = Task { name: name.into(), phase: phase.map(str::to_owned), ..Task::default() };
    PlanEdit::AddTask { task, after: None }
}

fn retire(text: &str, name: &str, how: Retirement, reason: Option<&str>) -> String {
    let reason = reason.map(str::to_owned);
    edited(text, PlanEdit::Retire { id: id(text, name), how, reason, at: AT.into() })
}

fn reject(text: &str, name: &str, reason: &str) -> String {
    edited(text, PlanEdit::Reject { id: id(text, name), reason: reason.into(), at: AT.into() })
}

fn killed() -> TaskState {
    TaskState::Killed(KilledRun { reason: KillReason::Timeout, log: None })
}

fn refusal(text: &str, edit: PlanEdit) -> String {
    try_edit(text, edit).expect_err("should be refused").to_string()
}

#[test]
fn no_edits_change_nothing() {
    assert_eq!(ProgressCodec.edit(FULL, &[]).as_deref(), Ok(FULL));
    assert!(matches!(ProgressCodec.edit("no plan", &[]), Err(EditError::Parse(_))));
}

#[test]
fn accepting_ticks_the_box_and_touches_nothing_else() {
    let new = retire(FULL, "Retry", Retirement::Accepted, None);
    assert_eq!(
        changes(FULL, &new),
        [
            "-- [ ] Retry a failed read **three** times",
            "+- [x] Retry a failed read **three** times"
        ]
    );
    let new = retire(FULL, "Draw the numbers", Retirement::Accepted, None);
    assert_eq!(
        changes(FULL, &new),
        [
            "-1. [ ] Draw the numbers [BLOCKED: the display has not come]",
            "+1. [x] Draw the numbers"
        ]
    );
    assert_eq!(retire(&new, "Draw the numbers", Retirement::Accepted, None), new);
}

#[test]
fn a_task_with_all_that_is_nested_in_it_is_deleted() {
    let new = retire(FULL, "Retry", Retirement::Deleted, None);
    assert_eq!(
        changes(FULL, &new),
        [
            "-- [ ] Retry a failed read **three** times",
            "-  The bus needs 2 ms between tries.",
            "-  - Accept: a pulled wire gives an error, not a hang",
            "-  - [ ] measure the pause on the scope",
            "-  - Accept: no reading is lost",
            "-    while the wire is in",
        ]
    );
}

#[test]
fn deleting_leaves_no_double_blank_lines_and_no_half_lines() {
    let loose = "## Tasks\n\n- [ ] a\n\n- [ ] b\n  more\n\n- [ ] c\n";
    assert_eq!(retire(loose, "b", Retirement::Deleted, None), "## Tasks\n\n- [ ] a\n\n- [ ] c\n");
    let inline = "## Tasks\n- - [ ] a\n  - [ ] b\n";
    assert_eq!(retire(inline, "a", Retirement::Deleted, None), "## Tasks\n- \n  - [ ] b\n");
    let last = "## Tasks\r\n- [ ] a\r\n- [ ] b";
    assert_eq!(retire(last, "b", Retirement::Deleted, None), "## Tasks\r\n- [ ] a\r\n");
}

#[test]
fn skipping_and_failing_write_an_entry_and_are_read_back() {
    let new = retire(FULL, "Retry", Retirement::Skipped, Some("not\nnow"));
    assert_eq!(
        changes(FULL, &new),
        [
            "+### Iteration 4".to_owned(),
            format!("+- Tried: {} — Retry a failed read **three** times", id(FULL, "Retry")),
            "+- Result: skipped — not now".to_owned(),
            "+".to_owned(),
        ]
    );
    assert_eq!(task(&new, "Retry").state, TaskState::Skipped);
    let new = retire(&new, "Retry", Retirement::Failed, Some("red"));
    assert_eq!(task(&new, "Retry").state, TaskState::Failed(Some("red".into())));
    let new = updated(&new, "Retry", |t| t.state = TaskState::Pending);
    assert!(new.contains("- Result: retry\n"));
    assert_eq!(task(&new, "Retry").state, TaskState::Pending);
    let new = retire(&new, "Draw the icons", Retirement::Failed, None);
    assert_eq!(task(&new, "Draw the icons").state, TaskState::Failed(None));
    assert!(new.contains("\n2. [ ] Draw the icons\n"));
}

#[test]
fn a_tick_ends_a_skip_and_taking_it_back_starts_afresh() {
    let skipped = retire(FULL, "Retry", Retirement::Skipped, None);
    let ticked = retire(&skipped, "Retry", Retirement::Accepted, None);
    assert_eq!(task(&ticked, "Retry").state, TaskState::Accepted);
    let open = updated(&ticked, "Retry", |t| t.state = TaskState::Pending);
    assert_eq!(task(&open, "Retry").state, TaskState::Pending);
}

#[test]
fn rejecting_unticks_and_counts() {
    let once = reject(FULL, "Read", "stale");
    assert_eq!(
        changes(FULL, &once),
        [
            "-- [x] Read `TEMP` and `HUM` registers".to_owned(),
            "+- [ ] Read `TEMP` and `HUM` registers".to_owned(),
            "+### Iteration 4".to_owned(),
            format!("+- Tried: {} — Read `TEMP` and `HUM` registers", id(FULL, "Read")),
            "+- Result: rejected — stale".to_owned(),
            "+".to_owned(),
        ]
    );
    let twice = task(&reject(&once, "Read", "late"), "Read");
    assert_eq!(
        (twice.state, twice.retries, twice.reject),
        (TaskState::Pending, 2, Some("late".into()))
    );
    let fresh = updated(&once, "Read", |t| t.retries = 0);
    assert_eq!(task(&fresh, "Read").retries, 0);
}

#[test]
fn blocking_and_unblocking_edit_the_mark_alone() {
    let new = updated(FULL, "Retry", |t| t.state = TaskState::Blocked("no [scope]\nhere".into()));
    assert_eq!(
        changes(FULL, &new),
        [
            "-- [ ] Retry a failed read **three** times",
            "+- [ ] Retry a failed read **three** times [BLOCKED: no (scope) here]",
        ]
    );
    assert_eq!(task(&new, "Retry").state, TaskState::Blocked("no (scope) here".into()));
    assert_eq!(id(&new, "Retry"), id(FULL, "Retry"));
    assert_eq!(updated(&new, "Retry", |t| t.state = TaskState::Pending), FULL);
    assert_eq!(updated(&new, "Retry", |t| t.state = TaskState::Running), FULL);
    let bare = updated(FULL, "Retry", |t| t.state = TaskState::Blocked(String::new()));
    assert!(bare.contains("**three** times [BLOCKED]\n"));
}

#[test]
fn renaming_takes_the_attempts_along() {
    let new = updated(FULL, "Animate", |t| t.name = "Animate\n`all` icons".into());
    let (old, now) = (id(FULL, "Animate"), id(&new, "Animate"));
    assert_eq!(
        changes(FULL, &new),
        [
            "-3. [ ] Animate the icons".to_owned(),
            "+3. [ ] Animate `all` icons".to_owned(),
            format!("-- Tried: {old} — Animate the icons"),
            format!("+- Tried: {now} — Animate the icons"),
        ]
    );
    assert_eq!(task(&new, "Animate").state, TaskState::Skipped);
}

#[test]
fn notes_and_criteria_are_edited_by_their_lines() {
    let new = updated(FULL, "Retry", |t| t.accept.push("it is\nfast".into()));
    assert_eq!(changes(FULL, &new), ["+  - Accept: it is fast"]);
    let new = updated(FULL, "Retry", |t| t.accept = vec!["one".into()]);
    let accepts = changes(FULL, &new);
    assert_eq!(accepts.len(), 4);
    assert!(accepts.iter().all(|l| l.contains("Accept: ") || l.contains("while the wire")));
    assert_eq!(task(&new, "Retry").notes, task(FULL, "Retry").notes);

    let new = updated(FULL, "Draw the numbers", |t| {
        t.notes = Some("  a\n\n    b\n".into());
        t.accept = vec!["c".into()];
    });
    assert_eq!(changes(FULL, &new), ["+   a", "+", "+     b", "+   - Accept: c"]);
    let again = task(&new, "Draw the numbers");
    assert_eq!((again.notes.as_deref(), again.accept), (Some("a\n\n  b"), vec!["c".into()]));
    assert_eq!(
        updated(&new, "Draw the numbers", |t| {
            t.notes = None;
            t.accept.clear();
        }),
        FULL
    );
}

#[test]
fn a_new_task_goes_to_the_end_of_its_phase_in_the_style_of_its_neighbours() {
    let new = edited(FULL, add("Dim it", Some("Phase 2: Display")));
    assert_eq!(changes(FULL, &new), ["+5. [ ] Dim it"]);
    let new = edited(FULL, add("Think", None));
    assert_eq!(changes(FULL, &new), ["+- [ ] Think"]);
    assert_eq!(names(&new)[1], "Think");
    let nested = "## Tasks\n- Group\n\t*  [ ] a\n\n\t   note\n- end\n";
    let new = edited(nested, add("b", None));
    assert_eq!(changes(nested, &new), ["+\t*  [ ] b"]);
    let after = PlanEdit::AddTask {
        task: Task { name: "between".into(), ..Task::default() },
        after: Some(id(FULL, "Read")),
    };
    let new = edited(FULL, after);
    assert_eq!(names(&new)[2], "between");
    assert_eq!(task(&new, "between").phase.as_deref(), Some("Phase 1: Sensor"));
}

#[test]
fn phases_and_sections_are_created_when_they_are_missing() {
    let new = edited(FULL, add("Solder", Some("Phase 3")));
    assert_eq!(changes(FULL, &new), ["+### Phase 3", "+", "+- [ ] Solder", "+"]);
    assert_eq!(plan(&new).tasks.last().and_then(|t| t.phase.as_deref()), Some("Phase 3"));

    let bare = "# Progress: x\n\n## Status\n\nfine\n\n---\n\n## Testing Strategy\nnone\n";
    let batch = [add("b", Some("P")), add("a", None), add("c", Some("P")), add("d", Some("Q"))];
    let new = ProgressCodec.edit(bare, &batch).expect("works");
    let section = "## Tasks\n\n- [ ] a\n\n### P\n\n- [ ] b\n- [ ] c\n\n### Q\n\n- [ ] d\n";
    let before = "# Progress: x\n\n## Status\n\nfine\n";
    assert_eq!(new, format!("{before}\n{section}\n---\n\n## Testing Strategy\nnone\n"));
}

#[test]
fn a_file_that_is_only_a_title_grows_all_it_needs() {
    let failed = Task { name: "a".into(), state: TaskState::Failed(None), ..Task::default() };
    let new = edited("# Progress: x", PlanEdit::AddTask { task: failed, after: None });
    let id = task_id("a", 0);
    assert_eq!(
        new,
        format!(
            "# Progress: x\n\n## Tasks\n\n- [ ] a\n\n## Recent Attempts\n\n\
             ### Iteration 1\n- Tried: {id} — a\n- Result: failed"
        )
    );
    assert_eq!(task(&new, "a").state, TaskState::Failed(None));
}

#[test]
fn an_empty_phase_and_an_empty_section_take_a_first_task() {
    let text = "# Progress: x\n## Tasks\n### P\nwhat it is for\n### Q\n## Status\n";
    let new = ProgressCodec.edit(text, &[add("a", Some("Q")), add("b", Some("P")), add("c", None)]);
    assert_eq!(
        new.as_deref(),
        Ok("# Progress: x\n## Tasks\n\n- [ ] c\n\n### P\nwhat it is for\n\n- [ ] b\n\n\
            ### Q\n\n- [ ] a\n\n## Status\n")
    );
}

#[test]
fn every_field_that_has_a_place_comes_back_from_a_new_task() {
    let task = Task {
        id: Id::new("ignored"),
        name: "Do `it`".into(),
        state: TaskState::Blocked("later".into()),
        notes: Some("one\n\n```\n## Tasks\n- [ ] no\n```".into()),
        accept: vec!["first".into(), "second".into()],
        phase: Some("P".into()),
        priority: Some(Priority::High),
        deps: vec![Id::new("t-1")],
        ..Task::default()
    };
    let new = edited("# Progress: x\r\n", PlanEdit::AddTask { task: task.clone(), after: None });
    assert!(!new.replace("\r\n", "").contains('\n'));
    let read = plan(&new).tasks.remove(0);
    let kept =
        Task { priority: None, deps: vec![], id: task_id("Do `it`", 0), line: read.line, ..task };
    assert_eq!(read, kept);
}

#[test]
fn a_killed_task_that_is_added_is_still_to_be_done() {
    let task = Task { name: "a".into(), state: killed(), ..Task::default() };
    let new = edited("# Progress: x\n", PlanEdit::AddTask { task, after: None });
    assert_eq!(plan(&new).tasks[0].state, TaskState::Pending);
}

#[test]
fn a_batch_is_worked_out_against_one_text() {
    let batch = [
        PlanEdit::Retire {
            id: id(FULL, "Port"),
            how: Retirement::Deleted,
            reason: None,
            at: AT.into(),
        },
        add("New", Some("Phase 2: Display")),
        PlanEdit::UpdateTask(Task { notes: Some("note".into()), ..task(FULL, "Animate") }),
        PlanEdit::AddTask {
            task: Task { name: "After".into(), ..Task::default() },
            after: Some(id(FULL, "Animate")),
        },
        PlanEdit::Reject { id: id(FULL, "Convert"), reason: "off by one".into(), at: AT.into() },
        PlanEdit::Retire {
            id: id(FULL, "Retry"),
            how: Retirement::Skipped,
            reason: None,
            at: AT.into(),
        },
    ];
    let new = ProgressCodec.edit(FULL, &batch).expect("works");
    let from = new.find("3. [ ] Animate").expect("there");
    let to = new.find("## Ideas").expect("there");
    assert_eq!(&new[from..to], "3. [ ] Animate the icons\n   note\n4. [ ] After\n5. [ ] New\n\n");
    assert_eq!(new.matches("### Iteration 4\n").count(), 2);
    assert_eq!(task(&new, "Convert").retries, 1);
}

#[test]
fn swapping_two_names_swaps_their_histories() {
    let (a, b) = (task(FULL, "Animate"), task(FULL, "Port"));
    let swap = [
        PlanEdit::UpdateTask(Task { name: b.name.clone(), ..a.clone() }),
        PlanEdit::UpdateTask(Task { name: a.name.clone(), ..b.clone() }),
    ];
    let new = ProgressCodec.edit(FULL, &swap).expect("works");
    assert_eq!(task(&new, "Port").state, a.state);
    assert_eq!(task(&new, "Animate").state, b.state);
}

#[test]
fn marks_follow_a_task_when_an_equal_one_is_put_before_it() {
    let text = "## Tasks\n### P\n- [ ] p\n### Q\n- [ ] same\n";
    let skipped = retire(text, "same", Retirement::Skipped, None);
    let new = edited(&skipped, add("same", Some("P")));
    let states: Vec<_> = plan(&new).tasks.iter().map(|t| t.state.word()).collect();
    assert_eq!(states, ["pending", "pending", "skipped"]);
}

#[test]
fn a_deleted_task_does_not_leave_its_state_to_an_equal_one() {
    let text = retire("## Tasks\n- [ ] same\n- [ ] same\n", "same", Retirement::Skipped, None);
    let new = retire(&text, "same", Retirement::Deleted, None);
    assert_eq!(plan(&new).tasks[0].state, TaskState::Pending);
    assert!(new.contains("- Tried: same\n- Result: skipped\n"));

    let text = retire("## Tasks\n- [ ] a\n- [ ] b\n", "a", Retirement::Skipped, None);
    let gone = retire(&text, "a", Retirement::Deleted, None);
    assert!(gone.contains("- Tried: t-"));
    assert_eq!(task(&edited(&gone, add("a", None)), "a").state, TaskState::Pending);
    assert_eq!(task(&updated(&gone, "b", |t| t.name = "a".into()), "a").state, TaskState::Pending);
}

#[test]
fn text_below_a_deleted_task_stays_apart_from_the_task_above() {
    let text = "## Tasks\n- [ ] a\n- [ ] b\n  ```\ntext\n";
    let new = retire(text, "b", Retirement::Deleted, None);
    assert_eq!(new, "## Tasks\n- [ ] a\n\ntext\n");
}

#[test]
fn what_the_format_cannot_hold_is_refused_by_name() {
    let change = |change: fn(&mut Task)| {
        let mut task = task(FULL, "Retry");
        change(&mut task);
        refusal(FULL, PlanEdit::UpdateTask(task))
    };
    assert_eq!(change(|t| t.priority = Some(Priority::Low)), "progress.md cannot hold priorities");
    assert_eq!(change(|t| t.deps = vec![Id::new("t-x")]), "progress.md cannot hold dependencies");
    assert_eq!(change(|t| t.retries = 3), "progress.md cannot hold a chosen number of retries");
    assert_eq!(change(|t| t.phase = None), "progress.md cannot hold a move to another phase");
    assert_eq!(change(|t| t.state = killed()), "progress.md cannot hold killed tasks");
    assert_eq!(change(|t| t.name = " \n".into()), "progress.md cannot hold a task without a name");
    assert!(change(|t| t.name = "a [BLOCKED]".into()).ends_with("ends in the mark [BLOCKED]"));
    assert!(change(|t| t.name = "a\0".into()).starts_with("progress.md cannot hold this text"));
    let issue = PlanEdit::AddIssue(Issue::default());
    assert_eq!(refusal(FULL, issue), "progress.md cannot hold issues");
    assert_eq!(refusal(FULL, PlanEdit::UseSpec("a.md".into())), "progress.md cannot hold specs");
    let unknown = PlanEdit::Retire {
        id: Id::new("t-nobody"),
        how: Retirement::Accepted,
        reason: None,
        at: AT.into(),
    };
    assert_eq!(refusal(FULL, unknown), "no task or issue t-nobody");
}

#[test]
fn a_field_without_a_place_does_not_stop_another_change() {
    let new = updated(FULL, "Retry", |t| {
        t.priority = Some(Priority::Low);
        t.state = TaskState::Accepted;
        t.done_at = Some(AT.into());
    });
    assert_eq!(changes(FULL, &new).len(), 2);
}

#[test]
fn a_task_that_would_vanish_into_an_open_code_block_is_refused() {
    for open in ["```", "<!--"] {
        let text = format!("# Progress: x\n## Tasks\n{open}\nnever closed\n");
        assert!(refusal(&text, add("a", None)).contains("code block or comment"), "{open}");
    }
}

#[test]
fn ten_thousand_tasks_are_added_and_ticked_in_one_batch_each() {
    let adds: Vec<PlanEdit> = (0..10_000)
        .map(|n| add(&format!("task {}", n % 9_000), Some(["A", "B", "C"][n % 3])))
        .collect();
    let text = ProgressCodec.edit(&ProgressCodec.empty("big", AT), &adds).expect("works");
    let plan = plan(&text);
    assert_eq!(plan.tasks.len(), 10_000);
    let ids: std::collections::BTreeSet<_> = plan.tasks.iter().map(|t| &t.id).collect();
    assert_eq!(ids.len(), 10_000);
    let how = |n| [Retirement::Accepted, Retirement::Skipped][n % 2];
    let retire = plan.tasks.iter().enumerate().map(|(n, t)| PlanEdit::Retire {
        id: t.id.clone(),
        how: how(n),
        reason: None,
        at: AT.into(),
    });
    let text = ProgressCodec.edit(&text, &retire.collect::<Vec<_>>()).expect("works");
    let done = super::testing::plan(&text);
    assert_eq!(done.tasks.iter().filter(|t| t.state == TaskState::Accepted).count(), 5_000);
    assert_eq!(done.tasks.iter().filter(|t| t.state == TaskState::Skipped).count(), 5_000);
}
