//! From the runs of all gates to the one verdict that the journal keeps and that prompts, logs, reports,
//! the terminal and the page show.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::baseline::{Baseline, Baselines};
use super::check::{FailingNames, GateCheck, GateStanding};
use super::compare::{FailureComparison, compare};
use super::judges::JudgeChange;
use super::model::{GateNeed, GateRunResult};
use super::normal::hash;
use crate::config::JudgePolicy;

/// Verdict of the gates on an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateVerdict {
    /// Id of the attempt.
    pub attempt: String,
    /// Whether the work may land, and how far it is proven.
    pub ruling: GateRuling,
    /// Results of all gates that ran.
    pub checks: Vec<GateCheck>,
    /// Changes to tests, manifests and CI, which decide what gates find.
    #[serde(default)]
    pub judges: Vec<JudgeChange>,
    /// The file with the report, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

/// Combined result of all gates for the work of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateRuling {
    /// The work may land. A gate is green, and no required gate is red.
    #[default]
    Proven,
    /// The work may land. Tests passed, and only these failed, as they did before.
    ProvenExceptOld(FailingNames),
    /// The work may land, but no gate proves it.
    Unproven(Vec<ProofGap>),
    /// The work must not land.
    Refused {
        /// Changed judges, where `judges = "block"` forbids that.
        #[serde(default)]
        forbidden: Vec<String>,
        /// A short text that is the same when the same things fail again, for the circuit breaker.
        #[serde(default)]
        fingerprint: String,
    },
}

/// Why work that may land is not proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProofGap {
    /// No gate ran.
    NoGates,
    /// Old and new failures of a gate cannot be told apart.
    Unclear {
        /// Name of the gate.
        gate: String,
        /// Reason why they cannot be told apart.
        why: String,
    },
    /// A gate fails as before, and its output names nothing that fails.
    Nameless {
        /// Name of the gate.
        gate: String,
    },
    /// No gate is green, and no red one shows that other tests passed.
    NothingGreen,
}

impl fmt::Display for ProofGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGates => f.write_str("no gate is configured"),
            Self::Unclear { gate, why } => write!(f, "{gate}: {why}"),
            Self::Nameless { gate } => {
                write!(f, "{gate}: it fails as before, and its output names no test")
            }
            Self::NothingGreen => {
                f.write_str("no gate is green, and none shows a test that passed")
            }
        }
    }
}

/// Judge the runs of all gates. A red gate that counts and is unknown at the base
/// (see [`Baselines::wanted`]) is taken to be new.
pub fn judge(
    attempt: &str,
    runs: &[GateRunResult],
    base: &Baselines,
    judges: Vec<JudgeChange>,
    policy: JudgePolicy,
) -> GateVerdict {
    let mut fingerprint = FailureFingerprint::default();
    let checks: Vec<GateCheck> =
        runs.iter().map(|run| judge_run(run, base.get(run), &mut fingerprint)).collect();
    let guilty =
        judges.iter().filter(|change| policy == JudgePolicy::Block && change.is_blockable());
    let forbidden: Vec<String> = guilty.map(|change| change.path.clone()).collect();
    forbidden.iter().for_each(|path| fingerprint.add(path));
    let ruling = match forbidden.is_empty() && !checks.iter().any(GateCheck::blocks) {
        true => rule_passed(&checks, runs),
        false => GateRuling::Refused { forbidden, fingerprint: format!("{:016x}", fingerprint.0) },
    };
    GateVerdict { attempt: attempt.to_owned(), ruling, checks, judges, report: None }
}

/// A number for the ways in which gates fail.
#[derive(Default)]
struct FailureFingerprint(u64);

impl FailureFingerprint {
    fn add(&mut self, text: &str) {
        self.0 = hash(self.0.wrapping_add(1), text.as_bytes());
    }
}

fn judge_run(
    run: &GateRunResult,
    base: Option<&Baseline>,
    fingerprint: &mut FailureFingerprint,
) -> GateCheck {
    let mut check = run.check.clone();
    if check.is_green() {
        return check;
    }
    let failing = run.failing();
    if check.need == GateNeed::Optional {
        check.standing = GateStanding::Tolerated { failing: failing.iter().collect() };
        return check;
    }
    let comparison = match base {
        // A gate that cannot be run is no excuse, however long it has been so: nothing was tested.
        Some(Baseline::Red(before)) if !run.never_ran() => compare(before, &run.failures),
        _ => FailureComparison::New(failing.clone()),
    };
    check.standing = match comparison {
        FailureComparison::New(new) => {
            fingerprint.add(&check.name);
            fingerprint.add(check.ending.word());
            match new.as_slice() {
                [] => fingerprint.add(&run.failures.text),
                new => new.iter().for_each(|name| fingerprint.add(name)),
            }
            check.excerpt = run.excerpts.around(&new);
            let old = failing.iter().filter(|name| !new.contains(name)).collect();
            GateStanding::New { new: new.iter().collect(), old }
        }
        FailureComparison::AllOld => GateStanding::Old { old: failing.iter().collect() },
        FailureComparison::CannotTell(why) => GateStanding::Unclear { why },
    };
    check
}

/// The ruling on work that nothing stands in the way of.
fn rule_passed(checks: &[GateCheck], runs: &[GateRunResult]) -> GateRuling {
    if checks.is_empty() {
        return GateRuling::Unproven(vec![ProofGap::NoGates]);
    }
    let mut gaps: Vec<ProofGap> = checks
        .iter()
        .filter_map(|check| match &check.standing {
            GateStanding::Unclear { why } => {
                Some(ProofGap::Unclear { gate: check.name.clone(), why: why.clone() })
            }
            GateStanding::Old { old } if old.is_empty() => {
                Some(ProofGap::Nameless { gate: check.name.clone() })
            }
            _ => None,
        })
        .collect();
    let speaks = |(check, run): (&GateCheck, &GateRunResult)| match check.standing {
        GateStanding::Green => true,
        GateStanding::Old { .. } => !run.failures.tests.is_empty() && run.failures.passed > 0,
        _ => false,
    };
    if gaps.is_empty() && !checks.iter().zip(runs).any(speaks) {
        gaps.push(ProofGap::NothingGreen);
    }
    if !gaps.is_empty() {
        return GateRuling::Unproven(gaps);
    }
    let mut old = FailingNames::default();
    for check in checks {
        if let GateStanding::Old { old: failing } = &check.standing {
            old.extend(failing);
        }
    }
    if old.is_empty() { GateRuling::Proven } else { GateRuling::ProvenExceptOld(old) }
}

impl GateVerdict {
    /// Whether the work may land as far as gates go.
    pub fn passed(&self) -> bool {
        !matches!(self.ruling, GateRuling::Refused { .. })
    }

    /// Why work that may land is not proven; nothing where it is.
    pub fn proof_gaps(&self) -> &[ProofGap] {
        match &self.ruling {
            GateRuling::Unproven(gaps) => gaps,
            _ => &[],
        }
    }

    /// Changed judges that `judges = "block"` forbids.
    pub fn forbidden(&self) -> &[String] {
        match &self.ruling {
            GateRuling::Refused { forbidden, .. } => forbidden,
            _ => &[],
        }
    }

    /// Return remarks for a person about an attempt that lands: changed judges and gaps in the proof.
    pub fn remarks(&self) -> Vec<String> {
        let judges = self.judges.iter().map(ToString::to_string);
        let gaps = self.proof_gaps().iter().map(|why| format!("unproven: {why}"));
        let old = match &self.ruling {
            GateRuling::ProvenExceptOld(old) => Some(format!("failed before, too: {old}")),
            _ => None,
        };
        judges.chain(gaps).chain(old).collect()
    }

    /// The gates that keep the attempt from landing.
    pub fn blocking(&self) -> impl Iterator<Item = &GateCheck> {
        self.checks.iter().filter(|check| check.blocks())
    }

    /// Describe what keeps the attempt from landing, as markdown under `### Validation Failures`.
    ///
    /// Empty if the attempt may land.
    pub fn failure_context(&self) -> String {
        if self.passed() {
            return String::new();
        }
        let mut text = "### Validation Failures\n".to_owned();
        self.blocking().for_each(|check| check.write_context(&mut text));
        if !self.forbidden().is_empty() {
            text.push_str("\nThese files decide what the gates find and must stay as they are:\n");
            let forbidden: FailingNames = self.forbidden().iter().collect();
            forbidden.lines().for_each(|path| text.push_str(&format!("- {path}\n")));
        }
        let excused = self.checks.iter().filter(|check| !check.is_green() && !check.blocks());
        let excused: Vec<&str> = excused.map(|check| check.name.as_str()).collect();
        if !excused.is_empty() {
            let names = excused.join(", ");
            text.push_str(&format!("\nAlso red, but not held against this task: {names}\n"));
        }
        text
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
