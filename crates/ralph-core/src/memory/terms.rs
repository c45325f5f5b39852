//! The words of a text that say what it is about.

use std::collections::BTreeSet;

use crate::handoff::Handoff;
use crate::plan::Task;

/// Shorter words say nothing, in characters.
const SHORTEST: usize = 3;

/// The terms of a text, in lower case, in its order, as often as they occur.
pub(super) fn terms(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| word.chars().nth(SHORTEST - 1).is_some())
}

/// Return the terms of a task's title, description, criteria and libraries.
pub fn task_terms(task: &Task) -> BTreeSet<String> {
    let texts = std::iter::once(task.name.as_str()).chain(task.notes.as_deref());
    let lists = task.accept.iter().chain(&task.libraries).map(String::as_str);
    texts.chain(lists).flat_map(terms).collect()
}

/// Everything a handoff says, text by text.
pub(super) fn texts(handoff: &Handoff) -> impl Iterator<Item = &str> {
    let done = &handoff.task_completed;
    let constraints = handoff.constraints_discovered.iter().flat_map(|c| {
        [c.constraint.as_str(), &c.impact, c.workaround.as_deref().unwrap_or_default()]
    });
    let deviations =
        handoff.deviations.iter().flat_map(|d| [d.planned.as_str(), &d.actual, &d.reason]);
    let bugs =
        handoff.bugs_encountered.iter().flat_map(|b| [b.description.as_str(), &b.resolution]);
    let unfinished = handoff.unfinished_business.iter().flat_map(|u| [u.item.as_str(), &u.reason]);
    let lists = handoff.architectural_notes.iter().chain(&handoff.recommendations);
    [handoff.summary.as_str(), &done.summary, &handoff.freeform]
        .into_iter()
        .chain(lists.map(String::as_str))
        .chain(constraints)
        .chain(deviations)
        .chain(bugs)
        .chain(unfinished)
        .chain(handoff.files_touched.iter().map(|f| f.path.as_str()))
}
