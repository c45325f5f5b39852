//! The gates of the attempt under way, as they run.

use schemars::JsonSchema;
use serde::Serialize;

use super::between;
use super::state::DashboardSources;
use crate::cycle::{AttemptPhase, GateTree, OpenAttempt};
use crate::gate::{Gate, GateNeed};

/// Progress of a gate in the current attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateState {
    /// The gate has not started.
    Waiting,
    /// The gate runs now.
    Running,
    /// The gate was green.
    Passed,
    /// The gate was red.
    Failed,
}

/// Gate with its state in the current attempt.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GateNow {
    /// Name of the gate.
    pub name: String,
    /// Shell command of the gate.
    pub command: String,
    /// Whether a failure of the gate fails the attempt.
    pub required: bool,
    /// Whether it was green when it last ran.
    pub passed: Option<bool>,
    /// Whether that was in this attempt.
    pub this_attempt: bool,
    /// Progress of the gate in this attempt.
    pub state: GateState,
    /// Seconds since it began, while it runs.
    pub elapsed_s: Option<u64>,
    /// The tree that it looks at, while it runs.
    pub on: Option<GateTree>,
}

/// Return the state of a gate in the current attempt.
pub(super) fn gate_now(facts: &DashboardSources<'_>, open: &OpenAttempt, gate: Gate) -> GateNow {
    let history = facts.sources.history;
    let attempt = &open.started.attempt;
    let seen = || {
        let all = history.gates.iter();
        all.filter(|seen| seen.start.attempt == *attempt && seen.start.gate == gate.name)
    };
    // Gates run while nothing else does; one that was ended from outside never says so.
    let gating = matches!(open.phase(), AttemptPhase::Gates | AttemptPhase::Landing);
    let last = history.gates.last();
    let running = seen().rfind(|seen| {
        gating && seen.passed.is_none() && last.is_some_and(|last| last.start == seen.start)
    });
    let here = seen().rfind(|seen| seen.start.on == GateTree::Result).and_then(|seen| seen.passed);
    let said = here.map(|passed| (passed, true)).or_else(|| {
        history.attempts.iter().rev().find_map(|v| {
            let checks = &v.verdict.as_ref()?.checks;
            let check = checks.iter().find(|check| check.name == gate.name)?;
            Some((check.is_green(), v.started.attempt == *attempt))
        })
    });
    GateNow {
        state: match (running, said) {
            (Some(_), _) => GateState::Running,
            (None, Some((true, true))) => GateState::Passed,
            (None, Some((false, true))) => GateState::Failed,
            _ => GateState::Waiting,
        },
        elapsed_s: running.and_then(|seen| between(&seen.at, facts.now)),
        on: running.map(|seen| seen.start.on),
        passed: said.map(|(passed, _)| passed),
        this_attempt: said.is_some_and(|(_, this)| this),
        required: gate.need == GateNeed::Required,
        name: gate.name,
        command: gate.command,
    }
}
