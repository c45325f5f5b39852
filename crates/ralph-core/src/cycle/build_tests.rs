use super::super::model_tests::{history, lands, meets_limit, run};
use super::*;
use crate::cycle::LandingExtent;
use crate::format::PlanFormat;
use crate::plan::{KillReason, KilledRun, Tombstone, TombstoneKind};

const LIMITS: BuildLimits = BuildLimits { iterations: 5, cost: Some(10.0), once: false };

fn task(id: &str, state: TaskState, deps: &[&str]) -> Task {
    Task {
        id: id.into(),
        name: format!("do {id}"),
        state,
        deps: deps.iter().map(|d| Id::from(*d)).collect(),
        ..Task::default()
    }
}

fn plan(tasks: Vec<Task>) -> Plan {
    Plan { tasks, ..Plan::empty(PlanFormat::Deluxe) }
}

fn tombstone(kind: TombstoneKind, id: &str) -> Tombstone {
    Tombstone {
        kind,
        id: id.into(),
        name: None,
        spec: None,
        reason: None,
        done_at: None,
        at: None,
        task: None,
        line: 1,
    }
}

/// A plan.jsonl of which one task failed and left an issue behind.
fn buried() -> Plan {
    let issue = Issue {
        id: "i-1".into(),
        desc: "task t-1 failed: gates".into(),
        created_from: Some("t-1".into()),
        ..Issue::default()
    };
    Plan {
        issues: vec![issue],
        tombstones: vec![tombstone(TombstoneKind::Reject, "t-1")],
        ..Plan::empty(PlanFormat::Jsonl)
    }
}

#[track_caller]
fn ends(plan: &Plan, progress: &BuildProgress) -> LoopEnd {
    match next_step(plan, &LIMITS, progress) {
        BuildStep::End(end) => end,
        BuildStep::Run(task) => panic!("it went on with {}", task.id),
    }
}

fn end(plan: &Plan) -> LoopEnd {
    ends(plan, &BuildProgress::default())
}

#[track_caller]
fn why(end: &LoopEnd) -> String {
    match end {
        LoopEnd::Blocked { why } => why.join("; "),
        other => panic!("not blocked: {other:?}"),
    }
}

fn pending() -> Plan {
    plan(vec![task("t-1", TaskState::Pending, &[])])
}

#[test]
fn the_next_runnable_task_is_worked_on() {
    let plan = plan(vec![
        task("t-1", TaskState::Pending, &["t-2"]),
        task("t-2", TaskState::Pending, &[]),
        task("t-3", TaskState::Pending, &[]),
    ]);
    let BuildStep::Run(task) = next_step(&plan, &LIMITS, &BuildProgress::default()) else {
        panic!()
    };
    assert_eq!(task.id.as_str(), "t-2");
}

#[test]
fn a_running_mark_that_a_crash_left_does_not_block_the_next_start() {
    let plan = plan(vec![task("t-1", TaskState::Running, &[])]);
    assert!(matches!(next_step(&plan, &LIMITS, &BuildProgress::default()), BuildStep::Run(_)));
}

#[test]
fn finishing_on_the_very_last_allowed_iteration_is_complete() {
    let done =
        plan(vec![task("t-1", TaskState::Accepted, &[]), task("t-2", TaskState::Skipped, &[])]);
    let progress = BuildProgress {
        iterations: LIMITS.iterations,
        cost: 99.0,
        out_of_money: true,
        signal: Some(LoopSignal::Interrupt),
        once: Some(OnceResult::Landed),
        stop_asked: true,
        ..BuildProgress::default()
    };
    assert_eq!(ends(&done, &progress), LoopEnd::Complete);
}

#[test]
fn with_work_left_the_last_iteration_ends_the_loop() {
    let progress = BuildProgress { iterations: 5, ..BuildProgress::default() };
    let end = ends(&pending(), &progress);
    assert_eq!((end.word(), exit_code(&end)), ("max_iterations_reached", 4));
    assert_eq!(end.reason(), "max iterations (5) reached");
    let one_left = BuildProgress { iterations: 4, ..BuildProgress::default() };
    assert!(matches!(next_step(&pending(), &LIMITS, &one_left), BuildStep::Run(_)));
}

#[test]
fn failed_or_blocked_tasks_never_end_in_all_tasks_complete() {
    for state in [
        TaskState::Failed(Some("gates".into())),
        TaskState::Blocked("no key".into()),
        TaskState::Done,
        TaskState::Killed(KilledRun { reason: KillReason::Timeout, log: None }),
    ] {
        let plan =
            plan(vec![task("t-1", TaskState::Accepted, &[]), task("t-2", state.clone(), &[])]);
        let end = end(&plan);
        assert_eq!((end.word(), exit_code(&end)), ("blocked", 3), "{state:?}");
        assert!(why(&end).starts_with("t-2: "), "{end:?}");
        assert_eq!(remaining(&plan), 1);
    }
}

#[test]
fn a_task_that_failed_and_left_the_file_is_not_forgotten() {
    let end = end(&buried());
    assert_eq!(exit_code(&end), 3);
    assert_eq!(why(&end), "i-1: task t-1 failed: gates");
    assert_eq!(remaining(&buried()), 1);
}

#[test]
fn a_failed_task_that_was_retried_is_counted_once_and_not_after_it_was_accepted() {
    let back = Plan { tasks: vec![task("t-1", TaskState::Pending, &[])], ..buried() };
    assert_eq!(remaining(&back), 1);
    let mut accepted = buried();
    accepted.tombstones.push(tombstone(TombstoneKind::Accept, "t-1"));
    assert_eq!(end(&accepted), LoopEnd::Complete);
}

#[test]
fn failed_skipped_missing_and_blocked_dependencies_are_told() {
    let blocked = plan(vec![
        task("t-1", TaskState::Failed(None), &[]),
        task("t-2", TaskState::Skipped, &[]),
        task("t-3", TaskState::Blocked("no key".into()), &[]),
        task("t-4", TaskState::Pending, &["t-1"]),
        task("t-5", TaskState::Pending, &["t-2"]),
        task("t-6", TaskState::Pending, &["t-9"]),
        task("t-7", TaskState::Pending, &["t-3"]),
    ]);
    assert_eq!(
        why(&end(&blocked)),
        "t-1: failed; t-3: blocked: no key; t-4: needs t-1, which failed; \
         t-5: needs t-2, which was skipped; t-6: needs t-9, which does not exist; t-7: waits for t-3"
    );
    assert_eq!(remaining(&blocked), 6);
}

#[test]
fn other_runnable_tasks_go_on_beside_failed_and_blocked_ones() {
    let plan = plan(vec![
        task("t-1", TaskState::Failed(None), &[]),
        task("t-2", TaskState::Blocked("x".into()), &[]),
        task("t-3", TaskState::Pending, &[]),
    ]);
    let BuildStep::Run(task) = next_step(&plan, &LIMITS, &BuildProgress::default()) else {
        panic!()
    };
    assert_eq!(task.id.as_str(), "t-3");
}

#[test]
fn a_limit_is_not_blamed_when_nothing_could_run_anyway() {
    let plan = plan(vec![task("t-1", TaskState::Failed(None), &[])]);
    let progress = BuildProgress { iterations: 5, cost: 99.0, ..BuildProgress::default() };
    assert_eq!(ends(&plan, &progress).word(), "blocked");
}

#[test]
fn ralph_done_with_open_tasks_is_reported_and_exits_3() {
    let lies = Plan { says_done: true, ..pending() };
    let end = end(&lies);
    assert_eq!((&end, exit_code(&end)), (&LoopEnd::FalseDone, 3));
    let tasks = vec![task("t-1", TaskState::Accepted, &[])];
    assert_eq!(self::end(&Plan { says_done: true, tasks, ..pending() }), LoopEnd::Complete);
}

#[test]
fn money_is_looked_at_before_each_start() {
    let spent = |cost| BuildProgress { cost, ..BuildProgress::default() };
    assert!(matches!(next_step(&pending(), &LIMITS, &spent(9.99)), BuildStep::Run(_)));
    let end = ends(&pending(), &spent(10.0));
    assert_eq!(
        (end.reason().as_str(), exit_code(&end)),
        ("max cost ($10.00) reached, $10.00 spent", 4)
    );
    let free = BuildLimits { cost: None, ..LIMITS };
    assert!(matches!(next_step(&pending(), &free, &spent(1e9)), BuildStep::Run(_)));
}

#[test]
fn an_attempt_that_ran_out_of_money_ends_the_loop_even_when_its_cost_is_unknown() {
    let progress = BuildProgress { out_of_money: true, ..BuildProgress::default() };
    for cost in [Some(10.0), None] {
        let BuildStep::End(end) = next_step(&pending(), &BuildLimits { cost, ..LIMITS }, &progress)
        else {
            panic!("it would meet the same limit again");
        };
        assert_eq!(exit_code(&end), 4);
    }
}

#[test]
fn once_tells_how_its_attempt_ended() {
    for (once, code) in [(OnceResult::Landed, 0), (OnceResult::Failed, 3)] {
        let end = ends(&pending(), &BuildProgress { once: Some(once), ..BuildProgress::default() });
        assert_eq!(exit_code(&end), code);
    }
}

#[test]
fn signals_and_requests_end_the_loop_with_their_own_codes() {
    for (signal, code) in [(LoopSignal::Interrupt, 130), (LoopSignal::Terminate, 143)] {
        let end =
            ends(&pending(), &BuildProgress { signal: Some(signal), ..BuildProgress::default() });
        assert_eq!((end.word(), exit_code(&end)), ("interrupted", code));
    }
    let end = ends(&pending(), &BuildProgress { stop_asked: true, ..BuildProgress::default() });
    assert_eq!(end, LoopEnd::Stopped);
}

#[test]
fn a_tripped_breaker_ends_the_loop_with_its_reason() {
    let tripped =
        BreakerTrip { reason: "the same failure 3 times in a row".into(), evidence: vec![] };
    let end =
        ends(&pending(), &BuildProgress { tripped: Some(tripped), ..BuildProgress::default() });
    assert_eq!((end.word(), exit_code(&end)), ("no_progress", 3));
    assert_eq!(end.reason(), "no progress: the same failure 3 times in a row");
}

#[test]
fn every_other_end_has_its_code() {
    let reason = || String::from("x");
    for (end, code) in [
        (LoopEnd::UsageLimit { reason: reason() }, 4),
        (LoopEnd::Backend { reason: reason(), advice: None }, 1),
        (LoopEnd::Paused { reason: reason() }, 3),
    ] {
        assert_eq!(exit_code(&end), code, "{end:?}");
    }
}

fn only(id: &str) -> BuildProgress {
    BuildProgress { only: Some(id.into()), ..BuildProgress::default() }
}

#[test]
fn the_one_task_that_was_asked_for_is_the_only_one_that_runs() {
    let plan =
        plan(vec![task("t-1", TaskState::Pending, &[]), task("t-2", TaskState::Pending, &[])]);
    let BuildStep::Run(task) = next_step(&plan, &LIMITS, &only("t-2")) else { panic!() };
    assert_eq!(task.id.as_str(), "t-2");
}

#[test]
fn when_the_one_task_is_done_nobody_says_that_all_are() {
    let plan =
        plan(vec![task("t-1", TaskState::Accepted, &[]), task("t-2", TaskState::Pending, &[])]);
    let end = ends(&plan, &only("t-1"));
    assert_eq!((end.reason().as_str(), exit_code(&end)), ("t-1 is complete", 0));
    assert_ne!(end.word(), "complete");
    let mut accepted = Plan { tasks: vec![task("t-2", TaskState::Pending, &[])], ..buried() };
    accepted.tombstones = vec![tombstone(TombstoneKind::Accept, "t-1")];
    assert_eq!(exit_code(&ends(&accepted, &only("t-1"))), 0);
}

#[test]
fn the_one_task_that_cannot_run_is_told_with_its_reason_and_is_no_success() {
    let mut plan = plan(vec![
        task("t-1", TaskState::Failed(Some("gates".into())), &[]),
        task("t-2", TaskState::Pending, &["t-1"]),
        task("t-3", TaskState::Done, &[]),
        task("t-4", TaskState::Skipped, &[]),
        task("t-5", TaskState::Pending, &[]),
    ]);
    plan.tasks[4].spec = Some("b.md".into());
    plan.current_spec = Some("a.md".into());
    for (id, reason) in [
        ("t-1", "t-1: failed: gates"),
        ("t-2", "t-2: needs t-1, which failed"),
        ("t-3", "t-3: claimed to be done and not verified; `ralph construct` verifies it"),
        ("t-4", "t-4: skipped"),
        ("t-5", "t-5: belongs to b.md, which is not the current spec"),
        ("t-9", "t-9: does not exist"),
    ] {
        let end = ends(&plan, &only(id));
        assert_eq!((why(&end).as_str(), exit_code(&end)), (reason, 3));
    }
    assert_eq!(why(&ends(&buried(), &only("t-1"))), "t-1: failed");
}

#[test]
fn a_usage_limit_uses_up_no_iteration() {
    let mut records = vec![run("r1", 0)];
    for n in 0..9 {
        records.extend(meets_limit(&n.to_string(), 1, "t-1"));
    }
    let progress = BuildProgress::of(&history(records.clone()));
    let last = BuildLimits { iterations: 1, ..LIMITS };
    assert!(matches!(next_step(&pending(), &last, &progress), BuildStep::Run(_)));
    records.extend(lands("a", 1, "t-1", LandingExtent::Partial));
    let progress = BuildProgress::of(&history(records));
    assert_eq!(next_step(&pending(), &last, &progress), BuildStep::End(LoopEnd::MaxIterations(1)));
}
