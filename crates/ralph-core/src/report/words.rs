//! A report in words: the same sentences in Markdown and in HTML.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

use super::{FailedTask, LandedTask, Report, ReportTotals, RunLine, SpecPart, WorkPlace};
use crate::cost_sum::CostSum;
use crate::cycle::{
    AmendmentRow, AttemptFailure, AttemptState, LandingExtent, Proof, failing_lines,
};
use crate::gate::GateCheck;
use crate::words::{count, elapsed, short, took};

impl Report {
    /// Whether there is anything to tell.
    pub(super) fn is_empty(&self) -> bool {
        let nothing = self.specs.is_empty() && self.failed_specs.is_empty();
        nothing && self.attempts.is_empty() && self.stages.is_empty()
    }

    /// The one sentence for somebody who reads no more.
    pub(super) fn headline(&self) -> String {
        let t = &self.totals;
        if self.is_empty() {
            return match self.needs.len() {
                0 => "nothing happened".to_owned(),
                n => format!("nothing happened, {} you", needs(n)),
            };
        }
        // Whoever thinks in specs is told of specs; the tasks come below.
        let some = |n: usize| (n > 0).then(|| format!("{n} failed"));
        let (done, failed) = match (t.specs_done, t.specs_failed) {
            (0, 0) => (format!("{} landed", count(t.tasks_landed, "task")), some(t.tasks_failed)),
            (0, n) => (format!("{} failed", count(n, "spec")), None),
            (n, 0) if t.tasks_failed > 0 => {
                let failed = format!("{} failed", count(t.tasks_failed, "task"));
                (format!("{} done", count(n, "spec")), Some(failed))
            }
            (n, failed) => (format!("{} done", count(n, "spec")), some(failed)),
        };
        let mut parts = vec![done];
        parts.extend(failed);
        parts.push(match self.needs.len() {
            0 => "nothing needs you".to_owned(),
            n => format!("{} you", needs(n)),
        });
        parts.join(", ")
    }

    /// From when to when, as the reader's clock shows it.
    pub(super) fn period(&self) -> String {
        let length = u64::try_from(self.until.saturating_sub(self.since)).unwrap_or(0);
        format!("{} to {} ({})", self.time(self.since), self.time(self.until), elapsed(length))
    }

    /// A moment as the reader's clock shows it: `Mon 20 Jan 10:30`.
    pub(super) fn time(&self, seconds: i64) -> String {
        self.clock(seconds, "%a %d %b %H:%M")
    }

    /// The hour of a moment: `10:30`.
    pub(super) fn hour(&self, seconds: i64) -> String {
        self.clock(seconds, "%H:%M")
    }

    fn clock(&self, seconds: i64, form: &str) -> String {
        let zone = TimeZone::fixed(Offset::from_seconds(self.utc_offset).unwrap_or(Offset::UTC));
        match Timestamp::from_second(seconds) {
            Ok(moment) => zone.to_datetime(moment).strftime(form).to_string(),
            Err(_) => "an unknown time".to_owned(),
        }
    }

    pub(super) fn numbers(&self) -> String {
        let t = &self.totals;
        let landed = count(t.tasks_landed, "task");
        let mut text =
            format!("{landed} landed in {}{}", count(t.attempts, "attempt"), first_try(t));
        text.push_str(&format!(", {}.", t.cost.in_list()));
        text.push_str(&format!(" Agents worked {}", elapsed(t.agent_ms / 1000)));
        text.push_str(&format!("; loops ran {}", elapsed(t.run_seconds)));
        if t.waited_seconds > 0 {
            let waited = elapsed(t.waited_seconds);
            text.push_str(&format!(", {waited} of it waiting for usage limits"));
        }
        text + "."
    }

    /// Return the cost of work outside the landed specs as a sentence, if there are both.
    pub(super) fn other_cost(&self) -> Option<String> {
        let shown = !self.specs.is_empty() && self.other_cost != CostSum::default();
        shown.then(|| format!("Everything else: {}.", self.other_cost.in_list()))
    }

    pub(super) fn run(&self, run: &RunLine) -> String {
        let end = run.end.as_deref().unwrap_or("still running");
        format!("{}: ralph {}, {end}", self.time(run.began), run.command)
    }
}

/// `1 thing needs`, `2 things need`.
fn needs(n: usize) -> String {
    if n == 1 { "1 thing needs".to_owned() } else { format!("{n} things need") }
}

/// `, 5 of 7 tasks at the first try (71 %)`.
fn first_try(totals: &ReportTotals) -> String {
    match percent(totals) {
        Some(percent) => format!(
            ", {} of {} at the first try ({percent} %)",
            totals.first_try_landed,
            count(totals.first_tries, "task")
        ),
        None => String::new(),
    }
}

/// Return the percentage of tasks that landed with their first attempt. `None` without tasks.
pub(super) fn percent(totals: &ReportTotals) -> Option<usize> {
    let (landed, all) = (totals.first_try_landed, totals.first_tries);
    (all > 0).then(|| (landed.saturating_mul(200) + all) / (all.saturating_mul(2)))
}

pub(super) fn effort(part: &SpecPart) -> String {
    let mut parts = Vec::new();
    if !part.tasks.is_empty() {
        parts.push(format!("{} landed", count(part.tasks.len(), "task")));
    }
    if part.failed_attempts > 0 {
        parts.push(format!("{} failed on the way", count(part.failed_attempts, "attempt")));
    }
    parts.push(part.cost.in_list());
    parts.push(took(part.agent_ms));
    parts.join(", ")
}

pub(super) fn evidence(task: &LandedTask) -> String {
    let names = |checks: Vec<&GateCheck>| -> String {
        checks.iter().map(|check| check.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (green, red): (Vec<&GateCheck>, Vec<&GateCheck>) =
        task.attempt.checks().iter().partition(|check| check.is_green());
    let mut parts: Vec<String> = task.proof().remark().into_iter().collect();
    if !green.is_empty() {
        parts.push(format!("green: {}", names(green)));
    }
    let mut text = parts.join(", ");
    if !red.is_empty() {
        text.push_str(&format!("; red and not counted: {}", names(red)));
    }
    text
}

/// How a spec stands.
pub(super) fn spec_state(part: &SpecPart) -> String {
    let mut branches = part.tasks.iter().map(|task| task.branch.as_deref());
    let first = branches.next().flatten();
    match first.filter(|first| branches.all(|branch| branch == Some(*first))) {
        _ if part.done => "done".to_owned(),
        Some(branch) => format!("on branch {branch}, not on this one"),
        None => "not finished".to_owned(),
    }
}

/// Describe a landed task: whether it is a part, attempts, cost and place.
pub(super) fn remarks(task: &LandedTask) -> String {
    let mut parts = Vec::new();
    if task.is_partial() {
        parts.push("a part of it".to_owned());
    }
    parts.push(match task.tries {
        0 | 1 => "first try".to_owned(),
        n => format!("{n} tries"),
    });
    parts.push(task.cost.in_list());
    match (task.place, task.attempt.fate.kept()) {
        (WorkPlace::Branch, Some(commit)) => parts.push(format!("commit {}", short(commit))),
        (WorkPlace::Branch | WorkPlace::Spec, _) => parts.push("in the spec's commit".to_owned()),
        (WorkPlace::Uncommitted, _) => parts.push("not committed".to_owned()),
        (WorkPlace::Elsewhere, commit) => {
            let commit = commit.map(short).unwrap_or_default();
            parts.push(match &task.branch {
                Some(branch) => {
                    format!("commit {commit} on branch {branch}, which is not this one")
                }
                None => format!("commit {commit}, which is not on this branch"),
            });
        }
    }
    parts.join(", ")
}

/// Return the points of a landed task that a reader has to check.
pub(super) fn doubts(task: &LandedTask) -> Vec<String> {
    let Some(verdict) = &task.attempt.verdict else { return Vec::new() };
    let judges = verdict.judges.iter().map(|judge| format!("look at it: {judge}"));
    let unproven = verdict.proof_gaps().iter();
    let unproven = unproven.map(|why| format!("unproven: {why}"));
    let old = match task.proof() {
        Proof::ProvenExceptOld(old) => Some(format!("failed before, too: {old}")),
        _ => None,
    };
    unproven.chain(old).chain(judges).collect()
}

/// Why a task failed, in one line.
pub(super) fn failure(task: &FailedTask) -> String {
    let tries = if task.tries > 1 { format!(" ({} tries)", task.tries) } else { String::new() };
    let why = task.attempt.fate.failure().map(AttemptFailure::told).unwrap_or_default();
    let red: Vec<&str> = red_checks(task).map(|check| check.name.as_str()).collect();
    let named = red.iter().any(|gate| why.contains(gate));
    let red = match red.is_empty() || named {
        true => String::new(),
        false => format!("; red: {}", red.join(", ")),
    };
    format!("{why}{red}{tries}")
}

/// The lines that say what failed in the gates of a task that failed.
pub(super) fn failing(task: &FailedTask) -> Vec<String> {
    red_checks(task).flat_map(failing_lines).collect()
}

fn red_checks(task: &FailedTask) -> impl Iterator<Item = &GateCheck> {
    task.attempt.checks().iter().filter(|check| check.blocks())
}

impl LandedTask {
    pub(super) fn proof(&self) -> &Proof {
        match &self.attempt.fate {
            AttemptState::Landed { proof, .. } => proof,
            _ => &Proof::Unproven,
        }
    }

    /// Whether a part of it is left.
    pub(super) fn is_partial(&self) -> bool {
        matches!(self.attempt.fate, AttemptState::Landed { landing: LandingExtent::Partial, .. })
    }
}

/// A change of the plan by an agent, with where it came from.
pub(super) fn amendment(row: &AmendmentRow) -> String {
    format!("iteration {} ({}): {}", row.iteration, row.by_task, row.words)
}
