//! Gates in home beside the same gates in a lane: what the pairs of results mean.

use super::{DoctorFinding, FindingArea, FindingState, last_line};
use crate::gate::GateRunResult;
use crate::init::{LaneAdvice, LaneDifference};
use crate::words::took;

/// A gate that was run in home and in a lane.
#[derive(Clone, Copy, Debug)]
pub struct ComparedGate<'r> {
    pub home: &'r GateRunResult,
    pub lane: &'r GateRunResult,
}

impl ComparedGate<'_> {
    /// Whether the lane lacks something that home has.
    fn lacks(&self) -> bool {
        self.home.check.is_green() && !self.lane.check.is_green()
    }

    fn finding(&self) -> DoctorFinding {
        let (check, time) = (&self.lane.check, took(self.lane.check.took_ms));
        let name = &check.name;
        let ending = check.ending.describe();
        let log = check.log.as_deref().unwrap_or("its log");
        match (self.home.check.is_green(), check.is_green()) {
            (true, true) => DoctorFinding::ok(
                FindingArea::Gate,
                format!("{name}: passes in a lane too, {time}"),
            ),
            (false, true) => DoctorFinding::ok(
                FindingArea::Gate,
                format!(
                    "{name}: passes in a lane, where it counts, {time}; it fails in your checkout"
                ),
            ),
            (true, false) => DoctorFinding::new(
                FindingArea::Gate,
                FindingState::Problem,
                format!(
                    "{name}: passes in your checkout and fails in a lane ({ending}): {}",
                    last_line(self.lane)
                ),
                format!("less {log}"),
            ),
            (false, false) => DoctorFinding::new(
                FindingArea::Gate,
                FindingState::Warning,
                format!("{name}: fails in a lane too ({ending}): {}", last_line(self.lane)),
                format!("less {log}"),
            ),
        }
    }
}

/// A finding for each gate, and, where a lane lacks something, what that may be.
pub fn compared(gates: &[ComparedGate<'_>], difference: &LaneDifference) -> Vec<DoctorFinding> {
    let mut all: Vec<DoctorFinding> = gates.iter().map(ComparedGate::finding).collect();
    let lacking = gates.iter().filter(|gate| gate.lacks());
    let outputs: Vec<&str> = lacking.map(|gate| gate.lane.output.as_str()).collect();
    if outputs.is_empty() {
        return all;
    }
    let advice = difference.advice(&outputs);
    if advice.is_empty() {
        let what = "the lane has the same files as your checkout; the reason is in the log";
        let fix = "look for paths, ports or times that the gate takes for granted";
        all.push(DoctorFinding::new(FindingArea::Gate, FindingState::Warning, what, fix));
    }
    all.extend(advice.into_iter().map(|LaneAdvice { what, fix }| {
        DoctorFinding::new(
            FindingArea::Gate,
            FindingState::Warning,
            format!("the lane: {what}"),
            fix,
        )
    }));
    all
}

/// Why no gate could be run in a lane: one line, and what to do.
pub fn lane_trouble(message: &str, hint: Option<String>) -> DoctorFinding {
    let mut lines = message.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let what = match lines.next_back() {
        Some(last) => {
            format!("not run in a lane: {first}: {}", crate::text::clip(last.trim(), 120))
        }
        None => format!("not run in a lane: {first}"),
    };
    let fix = hint.unwrap_or_else(|| "see the message".to_owned());
    DoctorFinding::new(FindingArea::Gate, FindingState::Problem, what, fix)
}

/// Paths of `[lane]` that home does not have.
pub fn missing_in_home(paths: &[String]) -> Option<DoctorFinding> {
    (!paths.is_empty()).then(|| {
        let what = format!("[lane] names {}, which is not there", paths.join(", "));
        DoctorFinding::new(
            FindingArea::Gate,
            FindingState::Warning,
            what,
            "make it, or change `copy` and `link` in [lane]",
        )
    })
}
