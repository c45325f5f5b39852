//! What stays of a plan that was edited by hand while a backend ran.

use super::*;
use crate::plan::Priority;

const AT: &str = "2025-01-20T10:30:00Z";

/// A plan with one open task, and the name of its file.
fn plan(format: Format) -> (&'static str, &'static str) {
    match format {
        Format::Jsonl => (
            "ralph/plan.jsonl",
            "{\"t\":\"task\",\"id\":\"t-1a2b\",\"name\":\"one\",\"s\":\"p\"}\n",
        ),
        Format::Deluxe => (
            "plan.json",
            "{\"tasks\":[{\"id\":\"t-1a2b\",\"title\":\"one\",\"status\":\"pending\"}]}\n",
        ),
        Format::Progress => (
            "progress.md",
            "# Progress: x\n\n## Status\n\nIn progress\n\n## Tasks\n\n### Phase 1\n\n- [ ] one\n",
        ),
        Format::Implementation => (
            "implementation.json",
            "{\"specs\":[{\"id\":\"s\",\"name\":\"S\",\"tasks\":[{\"id\":\"t-1a2b\",\
             \"description\":\"one\",\"status\":\"pending\"}]}]}\n",
        ),
    }
}

fn parse(format: Format, text: &str) -> Plan {
    codec(format).parse(text).unwrap()
}

/// The same plan with another task in it.
fn with_another(format: Format, text: &str) -> String {
    let Task { spec, phase, .. } = parse(format, text).tasks.remove(0);
    let task = Task { id: "t-3c4d".into(), name: "two".into(), spec, phase, ..Task::default() };
    codec(format).edit(text, &[Edit::AddTask { task, after: None }]).unwrap()
}

/// The first task is accepted, or claimed where the format knows the difference.
fn ticked(format: Format, text: &str) -> String {
    let plan = parse(format, text);
    let edit = match format {
        Format::Jsonl => Edit::UpdateTask(Task { state: State::Done, ..plan.tasks[0].clone() }),
        _ => Edit::Retire {
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
    for format in Format::ALL {
        let (name, before) = plan(format);
        let after = with_another(format, before);
        assert_eq!(reconcile(name, before, &after).as_ref(), Some(&after), "{format:?}");
    }
    let (name, before) = plan(Format::Jsonl);
    let task = parse(Format::Jsonl, before).tasks.remove(0);
    let task = Task { priority: Some(Priority::High), notes: Some("see the RFC".into()), ..task };
    let after = codec(Format::Jsonl).edit(before, &[Edit::UpdateTask(task)]).unwrap();
    assert_eq!(reconcile(name, before, &after), Some(after));
}

#[test]
fn a_changed_state_is_undone_and_a_new_task_beside_it_stays() {
    for format in Format::ALL {
        let (name, before) = plan(format);
        let after = with_another(format, &ticked(format, before));
        assert_ne!(parse(format, &after).tasks[0].state, State::Pending);
        let kept = reconcile(name, before, &after).unwrap();
        let tasks = parse(format, &kept).tasks;
        assert_eq!(tasks.len(), 2, "{format:?}: {kept}");
        assert!(tasks.iter().all(|t| t.state == State::Pending), "{format:?}: {kept}");
    }
}

#[test]
fn a_removed_task_comes_back() {
    for format in Format::ALL {
        let (name, after) = plan(format);
        let before = with_another(format, after);
        let kept = reconcile(name, &before, after).unwrap();
        let names: Vec<String> = parse(format, &kept).tasks.into_iter().map(|t| t.name).collect();
        assert_eq!(names, ["one", "two"], "{format:?}: {kept}");
    }
}

#[test]
fn nothing_of_a_damaged_plan_stays() {
    for format in Format::ALL {
        let (name, before) = plan(format);
        for damage in ["{\"t\":", "not a plan at all\n"] {
            assert_eq!(reconcile(name, before, damage), None, "{format:?}: {damage:?}");
        }
    }
}

#[test]
fn finished_work_cannot_be_reopened_nor_a_past_made_up() {
    let (name, before) = plan(Format::Deluxe);
    let done = ticked(Format::Deluxe, before);
    assert_eq!(reconcile(name, &done, before), None, "put back as a whole");
    let (name, before) = plan(Format::Jsonl);
    let past = "{\"t\":\"accept\",\"id\":\"t-9z9z\",\"name\":\"x\",\"done_at\":\"\",\"at\":\"\"}\n";
    assert_eq!(reconcile(name, before, &format!("{before}{past}")), None);
    let claimed = "{\"t\":\"task\",\"id\":\"t-9z9z\",\"name\":\"x\",\"s\":\"d\"}\n";
    assert_eq!(reconcile(name, before, &format!("{before}{claimed}")), None, "a new task is open");
}
