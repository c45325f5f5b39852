use super::*;
use crate::construct::testing::{iteration_started, plan, read, stage_ended};
use crate::cycle::model_tests::run_end;
use crate::cycle::{
    ConstructStart, JournalEntry, JournalRecord, LoopSignal, RunStart, StageResult, StageStart,
};

const LIMITS: ConstructLimits = ConstructLimits { iterations: 3, cost: Some(5.0) };

fn under_way(iteration: u32, last: Option<StageKind>) -> ConstructProgress {
    ConstructProgress {
        iteration,
        counted: iteration,
        under_way: true,
        last,
        ..ConstructProgress::default()
    }
}

fn step(records: &[&str], progress: &ConstructProgress) -> (u32, ConstructStep) {
    let ConstructMove { iteration, step } = next(&read(&plan(records)), "s.md", &LIMITS, progress);
    (iteration, step)
}

fn end_of(step: ConstructStep) -> ConstructEnd {
    match step {
        ConstructStep::End(end) => end,
        other => panic!("{other:?}"),
    }
}

const ISSUE: &str = "{'t':'issue','id':'i-1','desc':'odd'}";
const PENDING: &str = "{'t':'task','id':'t-1','name':'A','s':'p'}";
const DONE: &str = "{'t':'task','id':'t-2','name':'B','s':'d'}";
const KILLED: &str = "{'t':'task','id':'t-3','name':'C','s':'p','kill_reason':'timeout'}";
const ACCEPTED: &str = "{'t':'accept','spec':'s.md','at':'x'}";

#[test]
fn a_spec_without_records_is_planned_first_and_only_once() {
    assert_eq!(step(&[], &ConstructProgress::default()), (0, ConstructStep::Plan));
    let planned = ConstructProgress { planned: true, ..ConstructProgress::default() };
    let nothing_to_do = step(&[], &planned);
    assert_eq!(nothing_to_do, (1, ConstructStep::Verify(Vec::new())), "a verifier decides");
    let other = "{'t':'task','id':'t-9','name':'X','s':'p','spec':'o.md'}";
    assert_eq!(step(&[other], &ConstructProgress::default()), (0, ConstructStep::Plan));
    let over = "{'t':'accept','id':'t-8','name':'X','spec':'s.md'}";
    assert_ne!(step(&[over], &ConstructProgress::default()).1, ConstructStep::Plan);
    let elsewhere = [
        "{'t':'spec','spec':'o.md'}",
        "{'t':'reject','id':'t-8','name':'X','reason':'r'}",
        "{'t':'spec','spec':'s.md'}",
    ];
    assert_eq!(
        step(&elsewhere, &ConstructProgress::default()).1,
        ConstructStep::Plan,
        "a rejection of another spec"
    );
}

#[test]
fn an_iteration_goes_from_investigate_over_build_to_verify() {
    let investigate = ConstructStep::Investigate(vec!["i-1".into()]);
    let verify = ConstructStep::Verify(vec!["t-2".into()]);
    let all = [ISSUE, PENDING, DONE];
    assert_eq!(step(&all, &ConstructProgress::default()), (1, investigate.clone()));
    assert_eq!(step(&all, &under_way(1, Some(StageKind::Investigate))), (1, ConstructStep::Build));
    assert_eq!(step(&all, &under_way(1, Some(StageKind::Build))), (1, verify));
    assert_eq!(step(&all, &under_way(1, Some(StageKind::Verify))), (2, investigate));
}

#[test]
fn a_stage_with_nothing_to_do_is_skipped() {
    assert_eq!(step(&[PENDING], &ConstructProgress::default()), (1, ConstructStep::Build));
    assert_eq!(
        step(&[DONE], &ConstructProgress::default()),
        (1, ConstructStep::Verify(vec!["t-2".into()]))
    );
    let issues_from_build = step(&[ISSUE], &under_way(1, Some(StageKind::Build)));
    assert_eq!(issues_from_build, (2, ConstructStep::Investigate(vec!["i-1".into()])));
}

#[test]
fn killed_work_is_broken_down_at_once_and_then_the_next_iteration_begins() {
    let decompose = ConstructStep::Decompose("t-3".into());
    assert_eq!(
        step(&[KILLED, PENDING, DONE, ISSUE], &under_way(1, Some(StageKind::Build))),
        (1, decompose)
    );
    assert_eq!(
        step(&[PENDING, DONE], &under_way(1, Some(StageKind::Decompose))),
        (2, ConstructStep::Build)
    );
    let tried = ConstructProgress {
        decomposed: vec!["t-3".into()],
        ..under_way(1, Some(StageKind::Decompose))
    };
    assert_eq!(
        step(&[KILLED], &tried),
        (2, ConstructStep::Decompose("t-3".into())),
        "not twice in one iteration"
    );
}

#[test]
fn nothing_is_complete_without_the_specs_accept_record() {
    let over = "{'t':'accept','id':'t-8','name':'X','spec':'s.md'}";
    let verified =
        |accepted| ConstructProgress { accepted, ..under_way(1, Some(StageKind::Verify)) };
    assert_eq!(step(&[over], &verified(None)), (2, ConstructStep::Verify(Vec::new())));
    let end = end_of(step(&[over, ACCEPTED], &verified(Some(true))).1);
    assert_eq!((end.exit_code(), end.reason().as_str()), (0, "the spec is satisfied"));
    assert_eq!(
        step(&[over, ACCEPTED], &verified(Some(false))),
        (2, ConstructStep::Verify(Vec::new())),
        "an old record"
    );
    assert_eq!(
        step(&[PENDING, ACCEPTED], &ConstructProgress::default()),
        (1, ConstructStep::Build),
        "work came since"
    );
}

#[test]
fn limits_end_it_with_what_is_left_but_not_what_is_finished() {
    let last = under_way(3, Some(StageKind::Verify));
    let end = end_of(step(&[PENDING, DONE, ISSUE], &last).1);
    assert_eq!((end.exit_code(), end.word()), (4, "max_iterations_reached"));
    assert_eq!(end.left, ["t-1 A: to be done", "t-2 B: done, not verified", "i-1 odd"]);
    assert_eq!(end_of(step(&[ACCEPTED], &last).1).exit_code(), 0, "finished on the last iteration");
    let poor = ConstructProgress { cost: 5.0, ..under_way(1, None) };
    assert_eq!(end_of(step(&[PENDING], &poor).1).exit_code(), 4);
    let signal = ConstructProgress {
        halt: Some(LoopEnd::Interrupted(LoopSignal::Interrupt)),
        ..under_way(1, None)
    };
    assert_eq!(end_of(step(&[PENDING], &signal).1).exit_code(), 130);
}

#[test]
fn work_that_cannot_go_on_is_told_with_the_reason() {
    let blocked = "{'t':'task','id':'t-4','name':'D','s':'p','blocked':'no key'}";
    let waits = "{'t':'task','id':'t-5','name':'E','s':'p','deps':['t-4']}";
    let end = end_of(step(&[blocked, waits], &under_way(1, Some(StageKind::Verify))).1);
    assert_eq!(end.exit_code(), 3);
    assert_eq!(end.left, ["t-4 D: blocked: no key", "t-5 E: waits for t-4"]);
}

fn history(laps: &[StageResult], left: impl Fn(usize) -> usize) -> History {
    let mut records = vec![
        JournalRecord::RunStarted(RunStart::default()),
        JournalRecord::ConstructStarted(ConstructStart { spec: "s.md".into(), counted: 0 }),
    ];
    for (n, came) in (1..).zip(laps) {
        records.push(iteration_started(n));
        records.push(stage_ended(StageKind::Verify, n, came.clone(), left(n as usize)));
    }
    let entries: Vec<JournalEntry> =
        records.into_iter().map(|record| JournalEntry { at: "now".into(), record }).collect();
    History::of(&entries)
}

#[test]
fn the_breaker_trips_on_standstill_on_rejection_and_on_growth_and_shows_the_evidence() {
    let tripped = |laps: &[StageResult], left: fn(usize) -> usize| {
        ConstructProgress::of(&history(laps, left)).tripped
    };
    let still = StageResult::default();
    let rejected = StageResult {
        built: vec!["t-1".into()],
        rejected: vec!["t-1".into()],
        ..StageResult::default()
    };
    let good = StageResult {
        accepted: vec!["t-1".into()],
        created: vec!["t-2".into()],
        ..StageResult::default()
    };
    assert_eq!(tripped(&[still.clone(), still.clone()], |_| 1), None);
    let reason =
        tripped(&[good.clone(), still.clone(), still.clone(), still.clone()], |_| 1).unwrap();
    assert!(reason.reason.contains("nothing moved in 3"), "{reason:?}");
    assert_eq!(reason.evidence.len(), 3);
    assert_eq!(
        tripped(&vec![rejected.clone(); 3], |_| 1),
        None,
        "a task has three attempts of its own"
    );
    assert!(tripped(&vec![rejected; 4], |_| 1).unwrap().reason.contains("rejected in 4"));
    assert_eq!(tripped(&vec![good.clone(); 9], |_| 3), None);
    assert!(tripped(&vec![good; 5], |n| n).unwrap().reason.contains("more work was left"));
}

#[test]
fn another_terminal_sees_the_stage_that_the_plan_is_in() {
    let mut history = history(&[], |_| 0);
    let open = |stage| {
        JournalRecord::StageStarted(StageStart { stage, iteration: 0, id: "x".into(), item: None })
    };
    let entry = |record| JournalEntry { at: "now".into(), record };
    history.add(&entry(open(StageKind::Plan)));
    assert_eq!(current_stage(&read(&plan(&[])), &history), "PLAN");
    assert_eq!(current_stage(&read(&plan(&[PENDING])), &history), "BUILD", "the plan is the truth");
    history.add(&entry(JournalRecord::RunEnded(run_end(LoopEnd::Complete, 0))));
    assert_eq!(current_stage(&read(&plan(&[])), &history), "COMPLETE");
}
