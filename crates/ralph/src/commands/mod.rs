//! One file a command. The doc comment of its argument type is its help.

pub(crate) mod agent;
pub(crate) mod attempts;
pub(crate) mod backends;
pub(crate) mod build;
pub(crate) mod build_args;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod construct;
pub(crate) mod control;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod doctor;
mod first_commit;
pub(crate) mod import;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod issue;
pub(crate) mod knowledge;
pub(crate) mod land;
mod lane_trial;
pub(crate) mod lanes;
pub(crate) mod log;
pub(crate) mod loop_args;
pub(crate) mod mailbox;
pub(crate) mod mcp;
pub(crate) mod permit;
mod plan_preview;
pub(crate) mod plan_spec;
mod preview;
pub(crate) mod query;
pub(crate) mod recover;
pub(crate) mod report;
pub(crate) mod salvage;
mod screen;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod show;
pub(crate) mod spec;
pub(crate) mod spec_file;
pub(crate) mod status;
pub(crate) mod task;
pub(crate) mod tutorial;
pub(crate) mod validate;
pub(crate) mod watch;

use std::process::ExitCode;

use permit::CommandAccess;
use ralph_core::control::LoopCommand;

use crate::args::{Cli, CliCommand};
use crate::context::CommandContext;
use crate::error::CommandError;

pub(crate) fn run(cli: Cli) -> Result<ExitCode, CommandError> {
    if let Some(code) = mailbox::ask_for(&cli)? {
        return Ok(code);
    }
    let here = cli.directory.clone();
    permit::check(access(&cli.command), here.as_deref())?;
    carry_out(cli, &|| CommandContext::open(here.as_deref()))
}

/// Carry out a command that may be, in the project that `open` opens.
fn carry_out(
    cli: Cli,
    open: &dyn Fn() -> Result<CommandContext, CommandError>,
) -> Result<ExitCode, CommandError> {
    let here = cli.directory.as_deref();
    match cli.command {
        CliCommand::Demo(args) => return demo::run(here, &args),
        CliCommand::Tutorial(args) => tutorial::run(here, &args)?,
        CliCommand::Init(args) => init::run(&open()?, &args)?,
        CliCommand::Doctor(args) => return doctor::run(&open()?, &args),
        CliCommand::Plan(args) => return plan_spec::run(&open()?, &args),
        CliCommand::Construct(args) => return construct::run(&open()?, &args),
        CliCommand::Agent(args) => return agent::run(&open()?, &args),
        CliCommand::Build(args) => return build::run(&open()?, &args),
        CliCommand::Start(args) => return build::start(here, &args),
        CliCommand::Pause(args) => {
            control::to_the_loop(&open()?, &LoopCommand::Pause, args.render())?
        }
        CliCommand::Resume(args) => {
            control::to_the_loop(&open()?, &LoopCommand::Resume, args.render())?
        }
        CliCommand::Skip(args) => control::skip(&open()?, &args)?,
        CliCommand::Note(args) => control::note(&open()?, &args)?,
        CliCommand::Stop(args) => {
            control::to_the_loop(&open()?, &LoopCommand::Stop, args.render())?
        }
        CliCommand::KillAttempt(args) => {
            control::to_the_loop(&open()?, &LoopCommand::KillAttempt, args.render())?
        }
        CliCommand::Watch(args) => watch::run(&open()?, &args)?,
        CliCommand::Status(args) => status::run(&open()?, &args)?,
        CliCommand::Task(args) => task::run(&open()?, args)?,
        CliCommand::Issue(args) => issue::run(&open()?, args)?,
        CliCommand::Spec(args) => spec::run(&open()?, args)?,
        CliCommand::Inbox(args) => inbox::run(&open()?, args)?,
        CliCommand::Query(args) => query::run(&open()?, &args)?,
        CliCommand::Log(args) => log::run(&open()?, &args)?,
        CliCommand::Report(args) => report::run(&open()?, &args)?,
        CliCommand::Land(args) => return land::run(&open()?, &args),
        CliCommand::Lanes(args) => lanes::run(&open()?, &args)?,
        CliCommand::Attempts(args) => attempts::run(&open()?, &args)?,
        CliCommand::Knowledge(args) => return knowledge::run(&open()?, &args),
        CliCommand::Serve(args) => serve::run(&open()?, &args)?,
        CliCommand::Show(args) => show::run(&open()?, &args)?,
        CliCommand::Salvage(args) => salvage::run(&open()?, &args)?,
        CliCommand::Recover(args) => recover::run(&open()?, &args)?,
        CliCommand::Validate(args) => return validate::run(&open()?, &args),
        CliCommand::Convert(args) => convert::run(&open()?, &args)?,
        CliCommand::Import(args) => import::run(&open()?, &args)?,
        CliCommand::Config(args) => config::run(&open()?, args)?,
        CliCommand::Backends(args) => return backends::run(&open()?, &args),
        CliCommand::Mcp(args) => mcp::run(here, args)?,
        CliCommand::Completions(args) => completions::run(&args)?,
        CliCommand::Man(args) => completions::man(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a command stays until somebody ends it.
fn is_endless(command: &CliCommand) -> bool {
    matches!(command, CliCommand::Status(args) if args.watch)
}

/// Return the kind of access that a command needs. It decides whether a backend may use the command.
fn access(command: &CliCommand) -> CommandAccess {
    match command {
        CliCommand::Status(_)
        | CliCommand::Query(_)
        | CliCommand::Log(_)
        | CliCommand::Attempts(_)
        | CliCommand::Knowledge(_)
        | CliCommand::Show(_)
        | CliCommand::Validate(_)
        | CliCommand::Completions(_)
        | CliCommand::Man(_)
        // Each tool sees to it by itself.
        | CliCommand::Mcp(_) => CommandAccess::Look,
        // Whoever opens the page can decide.
        CliCommand::Construct(_)
        | CliCommand::Agent(_)
        | CliCommand::Demo(_)
        | CliCommand::Tutorial(_)
        | CliCommand::Init(_)
        | CliCommand::Doctor(_)
        | CliCommand::Convert(_)
        | CliCommand::Land(_)
        | CliCommand::Import(_)
        | CliCommand::Serve(_)
        | CliCommand::Pause(_)
        | CliCommand::Resume(_)
        | CliCommand::Skip(_)
        | CliCommand::Note(_)
        | CliCommand::Stop(_)
        | CliCommand::KillAttempt(_)
        | CliCommand::Watch(_) => CommandAccess::Decide,
        CliCommand::Plan(args) => args.access(),
        CliCommand::Build(args) => args.access(),
        CliCommand::Start(args) => args.access(),
        CliCommand::Task(args) => args.access(),
        CliCommand::Issue(args) => args.access(),
        CliCommand::Spec(args) => args.access(),
        CliCommand::Inbox(args) => args.access(),
        CliCommand::Report(args) => args.access(),
        CliCommand::Lanes(args) => args.access(),
        CliCommand::Salvage(args) => args.access(),
        CliCommand::Recover(args) => args.access(),
        CliCommand::Config(args) => args.access(),
        CliCommand::Backends(args) => args.access(),
    }
}
