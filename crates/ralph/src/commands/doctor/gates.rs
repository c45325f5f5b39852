//! Every gate, run once, as after an attempt; when asked, in a lane too.

use std::path::Path;

use ralph_core::doctor::{self, DoctorFinding, FindingArea, FindingState};
use ralph_core::format::PlanFormat;
use ralph_core::gate::{self, Gate, GateRunResult};
use ralph_core::plan::Plan;
use ralph_host::gates::{GatePassSettings, run_gate};
use ralph_host::proc::{CancelToken, JobBounds, JobRunner, ScratchDirectory};
use ralph_host::store::RunLock;

use super::look::DoctorContext;
use crate::args::PlanArgs;
use crate::commands::lane_trial;
use crate::error::CommandError;
use crate::out;

/// Places where the gates are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GatePlaces {
    Home,
    HomeAndLane,
}

/// Run them one by one and tell of each.
pub(super) fn run(
    look: &DoctorContext<'_>,
    places: GatePlaces,
    tell: &mut dyn FnMut(DoctorFinding) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let context = look.context;
    if look.settings.is_err() {
        let what = "not run, because the settings cannot be read";
        return tell(DoctorFinding::new(
            FindingArea::Gate,
            FindingState::Unknown,
            what,
            "correct the settings first",
        ));
    }
    let plan = context.read_plan(&PlanArgs::default()).map(|file| file.plan.clone());
    let gates =
        gate::resolve(&look.config(), &plan.unwrap_or_else(|_| Plan::empty(PlanFormat::Jsonl)));
    if gates.is_empty() {
        return tell(doctor::no_gates());
    }
    let state = context.project.state_dir();
    // A loop that began meanwhile would share the tree with them.
    let _no_loop = match context.project.git_dir() {
        None => None,
        Some(_) => match RunLock::acquire(&state, context.store().holder()) {
            Ok(lock) => Some(lock),
            Err(e) => {
                let what = format!("not run: {e}");
                let fix = "ralph doctor, when the loop has ended";
                return tell(DoctorFinding::new(
                    FindingArea::Gate,
                    FindingState::Unknown,
                    what,
                    fix,
                ));
            }
        },
    };
    let scratch;
    let logs = match context.project.git_dir() {
        Some(_) => {
            let place = state.join("doctor");
            // The logs of the last time; what cannot be removed is written beside.
            let _left = std::fs::remove_dir_all(&place);
            place
        }
        None => {
            scratch = ScratchDirectory::new(&std::env::temp_dir())?;
            scratch.path().to_owned()
        }
    };
    let runner = look.worker();
    let mut ran = Vec::new();
    for gate in &gates {
        let (finding, result) = one(look, &runner, gate, &logs.join("gate"));
        tell(finding)?;
        ran.extend(result.map(|result| (gate.clone(), result)));
    }
    if places == GatePlaces::Home {
        return Ok(());
    }
    let Some(repo) = look.repo(&runner)? else {
        let hint = Some("git init".to_owned());
        return tell(doctor::lane_trouble("a lane is a checkout of a repository", hint));
    };
    let job = lane_trial::LaneTrialJob {
        context,
        repo: &repo,
        runner: &runner,
        settings: look.config().lane,
        logs: logs.join("lane-gate"),
    };
    lane_trial::run(&job, &ran).into_iter().try_for_each(tell)
}

fn one(
    look: &DoctorContext<'_>,
    runner: &JobRunner,
    gate: &Gate,
    logs: &Path,
) -> (DoctorFinding, Option<GateRunResult>) {
    let run = GatePassSettings {
        surroundings: &[],
        cwd: look.context.project.root(),
        logs,
        grace: JobBounds::default().grace,
        cancel: CancelToken::default(),
    };
    out::progress(&format!("running gate {} …", out::clean(&gate.name)));
    let ran = run_gate(runner, gate, &run, &mut |_| {});
    out::progress("");
    match ran {
        Ok(check) if check.cannot_run() && look.config().lane.setup.is_some() => {
            (doctor::gate_before_setup(&check), Some(check))
        }
        Ok(check) => (doctor::gate(&check, gate.timeout), Some(check)),
        Err(e) => {
            let fix = e.hint().unwrap_or_else(|| format!("try it yourself: {}", gate.command));
            (DoctorFinding::new(FindingArea::Gate, FindingState::Problem, e.to_string(), fix), None)
        }
    }
}
