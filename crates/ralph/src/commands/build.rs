//! `ralph build`: the loop over the tasks of a plan.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::config::{Resolved, flag_layer};
use ralph_host::drive::Listener;

use super::build_args::{BuildArgs, StartArgs, StartMode};
use crate::context::{Context, PlanFile};
use crate::error::CommandError;
use crate::out;

/// Run it.
pub(crate) fn run(context: &Context, args: &BuildArgs) -> Result<ExitCode, CommandError> {
    let flags = args.flags();
    // What was typed wrong is told as such, before anything is looked at.
    flag_layer(&flags).map_err(|errors| CommandError::usage(errors.to_string()))?;
    let file = context.read_plan(&args.plan())?;
    let resolved = context.config_with(&flags, &file)?;
    resolved.warnings.iter().for_each(out::warn);
    let mut listener = ralph_face::listener(args.view(), context.project.root(), context.clock());
    // The view is gone before anything else is said: `listener` leaves a clean terminal behind.
    let end = drive(context, args, &file, &resolved, &mut *listener);
    drop(listener);
    end
}

/// The loop itself. The one place to connect it.
fn drive(
    _context: &Context,
    _args: &BuildArgs,
    _file: &PlanFile,
    _resolved: &Resolved,
    _listener: &mut dyn Listener,
) -> Result<ExitCode, CommandError> {
    Err(CommandError::new("the loop is not part of this version yet"))
}

/// `ralph start build|plan`.
pub(crate) fn start(here: Option<&Path>, args: &StartArgs) -> Result<ExitCode, CommandError> {
    match &args.mode {
        StartMode::Build(args) => run(&Context::open(here)?, args),
        StartMode::Plan => {
            Err(CommandError::new("this version does not make plans from specs yet")
                .hint("write tasks with `ralph task add`, then `ralph start build` works on them"))
        }
    }
}
