use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::model_tests::*;
use super::super::sample_tests::samples;
use super::*;
use crate::backend::BackendOutcome;
use crate::control::LoopCommand;
use crate::cycle::{AttemptFailure, FailureKind, LandingExtent, LoopEnd, StageKind, StageResult};
use crate::memory::roles::directive::PostAction;

/// Kinds that are told while a loop runs and that no record tells.
const LIVE: [&str; 3] = ["backend", "tick", "paused"];

/// The events of the last of these records, as listeners read them.
fn last(records: Vec<JournalRecord>) -> Vec<Value> {
    let entries = entries(records);
    let history = History::of(&entries);
    let events = events_of(entries.last().unwrap(), &history);
    events.iter().map(|event| serde_json::to_value(event).unwrap()).collect()
}

/// The events of these records, as listeners read them, a list for each record.
fn stream(entries: &[JournalEntry]) -> Vec<Vec<Value>> {
    let mut history = History::default();
    let events = entries.iter().map(|entry| {
        history.add(entry);
        let events = events_of(entry, &history);
        events.iter().map(|event| serde_json::to_value(event).unwrap()).collect()
    });
    events.collect()
}

fn words(records: Vec<JournalRecord>) -> Vec<String> {
    let events = stream(&entries(records)).into_iter().flatten();
    events.map(|event| event["event"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_attempt_that_lands_is_told_from_start_to_end() {
    let mut records = vec![run("r1", 0)];
    records.extend(lands("a", 5, "T-003", LandingExtent::Complete));
    records.push(run_ended(LoopEnd::Complete, 0));
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
    let line = last(vec![start("a", 5, "T-003")]).remove(0);
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
    let failure = AttemptFailure::new(FailureKind::Gates, "test is red");
    let failed = last(fails("a", 2, "t-1", failure)).remove(0);
    assert_eq!(failed["message"], "Iteration 2: test is red");
    assert_eq!(failed["metadata"]["result"], "failed");
    assert_eq!(failed["metadata"]["salvage"], "refs/ralph/r1/salvage");
    let limited = last(meets_limit("a", 2, "t-1")).remove(0);
    assert_eq!(limited["metadata"]["result"], "limited");
    let landed = last(lands("a", 2, "t-1", LandingExtent::Partial)).remove(0);
    assert_eq!(
        (&landed["metadata"]["landing"], &landed["metadata"]["commit"]),
        (&json!("partial"), &json!("c0ffee"))
    );
}

#[test]
fn a_verifiers_word_is_told_with_the_proof_that_views_show() {
    let mut records = vec![run("r1", 0)];
    records.extend(lands("a", 5, "t-1", LandingExtent::Complete));
    for record in &mut records {
        if let JournalRecord::LandIntent(intent) = record {
            intent.proof = Proof::Unproven;
        }
    }
    let came = StageResult { accepted: vec!["t-1".into(), "t-2".into()], ..StageResult::default() };
    let (stage, iteration) = (StageKind::Verify, 1);
    let end = StageEnd { stage, iteration, came, left: 0, cost: None, took_ms: 0 };
    records.push(JournalRecord::StageEnded(end));
    let events = last(records);
    let told: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(told, ["stage_end", "work_reviewed"]);
    let work = &events[1]["metadata"];
    assert_eq!((&work["attempt"], &work["task_id"]), (&json!("a"), &json!("t-1")));
    assert_eq!(work["proof"], "reviewed");
}

#[test]
fn red_gates_are_named() {
    let event = last(vec![start("a", 1, "t-1"), verdict("a", false)]).remove(0);
    assert_eq!(
        (event["event"].as_str(), event["message"].as_str()),
        (Some("validation_fail"), Some("gates failed: test"))
    );
}

#[test]
fn no_gates_are_not_told_as_gates_that_passed() {
    let empty = GateVerdict { attempt: "a".into(), ..GateVerdict::default() };
    let event = last(vec![JournalRecord::Judged(empty)]).remove(0);
    assert_eq!(
        (event["event"].as_str(), event["message"].as_str()),
        (Some("validation_pass"), Some("no gates to pass"))
    );
}

#[test]
fn an_agent_that_asks_for_a_person_is_told() {
    let claim = Claim::NeedsHuman { reason: "which licence?".into() };
    let end = BackendEnd { claim, ..end("a", &BackendOutcome::Success) };
    let events = last(vec![start("a", 1, "t-1"), backend_ended(end)]);
    assert_eq!(events[1]["event"], "human_review_requested");
    assert_eq!(events[1]["message"], "which licence?");
}

#[test]
fn commands_of_the_operator_have_the_words_of_the_event_stream() {
    for (asked, word) in [
        (LoopCommand::Pause, "pause"),
        (LoopCommand::Resume, "resume"),
        (LoopCommand::Note("x".into()), "note"),
        (LoopCommand::Skip("x".into()), "skip_task"),
    ] {
        let given =
            OperatorCommand { argument: Some("x".into()), ..OperatorCommand::new("c", &asked) };
        assert_eq!(words(vec![JournalRecord::Command(given)]), [word]);
    }
}

#[test]
fn agents_beside_an_attempt_tell_their_own_events_and_intents_are_nobodys_business() {
    let text = || String::from("m");
    let pattern = FailurePattern { pattern: text(), evidence: text() };
    let advice = PostDirective {
        action: PostAction::Proceed,
        reason: text(),
        failure_pattern: Some(pattern),
        plan_suggestions: Vec::new(),
    };
    let answer = PassAnswer { pass: text(), iteration: 1, file: text(), summary: text() };
    for (record, told) in [
        (JournalRecord::StuckDetected(StuckDetection::default()), &["stuck_detected"][..]),
        (JournalRecord::Advised(advice), &["context_directive", "failure_pattern"]),
        (JournalRecord::PassEnded(answer), &["agent_pass"]),
    ] {
        assert_eq!(words(vec![record]), told);
    }
    let failure = AttemptFailure::new(FailureKind::Gates, "x");
    let intents = vec![land_intent("a", LandingExtent::Complete), fail_intent("a", failure)];
    assert!(words(intents).is_empty());
}

#[test]
fn a_landing_of_an_attempt_nobody_knows_is_no_event() {
    assert!(
        words(vec![JournalRecord::RunStarted(RunStart::default()), landed("ghost")])[1..]
            .is_empty()
    );
}

#[test]
fn every_kind_has_a_name_of_its_own_in_snake_case() {
    let mut names = BTreeSet::new();
    for (name, tells) in EventKind::ALL {
        assert!(names.insert(name), "{name} is there twice");
        let parts_are_words = name
            .split('_')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase()));
        assert!(parts_are_words, "{name}");
        assert!(!tells.trim().is_empty(), "{name}");
    }
}

#[test]
fn every_event_has_exactly_the_same_four_keys_in_the_same_order() {
    let said = BackendEvent::Text("hello".into());
    let live = [
        EventKind::Backend(StreamedEvent { attempt: "a", event: &said }),
        EventKind::Tick(WaitTick { reason: "usage limit", seconds: 7 }),
        EventKind::Paused(NoDetails {}),
    ];
    assert_eq!(live.each_ref().map(EventKind::name), LIVE);
    let live = live.map(|kind| serde_json::to_value(LoopEvent { timestamp: "t0", kind }).unwrap());
    let kept = stream(&entries(samples())).into_iter().flatten();
    for event in kept.chain(live) {
        let keys: Vec<_> = event.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["timestamp", "event", "message", "metadata"], "{event}");
        assert!(event["metadata"].is_object(), "{event}");
    }
}

#[test]
fn the_samples_tell_every_kind_that_a_journal_can_tell() {
    let told: BTreeSet<String> = words(samples()).into_iter().collect();
    let known = EventKind::ALL.iter().map(|(name, _)| *name);
    let untold: Vec<_> = known.filter(|name| !told.contains(*name)).collect();
    assert_eq!(untold, LIVE);
}

#[test]
fn a_journal_that_is_read_back_tells_the_same_events() {
    let written = entries(samples());
    let read: Vec<JournalEntry> = written
        .iter()
        .map(|entry| {
            let line = serde_json::to_string(entry).unwrap();
            let read: JournalEntry =
                serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
            assert_eq!(read, *entry, "{line}");
            read
        })
        .collect();
    assert_eq!(stream(&read), stream(&written));
}
