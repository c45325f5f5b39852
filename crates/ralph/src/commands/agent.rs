//! `ralph agent`: specs from the inbox, day and night.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use ralph_core::config::{Flag, flag_layer};
use ralph_core::construct::apply::Existing;
use ralph_core::format::{Format, codec};
use ralph_core::inbox::Status;
use ralph_host::drive::{self, AgentOptions, DriveError, Listener, Options, Planning};

use super::build::{drive_error, mend_plan, setup};
use super::loop_args::{LoopArgs, flag};
use super::permit::Access;
use super::{inbox, plan_spec, spec_file};
use crate::args::PlanArgs;
use crate::context::{Context, PlanFile};
use crate::error::CommandError;
use crate::out;

/// Work through the inbox: plan, construct and commit one spec after another
///
/// Each spec becomes one commit on your branch, or, when it fails, an entry of `git stash list`; then the
/// next one follows. Specs can be added, listed and removed meanwhile. The first Ctrl-C ends it after the
/// current iteration, the second at once; the next start goes on.
///
/// Exit codes: 0 the inbox is empty and nothing failed, 3 a spec failed, 4 a limit left specs pending.
///
/// Examples:
///   ralph inbox add avatars.md && ralph agent
///   ralph agent --max-specs 5 --max-cost 20
///   ralph agent --watch
///   ralph agent --dry-run
#[derive(Clone, Debug, Default, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct AgentArgs {
    /// Stop after this many specs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_specs: Option<u32>,
    /// Stop after this many specs failed in a row
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    max_failures: u32,
    /// Wait for new specs instead of stopping when the inbox is empty
    #[arg(long)]
    watch: bool,
    /// Plan each pending spec and show the tasks; write nothing, and leave the inbox as it is
    #[arg(long)]
    dry_run: bool,
    /// Longest time of one backend run, in milliseconds
    #[arg(long, value_name = "MS")]
    timeout: Option<u64>,
    /// Most iterations of one spec
    #[arg(long, value_name = "N")]
    max_iterations: Option<String>,
    /// Most agents at once when issues are investigated or tasks verified [default: all, at most 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    #[command(flatten)]
    common: LoopArgs,
}

impl AgentArgs {
    /// What it does, as far as a backend is concerned.
    pub(crate) fn access(&self) -> Access {
        Access::Decide
    }

    fn flags(&self) -> Vec<Flag> {
        let timeout = self.timeout.map(|ms| format!("{ms}ms"));
        self.common.flags([
            flag("--max-iterations", "max_iterations", self.max_iterations.as_deref()),
            flag("--timeout", "limits.stage_timeout", timeout.as_deref()),
        ])
    }
}

/// Run it.
pub(crate) fn run(context: &Context, args: &AgentArgs) -> Result<ExitCode, CommandError> {
    let mut listener =
        ralph_face::listener(args.common.view(), context.project.root(), context.clock());
    let end = match args.dry_run {
        true => dry_run(context, args, &mut *listener),
        false => run_with(context, args, &mut *listener),
    };
    drop(listener);
    end
}

fn run_with(
    context: &Context,
    args: &AgentArgs,
    listener: &mut dyn Listener,
) -> Result<ExitCode, CommandError> {
    let (setup, _) = prepare(context, args, listener)?;
    let options = AgentOptions {
        max_specs: args.max_specs,
        max_failures: args.max_failures,
        watch: args.watch,
        jobs: args.jobs.map(usize::from),
    };
    match drive::agent(setup, &options, listener) {
        Ok(report) => Ok(ExitCode::from(report.exit_code())),
        // Once at most: nothing is left to recover then.
        Err(DriveError::SettingsMoved) => run_with(context, args, listener),
        Err(e) => Err(drive_error(&e)),
    }
}

/// Everything a loop is given, from the plan and the configuration as they are now.
fn prepare(
    context: &Context,
    args: &AgentArgs,
    listener: &mut dyn Listener,
) -> Result<(drive::Setup, PlanFile), CommandError> {
    let flags = args.flags();
    flag_layer(&flags).map_err(|errors| CommandError::usage(errors.to_string()))?;
    mend_plan(context, listener)?;
    // A damaged inbox is told before anything begins.
    inbox::parse(context, &inbox::read(context)?)?;
    let path = context.project.plan_jsonl();
    let file = match path.exists() {
        true => context.read_plan(&PlanArgs { plan: Some(path.clone()) })?,
        false => empty(context, &path)?,
    };
    let resolved = context.config_with(&flags, &file)?;
    resolved.warnings.iter().for_each(out::warn);
    let options = Options { ..args.common.options() };
    Ok((setup(context, path, &file, &resolved, options)?, file))
}

fn empty(context: &Context, path: &Path) -> Result<PlanFile, CommandError> {
    let codec = codec(Format::Jsonl);
    let plan = codec.parse(&codec.empty("", &context.now()));
    let plan = plan.map_err(|e| CommandError::new(e.to_string()))?;
    Ok(PlanFile { shown: context.show(path), plan })
}

/// Plan what is pending, and write nothing.
fn dry_run(
    context: &Context,
    args: &AgentArgs,
    listener: &mut dyn Listener,
) -> Result<ExitCode, CommandError> {
    let text = inbox::read(context)?;
    let pending: Vec<String> = inbox::parse(context, &text)?
        .entries()
        .iter()
        .filter(|entry| entry.status == Status::Pending)
        .map(|entry| entry.spec.clone())
        .collect();
    if pending.is_empty() {
        out::line("Inbox empty. Nothing to plan.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut plannings = Vec::new();
    for spec in &pending {
        let found = spec_file::spec_file(context, spec)?;
        let (spec, file) = (Some(found.name), Some(found.file));
        let existing = Existing::Merge;
        plannings.push(Planning { spec, file, text: found.text, existing, dry: true });
    }
    let (setup, _) = prepare(context, args, listener)?;
    let planned = drive::plan(setup, &plannings, listener).map_err(|e| drive_error(&e))?;
    plan_spec::tell_dry(&pending, &planned)
}
