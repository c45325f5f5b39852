//! What failed and has not landed since, why, and where its work is.

use std::collections::BTreeMap;

use super::gather::{Sources, Try, within};
use super::past::{SpecFate, SpecNote, seconds};
use super::{Ended, FailedSpec, FailedTask};
use crate::cycle::Fate;
use crate::inbox::Status;
use crate::text::shell_word;

/// Specs that were given up, oldest first.
pub(super) fn specs(sources: &Sources<'_>) -> Vec<FailedSpec> {
    let notes = sources.past.specs.iter().filter(|note| within(sources, note.at));
    let mut found: BTreeMap<String, FailedSpec> = notes.filter_map(noted).collect();
    let queue = sources.inbox;
    for entry in queue {
        let over = entry.completed_at.as_deref().map(seconds);
        match (entry.status, over) {
            (Status::Failed, Some(at)) if within(sources, at) => {
                let why = entry.error.clone().unwrap_or_default();
                let spec = entry.spec.clone();
                let failed = found.entry(entry.spec.clone()).or_insert_with(|| FailedSpec {
                    spec,
                    at,
                    why: why.clone(),
                    kept: None,
                    restore: None,
                });
                if failed.why.is_empty() {
                    failed.why = why;
                }
            }
            // It was queued again, and went well.
            (Status::Done, Some(at)) => {
                found.retain(|spec, failed| *spec != entry.spec || failed.at > at);
            }
            _ => {}
        }
    }
    let mut all: Vec<FailedSpec> = found.into_values().collect();
    all.sort_by_key(|failed| failed.at);
    all
}

fn noted(note: &SpecNote) -> Option<(String, FailedSpec)> {
    let SpecFate::Failed { why, kept } = &note.fate else { return None };
    let spec = note.spec.clone()?;
    let stash = kept.as_ref().filter(|kept| !kept.starts_with("refs/"));
    let restore = stash.map(|stash| format!("git stash apply {}", shell_word(stash)));
    let failed = FailedSpec {
        spec: spec.clone(),
        at: note.at,
        why: why.clone(),
        kept: kept.clone(),
        restore,
    };
    Some((spec, failed))
}

/// Tasks whose last attempt that counts failed, in the order in which they failed last.
pub(super) fn tasks(sources: &Sources<'_>, tries: &[Try<'_>]) -> Vec<FailedTask> {
    let mut last: BTreeMap<&str, (&Try<'_>, usize)> = BTreeMap::new();
    for one in tries.iter().filter(|t| t.ended != Ended::Uncounted) {
        let known = last.get(one.view.started.task.as_str()).map_or(0, |(_, tries)| *tries);
        last.insert(&one.view.started.task, (one, known + 1));
    }
    let mut all: Vec<FailedTask> =
        last.into_values().filter_map(|(one, tries)| failed(sources, one, tries)).collect();
    all.sort_by_key(|task| (task.at, task.iteration));
    all
}

fn failed(sources: &Sources<'_>, one: &Try<'_>, tries: usize) -> Option<FailedTask> {
    let Fate::Failed { failure, salvage } = &one.view.fate else { return None };
    let started = &one.view.started;
    // Somebody may have finished it by hand since.
    let id = crate::plan::Id::new(&*started.task);
    let accepted = sources.plan.task(&id).map(|task| task.state == crate::plan::State::Accepted);
    if accepted == Some(true) {
        return None;
    }
    let checks = one.view.verdict.as_ref().map(|v| v.checks.as_slice()).unwrap_or_default();
    let red = checks.iter().filter(|check| !check.passed && !check.preexisting);
    let iteration = started.iteration;
    Some(FailedTask {
        task: started.task.clone(),
        name: started.name.clone(),
        spec: one.spec.clone(),
        iteration,
        at: one.ended_at,
        why: failure.told(),
        red: red.map(|check| check.name.clone()).collect(),
        tries,
        salvage: salvage.clone(),
        restore: salvage.as_ref().map(|_| format!("ralph salvage restore {iteration}")),
    })
}
