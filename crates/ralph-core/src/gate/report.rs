//! A verdict as `.ralph/logs/validation/iter-N.json`.

use serde::Serialize;

use super::judges::JudgeChange;
use super::model::Need;
use super::verdict::{Blocker, Judged, Standing, Verdict};
use crate::config::GateStrategy;

/// The names up to `checks` are those of Ralph Deluxe, in its order; what comes after is ours.
#[derive(Serialize)]
struct Report<'a> {
    iteration: u64,
    timestamp: &'a str,
    strategy: &'a str,
    passed: bool,
    checks: Vec<CheckReport<'a>>,
    blocking: Vec<&'a str>,
    unproven: Vec<String>,
    judges: Vec<JudgeReport<'a>>,
}

#[derive(Serialize)]
struct CheckReport<'a> {
    name: &'a str,
    command: &'a str,
    r#type: &'a str,
    exit_code: i32,
    passed: bool,
    preexisting: bool,
    output: &'a str,
    required: bool,
    ended: &'a str,
    standing: &'a str,
    failing: Vec<String>,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<&'a str>,
}

#[derive(Serialize)]
struct JudgeReport<'a> {
    path: &'a str,
    kind: &'a str,
    change: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    deleted: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    weakened: Vec<String>,
}

/// The report on a verdict, as JSON text with a newline at its end.
pub fn report(
    verdict: &Verdict,
    iteration: u64,
    timestamp: &str,
    strategy: GateStrategy,
) -> String {
    let report = Report {
        iteration,
        timestamp,
        strategy: strategy.as_str(),
        passed: verdict.passed(),
        checks: verdict.checks.iter().map(check).collect(),
        blocking: verdict.blockers.iter().flat_map(blocker).collect(),
        unproven: verdict.unproven.iter().map(ToString::to_string).collect(),
        judges: verdict.judges.iter().map(judge).collect(),
    };
    // Nothing in it can fail to be written: texts, numbers and lists.
    let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
    text.push('\n');
    text
}

fn check(judged: &Judged) -> CheckReport<'_> {
    let Judged { check, standing } = judged;
    CheckReport {
        name: &check.name,
        command: &check.command,
        r#type: check.kind.as_str(),
        exit_code: check.ending.exit_code(),
        passed: check.is_green(),
        preexisting: *standing == Standing::Old,
        output: &check.output,
        required: check.need == Need::Required,
        ended: check.ending.word(),
        standing: match standing {
            Standing::Green => "green",
            Standing::Tolerated => "tolerated",
            Standing::New(_) => "new",
            Standing::Old => "old",
            Standing::Unclear(_) => "unclear",
        },
        failing: match standing {
            Standing::New(new) if !new.is_empty() => new.clone(),
            _ => check.failing(),
        },
        seconds: (check.took.as_secs_f64() * 1000.0).round() / 1000.0,
        log: check.log.as_deref(),
    }
}

fn blocker(blocker: &Blocker) -> Vec<&str> {
    match blocker {
        Blocker::Gate(name) => vec![name],
        Blocker::Judges(paths) => paths.iter().map(String::as_str).collect(),
    }
}

fn judge(change: &JudgeChange) -> JudgeReport<'_> {
    JudgeReport {
        path: &change.path,
        kind: change.kind.as_str(),
        change: change.extent.as_str(),
        deleted: &change.deleted,
        weakened: change.weakened.iter().map(ToString::to_string).collect(),
    }
}
