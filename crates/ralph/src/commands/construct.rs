//! `ralph construct`: a spec becomes verified work.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ralph_core::config::flag_layer;
use ralph_core::format::PlanFormat;
use ralph_host::drive::{self, ConstructGoal, DriveError, LoopListener, RunOptions};
use ralph_host::project_reader::LoadedPlan;

use super::build::{mend_ledger, setup};
use super::loop_args::{BranchArgs, StageArgs};
use super::screen::{ScreenArgs, under_view};
use super::{first_commit, spec_file};
use crate::args::PlanArgs;
use crate::context::CommandContext;
use crate::error::CommandError;

/// Turn a spec into verified work: plan, investigate, build, verify, until it is satisfied
///
/// A plan is made when the spec has none. Then, iteration by iteration: open issues become
/// tasks, tasks are built one by one and gated, other agents verify every finished task and
/// the spec as a whole, and work that was too big is broken down. It can be ended at any
/// moment; the next start goes on from there. `ralph query stage` says where it is.
///
/// Exit codes: 0 the spec is satisfied, 3 work is blocked or failed, 4 a limit was reached.
///
/// Examples:
///   ralph construct
///   ralph construct avatars.md --max-iterations 5 --max-cost 10
///   ralph construct ralph/specs/avatars.md --timeout 1800000 --jobs 4
#[derive(Clone, Debug, Default, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ConstructArgs {
    /// The spec: a name in ralph/specs/ or a markdown file [default: the current spec, else the only one]
    spec: Option<String>,
    #[command(flatten)]
    plan: PlanArgs,
    /// Count the last run's iterations and cost towards the limits of this one
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    target: BranchArgs,
    #[command(flatten)]
    stages: StageArgs,
    #[command(flatten)]
    screen: ScreenArgs,
}

pub(crate) fn run(
    context: &CommandContext,
    args: &ConstructArgs,
) -> Result<ExitCode, CommandError> {
    let view = args.stages.common.view();
    under_view(context, &args.screen, view, args.plan.clone(), |listener| {
        run_with(context, args, listener)
    })
}

fn run_with(
    context: &CommandContext,
    args: &ConstructArgs,
    listener: &mut dyn LoopListener,
) -> Result<ExitCode, CommandError> {
    let flags = args.stages.flags();
    flag_layer(&flags).map_err(|errors| CommandError::usage(errors.to_string()))?;
    mend_ledger(context, listener)?;
    let file = native_plan(context, &args.plan)?;
    let spec = match &args.spec {
        Some(typed) => spec_file::spec_file(context, typed)?,
        None => spec_file::only(context, file.plan.current_spec.as_deref())?,
    };
    let resolved = context.config_with(&flags, &file)?;
    let branch = args.target.branch.clone();
    let options = RunOptions { resume: args.resume, branch, ..args.stages.common.options() };
    first_commit::ensure(context)?;
    let setup = setup(context, &file, &resolved, options)?;
    let goal = ConstructGoal {
        spec: spec.name,
        file: spec.file,
        text: spec.text,
        jobs: args.stages.jobs(),
    };
    match drive::construct(setup, &goal, listener) {
        Ok(code) => Ok(ExitCode::from(code)),
        // Once at most: nothing is left to recover then.
        Err(DriveError::SettingsMoved) => run_with(context, args, listener),
        Err(e) => Err(e.into()),
    }
}

/// The plan of a construct: the one that was asked for or configured, else ralph/plan.jsonl.
pub(crate) fn native_plan(
    context: &CommandContext,
    args: &PlanArgs,
) -> Result<Arc<LoadedPlan>, CommandError> {
    let path = match args.plan.is_some() || context.config()?.plan.is_some() {
        true => context.plan_path(args)?,
        false => context.project.plan_jsonl(),
    };
    let file = context.plan_at(&path)?;
    if file.plan.format != PlanFormat::Jsonl {
        let error = format!(
            "construct needs a plan.jsonl, which tells claimed work from verified work, and the plan is {}",
            file.shown
        );
        let hint = "`ralph convert` makes one of your plan; `ralph build` works on it as it is";
        return Err(CommandError::new(error).hint(hint));
    }
    Ok(file)
}
