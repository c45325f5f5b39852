use proptest::prelude::*;

use super::*;
use crate::config::Ratio;
use crate::handoff::synthetic;
use crate::plan::Id;

fn task(name: &str) -> Task {
    Task { id: Id::new("t-1a2b"), name: name.to_owned(), ..Task::default() }
}

fn handoff(freeform: &str) -> Handoff {
    let mut handoff = synthetic(&Id::new("t-0000"), Vec::new(), "");
    freeform.clone_into(&mut handoff.freeform);
    handoff.summary.clear();
    handoff.task_completed.summary.clear();
    handoff
}

fn unindexed(bytes: u64, iterations: u32) -> UnindexedWork {
    UnindexedWork { bytes, iterations, since: 0 }
}

/// The name of a trigger in the event stream.
fn word(trigger: IndexTrigger) -> String {
    serde_json::to_value(trigger).unwrap()["trigger"].as_str().unwrap().to_owned()
}

/// The task's words are known, so only the later triggers can fire.
fn decide(bytes: u64, iterations: u32) -> Option<IndexTrigger> {
    let recent = [handoff("parse header")];
    trigger(
        &task("parse header"),
        &recent,
        unindexed(bytes, iterations),
        &MemorySettings::default(),
    )
}

#[test]
fn the_first_trigger_that_fires_wins() {
    let all = unindexed(1_000_000, 100);
    let memory = MemorySettings::default();
    let strange = [handoff("nothing of the kind")];
    let docs = Task { needs_docs: true, ..task("parse header") };
    let word = |task: &Task, recent: &[Handoff], unindexed| {
        trigger(task, recent, unindexed, &memory).map(word)
    };
    assert_eq!(word(&docs, &strange, all).as_deref(), Some("metadata"));
    assert_eq!(word(&task("parse header"), &strange, all).as_deref(), Some("novelty"));
    let known = [handoff("parse header")];
    assert_eq!(word(&task("parse header"), &known, all).as_deref(), Some("bytes"));
    assert_eq!(word(&task("parse header"), &known, unindexed(0, 100)).as_deref(), Some("periodic"));
    assert_eq!(word(&task("parse header"), &known, unindexed(0, 1)), None);
}

#[test]
fn a_task_that_names_a_library_or_needs_documentation_is_reason_enough() {
    let named = Task { libraries: vec!["nom".into(), "serde".into()], ..task("x") };
    let none = unindexed(0, 0);
    let fired = trigger(&named, &[], none, &MemorySettings::default());
    assert_eq!(fired, Some(IndexTrigger::Metadata { libraries: 2 }));
    assert_eq!(fired.unwrap().to_string(), "the task names 2 libraries");
}

#[test]
fn an_overlap_of_exactly_the_threshold_is_not_novel() {
    let memory = MemorySettings::default();
    // Four terms; one of them known is 0.25.
    let work = task("parse header lines quickly");
    let at = |text: &str| trigger(&work, &[handoff(text)], unindexed(0, 1), &memory);
    assert_eq!(at("header"), None);
    let Some(IndexTrigger::Novelty { overlap, threshold }) = at("footer") else { unreachable!() };
    assert_eq!((overlap, threshold), (TermOverlap { shared: 0, terms: 4 }, 0.25));
    let strict = MemorySettings {
        novelty_overlap_threshold: Ratio::percent(100),
        ..MemorySettings::default()
    };
    assert!(trigger(&work, &[handoff("parse header lines")], unindexed(0, 1), &strict).is_some());
}

#[test]
fn bytes_fire_above_their_threshold_and_iterations_at_their_interval() {
    assert_eq!(decide(32_000, 1), None);
    assert_eq!(decide(32_001, 1), Some(IndexTrigger::Bytes { bytes: 32_001, threshold: 32_000 }));
    assert_eq!(decide(0, 4), None);
    assert_eq!(decide(0, 5), Some(IndexTrigger::Periodic { iterations: 5, interval: 5 }));
    assert_eq!(decide(32_001, 1).map(word).as_deref(), Some("bytes"));
}

#[test]
fn terms_are_lower_case_longer_than_two_characters_and_counted_once() {
    let work = task("The TCP of parse_header: is, ÄÖÜ, 漢字文 parse!");
    let terms: Vec<String> = task_terms(&work).into_iter().collect();
    assert_eq!(terms, ["header", "parse", "tcp", "the", "äöü", "漢字文"]);
}

#[test]
fn only_the_newest_handoffs_count_as_recent() {
    let all = [handoff("header"), handoff("a"), handoff("b"), handoff("c")];
    let memory = MemorySettings::default();
    let fired = trigger(&task("header"), &all, unindexed(0, 1), &memory);
    assert_eq!(fired.map(word).as_deref(), Some("novelty"));
    let four = MemorySettings { novelty_recent_handoffs: 4, ..MemorySettings::default() };
    assert_eq!(trigger(&task("header"), &all, unindexed(0, 1), &four), None);
}

#[test]
fn nothing_that_could_be_learned_is_no_reason() {
    let memory = MemorySettings::default();
    assert_eq!(trigger(&task("header"), &[], unindexed(0, 1), &memory), None);
    assert_eq!(trigger(&task("?"), &[handoff("x")], unindexed(0, 1), &memory), None);
    assert_eq!(trigger(&task("header"), &[handoff("x")], unindexed(0, 0), &memory), None);
}

proptest! {
    #[test]
    fn any_words_have_an_overlap_between_nothing_and_all(name in "\\PC{0,60}", said in "\\PC{0,200}") {
        if let Some(overlap) = overlap(&task(&name), &[handoff(&said)]) {
            prop_assert!(overlap.shared <= overlap.terms && overlap.terms > 0);
            prop_assert!((0.0..=1.0).contains(&overlap.ratio()));
        }
        if let Some(same) = super::overlap(&task(&name), &[handoff(&name)]) {
            prop_assert_eq!(same.shared, same.terms);
        }
    }
}
