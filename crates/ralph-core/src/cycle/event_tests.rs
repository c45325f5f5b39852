use super::super::model_tests::*;
use super::*;
use crate::backend::Outcome;
use crate::cycle::{Failure, FailureKind, Landing, RunStart};

/// The events of the last of these records.
fn last(records: Vec<Record>) -> Vec<Event> {
    let entries = entries(records);
    event_of(entries.last().unwrap(), &History::of(&entries))
}

fn words(records: Vec<Record>) -> Vec<String> {
    let entries = entries(records);
    (0..entries.len())
        .flat_map(|n| event_of(&entries[n], &History::of(&entries[..=n])))
        .map(|event| event.event)
        .collect()
}

#[test]
fn an_attempt_that_lands_is_told_from_start_to_end() {
    let mut records = vec![run("r1", 0)];
    records.extend(lands("a", 5, "T-003", Landing::Complete));
    records.push(Record::RunEnded { end: "complete".into(), message: "done".into(), remaining: 0 });
    assert_eq!(
        words(records),
        [
            "orchestrator_start",
            "iteration_start",
            "backend_end",
            "validation_pass",
            "iteration_end",
            "orchestrator_end"
        ]
    );
}

#[test]
fn an_event_has_the_four_fields_that_its_readers_know() {
    let event = last(vec![start("a", 5, "T-003")]).remove(0);
    let line = serde_json::to_value(&event).unwrap();
    let keys: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["timestamp", "event", "message", "metadata"]);
    assert_eq!(line["message"], "Starting iteration 5");
    assert_eq!(
        (&line["metadata"]["iteration"], &line["metadata"]["task_id"]),
        (&json!(5), &json!("T-003"))
    );
}

#[test]
fn the_end_of_an_iteration_says_how_and_keeps_the_salvage() {
    let failure = Failure::new(FailureKind::Gates, "test is red");
    let failed = last(fails("a", 2, "t-1", failure)).remove(0);
    assert_eq!(failed.message, "Iteration 2: test is red");
    assert_eq!(failed.metadata["result"], "failed");
    assert_eq!(failed.metadata["salvage"], "refs/ralph/r1/salvage");
    let limited = last(meets_limit("a", 2, "t-1")).remove(0);
    assert_eq!(limited.metadata["result"], "limited");
    let landed = last(lands("a", 2, "t-1", Landing::Partial)).remove(0);
    assert_eq!(
        (&landed.metadata["landing"], &landed.metadata["commit"]),
        (&json!("partial"), &json!("c0ffee"))
    );
}

#[test]
fn red_gates_are_named() {
    let event = last(vec![start("a", 1, "t-1"), verdict("a", false)]).remove(0);
    assert_eq!(
        (event.event.as_str(), event.message.as_str()),
        ("validation_fail", "gates failed: test")
    );
}

#[test]
fn no_gates_are_not_told_as_gates_that_passed() {
    let empty = GateVerdict { attempt: "a".into(), ..GateVerdict::default() };
    let event = last(vec![Record::Judged(empty)]).remove(0);
    assert_eq!(
        (event.event.as_str(), event.message.as_str()),
        ("validation_pass", "no gates to pass")
    );
}

#[test]
fn an_agent_that_asks_for_a_person_is_told() {
    let claim = Claim::NeedsHuman { reason: "which licence?".into() };
    let end = crate::cycle::BackendEnd { claim, ..end("a", &Outcome::Success) };
    let events = last(vec![start("a", 1, "t-1"), Record::BackendEnded(end)]);
    assert_eq!(events[1].event, "human_review_requested");
    assert_eq!(events[1].message, "which licence?");
}

#[test]
fn commands_of_the_operator_have_the_words_of_the_event_stream() {
    for (command, word) in [
        ("pause", "pause"),
        ("resume", "resume"),
        ("inject-note", "note"),
        ("skip-task", "skip_task"),
    ] {
        let command = command.to_owned();
        let record = Record::Command {
            id: "c".into(),
            command,
            argument: Some("x".into()),
            ignored: None,
            next: None,
        };
        assert_eq!(words(vec![record]), [word]);
    }
}

#[test]
fn other_rooms_tell_their_own_events_and_intents_are_nobodys_business() {
    for word in ["stuck_detected", "failure_pattern", "agent_pass"] {
        let (event, message) = (word.to_owned(), String::from("m"));
        assert_eq!(words(vec![Record::Noted { event, message, details: json!({}) }]), [word]);
    }
    let failure = Failure::new(FailureKind::Gates, "x");
    let intents = vec![land_intent("a", Landing::Complete), fail_intent("a", failure)];
    assert!(words(intents).is_empty());
}

#[test]
fn a_landing_of_an_attempt_nobody_knows_is_no_event() {
    assert!(words(vec![Record::RunStarted(RunStart::default()), landed("ghost")])[1..].is_empty());
}
