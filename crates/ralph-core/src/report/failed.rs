//! Failed specs and tasks that have not landed since, with reasons and places of their work.

use std::collections::BTreeMap;

use super::gather::{ReportSources, ReportedAttempt, within};
use super::past::{SpecNote, SpecResult, seconds};
use super::{FailedSpec, FailedTask};
use crate::inbox::InboxStatus;
use crate::plan::{Id, TaskState};
use crate::text::shell_word;

/// Specs that were given up, oldest first.
pub(super) fn specs(sources: &ReportSources<'_>) -> Vec<FailedSpec> {
    let notes = sources.past.specs.iter().filter(|note| within(sources, note.at));
    let mut found: BTreeMap<String, FailedSpec> = notes.filter_map(noted).collect();
    for entry in sources.needs.inbox {
        let over = entry.completed_at.as_deref().map(seconds);
        match (entry.status, over) {
            (InboxStatus::Failed, Some(at)) if within(sources, at) => {
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
            (InboxStatus::Done, Some(at)) => {
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
    let SpecResult::Failed { why, kept } = &note.fate else { return None };
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
pub(super) fn tasks(sources: &ReportSources<'_>, tries: &[ReportedAttempt<'_>]) -> Vec<FailedTask> {
    let mut last: BTreeMap<&str, (&ReportedAttempt<'_>, usize)> = BTreeMap::new();
    for one in tries.iter().filter(|one| one.counts()) {
        let known = last.get(one.view.started.task.as_str()).map_or(0, |(_, tries)| *tries);
        last.insert(&one.view.started.task, (one, known + 1));
    }
    let mut last: Vec<_> = last.into_values().filter(|(one, _)| is_failed(sources, one)).collect();
    last.sort_by_key(|(one, _)| (one.ended_at, one.view.started.iteration));
    let failed = last.into_iter().map(|(one, tries)| FailedTask {
        attempt: one.view.summary(sources.needs.running),
        spec: one.spec.clone(),
        tries,
        restore: one
            .view
            .fate
            .kept()
            .map(|_| format!("ralph salvage restore {}", one.view.started.iteration)),
    });
    failed.collect()
}

/// Whether a task failed with this attempt, and nobody has finished it by hand since.
fn is_failed(sources: &ReportSources<'_>, one: &ReportedAttempt<'_>) -> bool {
    let task = sources.needs.plan.task(&Id::new(&*one.view.started.task));
    one.view.fate.is_failed() && task.is_none_or(|task| task.state != TaskState::Accepted)
}
