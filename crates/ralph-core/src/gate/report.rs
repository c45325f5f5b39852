//! The verdict as a JSON file, `.ralph/logs/validation/iter-N.json`.

use serde::Serialize;

use super::check::GateCheck;
use super::judges::JudgeChange;
use super::model::GateRunResult;
use super::verdict::{GateRuling, GateVerdict};
use crate::config::GateStrategy;

/// The names up to `checks` are those of Ralph Deluxe, in its order; what comes after is ours.
#[derive(Serialize)]
struct GateReport<'a> {
    iteration: u64,
    timestamp: &'a str,
    strategy: GateStrategy,
    passed: bool,
    checks: Vec<ReportedCheck<'a>>,
    ruling: &'a GateRuling,
    judges: &'a [JudgeChange],
}

/// A check with the head and the tail of its output, which no journal has to keep.
#[derive(Serialize)]
struct ReportedCheck<'a> {
    #[serde(flatten)]
    check: &'a GateCheck,
    exit_code: i32,
    output: &'a str,
}

/// Render the report on a verdict and the runs behind it, as JSON text with a newline at its end.
pub fn report(
    verdict: &GateVerdict,
    runs: &[GateRunResult],
    iteration: u64,
    timestamp: &str,
    strategy: GateStrategy,
) -> String {
    let checks = verdict.checks.iter().zip(runs);
    let checks = checks.map(|(check, run)| ReportedCheck {
        check,
        exit_code: check.ending.exit_code(),
        output: &run.output,
    });
    let report = GateReport {
        iteration,
        timestamp,
        strategy,
        passed: verdict.passed(),
        checks: checks.collect(),
        ruling: &verdict.ruling,
        judges: &verdict.judges,
    };
    // Nothing in it can fail to be written: texts, numbers and lists.
    let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
    text.push('\n');
    text
}
