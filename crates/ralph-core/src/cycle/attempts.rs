//! Attempts as the journal's records tell them: how far each came and how it ended.

use schemars::JsonSchema;
use serde::Serialize;

use super::candidate::{AttemptBase, Candidate};
use super::judge::{AttemptFailure, FailureKind, Proof};
use super::record::{AttemptStart, BackendEnd, FailIntent, GateStart, LandIntent, LandingExtent};
use crate::claim::Claim;
use crate::gate::{GateCheck, GateStanding, GateVerdict, shows_error};
use crate::needs::LoopProcess;
use crate::words::short;

/// Most names, and most lines of a gate's output, that a summary in words has.
const MOST_LINES: usize = 6;

/// State of an attempt: in progress, landed, failed or interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum AttemptState {
    /// The attempt is in progress.
    Open,
    /// The attempt has not ended, and its loop is gone.
    Interrupted,
    /// The work of the attempt landed.
    Landed {
        /// The commit, unless nothing was committed.
        commit: Option<String>,
        /// State in which the task was left.
        landing: LandingExtent,
        /// Degree to which the work is proven.
        proof: Proof,
    },
    /// The attempt failed and was rolled back.
    Failed {
        /// Reason for the failure.
        failure: AttemptFailure,
        /// The ref that keeps its work.
        salvage: Option<String>,
    },
    /// The attempt met a usage limit and was rolled back. It does not count.
    Limited,
}

impl AttemptState {
    /// Check whether the attempt landed.
    pub fn is_landed(&self) -> bool {
        matches!(self, Self::Landed { .. })
    }

    /// Whether it was rolled back because of a failure that counts.
    pub fn is_failed(&self) -> bool {
        self.failure().is_some_and(|failure| failure.kind != FailureKind::Interrupted)
    }

    /// Why it failed, when it did.
    pub fn failure(&self) -> Option<&AttemptFailure> {
        match self {
            Self::Failed { failure, .. } => Some(failure),
            _ => None,
        }
    }

    /// The commit or the ref that keeps the work.
    pub fn kept(&self) -> Option<&str> {
        match self {
            Self::Landed { commit, .. } => commit.as_deref(),
            Self::Failed { salvage, .. } => salvage.as_deref(),
            Self::Open | Self::Interrupted | Self::Limited => None,
        }
    }

    /// The fate in a word or two.
    fn words(&self) -> String {
        let (landing, proof) = match self {
            Self::Interrupted => return "interrupted".to_owned(),
            Self::Open => return "under way".to_owned(),
            Self::Limited => return "usage limit".to_owned(),
            Self::Failed { failure, .. } => return failure.kind.words().to_owned(),
            Self::Landed { landing, proof, .. } => (landing, proof),
        };
        let landing = match landing {
            LandingExtent::Complete => "landed",
            LandingExtent::Partial => "landed in part",
        };
        match proof.remark() {
            Some(remark) => format!("{landing}, {remark}"),
            None => landing.to_owned(),
        }
    }
}

/// Everything that is shown about an attempt: the one object of `ralph attempts`, `ralph show`, the
/// report and the API.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AttemptSummary {
    /// Record of the start of the attempt.
    #[serde(flatten)]
    pub started: AttemptStart,
    /// Start of the attempt, RFC 3339.
    pub started_at: String,
    /// End of the attempt, RFC 3339. `None` while it is in progress.
    pub ended_at: Option<String>,
    /// State of the attempt.
    #[serde(flatten)]
    pub fate: AttemptState,
    /// State of the attempt in a word or two.
    pub words: String,
    /// Outcome of the backend's run as one stable word.
    pub outcome: Option<String>,
    /// Outcome of the backend's run as a sentence.
    pub outcome_message: Option<String>,
    /// Claim of the agent about its task.
    pub claim: Option<Claim>,
    /// One line about what was done.
    pub summary: String,
    /// Id of the backend's session.
    pub session: Option<String>,
    /// File with the handoff.
    pub handoff: Option<String>,
    /// Number of files that the attempt changed, without the ledger.
    pub changed_files: Option<usize>,
    /// Cost of the backend's run in dollars, if known.
    pub cost_usd: Option<f64>,
    /// Tokens in and out, where known.
    pub tokens: Option<(u64, u64)>,
    /// Duration of the backend's run in milliseconds.
    pub duration_ms: Option<u64>,
    /// Verdict of the gates. `None` until they have run.
    pub verdict: Option<GateVerdict>,
}

impl AttemptSummary {
    /// Return the results of the gates that ran.
    pub fn checks(&self) -> &[GateCheck] {
        self.verdict.as_ref().map(|verdict| verdict.checks.as_slice()).unwrap_or_default()
    }

    /// Return the number of green gates in words: `2 of 3`, or `none` when no gate ran.
    /// Without a verdict, return `None`.
    pub fn gate_words(&self) -> Option<String> {
        let checks = &self.verdict.as_ref()?.checks;
        let green = checks.iter().filter(|check| check.is_green()).count();
        let words = format!("{green} of {}", checks.len());
        Some(if checks.is_empty() { "none".to_owned() } else { words })
    }

    /// Return the commit or the ref that keeps the work, short enough for a table.
    pub fn kept_short(&self) -> Option<&str> {
        let kept = self.fate.kept();
        if self.fate.is_landed() { kept.map(short) } else { kept }
    }
}

/// The lines that say what failed in a gate: the names of what failed, and a few lines of its output from the first
/// one that shows an error, else its last ones.
pub fn failing_lines(check: &GateCheck) -> Vec<String> {
    if !matches!(check.standing, GateStanding::New { .. } | GateStanding::Unclear { .. }) {
        return Vec::new();
    }
    let mut lines = check.new_failures();
    lines.truncate(MOST_LINES);
    lines.extend(error_lines(check));
    lines
}

/// A few lines of a gate's output from the first one that explains an error, where there is one the error of the
/// first new failure; else the last lines.
pub fn error_lines(check: &GateCheck) -> Vec<String> {
    let output: Vec<&str> = check
        .excerpt
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty() && !is_stack_frame(line))
        .collect();
    let explaining: Vec<usize> =
        (0..output.len()).filter(|at| explains_error(output[*at])).collect();
    let new = check.new_failures();
    let shows = new
        .iter()
        .find_map(|name| explanation_of(name, &output, &explaining))
        .or_else(|| explaining.first().copied())
        .or_else(|| output.iter().position(|line| shows_error(line)));
    let from = shows.unwrap_or(output.len().saturating_sub(MOST_LINES));
    output.iter().skip(from).take(MOST_LINES).map(|line| (*line).to_owned()).collect()
}

/// Whether a line shows an error and does more than name the test.
fn explains_error(line: &str) -> bool {
    const ANNOUNCED: [&str; 3] = ["FAIL", "Traceback (most", "not ok "];
    let text = line.trim_start();
    let announces =
        text.ends_with("FAILED") || ANNOUNCED.iter().any(|start| text.starts_with(start));
    shows_error(line) && !announces
}

/// Index of the line that explains why the test `name` failed: the one that comes soonest after a line with its name.
fn explanation_of(name: &str, output: &[&str], explaining: &[usize]) -> Option<usize> {
    let last = name.rsplit([':', '>']).next().unwrap_or(name).trim();
    let name = if last.is_empty() { name } else { last };
    let after = |at: usize| explaining.iter().copied().find(|line| *line >= at);
    (0..output.len())
        .filter(|at| output[*at].contains(name))
        .filter_map(|at| Some((after(at)? - at, after(at)?)))
        .min()
        .map(|(_, line)| line)
}

/// Whether a line is part of a stack trace, which says where and not what.
fn is_stack_frame(line: &str) -> bool {
    let text = line.trim_start();
    let numbered = text.split_once(": ").is_some_and(|(number, _)| {
        !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
    });
    text.starts_with("stack backtrace:")
        || line.starts_with(' ')
            && (numbered || text.starts_with("at /") || text.starts_with("at ./"))
}

/// One attempt as the journal tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptView {
    /// Record of the start of the attempt.
    pub started: AttemptStart,
    /// Start of the attempt, RFC 3339.
    pub at: String,
    /// End of the attempt, RFC 3339. `None` while it is in progress.
    pub ended_at: Option<String>,
    /// End of the backend's run. `None` until it has ended.
    pub backend: Option<BackendEnd>,
    /// Verdict of the gates. `None` until they have run.
    pub verdict: Option<GateVerdict>,
    /// State of the attempt.
    pub fate: AttemptState,
    /// The branch to which its work went, once it has landed.
    pub branch: LandedBranch,
}

/// The branch to which landed work went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LandedBranch {
    /// It has not landed, or the journal does not know.
    #[default]
    Unknown,
    /// The work is there, or waits to arrive there.
    Named(String),
    /// A person gave the work up.
    GivenUp,
}

impl LandedBranch {
    /// The branch's name.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Unknown | Self::GivenUp => None,
        }
    }
}

impl AttemptView {
    /// Sum it up. What a loop left open that is gone is not under way.
    pub fn summary(&self, running: &LoopProcess) -> AttemptSummary {
        let end = self.backend.as_ref();
        let fate = match &self.fate {
            AttemptState::Open if *running == LoopProcess::Nobody => AttemptState::Interrupted,
            fate => fate.clone(),
        };
        AttemptSummary {
            started: self.started.clone(),
            started_at: self.at.clone(),
            ended_at: self.ended_at.clone(),
            words: fate.words(),
            fate,
            outcome: end.map(|end| end.outcome.word().to_owned()),
            outcome_message: end.map(|end| end.outcome.to_string()),
            claim: end.map(|end| end.claim.clone()),
            summary: end.map(|end| end.summary.clone()).unwrap_or_default(),
            session: end.and_then(|end| end.session.clone()),
            handoff: end.and_then(|end| end.handoff.clone()),
            changed_files: end.map(|end| end.changed),
            cost_usd: end.and_then(|end| end.cost),
            tokens: end.and_then(|end| end.tokens),
            duration_ms: end.map(|end| end.took_ms),
            verdict: self.verdict.clone(),
        }
    }
}

/// Phase of an attempt that is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "PhaseKind")]
pub enum AttemptPhase {
    /// A backend may be running.
    Backend,
    /// Gates decide about what it left.
    Gates,
    /// The work is being landed.
    Landing,
    /// The work is being rolled back.
    RollingBack,
}

/// An attempt that is under way, or was when a crash came.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenAttempt {
    /// Record of the start of the attempt.
    pub started: AttemptStart,
    /// Commit that the attempt started from.
    pub base: AttemptBase,
    /// End of the backend's run. `None` until it has ended.
    pub ended: Option<BackendEnd>,
    /// Changes made by the backend. Empty until it has ended.
    pub candidate: Candidate,
    /// The landing that was about to happen, also when a refusal turned it into a rollback.
    pub intent: Option<Box<LandIntent>>,
    /// The failure, once its work is being rolled back.
    pub failure: Option<Box<FailIntent>>,
    /// Number of crashes that interrupted the task before.
    pub crashes: u32,
}

impl OpenAttempt {
    /// Return the current phase of the attempt.
    pub fn phase(&self) -> AttemptPhase {
        match (&self.failure, &self.intent, &self.ended) {
            (Some(_), _, _) => AttemptPhase::RollingBack,
            (None, Some(_), _) => AttemptPhase::Landing,
            (None, None, Some(_)) => AttemptPhase::Gates,
            (None, None, None) => AttemptPhase::Backend,
        }
    }
}

/// A gate of the last attempt that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateProgress {
    /// Record of the start of the gate.
    pub start: GateStart,
    /// Start of the gate, RFC 3339.
    pub at: String,
    /// Whether it was green, once it has ended.
    pub passed: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::FailingNames;

    fn shown(new: &str, excerpt: &str) -> Vec<String> {
        let new = [new].into_iter().collect::<FailingNames>();
        let standing = GateStanding::New { new, old: FailingNames::default() };
        error_lines(&GateCheck { standing, excerpt: excerpt.into(), ..GateCheck::default() })
    }

    #[test]
    fn the_error_shown_is_that_of_the_new_failure() {
        let pytest = "test_x.py FF\n____ test_a_old ____\nE   AssertionError: OLDMSG\n\
            ____ test_b_new ____\n    def test_b_new():\n>       assert f() == 2, 'NEWMSG'\n\
            E   AssertionError: NEWMSG\nFAILED test_x.py::test_a_old\nFAILED test_x.py::test_b_new\n";
        assert_eq!(shown("test_x.py::test_b_new", pytest)[0], "E   AssertionError: NEWMSG");
    }

    #[test]
    fn the_error_of_a_tap_test_is_shown_and_not_where_its_block_begins() {
        let tap = "TAP version 13\n# Subtest: adds\nnot ok 1 - adds\n  ---\n  duration_ms: 1.2\n  \
            failureType: 'testCodeFailure'\n  error: |-\n    Expected values to be equal:\n    5 !== 4\n";
        let lines = shown("adds", tap).join("\n");
        assert!(lines.starts_with("  error: |-") && lines.contains("5 !== 4"), "{lines}");
    }

    #[test]
    fn frames_of_a_stack_do_not_take_the_place_of_the_error() {
        let cargo = "---- b stdout ----\nthread 'b' (7) panicked at src/lib.rs:9:5:\nassertion `left == right` failed\n  \
            left: 4\n right: 5\nstack backtrace:\n   0: __rustc::rust_begin_unwind\n             at /rustc/x/panicking.rs:1:5\n\
            note: run with more\n";
        let lines = shown("b", cargo);
        assert!(lines.contains(&" right: 5".to_owned()), "{lines:?}");
        assert!(!lines.iter().any(|line| line.contains("rust_begin_unwind")), "{lines:?}");
    }
}
