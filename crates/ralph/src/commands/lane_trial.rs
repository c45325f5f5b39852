//! Gates tried in a lane, beside their results in home: for `ralph init` and `ralph doctor --compare`.

use std::path::PathBuf;

use ralph_core::config::LaneSettings;
use ralph_core::doctor::{self, ComparedGate, DoctorFinding};
use ralph_core::gate::{Gate, GateRunResult};
use ralph_core::init::{LaneDifference, LaneProposal, ProjectTree};
use ralph_host::gates::{GatePassSettings, run_gate};
use ralph_host::git::Repo;
use ralph_host::lanes::{LaneTrial, environment_of_home};
use ralph_host::proc::{CancelToken, JobBounds, JobRunner};
use ralph_host::survey::survey;

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out;

/// Inputs for trying gates in a lane.
pub(crate) struct LaneTrialJob<'j, 'r> {
    pub(crate) context: &'j CommandContext,
    pub(crate) repo: &'j Repo<'r>,
    pub(crate) runner: &'j JobRunner,
    pub(crate) settings: LaneSettings,
    /// Prefix of the paths of the logs.
    pub(crate) logs: PathBuf,
}

/// Make a lane usable, run there the gates that were run in home, and say what came of it.
pub(crate) fn run(
    job: &LaneTrialJob<'_, '_>,
    home: &[(Gate, GateRunResult)],
) -> Vec<DoctorFinding> {
    out::progress(&match &job.settings.setup {
        Some(setup) => format!("preparing a lane: {} …", out::clean(setup)),
        None => "preparing a lane …".to_owned(),
    });
    let opened = LaneTrial::open(job.repo, &job.settings, job.context.store().holder());
    out::progress("");
    let trial = match opened {
        Ok(Some(trial)) => trial,
        Ok(None) => {
            let hint = Some("git commit".to_owned());
            return vec![doctor::lane_trouble("the repository has no commit yet", hint)];
        }
        Err(e) => return vec![doctor::lane_trouble(&e.to_string(), e.hint())],
    };
    let mut all: Vec<DoctorFinding> =
        doctor::missing_in_home(&trial.furnished.missing).into_iter().collect();
    let mut results = Vec::new();
    for (gate, result) in home {
        match run_in(job, &trial, gate) {
            Ok(in_lane) => results.push((result, in_lane)),
            Err(e) => {
                let (message, hint) = e.into_parts();
                all.push(doctor::lane_trouble(&message, hint));
            }
        }
    }
    let gates: Vec<ComparedGate<'_>> =
        results.iter().map(|(home, lane)| ComparedGate { home, lane }).collect();
    all.extend(doctor::compared(&gates, &difference(job, &trial)));
    all
}

fn run_in(
    job: &LaneTrialJob<'_, '_>,
    trial: &LaneTrial<'_>,
    gate: &Gate,
) -> Result<GateRunResult, CommandError> {
    let (root, environment) = (trial.root(), trial.environment());
    let run = GatePassSettings {
        surroundings: &environment,
        cwd: &root,
        logs: &job.logs,
        grace: JobBounds::default().grace,
        cancel: CancelToken::default(),
    };
    out::progress(&format!("running gate {} in a lane …", out::clean(&gate.name)));
    let ran = run_gate(job.runner, gate, &run, &mut |_| {});
    out::progress("");
    Ok(ran?)
}

/// Collect the differences between home and the lane. Facts that cannot be found out are left out,
/// because they only explain the results.
fn difference(job: &LaneTrialJob<'_, '_>, trial: &LaneTrial<'_>) -> LaneDifference {
    let root = job.context.project.root();
    let tree = look_at(job.context, job.repo).unwrap_or_default();
    let uncommitted = job.repo.dirty().unwrap_or_default();
    LaneDifference {
        settings: job.settings.clone(),
        proposal: LaneProposal::of(&tree),
        absent: trial.absent(tree.ignored()),
        uncommitted: uncommitted.iter().map(ToString::to_string).collect(),
        environment: environment_of_home(root).map(|path| path.display().to_string()),
    }
}

/// The project as `ralph init` sees it, with what git says about it.
pub(crate) fn look_at(
    context: &CommandContext,
    repo: &Repo<'_>,
) -> Result<ProjectTree, CommandError> {
    let mut tree = survey(context.project.root())?;
    let depth = repo.prefix().as_path().components().count();
    // Without git there is nothing to say, which others tell.
    tree.set_repository(repo.ignored_paths().unwrap_or_default(), depth);
    Ok(tree)
}
