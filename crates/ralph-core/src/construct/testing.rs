//! Helpers that the tests of construct share.

use super::answer::NewTask;
use super::apply::{AppliedChange, EditContext};
use crate::cycle::{IterationStart, JournalRecord, StageEnd, StageKind, StageResult};
use crate::format::{EditError, PlanFormat, codec};
use crate::plan::{Id, Plan, Task, TaskState};

/// A time as the host would give it.
pub(super) const NOW: &str = "2026-02-03T04:05:06Z";

/// Do something with a pen whose dice count up.
pub(super) fn with_pen(
    mut write: impl FnMut(EditContext<'_>) -> Result<AppliedChange, EditError>,
) -> AppliedChange {
    let mut n = 0_u32;
    let mut random = || {
        n += 1;
        format!("n{n:03}")
    };
    write(EditContext { at: NOW, random: &mut random }).unwrap()
}

pub(super) fn read(text: &str) -> Plan {
    codec(PlanFormat::Jsonl).parse(text).unwrap()
}

/// A plan.jsonl of the spec `s.md` with these records, written with single quotes.
pub(super) fn plan(records: &[&str]) -> String {
    let head = "{'t':'spec','spec':'s.md'}";
    let lines = [head].into_iter().chain(records.iter().copied());
    lines.map(|line| line.replace('\'', "\"") + "\n").collect()
}

/// A proposed task that nothing is wrong with.
pub(super) fn task(key: &str, name: &str, deps: &[&str]) -> NewTask {
    NewTask {
        key: key.to_owned(),
        name: name.to_owned(),
        accept: vec![format!("`{name}` prints 1")],
        deps: deps.iter().map(|&dep| dep.to_owned()).collect(),
        ..NewTask::default()
    }
}

/// Ids and states of the live tasks.
pub(super) fn states(plan: &Plan) -> Vec<(&str, TaskState)> {
    plan.tasks.iter().map(|task| (task.id.as_str(), task.state.clone())).collect()
}

/// The live task with this id.
pub(super) fn live<'p>(plan: &'p Plan, id: &str) -> &'p Task {
    plan.task(&Id::from(id)).unwrap()
}

pub(super) fn texts(ids: &[Id]) -> Vec<&str> {
    ids.iter().map(Id::as_str).collect()
}

/// Create the record for the start of an iteration.
pub(super) fn iteration_started(iteration: u32) -> JournalRecord {
    JournalRecord::IterationStarted(IterationStart { iteration, spec: "s.md".into() })
}

/// The end of a stage that took a moment and cost nothing.
pub(super) fn stage_ended(
    stage: StageKind,
    iteration: u32,
    came: StageResult,
    left: usize,
) -> JournalRecord {
    JournalRecord::StageEnded(StageEnd { stage, iteration, came, left, cost: None, took_ms: 1 })
}
