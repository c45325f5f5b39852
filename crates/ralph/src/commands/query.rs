//! `ralph query`: answers for scripts and agents.

use clap::{Args, Subcommand};
use ralph_core::construct;
use ralph_core::cycle::{History, RunCommand};
use ralph_core::view::{NextAction, PlanSummary, TaskLists};

use crate::args::PlanArgs;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out;

/// Answer a question about the plan, as JSON or one bare word
///
/// Without a question: everything in one object.
///
/// Examples:
///   ralph query stage
///   ralph query tasks --done
///   ralph query next | jq -r .item.id
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    plan: PlanArgs,
    #[command(subcommand)]
    question: Option<PlanQuery>,
}

#[derive(Debug, Subcommand)]
enum PlanQuery {
    /// The stage: INVESTIGATE, BUILD, VERIFY, DECOMPOSE, COMPLETE or BLOCKED
    Stage,
    /// The number of the current iteration; 0 before the first run
    Iteration,
    /// The next step: {"action", "item", "items"}
    Next,
    /// The tasks: {"pending": […], "done": […]}
    Tasks {
        /// Only the array of tasks that are claimed to be done
        #[arg(long)]
        done: bool,
    },
    /// The open issues, as an array
    Issues,
    /// All records of the inbox, as an array
    Inbox,
}

pub(crate) fn run(context: &CommandContext, args: &QueryArgs) -> Result<(), CommandError> {
    let read = || context.read_plan(&args.plan);
    match &args.question {
        Some(PlanQuery::Stage) => {
            out::line(construct::current_stage(&read()?.plan, &context.history()?))
        }
        Some(PlanQuery::Iteration) => out::line(iteration(&context.history()?).to_string()),
        Some(PlanQuery::Next) => out::json(&NextAction::of(&read()?.plan)),
        Some(PlanQuery::Tasks { done: true }) => out::json(&TaskLists::of(&read()?.plan).done),
        Some(PlanQuery::Tasks { done: false }) => out::json(&TaskLists::of(&read()?.plan)),
        Some(PlanQuery::Issues) => out::json(&read()?.plan.scoped_issues().collect::<Vec<_>>()),
        Some(PlanQuery::Inbox) => out::json(&context.inbox()?),
        None => out::json(&PlanSummary::of(&read()?.plan, iteration(&context.history()?))),
    }
}

/// The loop's iteration; 0 when no loop has run here.
pub(crate) fn iteration(history: &History) -> u32 {
    match RunCommand::last(history) {
        RunCommand::Build => history.iteration,
        _ => history.construct.iteration,
    }
}
