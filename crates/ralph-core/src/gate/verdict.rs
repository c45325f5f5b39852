//! From the results of gates to a verdict.

use super::baseline::{Baseline, Baselines};
use super::compare::{Comparison, compare};
use super::judges::JudgeChange;
use super::model::{Check, Need};
use super::normal::hash;
use crate::config::Judges;

/// Whether the work of an attempt may land, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Every gate that ran, and what its result means.
    pub checks: Vec<Judged>,
    /// What stands in the way; nothing: it may land.
    pub blockers: Vec<Blocker>,
    /// Why nothing is proven although nothing stands in the way; nothing: it is proven.
    pub unproven: Vec<Unproven>,
    /// Files that were changed and that decide what gates find.
    pub judges: Vec<JudgeChange>,
}

/// A gate's result and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The result.
    pub check: Check,
    /// What it means.
    pub standing: Standing,
}

/// What the result of a gate means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is green.
    Green,
    /// It is red, and that does not count.
    Tolerated,
    /// It is red, and these are new; none are named where the output names none.
    New(Vec<String>),
    /// All that fails failed before.
    Old,
    /// It was red before, and old and new cannot be told apart, for this reason.
    Unclear(String),
}

/// What stands in the way of landing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocker {
    /// A gate is red that was not, or not in this way.
    Gate(String),
    /// These files must not be changed by an attempt.
    Judges(Vec<String>),
}

/// Why work that may land is not proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unproven {
    /// No gate ran.
    NoGates,
    /// Old and new failures of a gate cannot be told apart.
    Unclear {
        /// The gate.
        gate: String,
        /// Why not.
        why: String,
    },
    /// No gate is green, and none names the tests that fail: nothing speaks for the change.
    NothingGreen,
}

impl std::fmt::Display for Unproven {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoGates => f.write_str("no gate is configured"),
            Self::Unclear { gate, why } => write!(f, "{gate}: {why}"),
            Self::NothingGreen => f.write_str("every gate fails as it did before"),
        }
    }
}

/// Judge the results of all gates. A red gate that counts and is unknown at the base
/// (see [`Baselines::wanted`]) is taken to be new.
pub fn judge(
    checks: Vec<Check>,
    base: &Baselines,
    judges: Vec<JudgeChange>,
    policy: Judges,
) -> Verdict {
    let checks: Vec<Judged> = checks
        .into_iter()
        .map(|check| Judged { standing: standing(&check, base.get(&check)), check })
        .collect();
    let mut blockers: Vec<Blocker> = checks
        .iter()
        .filter(|judged| matches!(judged.standing, Standing::New(_)))
        .map(|judged| Blocker::Gate(judged.check.name.clone()))
        .collect();
    let guilty: Vec<String> =
        judges.iter().filter(|change| change.is_blockable()).map(|c| c.path.clone()).collect();
    if policy == Judges::Block && !guilty.is_empty() {
        blockers.push(Blocker::Judges(guilty));
    }
    let unproven = unproven(&checks);
    Verdict { checks, blockers, unproven, judges }
}

fn standing(check: &Check, base: Option<&Baseline>) -> Standing {
    if check.is_green() {
        return Standing::Green;
    }
    if check.need == Need::Optional {
        return Standing::Tolerated;
    }
    match base {
        // A gate that cannot be run is no excuse, however long it has been so: nothing was tested.
        _ if check.never_ran() => Standing::New(check.failing()),
        None | Some(Baseline::Green) => Standing::New(check.failing()),
        Some(Baseline::Red(before)) => match compare(before, &check.failures) {
            Comparison::New(new) => Standing::New(new),
            Comparison::AllOld => Standing::Old,
            Comparison::CannotTell(why) => Standing::Unclear(why),
        },
    }
}

fn unproven(checks: &[Judged]) -> Vec<Unproven> {
    if checks.is_empty() {
        return vec![Unproven::NoGates];
    }
    let unclear = checks.iter().filter_map(|judged| match &judged.standing {
        Standing::Unclear(why) => {
            Some(Unproven::Unclear { gate: judged.check.name.clone(), why: why.clone() })
        }
        _ => None,
    });
    let mut all: Vec<Unproven> = unclear.collect();
    // Where some tests have a name and fail, the others ran and did not.
    let speaks = |judged: &Judged| match judged.standing {
        Standing::Green => true,
        Standing::Old => !judged.check.failures.tests.is_empty(),
        _ => false,
    };
    let new = |judged: &Judged| !matches!(judged.standing, Standing::Green | Standing::Old);
    if all.is_empty() && !checks.iter().any(|judged| speaks(judged) || new(judged)) {
        all.push(Unproven::NothingGreen);
    }
    all
}

impl Verdict {
    /// Whether nothing stands in the way.
    pub fn passed(&self) -> bool {
        self.blockers.is_empty()
    }

    /// Whether it passed and something speaks for it.
    pub fn is_proven(&self) -> bool {
        self.passed() && self.unproven.is_empty()
    }

    /// The checks with this kind of standing.
    pub fn with(&self, wanted: impl Fn(&Standing) -> bool) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(move |j| wanted(&j.standing)).map(|judged| &judged.check)
    }

    /// A short name for the way in which it failed, the same when the same things fail again; `None`
    /// when nothing stands in the way. For the circuit breaker.
    pub fn fingerprint(&self) -> Option<String> {
        let mut print = 0_u64;
        let mut add = |text: &str| print = hash(print.wrapping_add(1), text.as_bytes());
        for blocker in &self.blockers {
            match blocker {
                Blocker::Gate(name) => {
                    let judged = self.checks.iter().find(|judged| judged.check.name == *name);
                    add(name);
                    let Some(Judged { check, standing }) = judged else { continue };
                    add(check.ending.word());
                    match standing {
                        Standing::New(new) if !new.is_empty() => new.iter().for_each(|n| add(n)),
                        _ => add(&check.failures.text),
                    }
                }
                Blocker::Judges(paths) => paths.iter().for_each(|path| add(path)),
            }
        }
        (!self.passed()).then(|| format!("{print:016x}"))
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
