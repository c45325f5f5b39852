use super::super::model_tests::*;
use super::*;
use crate::backend::BackendOutcome;
use crate::cycle::{FailureKind, JournalRecord, LandingExtent};

fn look(records: Vec<JournalRecord>) -> Option<BreakerTrip> {
    CircuitBreaker::look(history(records).attempts.iter())
}

fn red(fingerprint: &str) -> AttemptFailure {
    let (message, fingerprint) = (format!("{fingerprint} is red"), fingerprint.to_owned());
    AttemptFailure { kind: FailureKind::Gates, message, fingerprint }
}

/// Failed attempts, one on each of these tasks.
fn failing(attempts: &[(&str, AttemptFailure)]) -> Vec<JournalRecord> {
    let mut records = vec![run("r1", 0)];
    for (n, (task, failure)) in attempts.iter().enumerate() {
        let iteration = u32::try_from(n).unwrap() + 1;
        records.extend(fails(&format!("a{n}"), iteration, task, failure.clone()));
    }
    records
}

/// The same, by backends that changed no file.
fn barren(attempts: &[(&str, AttemptFailure)]) -> Vec<JournalRecord> {
    let mut records = failing(attempts);
    for record in &mut records {
        if let JournalRecord::BackendEnded { end, .. } = record {
            end.changed = 0;
        }
    }
    records
}

#[test]
fn the_same_failure_three_times_over_two_tasks_trips_and_shows_each() {
    let tripped =
        look(failing(&[("t-1", red("lint")), ("t-1", red("lint")), ("t-2", red("lint"))])).unwrap();
    assert_eq!(tripped.reason, "the same failure 3 times in a row");
    assert_eq!(
        tripped.evidence,
        [
            "iteration 1, t-1: lint is red",
            "iteration 2, t-1: lint is red",
            "iteration 3, t-2: lint is red"
        ]
    );
}

#[test]
fn one_task_that_fails_again_and_again_is_the_retry_limits_business() {
    let alike: Vec<_> = (0..9).map(|_| ("t-1", red("lint"))).collect();
    assert_eq!(look(failing(&alike)), None);
    assert_eq!(look(barren(&alike)), None);
}

#[test]
fn gates_that_are_red_in_another_way_are_progress() {
    let mixed: Vec<_> =
        (0..9).map(|n| (["t-1", "t-2"][n % 2], red(["lint", "test"][n % 2]))).collect();
    assert_eq!(look(failing(&mixed)), None);
}

#[test]
fn failures_that_nobody_can_compare_are_not_alike() {
    let unknown: Vec<_> = (0..9).map(|n| (["t-1", "t-2"][n % 2], red(""))).collect();
    assert_eq!(look(failing(&unknown)), None);
}

#[test]
fn a_landing_or_a_blocked_task_sets_it_back() {
    for record in [
        lands("x", 3, "t-3", LandingExtent::Partial),
        fails("x", 3, "t-3", AttemptFailure::new(FailureKind::Blocked, "no key")),
    ] {
        let mut records = failing(&[("t-1", red("lint")), ("t-2", red("lint"))]);
        records.extend(record);
        records.extend(fails("y", 4, "t-4", red("lint")));
        assert_eq!(look(records), None);
    }
}

#[test]
fn a_usage_limit_in_between_neither_trips_it_nor_sets_it_back() {
    let mut records = failing(&[("t-1", red("lint")), ("t-2", red("lint"))]);
    records.extend(meets_limit("x", 3, "t-2"));
    assert_eq!(look(records.clone()), None);
    records.extend(fails("y", 3, "t-2", red("lint")));
    assert!(look(records).is_some());
}

#[test]
fn any_number_of_usage_limits_and_interruptions_trips_nothing() {
    let mut records = vec![run("r1", 0)];
    for n in 1..=9 {
        records.extend(meets_limit(&format!("l{n}"), n, &format!("t-{n}")));
        records.extend(crashes(&format!("c{n}"), n, &format!("t-{n}")));
    }
    assert_eq!(look(records), None);
}

#[test]
fn five_attempts_in_a_row_without_a_changed_file_trip_whatever_they_say() {
    let each = |n: usize| (["t-1", "t-2"][n % 2], red(&format!("gate {n}")));
    let four: Vec<_> = (0..4).map(each).collect();
    assert_eq!(look(barren(&four)), None);
    let five: Vec<_> = (0..5).map(each).collect();
    let tripped = look(barren(&five)).unwrap();
    assert_eq!(tripped.reason, "5 attempts in a row changed no file");
    assert_eq!(tripped.evidence.len(), 5);
    assert_eq!(look(failing(&five)), None, "those that change files are at work");
}

#[test]
fn a_backend_that_crashes_on_every_task_trips() {
    let outcome = BackendOutcome::NoOutput;
    let failure = AttemptFailure {
        kind: FailureKind::Backend,
        message: outcome.to_string(),
        fingerprint: outcome.word().into(),
    };
    let each: Vec<_> = ["t-1", "t-2", "t-3"].map(|task| (task, failure.clone())).into();
    assert!(look(failing(&each)).is_some());
}

#[test]
fn nothing_trips_before_anything_failed() {
    assert_eq!(look(vec![]), None);
    assert_eq!(look(lands("a", 1, "t-1", LandingExtent::Complete)), None);
    assert_eq!(look(vec![start("a", 1, "t-1")]), None);
}
