use super::*;
use crate::cycle::{History, JournalEntry, JournalRecord};

fn history(records: Vec<JournalRecord>) -> History {
    let entries: Vec<JournalEntry> =
        records.into_iter().map(|record| JournalEntry { at: "now".into(), record }).collect();
    for entry in &entries {
        let line = serde_json::to_string(entry).unwrap();
        assert_eq!(serde_json::from_str::<JournalEntry>(&line).unwrap(), *entry, "{line}");
    }
    History::of(&entries)
}

fn begin(spec: &str, counted: u32) -> JournalRecord {
    JournalRecord::ConstructStarted(ConstructStart { spec: spec.into(), counted })
}

/// The plan comes before the first iteration.
fn iteration_of(stage: StageKind) -> u32 {
    u32::from(stage != StageKind::Plan)
}

fn start(stage: StageKind, item: Option<&str>) -> JournalRecord {
    let item = item.map(Id::from);
    JournalRecord::StageStarted(StageStart {
        stage,
        iteration: iteration_of(stage),
        id: "s1".into(),
        item,
    })
}

fn end(stage: StageKind, came: StageResult) -> JournalRecord {
    JournalRecord::StageEnded(StageEnd {
        stage,
        iteration: iteration_of(stage),
        came,
        left: 1,
        cost: Some(0.5),
        took_ms: 7,
    })
}

fn iteration(iteration: u32) -> JournalRecord {
    JournalRecord::IterationStarted(IterationStart { iteration, spec: "s.md".into() })
}

#[test]
fn iterations_and_stages_add_up_and_survive_the_journal() {
    let came = StageResult { built: vec!["t-1".into()], ..StageResult::default() };
    let staged = history(vec![
        begin("s.md", 0),
        start(StageKind::Plan, None),
        end(StageKind::Plan, StageResult::default()),
        iteration(1),
        start(StageKind::Build, None),
        end(StageKind::Build, came.clone()),
        start(StageKind::Verify, None),
    ])
    .construct;
    assert_eq!((staged.iteration, staged.counted, staged.under_way), (1, 1, true));
    assert_eq!(staged.open.as_ref().map(|open| open.stage), Some(StageKind::Verify));
    assert_eq!(staged.last_stage().map(|stage| stage.stage), Some(StageKind::Build));
    assert_eq!(staged.laps.iter().map(|lap| lap.number).collect::<Vec<_>>(), [0, 1]);
    assert_eq!((staged.laps[1].came(), staged.laps[1].left()), (came, 1));
}

#[test]
fn numbers_go_on_for_the_same_spec_and_only_resume_goes_on_counting() {
    let first = vec![begin("s.md", 0), iteration(1)];
    let again = [first.clone(), vec![begin("s.md", 0)]].concat();
    let staged = history(again).construct;
    assert_eq!((staged.iteration, staged.counted, staged.under_way), (1, 0, false));
    let resumed = [first.clone(), vec![begin("s.md", 1), iteration(2)]].concat();
    let staged = history(resumed).construct;
    assert_eq!((staged.iteration, staged.counted), (2, 2));
    let other = [first, vec![begin("other.md", 0)]].concat();
    assert_eq!(history(other).construct.iteration, 0);
}

#[test]
fn a_task_nobody_verified_is_remembered_until_somebody_has_a_word() {
    let item = UnverifiedItem { task: Some("t-1".into()), why: "no JSON".into(), log: "l".into() };
    let mut records = vec![begin("s.md", 0), JournalRecord::NotVerified(item.clone())];
    assert_eq!(history(records.clone()).construct.unverified, [item]);
    let came = StageResult { accepted: vec!["t-1".into()], ..StageResult::default() };
    records.push(end(StageKind::Verify, came));
    assert!(history(records).construct.unverified.is_empty());
}

#[test]
fn an_item_is_remembered_as_broken_down_from_the_moment_it_is_tried() {
    let mut records =
        vec![begin("s.md", 0), iteration(1), start(StageKind::Decompose, Some("t-1"))];
    assert_eq!(history(records.clone()).construct.decomposed, ["t-1".into()]);
    records.push(iteration(2));
    assert!(history(records).construct.decomposed.is_empty());
}
