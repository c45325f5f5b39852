//! Comparison of the failures of a gate with those at the base: which are old, which are new.

use std::collections::BTreeMap;

use super::model::GateFailures;
use super::runners::MOST_RAN;

/// Result of comparing the failures of a run with those at the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureComparison {
    /// These failures are new.
    New(Vec<String>),
    /// All of them failed before as well.
    AllOld,
    /// Old and new cannot be told apart, for this reason.
    CannotTell(String),
}

/// Compare the failures of a gate that was red at the base with those of now.
pub fn compare(base: &GateFailures, now: &GateFailures) -> FailureComparison {
    if let Some(program) = &now.missing_program {
        return missing_program(base, program);
    }
    if let Some(how) = &now.broken_off {
        return broken_off(base, now, how);
    }
    match compare_names(base, now) {
        FailureComparison::AllOld => compare_numbers(base, now),
        other => other,
    }
}

/// Compare the failures by the names in the outputs: tests, errors, warnings.
fn compare_names(base: &GateFailures, now: &GateFailures) -> FailureComparison {
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
        (None, true) => FailureComparison::AllOld,
        _ => cannot("it was red before, and its output does not say what fails"),
    }
}

/// Compare how many tests ran and failed, where everything that is named is old: a test that is gone, or that fails
/// without a name, is in no list.
fn compare_numbers(base: &GateFailures, now: &GateFailures) -> FailureComparison {
    let nameless = now.tests.is_empty() && now.errors.is_empty() && now.warnings.is_empty();
    let failed = now.failed.max(now.tests.len() as u64);
    if failed > base.failed {
        let why = format!("{failed} failed by its own count, {} before", base.failed);
        return if nameless { FailureComparison::New(vec![why]) } else { cannot(&why) };
    }
    let (before, after) = (base.passed + base.failed, now.passed + failed);
    if base.passed > 0 && after < before {
        return cannot(&format!("fewer tests ran: {after}, {before} before"));
    }
    let is_gone = |name: &&String| !now.ran.contains(*name) && !now.tests.contains(*name);
    if let Some(name) = base.ran.iter().find(is_gone).filter(|_| now.ran.len() < MOST_RAN) {
        return cannot(&format!("{name} passed before and does not run any more"));
    }
    if nameless && base.counts != now.counts {
        return cannot("its output names no test, and its numbers changed");
    }
    if base.broken_off.is_none() && base.exit_code != now.exit_code {
        return cannot("it ends with another exit code than before");
    }
    if let Some(error) = now.errors.keys().find(|error| !base.errors.contains_key(*error)) {
        return cannot(&format!("its output has an error that was not there before: {error}"));
    }
    FailureComparison::AllOld
}

/// Nothing was tested where the command has nothing to run.
fn missing_program(base: &GateFailures, program: &str) -> FailureComparison {
    let why = format!("it could not start: `{program}` is not there");
    match base.missing_program {
        Some(_) => cannot(&why),
        None => FailureComparison::New(vec![why]),
    }
}

/// An output that stops in the middle lists no failures that could be trusted to be all.
fn broken_off(base: &GateFailures, now: &GateFailures, how: &str) -> FailureComparison {
    if base.broken_off.as_deref() == Some(how) {
        return cannot(&format!("it {how} before and now, so nobody knows what else would fail"));
    }
    let new = now.tests.difference(&base.tests).cloned();
    FailureComparison::New(new.chain([how.to_owned()]).collect())
}

fn tests(base: &GateFailures, now: &GateFailures) -> FailureComparison {
    let unknown: Vec<String> = now.tests.difference(&base.tests).cloned().collect();
    // A test that was seen to pass, or whose whole group was seen to end, did not fail before.
    let passed = |name: &String| base.ran.contains(name) || base.ran.contains(group(name));
    let new: Vec<String> = match base_is_partial(base) {
        None => unknown.clone(),
        Some(_) => unknown.iter().filter(|name| passed(name)).cloned().collect(),
    };
    match (new.is_empty(), unknown.is_empty()) {
        (false, _) => FailureComparison::New(new),
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
fn besides(base: &GateFailures, now: &GateFailures) -> FailureComparison {
    let new = more_than(&base.errors, &now.errors);
    match new.is_empty() {
        true => FailureComparison::AllOld,
        false => cannot(&format!("the tests failed before, but this is new: {}", new.join("; "))),
    }
}

fn base_is_partial(base: &GateFailures) -> Option<String> {
    let broken = base.broken_off.as_ref().map(|how| format!("the run {how}"));
    broken.or_else(|| base.partial.clone())
}

/// The part of a test's name that says where it belongs: all before the first blank.
fn group(name: &str) -> &str {
    name.split(' ').next().unwrap_or_default()
}

fn complaints(
    before: &BTreeMap<String, u32>,
    after: &BTreeMap<String, u32>,
    base: &GateFailures,
    now: &GateFailures,
) -> FailureComparison {
    let new = more_than(before, after);
    // Where nothing of the kind was there before, the base came further (its tests ran) or failed
    // for a reason that cannot be read.
    let readable = !before.is_empty() || !base.tests.is_empty();
    match (new.is_empty(), base_is_partial(base), &now.partial) {
        (false, None, _) if readable => FailureComparison::New(new),
        (false, why, _) => cannot(&format!(
            "these may have been there before: {}{}",
            new.join("; "),
            why.map_or_else(String::new, |why| format!(" ({why})"))
        )),
        (true, _, Some(why)) => cannot(why),
        (true, _, None) => FailureComparison::AllOld,
    }
}

/// Return the entries that occur more often in `after` than in `before`.
fn more_than(before: &BTreeMap<String, u32>, after: &BTreeMap<String, u32>) -> Vec<String> {
    let is_new = |(text, count): &(&String, &u32)| before.get(*text).is_none_or(|old| old < count);
    after.iter().filter(is_new).map(|(text, _)| text.clone()).collect()
}

fn cannot(why: &str) -> FailureComparison {
    FailureComparison::CannotTell(why.to_owned())
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
