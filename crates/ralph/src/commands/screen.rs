//! `--tui`: the full-screen view in the process of the loop.

use std::process::ExitCode;

use clap::Args;
use ralph_face::watch::{HostedScreen, WatchRole};
use ralph_face::{LoopPicture, ViewChoice, listener};
use ralph_host::drive::LoopListener;

use super::{first_commit, watch};
use crate::args::PlanArgs;
use crate::context::CommandContext;
use crate::error::CommandError;

/// Options of the commands that run a loop which can be watched.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ScreenArgs {
    /// Show the full screen of `ralph watch`; q closes it, and the loop goes on
    #[arg(long, conflicts_with_all = ["quiet", "json"])]
    tui: bool,
}

/// Run a loop under the view that was asked for. The view is gone before anything else is said.
pub(crate) fn under_view(
    context: &CommandContext,
    args: &ScreenArgs,
    view: ViewChoice,
    plan: PlanArgs,
    work: impl FnOnce(&mut dyn LoopListener) -> Result<ExitCode, CommandError>,
) -> Result<ExitCode, CommandError> {
    if args.tui {
        // Once the screen is up, nothing can be asked.
        first_commit::ensure(context)?;
    }
    let mut listener: Box<dyn LoopListener> = match args.tui {
        true => Box::new(hosted(context, plan)?),
        false => listener(view, context.project.root()),
    };
    let end = work(&mut *listener);
    drop(listener);
    end
}

fn hosted(context: &CommandContext, plan: PlanArgs) -> Result<HostedScreen, CommandError> {
    let paint = watch::able()?;
    let picture = LoopPicture::new(context.project.root().to_str().map(str::to_owned));
    let directory = context.directory.clone();
    let show = move |over: &dyn Fn() -> bool| {
        let context = CommandContext::open(Some(&directory));
        let left =
            context.and_then(|context| watch::show(&context, &plan, paint, WatchRole::Host, over));
        left.map_err(|e| e.told().replace('\n', "; "))
    };
    Ok(HostedScreen::new(picture, paint, Box::new(show)))
}
