use serde_json::{Value, json};

use super::*;
use crate::handoff::{TouchedFile, synthetic};
use crate::plan::Id;

fn handoff(files: usize) -> Handoff {
    let touched = TouchedFile { path: "src/é.rs".into(), action: "modified".into() };
    let mut handoff = synthetic(&Id::new("t-1a2b"), vec![touched; files], "");
    handoff.synthetic = false;
    handoff.summary = "Headers are\n parsed.".into();
    handoff.task_completed.summary = "parsed".into();
    handoff.task_completed.fully_complete = true;
    handoff
}

fn past(number: u64, handoff: Handoff) -> PastHandoff {
    PastHandoff { number, file: format!(".ralph/handoffs/handoff-{number:03}.json"), handoff }
}

#[test]
fn the_first_view_is_one_line_with_task_summary_completeness_and_files() {
    assert_eq!(l1(&handoff(3)), "[t-1a2b] Headers are parsed. Complete. 3 files.");
    let mut partial = handoff(1);
    partial.task_completed.fully_complete = false;
    partial.summary = " ".into();
    assert_eq!(l1(&partial), "[t-1a2b] parsed. Partial. 1 file.");
    partial.summary = "ü".repeat(5000);
    assert!(l1(&partial).chars().count() < 220);
}

#[test]
fn the_second_view_keeps_what_matters_for_longer() {
    let mut handoff = handoff(0);
    handoff.architectural_notes = vec!["lines are borrowed".into()];
    handoff.deviations =
        vec![Deviation { planned: "a".into(), actual: "b".into(), reason: "c".into() }];
    handoff.constraints_discovered = vec![Constraint {
        constraint: "2 GB".into(),
        impact: "no reading at once".into(),
        workaround: None,
    }];
    let bug = |what: &str, resolved| Bug {
        description: what.into(),
        resolution: "tried".into(),
        resolved,
    };
    handoff.bugs_encountered = vec![bug("mended", true), bug("still there", false)];
    handoff.unfinished_business =
        vec![UnfinishedItem { item: "x".into(), reason: "y".into(), priority: "high".into() }];
    assert_eq!(
        l2(&handoff),
        json!({
            "task": {"id": "t-1a2b", "summary": "parsed", "complete": true},
            "decisions": ["lines are borrowed"],
            "deviations": [{"planned": "a", "actual": "b", "reason": "c"}],
            "constraints": [{"constraint": "2 GB", "impact": "no reading at once"}],
            "failed": [{"description": "still there", "resolution": "tried"}],
            "unfinished": [{"item": "x", "reason": "y", "priority": "high"}],
        })
    );
}

#[test]
fn a_view_of_a_huge_handoff_is_small_and_says_what_is_missing() {
    let mut handoff = handoff(0);
    handoff.freeform = "ß".repeat(1_000_000);
    handoff.architectural_notes = vec!["é".repeat(10_000); 1000];
    let view = l2(&handoff).to_string();
    assert!(view.chars().count() < 10_000);
    assert!(view.contains("and 988 more in the file"), "{view}");
}

#[test]
fn an_indexer_gets_the_new_handoffs_oldest_first_with_their_files() {
    let input = compaction_input(&[past(3, handoff(1)), past(4, handoff(2))]);
    let lines: Vec<Value> = input.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines[0]["iteration"], 3);
    assert_eq!(lines[0]["file"], ".ralph/handoffs/handoff-003.json");
    assert_eq!(lines[1]["task"]["id"], "t-1a2b");
    assert_eq!(compaction_input(&[]), "");
}

#[test]
fn a_long_backlog_is_told_in_lines_and_numbers_and_never_grows_without_end() {
    let mut big = handoff(1);
    big.architectural_notes = vec!["x".repeat(300); 10];
    let all: Vec<PastHandoff> = (1..=400).map(|n| past(n, big.clone())).collect();
    let input = compaction_input(&all);
    assert!(input.chars().count() < 60_000, "{}", input.chars().count());
    let first = input.lines().next().unwrap();
    assert!(first.ends_with("older handoffs are not shown here; their files are there"), "{first}");
    assert!(input.lines().nth(1).unwrap().starts_with("iteration "));
    assert!(input.lines().last().unwrap().contains("\"iteration\":400"));
}
