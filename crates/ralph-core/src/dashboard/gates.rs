//! The gates of the attempt under way, as they run.

use serde::Serialize;

use super::between;
use super::state::Facts;
use crate::cycle::{On, OpenAttempt, Phase};
use crate::gate::{Gate, Need};

/// A gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateNow {
    /// Its name.
    pub name: String,
    /// Its command.
    pub command: String,
    /// Whether its failure counts.
    pub required: bool,
    /// Whether it was green when it last ran.
    pub passed: Option<bool>,
    /// Whether that was in this attempt.
    pub this_attempt: bool,
    /// `waiting`, `running`, `passed` or `failed` in this attempt.
    pub state: &'static str,
    /// Seconds since it began, while it runs.
    pub elapsed_s: Option<u64>,
    /// While it runs: `result`, what the backend left; `base`, what that started from; or `alone`.
    pub on: Option<On>,
}

/// Where a gate is in this attempt.
pub(super) fn gate_now(facts: &Facts<'_>, open: &OpenAttempt, gate: Gate) -> GateNow {
    let history = facts.history;
    let attempt = &open.started.attempt;
    let seen = || {
        let all = history.gates.iter();
        all.filter(|seen| seen.start.attempt == *attempt && seen.start.gate == gate.name)
    };
    // Gates run while nothing else does; one that was ended from outside never says so.
    let gating = matches!(open.phase, Phase::Ended(_) | Phase::Landing(_));
    let last = history.gates.last();
    let running = seen().rfind(|seen| {
        gating && seen.passed.is_none() && last.is_some_and(|last| last.start == seen.start)
    });
    let here = seen().rfind(|seen| seen.start.on == On::Result).and_then(|seen| seen.passed);
    let said = here.map(|passed| (passed, true)).or_else(|| {
        history.attempts.iter().rev().find_map(|v| {
            let checks = &v.verdict.as_ref()?.checks;
            let check = checks.iter().find(|check| check.name == gate.name)?;
            Some((check.is_green(), v.started.attempt == *attempt))
        })
    });
    GateNow {
        state: match (running, said) {
            (Some(_), _) => "running",
            (None, Some((true, true))) => "passed",
            (None, Some((false, true))) => "failed",
            _ => "waiting",
        },
        elapsed_s: running.and_then(|seen| between(&seen.at, facts.now)),
        on: running.map(|seen| seen.start.on),
        passed: said.map(|(passed, _)| passed),
        this_attempt: said.is_some_and(|(_, this)| this),
        required: gate.need == Need::Required,
        name: gate.name,
        command: gate.command,
    }
}
