//! Old failures and new ones.

use std::collections::BTreeMap;

use super::model::{Ending, Failures};

/// What the failures of one run are, seen from the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// These did not fail before.
    New(Vec<String>),
    /// All of them failed before as well.
    AllOld,
    /// Old and new cannot be told apart, for this reason.
    CannotTell(String),
}

/// Compare the failures of a gate that was red at the base with those of now.
pub fn compare(base: &Failures, now: &Failures) -> Comparison {
    if let Some(ending) = &now.broken_off {
        return broken_off(base, ending);
    }
    if !now.tests.is_empty() {
        return tests(base, now);
    }
    if !now.errors.is_empty() {
        return complaints(&base.errors, &now.errors, base, now);
    }
    if !base.tests.is_empty() || !base.errors.is_empty() {
        return cannot(
            "it fails in another way than before, and its output does not say what fails",
        );
    }
    if !now.warnings.is_empty() {
        return complaints(&base.warnings, &now.warnings, base, now);
    }
    // With no name at all, only the very same text is a reason to believe in the same failure.
    match (&base.broken_off, base.text == now.text) {
        (None, true) => Comparison::AllOld,
        _ => cannot("it was red before, and its output does not say what fails"),
    }
}

/// An output that stops in the middle lists no failures that could be trusted to be all.
fn broken_off(base: &Failures, ending: &Ending) -> Comparison {
    match &base.broken_off {
        Some(before) if before == ending => {
            cannot(&format!("it {} before and now", ending.describe()))
        }
        _ => Comparison::New(vec![ending.describe()]),
    }
}

fn tests(base: &Failures, now: &Failures) -> Comparison {
    let unknown: Vec<String> = now.tests.difference(&base.tests).cloned().collect();
    // A test that was seen to pass, or whose whole group was seen to end, did not fail before.
    let passed = |name: &String| base.ran.contains(name) || base.ran.contains(group(name));
    let new: Vec<String> = match base_is_partial(base) {
        None => unknown.clone(),
        Some(_) => unknown.iter().filter(|name| passed(name)).cloned().collect(),
    };
    match (new.is_empty(), unknown.is_empty()) {
        (false, _) => Comparison::New(new),
        (true, false) => cannot(&format!(
            "{} may have failed before: {}",
            unknown.join(", "),
            base_is_partial(base).unwrap_or_default()
        )),
        (true, true) => match &now.partial {
            Some(why) => cannot(why),
            None => besides(base, now),
        },
    }
}

/// One command may be several (`npm test; npm run lint`), and then old tests excuse no new errors.
/// Error-like lines may also be part of what a test writes, so they do not convict either.
fn besides(base: &Failures, now: &Failures) -> Comparison {
    let new = more_than(&base.errors, &now.errors);
    match new.is_empty() {
        true => Comparison::AllOld,
        false => cannot(&format!("the tests failed before, but this is new: {}", new.join("; "))),
    }
}

fn base_is_partial(base: &Failures) -> Option<String> {
    let broken = base.broken_off.as_ref().map(|ending| format!("the run {}", ending.describe()));
    broken.or_else(|| base.partial.clone())
}

/// The part of a test's name that says where it belongs: all before the first blank.
fn group(name: &str) -> &str {
    name.split(' ').next().unwrap_or_default()
}

fn complaints(
    before: &BTreeMap<String, u32>,
    after: &BTreeMap<String, u32>,
    base: &Failures,
    now: &Failures,
) -> Comparison {
    let new = more_than(before, after);
    // Where nothing of the kind was there before, the base came further (its tests ran) or failed
    // for a reason that cannot be read.
    let readable = !before.is_empty() || !base.tests.is_empty();
    match (new.is_empty(), base_is_partial(base), &now.partial) {
        (false, None, _) if readable => Comparison::New(new),
        (false, why, _) => cannot(&format!(
            "these may have been there before: {}{}",
            new.join("; "),
            why.map_or_else(String::new, |why| format!(" ({why})"))
        )),
        (true, _, Some(why)) => cannot(why),
        (true, _, None) => Comparison::AllOld,
    }
}

/// What is there more often than before.
fn more_than(before: &BTreeMap<String, u32>, after: &BTreeMap<String, u32>) -> Vec<String> {
    let is_new = |(text, count): &(&String, &u32)| before.get(*text).is_none_or(|old| old < count);
    after.iter().filter(is_new).map(|(text, _)| text.clone()).collect()
}

fn cannot(why: &str) -> Comparison {
    Comparison::CannotTell(why.to_owned())
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
