//! `ralph agent`: specs from the inbox, day and night.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ralph_core::config::flag_layer;
use ralph_core::construct::apply::ExistingTasks;
use ralph_core::inbox::InboxStatus;
use ralph_host::drive::{self, AgentOptions, DriveError, LoopListener, PlanningRequest};

use super::build::{mend_ledger, setup};
use super::construct::native_plan;
use super::loop_args::StageArgs;
use super::screen::{ScreenArgs, under_view};
use super::service::{self, ServiceArgs};
use super::{first_commit, plan_spec, spec_file};
use crate::args::PlanArgs;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out;

/// Work through the inbox: plan, construct and commit one spec after another
///
/// Each spec becomes one commit on your branch, or, when it fails, an entry of `git stash list`; then the
/// next one follows. Your own uncommitted files stay as they are. Specs can be added, listed and removed
/// meanwhile. The first Ctrl-C ends it after the current iteration, the second at once; the next start
/// goes on from there.
///
/// Exit codes: 0 the inbox is empty and nothing failed, 3 a spec failed, 4 a limit left specs pending,
/// 130 or 143 a signal came.
///
/// Examples:
///   ralph inbox add avatars.md && ralph agent
///   ralph agent --max-specs 5 --max-cost 20
///   ralph agent --watch
///   ralph agent --dry-run
///   ralph agent install-service --print
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    action: Option<AgentAction>,
    /// Stop after this many specs are complete
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_specs: Option<u32>,
    /// Stop after this many specs failed in a row
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    max_failures: u32,
    /// Wait for new specs instead of stopping when the inbox is empty
    #[arg(long)]
    watch: bool,
    /// Plan each pending spec and show the tasks; write nothing, and leave the inbox as it is
    #[arg(long, conflicts_with = "tui")]
    dry_run: bool,
    #[command(flatten)]
    stages: StageArgs,
    #[command(flatten)]
    screen: ScreenArgs,
}

#[derive(Debug, Subcommand)]
enum AgentAction {
    InstallService(ServiceArgs),
}

pub(crate) fn run(context: &CommandContext, args: &AgentArgs) -> Result<ExitCode, CommandError> {
    if let Some(AgentAction::InstallService(args)) = &args.action {
        return service::run(context, args).map(|()| ExitCode::SUCCESS);
    }
    let (view, plan) = (args.stages.common.view(), PlanArgs::default());
    under_view(context, &args.screen, view, plan, |listener| match args.dry_run {
        true => dry_run(context, args, listener),
        false => run_with(context, args, listener),
    })
}

fn run_with(
    context: &CommandContext,
    args: &AgentArgs,
    listener: &mut dyn LoopListener,
) -> Result<ExitCode, CommandError> {
    let setup = prepare(context, args, listener)?;
    first_commit::ensure(context)?;
    let options = AgentOptions {
        max_specs: args.max_specs,
        max_failures: args.max_failures,
        watch: args.watch,
        jobs: args.stages.jobs(),
    };
    match drive::agent(setup, &options, listener) {
        Ok(code) => Ok(ExitCode::from(code)),
        // Once at most: nothing is left to recover then.
        Err(DriveError::SettingsMoved) => run_with(context, args, listener),
        Err(e) => Err(e.into()),
    }
}

/// Everything a loop is given, from the plan and the configuration as they are now.
fn prepare(
    context: &CommandContext,
    args: &AgentArgs,
    listener: &mut dyn LoopListener,
) -> Result<drive::RunSetup, CommandError> {
    let flags = args.stages.flags();
    flag_layer(&flags).map_err(|errors| CommandError::usage(errors.to_string()))?;
    mend_ledger(context, listener)?;
    // A damaged inbox is told before anything begins.
    context.inbox()?;
    let file = native_plan(context, &PlanArgs::default())?;
    let resolved = context.config_with(&flags, &file)?;
    setup(context, &file, &resolved, args.stages.common.options())
}

fn dry_run(
    context: &CommandContext,
    args: &AgentArgs,
    listener: &mut dyn LoopListener,
) -> Result<ExitCode, CommandError> {
    let most =
        args.max_specs.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let pending: Vec<String> = context
        .inbox()?
        .iter()
        .filter(|entry| entry.status == InboxStatus::Pending)
        .map(|entry| entry.spec.clone())
        .take(most)
        .collect();
    if pending.is_empty() {
        out::line("Inbox empty. Nothing to plan.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let (mut names, mut plannings) = (Vec::new(), Vec::new());
    for spec in &pending {
        match spec_file::spec_file(context, spec) {
            Ok(found) => {
                names.push(spec.clone());
                let (spec, file) = (Some(found.name), Some(found.file));
                let existing = ExistingTasks::Merge;
                plannings.push(PlanningRequest {
                    spec,
                    file,
                    text: found.text,
                    existing,
                    dry: true,
                });
            }
            // The agent would call it failed and go on.
            Err(e) => out::warn(format!("{spec} would fail: {}", e.told())),
        }
    }
    let setup = prepare(context, args, listener)?;
    let planned = drive::plan(setup, &plannings, listener)?;
    let told = plan_spec::tell_dry(&names, &planned)?;
    Ok(if names.len() < pending.len() { ExitCode::from(3) } else { told })
}
