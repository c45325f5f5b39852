use serde_json::Value;

use super::super::model_tests::*;
use super::*;
use crate::backend::BackendOutcome;
use crate::control::LoopCommand;
use crate::cycle::{BackendEnd, BreakerTrip, JournalRecord, LandingExtent, LoopEnd, LoopSignal};

fn state(history: &History) -> Value {
    serde_json::to_value(state_of(history)).unwrap()
}

fn over(end: &LoopEnd) -> Value {
    state(&history([run("r1", 0), run_ended(end.clone(), 1)]))["status"].clone()
}

fn handed_over(
    attempt: &str,
    iteration: u32,
    outcome: &BackendOutcome,
    handoff_bytes: u64,
) -> [JournalRecord; 2] {
    let end = BackendEnd { handoff_bytes, ..end(attempt, outcome) };
    [start(attempt, iteration, "T-003"), backend_ended(end)]
}

#[test]
fn the_file_has_exactly_the_eight_fields_that_its_readers_know() {
    let mut records = vec![run("r1", 0), JournalRecord::Indexed { iteration: 2 }];
    for n in 3..=5 {
        records.extend(handed_over(&n.to_string(), n, &BackendOutcome::Success, 5_000));
    }
    let state = state(&history(records));
    assert_eq!(
        serde_json::to_string(&state).unwrap(),
        r#"{"current_iteration":5,"last_task_id":"T-003","status":"running","mode":"handoff-only","started_at":"t0","total_handoff_bytes_since_compaction":15000,"coding_iterations_since_compaction":3,"last_compaction_iteration":2}"#
    );
}

#[test]
fn before_the_first_run_there_is_no_file() {
    assert!(state_of(&history([])).is_none());
}

#[test]
fn every_end_has_a_word_that_readers_know_and_only_success_is_complete() {
    let reason = String::new;
    for (end, status) in [
        (LoopEnd::Complete, "complete"),
        (LoopEnd::Blocked { why: vec![] }, "blocked"),
        (LoopEnd::FalseDone, "blocked"),
        (LoopEnd::Breaker(BreakerTrip { reason: reason(), evidence: vec![] }), "blocked"),
        (LoopEnd::MaxIterations(3), "max_iterations_reached"),
        (LoopEnd::Interrupted(LoopSignal::Terminate), "interrupted"),
        (LoopEnd::Paused { reason: reason() }, "paused"),
        (LoopEnd::TaskComplete("t-1".into()), "paused"),
        (LoopEnd::OnceLanded, "paused"),
        (LoopEnd::Unproven { tasks: vec![] }, "paused"),
        (LoopEnd::Waiting { why: reason() }, "paused"),
        (LoopEnd::Stopped, "paused"),
        (LoopEnd::MaxCost { limit: 1.0, spent: 1.0 }, "paused"),
        (LoopEnd::UsageLimit { reason: reason() }, "paused"),
        (LoopEnd::Backend { reason: reason(), advice: None }, "paused"),
    ] {
        assert_eq!(over(&end), status, "{end:?}");
    }
}

#[test]
fn a_paused_run_says_so_and_a_new_run_is_running() {
    let status = |records: Vec<JournalRecord>| state(&history(records))["status"].clone();
    let records = vec![run("r1", 0), command("c1", &LoopCommand::Pause)];
    assert_eq!(status(records.clone()), "paused");
    assert_eq!(
        status([records.clone(), vec![command("c2", &LoopCommand::Resume)]].concat()),
        "running"
    );
    let ended = run_ended(LoopEnd::Paused { reason: String::new() }, 1);
    assert_eq!(status([records, vec![ended, run("r2", 0)]].concat()), "running");
}

#[test]
fn a_new_run_keeps_the_iteration_number_and_the_last_task() {
    let mut records = vec![run("r1", 0)];
    records.extend(lands("a", 4, "T-002", LandingExtent::Complete));
    records.push(run("r2", 0));
    let state = state(&history(records));
    assert_eq!(state["current_iteration"], 4);
    assert_eq!(state["last_task_id"], "T-002");
}

#[test]
fn a_usage_limit_is_no_coding_iteration() {
    let outcome = BackendOutcome::RateLimit { resets_at: None, message: "x".into() };
    let mut records = vec![run("r1", 0)];
    records.extend(handed_over("a", 1, &outcome, 9));
    let state = state(&history(records));
    assert_eq!(state["coding_iterations_since_compaction"], 0);
    assert_eq!(state["total_handoff_bytes_since_compaction"], 0);
}
