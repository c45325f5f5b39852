//! What stays of a plan that was edited by hand while a backend ran.

use super::*;
use crate::plan::{MAX_AMENDMENTS, Priority, Retirement};

const AT: &str = "2025-01-20T10:30:00Z";

/// A plan with one open task, and the name of its file.
fn plan(format: PlanFormat) -> (&'static str, &'static str) {
    match format {
        PlanFormat::Jsonl => (
            "ralph/plan.jsonl",
            "{\"t\":\"task\",\"id\":\"t-1a2b\",\"name\":\"one\",\"s\":\"p\"}\n",
        ),
        PlanFormat::Deluxe => (
            "plan.json",
            "{\"tasks\":[{\"id\":\"t-1a2b\",\"title\":\"one\",\"status\":\"pending\"}]}\n",
        ),
        PlanFormat::Progress => (
            "progress.md",
            "# Progress: x\n\n## Status\n\nIn progress\n\n## Tasks\n\n### Phase 1\n\n- [ ] one\n",
        ),
        PlanFormat::Implementation => (
            "implementation.json",
            "{\"specs\":[{\"id\":\"s\",\"name\":\"S\",\"tasks\":[{\"id\":\"t-1a2b\",\
             \"description\":\"one\",\"status\":\"pending\"}]}]}\n",
        ),
    }
}

/// What stays, as the loop asks for it.
fn kept(name: &str, before: &str, after: &str) -> Option<String> {
    reconcile(name, before, after, MAX_AMENDMENTS, ChangedWords::Undo).map(|kept| kept.text)
}

fn parse(format: PlanFormat, text: &str) -> Plan {
    codec(format).parse(text).unwrap()
}

/// The same plan with another task in it.
fn with_another(format: PlanFormat, text: &str) -> String {
    let Task { spec, phase, .. } = parse(format, text).tasks.remove(0);
    let task = Task { id: "t-3c4d".into(), name: "two".into(), spec, phase, ..Task::default() };
    codec(format).edit(text, &[PlanEdit::AddTask { task, after: None }]).unwrap()
}

/// The first task is accepted, or claimed where the format knows the difference.
fn ticked(format: PlanFormat, text: &str) -> String {
    let plan = parse(format, text);
    let edit = match format {
        PlanFormat::Jsonl => {
            PlanEdit::UpdateTask(Task { state: TaskState::Done, ..plan.tasks[0].clone() })
        }
        _ => PlanEdit::Retire {
            id: plan.tasks[0].id.clone(),
            how: Retirement::Accepted,
            reason: None,
            at: AT.into(),
        },
    };
    codec(format).edit(text, &[edit]).unwrap()
}

#[test]
fn new_tasks_and_new_words_are_kept_as_they_are() {
    for format in PlanFormat::ALL {
        let (name, before) = plan(format);
        let after = with_another(format, before);
        assert_eq!(kept(name, before, &after).as_ref(), Some(&after), "{format:?}");
    }
    let (name, before) = plan(PlanFormat::Jsonl);
    let task = parse(PlanFormat::Jsonl, before).tasks.remove(0);
    let task = Task { priority: Some(Priority::High), notes: Some("see the RFC".into()), ..task };
    let after = codec(PlanFormat::Jsonl).edit(before, &[PlanEdit::UpdateTask(task)]).unwrap();
    assert_eq!(kept(name, before, &after), Some(after));
}

#[test]
fn a_changed_state_is_undone_and_a_new_task_beside_it_stays() {
    for format in PlanFormat::ALL {
        let (name, before) = plan(format);
        let after = with_another(format, &ticked(format, before));
        assert_ne!(parse(format, &after).tasks[0].state, TaskState::Pending);
        let kept = kept(name, before, &after).unwrap();
        let tasks = parse(format, &kept).tasks;
        assert_eq!(tasks.len(), 2, "{format:?}: {kept}");
        assert!(tasks.iter().all(|t| t.state == TaskState::Pending), "{format:?}: {kept}");
    }
}

#[test]
fn a_removed_task_comes_back() {
    for format in PlanFormat::ALL {
        let (name, after) = plan(format);
        let before = with_another(format, after);
        let kept = kept(name, &before, after).unwrap();
        let names: Vec<String> = parse(format, &kept).tasks.into_iter().map(|t| t.name).collect();
        assert_eq!(names, ["one", "two"], "{format:?}: {kept}");
    }
}

#[test]
fn nothing_of_a_damaged_plan_stays() {
    for format in PlanFormat::ALL {
        let (name, before) = plan(format);
        for damage in ["{\"t\":", "not a plan at all\n"] {
            assert_eq!(kept(name, before, damage), None, "{format:?}: {damage:?}");
        }
    }
}

#[test]
fn finished_work_cannot_be_reopened_nor_a_past_made_up() {
    let (name, before) = plan(PlanFormat::Deluxe);
    let done = ticked(PlanFormat::Deluxe, before);
    assert_eq!(kept(name, &done, before), None, "put back as a whole");
    let (name, before) = plan(PlanFormat::Jsonl);
    let past = "{\"t\":\"accept\",\"id\":\"t-9z9z\",\"name\":\"x\",\"done_at\":\"\",\"at\":\"\"}\n";
    assert_eq!(kept(name, before, &format!("{before}{past}")), None);
    let claimed = "{\"t\":\"task\",\"id\":\"t-9z9z\",\"name\":\"x\",\"s\":\"d\"}\n";
    assert_eq!(kept(name, before, &format!("{before}{claimed}")), None, "a new task is open");
}

#[test]
fn what_was_undone_is_told_with_the_task_and_the_word() {
    for format in PlanFormat::ALL {
        let (name, before) = plan(format);
        let id = parse(format, before).tasks[0].id.clone();
        let undone =
            reconcile(name, before, &ticked(format, before), 3, ChangedWords::Undo).unwrap().undone;
        assert_eq!(undone, [format!("{id} was marked done")], "{format:?}");
        let two = with_another(format, before);
        let gone = parse(format, &two).tasks[1].id.clone();
        let undone = reconcile(name, &two, before, 3, ChangedWords::Undo).unwrap().undone;
        assert_eq!(undone, [format!("{gone} was taken out")], "{format:?}");
        let added = reconcile(name, before, &two, 3, ChangedWords::Undo).unwrap();
        assert!(added.undone.is_empty() && added.added == 1, "{format:?}: {added:?}");
    }
}

#[test]
fn only_as_many_new_tasks_stay_as_an_attempt_may_add() {
    for format in PlanFormat::ALL {
        let (name, before) = plan(format);
        let Task { spec, phase, .. } = parse(format, before).tasks.remove(0);
        let mut after = before.to_owned();
        for n in 1..=5 {
            let (spec, phase) = (spec.clone(), phase.clone());
            let (id, name) = (format!("t-new{n}").as_str().into(), format!("new {n}"));
            let task = Task { id, name, spec, phase, ..Task::default() };
            let edit = PlanEdit::AddTask { task, after: None };
            after = codec(format).edit(&after, &[edit]).unwrap();
        }
        let kept = reconcile(name, before, &after, 3, ChangedWords::Undo).unwrap();
        let names: Vec<String> =
            parse(format, &kept.text).tasks.into_iter().map(|task| task.name).collect();
        assert_eq!(names, ["one", "new 1", "new 2", "new 3"], "{format:?}: {}", kept.text);
        assert_eq!(kept.added, 3);
        assert_eq!(
            kept.undone,
            ["more than 3 tasks and issues were added: \"new 4\", \"new 5\""],
            "{format:?}"
        );
        let none = reconcile(name, before, &after, 0, ChangedWords::Undo).unwrap();
        assert_eq!((none.text.as_str(), none.added), (before, 0), "{format:?}");
    }
}

#[test]
fn only_a_tick_of_that_task_in_a_progress_file_is_one() {
    for format in PlanFormat::ALL {
        let (name, before) = plan(format);
        let both = with_another(format, before);
        let tasks = parse(format, &both).tasks;
        let text = ticked(format, &both);
        let is_progress = format == PlanFormat::Progress;
        assert_eq!(is_ticked(name, &text, &tasks[0]), is_progress, "{format:?}");
        assert!(!is_ticked(name, &text, &tasks[1]), "{format:?}");
        assert!(!is_ticked(name, &both, &tasks[0]), "{format:?}");
    }
}

#[test]
fn gates_settings_and_the_current_spec_of_a_plan_are_not_the_backends() {
    let (name, before) = plan(PlanFormat::Jsonl);
    for record in ["{\"t\":\"spec\",\"spec\":\"other.md\"}", "{\"t\":\"config\",\"timeout_ms\":1}"]
    {
        let kept =
            reconcile(name, before, &format!("{before}{record}\n"), 3, ChangedWords::Undo).unwrap();
        assert_eq!(kept.text, before, "{record}");
        assert_eq!(kept.undone, ["its gates, settings or current spec were changed"]);
    }
    let (name, before) = plan(PlanFormat::Implementation);
    let gates = "{\"qualityGates\":[{\"name\":\"test\",\"command\":\"true\"}],";
    let after = before.replacen('{', gates, 1);
    assert_ne!(parse(PlanFormat::Implementation, &after).gates, []);
    assert_eq!(kept(name, before, &after).as_deref(), Some(before));
}

#[test]
fn of_a_progress_file_that_was_cut_down_only_new_tasks_stay() {
    let before = "# Progress: x\n\n## Status\n\nIn progress\n\n## Tasks\n\n- [ ] one\n- [ ] two\n\n\
                  ## Notes\n\nmine\n";
    let cut = "# Progress: x\n\n## Status\n\nRALPH_DONE\n\n## Tasks\n\n- [x] one\n- [ ] three\n";
    let kept = kept("progress.md", before, cut).unwrap();
    assert!(kept.contains("In progress") && kept.contains("mine"), "{kept}");
    assert!(kept.contains("- [ ] one\n") && kept.contains("- [ ] two\n"), "{kept}");
    assert!(kept.contains("- [ ] three\n"), "{kept}");
}

#[test]
fn what_is_added_to_a_progress_file_stays_where_it_was_put() {
    let (name, before) = plan(PlanFormat::Progress);
    let added = before.replace("- [ ] one\n", "- [x] one\n- [ ] two\n  A hint.\n");
    let kept = kept(name, before, &added).unwrap();
    assert_eq!(kept, added.replace("[x]", "[ ]"));
}
