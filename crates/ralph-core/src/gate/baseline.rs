//! What is known of the tree that an attempt started from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::model::{Check, Failures, Need};

/// How a gate went at the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Baseline {
    /// It was green.
    Green,
    /// This failed.
    Red(Failures),
}

/// What is known of each gate at the base. It is known by its command: another command under the
/// same name is another gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baselines(BTreeMap<String, Baseline>);

impl Baselines {
    /// Nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// The gates of a tree that landed are the base of the next attempt.
    pub fn of_landed<'a>(checks: impl IntoIterator<Item = &'a Check>) -> Self {
        let mut known = Self::new();
        checks.into_iter().for_each(|check| known.record(check));
        known
    }

    /// Remember a run of a gate at the base.
    pub fn record(&mut self, check: &Check) {
        let baseline = match check.is_green() {
            true => Baseline::Green,
            false => Baseline::Red(check.failures.clone()),
        };
        self.0.insert(check.command.clone(), baseline);
    }

    /// How the gate of this check went at the base, if that is known.
    pub fn get(&self, check: &Check) -> Option<&Baseline> {
        self.0.get(&check.command)
    }

    /// Whether a gate cannot be run, and the attempt has nothing to do with it: it ended in the same way
    /// at the base.
    pub fn cannot_run(&self, check: &Check) -> bool {
        let same = |before: &Failures| before.text == check.failures.text;
        let counts = check.never_ran() && check.need == Need::Required;
        counts && matches!(self.get(check), Some(Baseline::Red(before)) if same(before))
    }

    /// The checks that are red and count, and whose gates were never run at the base: run these there
    /// before the verdict. None of them is worth it when another one blocks already.
    pub fn wanted<'a>(&self, checks: &'a [Check]) -> Vec<&'a Check> {
        let counts = |check: &&Check| !check.is_green() && check.need == Need::Required;
        let red = checks.iter().filter(counts);
        let blocks = |check: &Check| self.get(check) == Some(&Baseline::Green);
        if red.clone().any(blocks) {
            return Vec::new();
        }
        red.filter(|check| self.get(check).is_none()).collect()
    }
}
