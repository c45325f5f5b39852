use super::*;
use crate::cycle::{ConstructIteration, LoopEnd};

fn ids(words: &str) -> Vec<Id> {
    words.split_whitespace().map(Id::from).collect()
}

fn stage(stage: StageKind, came: StageResult, took_ms: u64, cost: Option<f64>) -> StageEnd {
    StageEnd { stage, iteration: 1, came, left: 1, cost, took_ms }
}

fn staged() -> ConstructState {
    let build = StageResult { built: ids("t-1 t-2"), killed: ids("t-3"), ..StageResult::default() };
    let investigate = StageResult {
        resolved: ids("i-1 i-2"),
        created: ids("t-1 t-2 t-3"),
        ..StageResult::default()
    };
    let split =
        StageResult { split: ids("t-3"), created: ids("t-4 t-5"), ..StageResult::default() };
    let verify = StageResult {
        accepted: ids("t-1"),
        rejected: ids("t-2"),
        notes: vec!["a verdict about t-9 is ignored".into()],
        ..StageResult::default()
    };
    let first = vec![
        stage(StageKind::Investigate, investigate, 40_000, Some(0.05)),
        stage(StageKind::Build, build, 190_000, Some(0.3)),
        stage(StageKind::Decompose, split, 900, None),
    ];
    let verified = stage(StageKind::Verify, verify, 5_000, Some(0.001));
    let second = vec![StageEnd { iteration: 2, ..verified }];
    ConstructState {
        spec: "calc.md".into(),
        laps: vec![
            ConstructIteration { number: 1, stages: first },
            ConstructIteration { number: 2, stages: second },
        ],
        ..ConstructState::default()
    }
}

fn end() -> ConstructEnd {
    ConstructEnd { end: LoopEnd::MaxIterations(2), left: vec!["t-2 B: to be done".into()] }
}

#[test]
fn the_summary_tells_each_stage_what_it_took_and_what_is_left() {
    let text = ConstructSummary::of(&staged(), &end()).lines().join("\n");
    assert_eq!(
        text,
        "Iteration 1\n  \
         investigate  i-1, i-2 resolved · new t-1, t-2, t-3     40s  $0.05\n  \
         build        t-1, t-2 done · t-3 killed             3m 10s  $0.30\n  \
         decompose    t-3 broken down · into t-4, t-5            1s\n\
         Iteration 2\n  \
         verify       t-1 accepted · t-2 rejected                5s  <$0.01\n               \
         a verdict about t-9 is ignored\n\
         calc.md: 2 built, 1 accepted, 1 rejected, 5 new, 1 killed (3m 56s, $0.35)\n\
         1 left:\n  \
         t-2 B: to be done"
    );
}

#[test]
fn the_summary_as_data_has_the_same_numbers() {
    let value = serde_json::to_value(ConstructSummary::of(&staged(), &end())).unwrap();
    assert_eq!(value["status"], "max_iterations_reached");
    assert_eq!(value["stages"][1]["stage"], "build");
    assert_eq!(value["stages"][1]["iteration"], 1);
    assert_eq!(value["total"]["accepted"], serde_json::json!(["t-1"]));
    assert_eq!(value["duration_ms"], 235_900);
}

#[test]
fn a_long_list_of_ids_is_cut() {
    let all: Vec<Id> = (0..30).map(|n| Id::new(format!("t-{n}"))).collect();
    assert!(list(&all).ends_with("t-5 and 24 more"));
}
