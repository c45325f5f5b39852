//! `ralph build`: the loop over the tasks of a plan.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::config::{ResolvedConfig, flag_layer};
use ralph_core::cycle::DoneElsewhere;
use ralph_core::gate;
use ralph_core::plan::Id;
use ralph_core::text::nearest;
use ralph_host::drive::{self, DriveError, LoopListener, ReceivedSignals, RunOptions, RunSetup};
use ralph_host::project_reader::LoadedPlan;

use super::build_args::{BuildArgs, StartArgs, StartMode};
use super::mailbox::LoopCommands;
use super::screen::under_view;
use super::{first_commit, plan_spec, preview};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out;

pub(crate) fn run(context: &CommandContext, args: &BuildArgs) -> Result<ExitCode, CommandError> {
    under_view(context, &args.screen, args.common.view(), args.plan(), |listener| {
        run_with(context, args, listener)
    })
}

/// Run it and let `listener` tell about it.
pub(crate) fn run_with(
    context: &CommandContext,
    args: &BuildArgs,
    listener: &mut dyn LoopListener,
) -> Result<ExitCode, CommandError> {
    let flags = args.flags();
    // What was typed wrong is told as such, before anything is looked at.
    flag_layer(&flags).map_err(|errors| CommandError::usage(errors.to_string()))?;
    if args.dry_run {
        return preview::run(context, args, &flags);
    }
    // The backend of an attempt that was interrupted may have left a plan that nobody can read.
    mend_ledger(context, listener)?;
    let file = context.read_plan(&args.plan())?;
    if file.plan.tasks.is_empty()
        && let Some(here) = context.project.branch()
    {
        let done = DoneElsewhere::find(&context.history()?, &file.plan, &here);
        done.iter().for_each(|done| out::warn(done.to_sentence()));
    }
    known(args.task.as_deref(), &file)?;
    let resolved = context.config_with(&flags, &file)?;
    run_loop(context, args, &file, &resolved, listener)
}

/// The one task that was asked for is in the plan, or was.
fn known(task: Option<&str>, file: &LoadedPlan) -> Result<(), CommandError> {
    let Some(task) = task.filter(|task| !file.plan.knows(&Id::new(*task))) else { return Ok(()) };
    let near = nearest(task, file.plan.tasks.iter().map(|t| t.id.as_str()));
    let error = CommandError::new(format!("{} has no task {}", file.shown, out::clean(task)));
    let hint = near.map(|near| format!("did you mean {near}?"));
    Err(error.hint(hint.unwrap_or_else(|| "`ralph task list` shows them".to_owned())))
}

/// Before anybody reads the plan: what a backend that was interrupted did to it by hand is undone.
pub(super) fn mend_ledger(
    context: &CommandContext,
    listener: &mut dyn LoopListener,
) -> Result<(), CommandError> {
    Ok(drive::mend_ledger(&context.project, &context.store(), &context.clock(), listener)?)
}

fn run_loop(
    context: &CommandContext,
    args: &BuildArgs,
    file: &LoadedPlan,
    resolved: &ResolvedConfig,
    listener: &mut dyn LoopListener,
) -> Result<ExitCode, CommandError> {
    first_commit::ensure(context)?;
    let setup = setup(context, file, resolved, options(args))?;
    match drive::build(setup, listener) {
        Ok(code) => Ok(ExitCode::from(code)),
        // Once at most: nothing is left to recover then.
        Err(DriveError::SettingsMoved) => run_with(context, args, listener),
        Err(e) => Err(e.into()),
    }
}

pub(super) fn setup(
    context: &CommandContext,
    file: &LoadedPlan,
    resolved: &ResolvedConfig,
    options: RunOptions,
) -> Result<RunSetup, CommandError> {
    let config = resolved.config.clone();
    let signals = ReceivedSignals::listen()
        .map_err(|e| CommandError::new(format!("cannot listen for signals: {e}")))?;
    Ok(RunSetup {
        project: context.project.clone(),
        gates: gate::resolve(&config, &file.plan),
        config,
        plan: file.path.clone(),
        clock: context.clock(),
        ids: context.ids(),
        store: context.store(),
        options,
        signals,
        commands: Box::new(LoopCommands { project: context.project.root().to_owned() }),
    })
}

/// Return the options of the loop that are not in the configuration.
pub(super) fn options(args: &BuildArgs) -> RunOptions {
    RunOptions {
        once: args.once,
        resume: args.resume,
        task: args.task.as_deref().map(Id::new),
        branch: args.target.branch.clone(),
        ..args.common.options()
    }
}

/// Run `ralph start build` or `ralph start plan`.
pub(crate) fn start(here: Option<&Path>, args: &StartArgs) -> Result<ExitCode, CommandError> {
    match &args.mode {
        StartMode::Build(args) => run(&CommandContext::open(here)?, args),
        StartMode::Plan(args) => plan_spec::run(&CommandContext::open(here)?, args),
    }
}
