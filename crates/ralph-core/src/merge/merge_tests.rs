//! Promises of merges: nothing of the person's is lost, whatever both sides do.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::format::{PlanFormat, codec};
use crate::plan::{Id, Issue, Plan, PlanEdit, PlanLookup, Retirement, Task, TaskState};

const AT: &str = "2026-03-01T10:00:00Z";

fn task(format: PlanFormat, number: usize) -> Task {
    let spec = (format == PlanFormat::Implementation).then(|| "one".to_owned());
    Task {
        id: Id::new(format!("t-{number}")),
        name: format!("task {number}"),
        spec,
        ..Task::default()
    }
}

/// A plan with tasks 0 to `count`.
fn base_text(format: PlanFormat, count: usize) -> String {
    let empty = match format {
        PlanFormat::Implementation => {
            "{\n  \"specs\": [\n    {\n      \"id\": \"one\",\n      \"name\": \"One\",\n      \"tasks\": []\n    }\n  ]\n}\n"
                .to_owned()
        }
        _ => codec(format).empty("Plan", AT),
    };
    let edits: Vec<PlanEdit> = (0..count).map(|n| add(task(format, n))).collect();
    codec(format).edit(&empty, &edits).unwrap()
}

fn add(task: Task) -> PlanEdit {
    PlanEdit::AddTask { task, after: None }
}

fn parse(format: PlanFormat, text: &str) -> Plan {
    codec(format).parse(text).unwrap_or_else(|e| panic!("{e}:\n{text}"))
}

/// The id of a task by its name: progress.md has ids of its own.
fn id_of(plan: &Plan, name: &str) -> Option<Id> {
    plan.tasks.iter().find(|task| task.name == name).map(|task| task.id.clone())
}

fn apply(format: PlanFormat, text: &str, edit: impl Fn(&Plan) -> Option<PlanEdit>) -> String {
    let plan = parse(format, text);
    edit(&plan).and_then(|edit| codec(format).edit(text, &[edit]).ok()).unwrap_or(text.to_owned())
}

fn retire(plan: &Plan, number: usize, how: Retirement) -> Option<PlanEdit> {
    let id = id_of(plan, &format!("task {number}"))?;
    Some(PlanEdit::Retire { id, how, reason: None, at: AT.to_owned() })
}

/// A change by ralph.
#[derive(Clone, Debug)]
enum RunStep {
    Land(usize),
    Reject(usize),
    Start(usize),
    Add(usize),
}

/// A change by a person.
#[derive(Clone, Debug)]
enum HandStep {
    Add(usize),
    Note(usize, String),
    Delete(usize),
    Skip(usize),
    Prose(usize),
    Issue(usize),
}

fn run_steps() -> impl Strategy<Value = RunStep> {
    prop_oneof![
        (0..5_usize).prop_map(RunStep::Land),
        (0..5_usize).prop_map(RunStep::Reject),
        (0..5_usize).prop_map(RunStep::Start),
        (100..103_usize).prop_map(RunStep::Add),
    ]
}

fn hand_steps() -> impl Strategy<Value = HandStep> {
    prop_oneof![
        (200..203_usize).prop_map(HandStep::Add),
        (0..5_usize, "[a-z]{1,5}( [a-z]{1,5})?").prop_map(|(n, word)| HandStep::Note(n, word)),
        (0..5_usize).prop_map(HandStep::Delete),
        (0..5_usize).prop_map(HandStep::Skip),
        (0..3_usize).prop_map(HandStep::Prose),
        (0..3_usize).prop_map(HandStep::Issue),
    ]
}

fn take_run_step(format: PlanFormat, text: &str, step: &RunStep) -> String {
    apply(format, text, |plan| match step {
        RunStep::Land(n) => retire(plan, *n, Retirement::Accepted),
        RunStep::Reject(n) => {
            let id = id_of(plan, &format!("task {n}"))?;
            plan.task(&id).filter(|task| task.state.is_open())?;
            Some(PlanEdit::Reject { id, reason: "no".into(), at: AT.to_owned() })
        }
        RunStep::Start(n) => {
            let task = plan.task(&id_of(plan, &format!("task {n}"))?)?;
            let state = (task.state == TaskState::Pending).then_some(TaskState::Running)?;
            Some(PlanEdit::UpdateTask(Task { state, ..task.clone() }))
        }
        RunStep::Add(n) if id_of(plan, &format!("task {n}")).is_none() => {
            Some(add(task(format, *n)))
        }
        RunStep::Add(_) => None,
    })
}

fn prose(format: PlanFormat, number: usize) -> String {
    match format {
        PlanFormat::Jsonl => format!("{{\"t\":\"note\",\"said\":{number}}}\n"),
        PlanFormat::Progress => format!("\nA word of mine: {number}.\n"),
        _ => format!("  \"said{number}\": \"a word of mine\",\n"),
    }
}

fn take_hand_step(format: PlanFormat, text: &str, step: &HandStep) -> String {
    if let HandStep::Prose(n) = step {
        let words = prose(format, *n);
        if text.contains(&words) {
            return text.to_owned();
        }
        return match format {
            PlanFormat::Jsonl | PlanFormat::Progress => format!("{text}{words}"),
            _ => text.replacen("{\n", &format!("{{\n{words}"), 1),
        };
    }
    apply(format, text, |plan| match step {
        HandStep::Add(n) if id_of(plan, &format!("task {n}")).is_none() => {
            Some(add(task(format, *n)))
        }
        HandStep::Note(n, words) => {
            let task = plan.task(&id_of(plan, &format!("task {n}"))?)?;
            Some(PlanEdit::UpdateTask(Task { notes: Some(words.clone()), ..task.clone() }))
        }
        HandStep::Delete(n) => retire(plan, *n, Retirement::Deleted),
        HandStep::Skip(n) => retire(plan, *n, Retirement::Skipped),
        HandStep::Issue(n) => {
            let id = Id::new(format!("i-{n}"));
            plan.issue(&id).is_none().then(|| {
                PlanEdit::AddIssue(Issue { id, desc: format!("issue {n}"), ..Issue::default() })
            })
        }
        HandStep::Add(_) | HandStep::Prose(_) => None,
    })
}

fn check_merge(format: PlanFormat, run: &[RunStep], hand: &[HandStep]) {
    let base = base_text(format, 5);
    let ours = run.iter().fold(base.clone(), |text, step| take_run_step(format, &text, step));
    let theirs = hand.iter().fold(base.clone(), |text, step| take_hand_step(format, &text, step));
    let [before, our_plan, their_plan] = [&base, &ours, &theirs].map(|text| parse(format, text));
    let our_lookup = PlanLookup::new(&our_plan);
    let landed: BTreeSet<Id> = before
        .tasks
        .iter()
        .filter(|task| our_lookup.fate(&task.id).satisfies(Default::default()))
        .map(|task| task.id.clone())
        .collect();
    let sides =
        PlanSides { name: format.file_name(), base: Some(&base), ours: &ours, theirs: &theirs };
    let merged = merge_plan(sides, StatusRule::TheirsUnlessLanded(&landed), AT);
    let merged = merged.unwrap_or_else(|e| panic!("{e}\nours:\n{ours}\ntheirs:\n{theirs}"));
    let plan = parse(format, &merged.text);
    let told = format!("ours:\n{ours}\ntheirs:\n{theirs}\nmerged:\n{}", merged.text);
    let lookup = PlanLookup::new(&plan);
    for id in &landed {
        let skipped = their_plan.task(id).is_none_or(|task| task.state == TaskState::Skipped);
        assert!(lookup.fate(id).satisfies(Default::default()) || skipped, "{id} landed\n{told}");
    }
    for theirs in &their_plan.tasks {
        let old = before.task(&theirs.id);
        match plan.task(&theirs.id) {
            Some(now) if old.is_none_or(|old| old.notes != theirs.notes) => {
                assert_eq!(now.notes, theirs.notes, "{told}");
            }
            Some(_) => {}
            None => assert!(landed.contains(&theirs.id) && format.buries_tasks(), "{told}"),
        }
    }
    for issue in &their_plan.issues {
        assert!(plan.issue(&issue.id).is_some(), "{told}");
    }
    for number in 0..3 {
        let words = prose(format, number);
        assert_eq!(theirs.contains(&words), merged.text.contains(words.trim_end()), "{told}");
    }
    for ours in our_plan.tasks.iter().filter(|task| before.task(&task.id).is_none()) {
        assert!(plan.task(&ours.id).is_some(), "{told}");
    }
    for old in before.tasks.iter().filter(|task| their_plan.task(&task.id).is_none()) {
        let gone = plan.task(&old.id).is_none();
        assert!(gone || landed.contains(&old.id), "{} was deleted\n{told}", old.id);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn nothing_of_the_persons_is_lost_in_any_format(
        format in prop::sample::select(PlanFormat::ALL.to_vec()),
        run in prop::collection::vec(run_steps(), 0..6),
        hand in prop::collection::vec(hand_steps(), 0..6),
    ) {
        check_merge(format, &run, &hand);
    }

    #[test]
    fn new_lines_of_both_sides_are_in_a_merged_text(
        base in prop::collection::vec("[a-d]", 0..8),
        ours in prop::collection::vec("[a-d]|x[0-9]", 0..8),
        theirs in prop::collection::vec("[a-d]|y[0-9]", 0..8),
    ) {
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let merged = merge_lines(&text(&base), &text(&ours), &text(&theirs), ConflictRule::KeepBoth);
        let merged: BTreeSet<&str> = merged.lines().collect();
        for line in ours.iter().chain(&theirs).filter(|line| line.len() == 2) {
            prop_assert!(merged.contains(line.as_str()), "{line} is lost: {merged:?}");
        }
    }

    #[test]
    fn a_side_that_changed_nothing_leaves_the_other_as_it_is(base in ".{0,20}", other in ".{0,20}") {
        for rule in [ConflictRule::KeepBoth, ConflictRule::KeepBothByRecord] {
            prop_assert_eq!(merge_lines(&base, &base, &other, rule), other.as_str());
            prop_assert_eq!(merge_lines(&base, &other, &base, rule), other.as_str());
        }
    }
}

#[test]
fn lines_beside_each_other_are_merged_and_lines_at_one_place_are_all_kept() {
    let merge = |base, ours, theirs| merge_lines(base, ours, theirs, ConflictRule::KeepBoth);
    assert_eq!(merge("a\nb\n", "A\nb\n", "a\nB\n"), "A\nB\n");
    assert_eq!(merge("a\n", "a\nx\n", "a\ny"), "a\ny\nx\n");
    assert_eq!(merge("a\nb\nc\n", "a\nc\n", "a\nB\nc\n"), "a\nB\nc\n");
    assert_eq!(merge("a\nb\nc\nd\n", "a\nX\nY\nd\n", "a\nb\nZ\nd\n"), "a\nb\nZ\nX\nY\nd\n");
}

#[test]
fn both_sides_may_add_to_a_json_array() {
    let merged = merge_text("x.json", "[\n  1\n]\n", "[\n  1,\n  2\n]\n", "[\n  1,\n  3\n]\n");
    let merged: Vec<u8> = serde_json::from_str(&merged.unwrap()).unwrap();
    assert_eq!(merged, [1, 3, 2]);
    assert_eq!(merge_text("x.json", "[1]", "[1, 2]", "[1"), None);
    let merged = merge_text("x.json", "", "{\"a\": [1]}", "{\"a\": [2], \"b\": 1}").unwrap();
    let merged: serde_json::Value = serde_json::from_str(&merged).unwrap();
    assert_eq!(merged, serde_json::json!({"a": [2, 1], "b": 1}));
}
