//! Command line of ralph, as clap parses it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::commands;
use crate::out::OutputMode;

/// Drives coding agents through specs until the work is proven done.
///
/// A plan is a file of tasks; `ralph` keeps it in any of four formats. Every command finds the
/// project from the current directory upwards.
#[derive(Debug, Parser)]
#[command(name = "ralph", version, propagate_version = true, after_help = FIRST_STEPS)]
pub(crate) struct Cli {
    /// Work as if started in this directory
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

const FIRST_STEPS: &str = "\
First steps:
  ralph init
  ralph task add '{\"name\": \"Add a parser\", \"accept\": \"`cargo test parser` passes\"}'
  ralph status";

/// One variant a command, in the order of the help.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    Demo(commands::demo::DemoArgs),
    Tutorial(commands::tutorial::TutorialArgs),
    Init(commands::init::InitArgs),
    Doctor(commands::doctor::DoctorArgs),
    Plan(Box<commands::plan_spec::PlanSpecArgs>),
    Construct(Box<commands::construct::ConstructArgs>),
    Agent(Box<commands::agent::AgentArgs>),
    Build(Box<commands::build_args::BuildArgs>),
    #[command(hide = true)]
    Start(commands::build_args::StartArgs),
    /// Let the running loop begin nothing new until `ralph resume`
    ///
    /// An attempt that runs goes on to its end. The loop then waits; Ctrl-C or `ralph stop` ends it.
    ///
    /// Examples:
    ///   ralph pause
    ///   ralph pause && ralph kill-attempt
    #[command(verbatim_doc_comment)]
    Pause(OutputArgs),
    /// Let a paused loop go on
    Resume(OutputArgs),
    Skip(commands::control::SkipArgs),
    Note(commands::control::NoteArgs),
    /// End the running loop after the attempt that runs
    ///
    /// The loop ends with exit code 4, and the next start goes on from there. `ralph kill-attempt` does not
    /// wait for the attempt.
    Stop(OutputArgs),
    /// End the attempt that runs, now
    ///
    /// Its work is kept aside (`ralph salvage list`), and nothing is counted. The loop goes on:
    /// `ralph pause` or `ralph stop` first, if it should not.
    KillAttempt(OutputArgs),
    Watch(commands::watch::WatchArgs),
    Status(commands::status::StatusArgs),
    Serve(commands::serve::ServeArgs),
    Task(commands::task::TaskArgs),
    Issue(commands::issue::IssueArgs),
    Spec(commands::spec::SpecArgs),
    Inbox(commands::inbox::InboxArgs),
    Query(commands::query::QueryArgs),
    Log(commands::log::LogArgs),
    Report(commands::report::ReportArgs),
    Land(commands::land::LandArgs),
    Lanes(commands::lanes::LanesArgs),
    Attempts(commands::attempts::AttemptsArgs),
    Show(commands::show::ShowArgs),
    Salvage(commands::salvage::SalvageArgs),
    Recover(commands::recover::RecoverArgs),
    Knowledge(commands::knowledge::KnowledgeArgs),
    Validate(commands::validate::ValidateArgs),
    Convert(commands::convert::ConvertArgs),
    Import(commands::import::ImportArgs),
    Config(commands::config::ConfigArgs),
    Backends(commands::backends::BackendsArgs),
    Mcp(commands::mcp::McpArgs),
    Completions(commands::completions::CompletionsArgs),
    Man(commands::completions::ManArgs),
}

/// Option that selects the plan file.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PlanArgs {
    /// The plan file; its format is detected [default: ralph/plan.jsonl, else the one found]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) plan: Option<PathBuf>,
}

/// Options that all commands on a plan share.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CommonArgs {
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl CommonArgs {
    pub(crate) fn render(&self) -> OutputMode {
        self.output.render()
    }
}

/// Options of every command that prints an answer.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OutputArgs {
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

impl OutputArgs {
    /// Return the kind of output that `--json` selects.
    pub(crate) fn render(&self) -> OutputMode {
        OutputMode::from_flag(self.json)
    }
}
