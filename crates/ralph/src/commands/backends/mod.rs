//! `ralph backends`: the coding agents, and a way to try one alone.

mod list;
mod live;
mod report;
mod trial;

pub(crate) use list::{BackendListing, known_backends};

use std::num::NonZeroU32;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use ralph_core::config::parse_duration;
use ralph_host::config_load::ProjectConfigText;

use crate::args::OutputArgs;
use crate::commands::permit::CommandAccess;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out;

/// List the coding agents that ralph can drive, or try one alone
///
/// Whether you are logged in shows only when a backend runs, so ralph does not guess: `try` tells.
///
/// What a backend can do by itself: schema (answers in a given shape), resume (goes on with an earlier
/// session), cost and context (says what it cost and how full its context is), mcp (takes MCP
/// servers), turns and budget (stops at a limit), compact (makes room in its context when told).
///
/// Examples:
///   ralph backends
///   ralph backends try "say hello"
///   ralph backends try codex "create hello.txt with one line" --timeout 2m
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct BackendsArgs {
    #[command(flatten)]
    output: OutputArgs,
    #[command(subcommand)]
    action: Option<BackendsAction>,
}

#[derive(Debug, Subcommand)]
enum BackendsAction {
    /// Show which backends are installed and what each can do by itself (the default)
    List,
    Try(BackendTryArgs),
}

/// Run one backend once in this directory, and show what it does
///
/// It works as in a real run: it may change files here (unless --read-only), and what it
/// prints is kept in build/ralph-logs/. Nothing is committed or checked.
/// Exit codes: 0 it finished, 3 it did not, 1 it was not started.
///
/// Examples:
///   ralph backends try "say hello"
///   ralph backends try claude "create hello.txt with one line" --model haiku
///   ralph backends try sim "say hello" --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, allow_missing_positional = true)]
struct BackendTryArgs {
    /// The backend to run [default: the configured one, else the first one installed]
    name: Option<String>,
    /// The prompt for the backend, in quotes
    prompt: String,
    /// The model to ask for
    #[arg(long)]
    model: Option<String>,
    /// Most turns, for backends that can count them
    #[arg(long, value_name = "N")]
    max_turns: Option<NonZeroU32>,
    /// Longest time, such as 90s or 10m [default: limits.stage_timeout]
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<Duration>,
    /// Let it look and change nothing, as far as the program can be told so
    #[arg(long)]
    read_only: bool,
    /// Run it although there is a cost limit and nobody knows what it costs
    #[arg(long)]
    allow_unknown_cost: bool,
}

impl BackendsArgs {
    pub(crate) fn access(&self) -> CommandAccess {
        match self.action {
            None | Some(BackendsAction::List) => CommandAccess::Look,
            Some(BackendsAction::Try(_)) => CommandAccess::Decide,
        }
    }
}

pub(crate) fn run(context: &CommandContext, args: &BackendsArgs) -> Result<ExitCode, CommandError> {
    let render = args.output.render();
    let sources = context.config_sources(ProjectConfigText::OnDisk)?;
    let resolved = sources.without_plan()?;
    resolved.warnings.iter().for_each(out::warn);
    let place = context.place();
    match &args.action {
        None | Some(BackendsAction::List) => list::run(&resolved.config, place, render)?,
        Some(BackendsAction::Try(args)) => {
            return trial::run(context, resolved.config, place, args, render);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn time(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Some(time) if !time.is_zero() => Ok(time),
        _ => Err("a time is written like 90s, 10m or 1h30m".to_owned()),
    }
}
