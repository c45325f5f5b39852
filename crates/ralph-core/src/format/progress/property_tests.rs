//! Promises about all texts and all edits.

use proptest::collection::vec;
use proptest::prelude::*;

use super::doc::ProgressDoc;
use super::testing::{FULL, changes, plan};
use super::{
    EditError, LogRow, PlanCodec, ProgressCodec, RecentAttempt, add_attempt, log_iteration, read,
    set_completed, set_status, task_id,
};
use crate::plan::{Plan, PlanEdit, Retirement, Task, TaskState};

/// Lines that matter to this format, and lines that only look so.
const LINES: [&str; 56] = [
    "# Progress: x",
    "# Other",
    "## Status",
    "## Tasks",
    "## Tasks",
    "## Tasks ##",
    "Tasks",
    "---",
    "===",
    "### Phase 1",
    "### Phase 1",
    "#### Sub",
    "## Recent Attempts",
    "### Iteration 1",
    "### Iteration 2",
    "## Iteration Log",
    "## Completed This Iteration",
    "## Mystery",
    "RALPH_DONE",
    "- [ ] a",
    "- [ ] a",
    "- [x] b",
    "* [ ] c [BLOCKED: why]",
    "+ [X] d [BLOCKED]",
    "1. [ ] e",
    "12) [x] f",
    "  - [ ] g",
    "    - [ ] h",
    "\t- [ ] i",
    "   - [ ] j",
    "- - [ ] k",
    "- plain",
    "  - Accept: l",
    "  note",
    "    deeper",
    "lazy",
    "- [ ] `m` [n](o) **p**  ",
    "- [ ]",
    "-",
    "> - [ ] q",
    ">",
    "```",
    "~~~",
    "    ```",
    "<!--",
    "-->",
    "<div>",
    "",
    "",
    "",
    " \t ",
    "| Iteration | Notes |",
    "|---|---|",
    "| 1 | r |",
    "- [ ] s\u{a0}",
    "\u{feff}",
];

fn line() -> impl Strategy<Value = String> {
    let mark = (0..4_usize, 0..4_usize).prop_map(|(name, word)| {
        let (name, word) =
            (["a", "b", "c", "g"][name], ["skipped", "failed — r", "retry", "rejected"][word]);
        format!("- Tried: {} — {name}\n- Result: {word}", task_id(name, 0))
    });
    prop_oneof![
        12 => prop::sample::select(&LINES[..]).prop_map(str::to_owned),
        2 => mark,
        1 => "[ -~éß\t]{0,12}",
    ]
}

fn soup() -> impl Strategy<Value = String> {
    let ends = prop::sample::select(vec!["\n", "\n", "\n", "\r\n", "\r"]);
    (
        vec(line(), 1..30),
        ends,
        prop::sample::select(vec!["", "## Tasks\n", "\u{feff}## Tasks\n"]),
        any::<bool>(),
    )
        .prop_map(|(lines, end, head, closed)| {
            let text = format!("{head}{}{}", lines.join("\n"), if closed { "\n" } else { "" });
            text.replace('\n', end)
        })
}

fn change() -> impl Strategy<Value = Change> {
    let text = || {
        prop::sample::select(vec!["z", "z [y]", "# z", "- [ ] z", "`z", "<!-- z", "a", "z\n\ny"])
    };
    let notes = vec(
        prop::sample::select(vec!["z", "  y", "", "- x", "```", "- [ ] w", "---", "## v"]),
        0..4,
    );
    prop_oneof![
        text().prop_map(|t| Change::Rename(t.into())),
        notes.prop_map(|n| Change::Notes(n.join("\n"))),
        vec(text(), 0..3).prop_map(|a| Change::Accept(a.into_iter().map(str::to_owned).collect())),
        prop::sample::select(vec![
            TaskState::Pending,
            TaskState::Accepted,
            TaskState::Skipped,
            TaskState::Failed(None),
            TaskState::Failed(Some("r".into())),
            TaskState::Blocked("r".into()),
            TaskState::Blocked(String::new()),
        ])
        .prop_map(Change::State),
        Just(Change::Reject),
        Just(Change::Delete),
        (text(), prop::sample::select(vec![None, Some("Phase 1"), Some("New")]), any::<bool>())
            .prop_map(|(t, p, after)| Change::Add(t.into(), p.map(str::to_owned), after)),
    ]
}

#[derive(Clone, Debug)]
enum Change {
    Rename(String),
    Notes(String),
    Accept(Vec<String>),
    State(TaskState),
    Reject,
    Delete,
    Add(String, Option<String>, bool),
}

impl Change {
    fn edit(self, task: &Task) -> PlanEdit {
        let (id, at) = (task.id.clone(), String::new());
        let mut new = task.clone();
        match self {
            Self::Rename(name) => new.name = name,
            Self::Notes(notes) => new.notes = Some(notes),
            Self::Accept(accept) => new.accept = accept,
            Self::State(TaskState::Skipped) => {
                return PlanEdit::Retire { id, how: Retirement::Skipped, reason: None, at };
            }
            Self::State(state) => new.state = state,
            Self::Reject => return PlanEdit::Reject { id, reason: "r".into(), at },
            Self::Delete => {
                return PlanEdit::Retire { id, how: Retirement::Deleted, reason: None, at };
            }
            Self::Add(name, phase, after) => {
                let task = Task { name, phase, ..Task::default() };
                return PlanEdit::AddTask { task, after: after.then_some(id) };
            }
        }
        PlanEdit::UpdateTask(new)
    }
}

/// What must not change about a task when another one does.
fn essence(task: &Task) -> (&str, &TaskState, Option<&str>, &[String], Option<&str>, u32) {
    (
        &task.name,
        &task.state,
        task.notes.as_deref(),
        &task.accept,
        task.phase.as_deref(),
        task.retries,
    )
}

/// The tasks of `plan` other than the `nth`.
fn others(plan: &Plan, nth: usize) -> Vec<&Task> {
    plan.tasks.iter().enumerate().filter(|(n, _)| *n != nth).map(|(_, t)| t).collect()
}

proptest! {
    #[test]
    fn what_parses_is_the_same_after_no_edits(text in prop_oneof![soup(), any::<String>()]) {
        if ProgressCodec.parse(&text).is_ok() {
            prop_assert_eq!(ProgressCodec.edit(&text, &[]), Ok(text));
        }
    }

    #[test]
    fn a_task_that_is_as_it_was_is_not_touched(text in soup()) {
        if let Ok(plan) = ProgressCodec.parse(&text) {
            let same: Vec<PlanEdit> = plan.tasks.into_iter().map(PlanEdit::UpdateTask).collect();
            prop_assert_eq!(ProgressCodec.edit(&text, &same), Ok(text));
        }
    }

    #[test]
    fn an_edit_does_what_it_says_to_its_task_and_nothing_to_the_others(
        text in soup(),
        pick in any::<prop::sample::Index>(),
        change in change(),
    ) {
        let Ok(old) = ProgressCodec.parse(&text) else { return Ok(()) };
        if old.tasks.is_empty() {
            return Ok(());
        }
        let nth = pick.index(old.tasks.len());
        let new = match ProgressCodec.edit(&text, &[change.clone().edit(&old.tasks[nth])]) {
            Ok(new) => new,
            Err(EditError::Unsupported { .. }) => return Ok(()),
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        };
        let after = plan(&new);
        let (kept, was): (Vec<&Task>, Vec<&Task>) = match &change {
            Change::Delete => (after.tasks.iter().collect(), others(&old, nth)),
            Change::Add(..) => {
                // The added one is the first that differs.
                let same = old.tasks.iter().zip(&after.tasks).take_while(|(a, b)| essence(a) == essence(b));
                (others(&after, same.count()), old.tasks.iter().collect())
            }
            _ => {
                check_change(&change, &old.tasks[nth], &after.tasks[nth])?;
                (others(&after, nth), others(&old, nth))
            }
        };
        prop_assert_eq!(kept.len(), was.len());
        for (a, b) in kept.into_iter().zip(was) {
            prop_assert_eq!(essence(a), essence(b), "{}\n---\n{}", text, new);
        }
    }

    #[test]
    fn a_batch_does_all_it_says(text in soup(), wanted in vec(change(), 1..6)) {
        let Ok(old) = ProgressCodec.parse(&text) else { return Ok(()) };
        let is_add = |change: &Change| matches!(change, Change::Add(..));
        let pairs: Vec<_> = old.tasks.iter().zip(wanted).collect();
        let edits: Vec<PlanEdit> = pairs.iter().map(|(task, change)| change.clone().edit(task)).collect();
        match ProgressCodec.edit(&text, &edits) {
            Ok(new) => {
                let deleted = edits.iter().filter(|e| matches!(e, PlanEdit::Retire { how: Retirement::Deleted, .. }));
                let added = pairs.iter().filter(|(_, change)| is_add(change)).count();
                let expected = old.tasks.len() + added - deleted.count();
                prop_assert_eq!(plan(&new).tasks.len(), expected, "{}\n---\n{}", text, new);
            }
            Err(EditError::Unsupported { .. }) => {}
            Err(other) => return Err(TestCaseError::fail(format!("{other}\n{text}"))),
        }
    }

    #[test]
    fn lines_that_are_not_the_tasks_own_stay(
        text in soup(),
        pick in any::<prop::sample::Index>(),
        change in change(),
    ) {
        let text = text.replace('\r', "\n") + "\n";
        let Ok(old) = ProgressCodec.parse(&text) else { return Ok(()) };
        if old.tasks.is_empty() {
            return Ok(());
        }
        let nth = pick.index(old.tasks.len());
        let Ok(new) = ProgressCodec.edit(&text, &[change.edit(&old.tasks[nth])]) else { return Ok(()) };
        let own = ProgressDoc::read(&text).map(|doc| doc.tasks[nth].item.clone()).unwrap_or_default();
        let start = super::lines::line_start(&text, own.start);
        let own: Vec<&str> = text[start..own.end].lines().collect();
        for gone in changes(&text, &new).iter().filter_map(|c| c.strip_prefix('-')) {
            let moved_id = gone.starts_with("- Tried: t-");
            prop_assert!(
                gone.trim().is_empty() || moved_id || own.contains(&gone),
                "{:?} is gone\n{}\n---\n{}", gone, text, new
            );
        }
    }

    #[test]
    fn a_new_task_is_read_back_and_only_adds_lines(
        name in "\\PC{1,30}",
        notes in prop::option::of("[a-z #>`|-]{0,20}(\n[a-z -]{0,9}){0,3}"),
        accept in vec("[^\0]{1,20}", 0..3),
        ticked in any::<bool>(),
    ) {
        let state = if ticked { TaskState::Accepted } else { TaskState::Pending };
        let task = Task { name: name.clone(), notes, accept, state, ..Task::default() };
        let edit = PlanEdit::AddTask { task, after: None };
        match ProgressCodec.edit(FULL, &[edit]) {
            Ok(new) => {
                prop_assert!(changes(FULL, &new).iter().all(|c| c.starts_with('+')));
                prop_assert_eq!(&plan(&new).tasks[1].name, name.trim());
                prop_assert_eq!(plan(&new).tasks.len(), 9);
            }
            Err(_) => prop_assert!(name.trim().is_empty() || name.trim().ends_with(']')),
        }
    }

    #[test]
    fn what_the_loop_records_is_read_back_or_refused(
        text in soup(),
        words in "[^\0]{0,20}",
        keep in 0..4_usize,
    ) {
        let Ok(before) = read(&text) else { return Ok(()) };
        let tasks = plan(&text).tasks;
        let attempt = RecentAttempt { iteration: 7, tried: words.clone(), result: words.clone(), next: None };
        let row = LogRow { iteration: 7, notes: words.clone(), ..LogRow::default() };
        if let Ok(new) = add_attempt(&text, &attempt, keep) {
            let states = |tasks: &[Task]| tasks.iter().map(|t| (t.state.clone(), t.retries.min(1))).collect::<Vec<_>>();
            prop_assert_eq!(states(&plan(&new).tasks), states(&tasks), "{}\n---\n{}", text, new);
        }
        if let Ok(new) = log_iteration(&text, &row) {
            prop_assert_eq!(read(&new).map(|f| f.log.len()), Ok(before.log.len() + 1));
            prop_assert!(changes(&text, &new).iter().filter(|c| c.starts_with('-')).count() <= 1);
        }
        if let Ok(new) = set_completed(&text, std::slice::from_ref(&words)) {
            prop_assert!(read(&new).is_ok_and(|f| f.completed.len() <= 1));
            prop_assert_eq!(plan(&new).tasks.len(), tasks.len());
        }
        if let Ok(new) = set_status(&text, &words) {
            prop_assert_eq!(plan(&new).tasks.len(), tasks.len());
        }
    }
}

/// The changed task is what was asked for, as far as the format can say it.
fn check_change(change: &Change, old: &Task, new: &Task) -> Result<(), TestCaseError> {
    match change {
        Change::Rename(name) => prop_assert_eq!(&new.name, &super::lines::one_line(name)),
        Change::State(state) => prop_assert_eq!(new.state.word(), state.word()),
        Change::Reject => prop_assert_eq!(&new.state, &TaskState::Pending),
        _ => prop_assert_eq!(&new.name, &old.name),
    }
    if !matches!(change, Change::State(_) | Change::Reject) {
        prop_assert_eq!(&new.state, &old.state);
    }
    if !matches!(change, Change::Notes(_) | Change::Accept(_)) {
        prop_assert_eq!((&new.notes, &new.accept), (&old.notes, &old.accept));
    }
    Ok(())
}
