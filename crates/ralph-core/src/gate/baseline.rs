//! Results of the gates at the base, the tree that an attempt started from.

use std::collections::BTreeMap;

use super::model::{GateFailures, GateNeed, GateRunResult};

/// Result of a gate at the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Baseline {
    Green,
    /// The gate was red, with these failures.
    Red(Box<GateFailures>),
}

/// Known results of the gates at the base, by command.
///
/// A gate with the same name but another command is another gate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baselines(BTreeMap<String, Baseline>);

impl Baselines {
    /// Create an empty set of results.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs of all gates on one tree, which is the base of the next attempt.
    pub fn of_runs<'a>(runs: impl IntoIterator<Item = &'a GateRunResult>) -> Self {
        let mut known = Self::new();
        runs.into_iter().for_each(|run| known.record(run));
        known
    }

    /// Remember a run of a gate at the base.
    pub fn record(&mut self, run: &GateRunResult) {
        let baseline = match run.check.is_green() {
            true => Baseline::Green,
            false => Baseline::Red(Box::new(run.failures.clone())),
        };
        self.0.insert(run.check.command.clone(), baseline);
    }

    /// Return the result at the base of the gate of this run, or `None` if it is unknown.
    pub fn get(&self, run: &GateRunResult) -> Option<&Baseline> {
        self.0.get(&run.check.command)
    }

    /// Whether a gate cannot be run, and the attempt has nothing to do with it: it ended in the same way
    /// at the base.
    pub fn cannot_run(&self, run: &GateRunResult) -> bool {
        let same = |before: &GateFailures| before.text == run.failures.text;
        let counts = run.never_ran() && run.check.need == GateNeed::Required;
        counts && matches!(self.get(run), Some(Baseline::Red(before)) if same(before))
    }

    /// The runs that are red and count, and whose gates were never run at the base: run these there
    /// before the verdict. None of them is worth it when another one blocks already.
    pub fn wanted<'a>(&self, runs: &'a [GateRunResult]) -> Vec<&'a GateRunResult> {
        let counts =
            |run: &&GateRunResult| !run.check.is_green() && run.check.need == GateNeed::Required;
        let red = runs.iter().filter(counts);
        let blocks = |run: &GateRunResult| self.get(run) == Some(&Baseline::Green);
        if red.clone().any(blocks) {
            return Vec::new();
        }
        red.filter(|run| self.get(run).is_none()).collect()
    }
}
