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

use permit::Access;
use ralph_core::control::Command as LoopCommand;

use crate::args::{Cli, Command};
use crate::context::Context;
use crate::error::CommandError;

pub(crate) fn run(cli: Cli) -> Result<ExitCode, CommandError> {
    if let Some(code) = mailbox::ask_for(&cli)? {
        return Ok(code);
    }
    let here = cli.directory.clone();
    permit::check(access(&cli.command), here.as_deref())?;
    carry_out(cli, &|| Context::open(here.as_deref()))
}

/// Carry out a command that may be, in the project that `open` opens.
fn carry_out(
    cli: Cli,
    open: &dyn Fn() -> Result<Context, CommandError>,
) -> Result<ExitCode, CommandError> {
    let here = cli.directory.as_deref();
    match cli.command {
        Command::Demo(args) => return demo::run(here, &args),
        Command::Tutorial(args) => tutorial::run(here, &args)?,
        Command::Init(args) => init::run(&open()?, &args)?,
        Command::Doctor(args) => return doctor::run(&open()?, &args),
        Command::Plan(args) => return plan_spec::run(&open()?, &args),
        Command::Construct(args) => return construct::run(&open()?, &args),
        Command::Agent(args) => return agent::run(&open()?, &args),
        Command::Build(args) => return build::run(&open()?, &args),
        Command::Start(args) => return build::start(here, &args),
        Command::Pause(args) => control::to_the_loop(&open()?, &LoopCommand::Pause, args.render())?,
        Command::Resume(args) => {
            control::to_the_loop(&open()?, &LoopCommand::Resume, args.render())?
        }
        Command::Skip(args) => control::skip(&open()?, &args)?,
        Command::Note(args) => control::note(&open()?, &args)?,
        Command::Stop(args) => control::to_the_loop(&open()?, &LoopCommand::Stop, args.render())?,
        Command::KillAttempt(args) => {
            control::to_the_loop(&open()?, &LoopCommand::KillAttempt, args.render())?
        }
        Command::Watch(args) => watch::run(&open()?, &args)?,
        Command::Status(args) => status::run(&open()?, &args)?,
        Command::Task(args) => task::run(&open()?, args)?,
        Command::Issue(args) => issue::run(&open()?, args)?,
        Command::Spec(args) => spec::run(&open()?, args)?,
        Command::Inbox(args) => inbox::run(&open()?, args)?,
        Command::Query(args) => query::run(&open()?, &args)?,
        Command::Log(args) => log::run(&open()?, &args)?,
        Command::Report(args) => report::run(&open()?, &args)?,
        Command::Land(args) => return land::run(&open()?, &args),
        Command::Lanes(args) => lanes::run(&open()?, &args)?,
        Command::Attempts(args) => attempts::run(&open()?, &args)?,
        Command::Knowledge(args) => return knowledge::run(&open()?, &args),
        Command::Serve(args) => serve::run(&open()?, &args)?,
        Command::Show(args) => show::run(&open()?, &args)?,
        Command::Salvage(args) => salvage::run(&open()?, &args)?,
        Command::Recover(args) => recover::run(&open()?, &args)?,
        Command::Validate(args) => return validate::run(&open()?, &args),
        Command::Convert(args) => convert::run(&open()?, &args)?,
        Command::Import(args) => import::run(&open()?, &args)?,
        Command::Config(args) => config::run(&open()?, args)?,
        Command::Backends(args) => return backends::run(&open()?, &args),
        Command::Mcp(args) => mcp::run(here, args)?,
        Command::Completions(args) => completions::run(&args)?,
        Command::Man(args) => completions::man(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a command stays until somebody ends it.
fn is_endless(command: &Command) -> bool {
    matches!(command, Command::Status(args) if args.watch)
}

/// Return the kind of access that a command needs. It decides whether a backend may use the command.
fn access(command: &Command) -> Access {
    match command {
        Command::Status(_)
        | Command::Query(_)
        | Command::Log(_)
        | Command::Attempts(_)
        | Command::Knowledge(_)
        | Command::Show(_)
        | Command::Validate(_)
        | Command::Completions(_)
        | Command::Man(_)
        // Each tool sees to it by itself.
        | Command::Mcp(_) => Access::Look,
        // Whoever opens the page can decide.
        Command::Construct(_)
        | Command::Agent(_)
        | Command::Demo(_)
        | Command::Tutorial(_)
        | Command::Init(_)
        | Command::Doctor(_)
        | Command::Convert(_)
        | Command::Land(_)
        | Command::Import(_)
        | Command::Serve(_)
        | Command::Pause(_)
        | Command::Resume(_)
        | Command::Skip(_)
        | Command::Note(_)
        | Command::Stop(_)
        | Command::KillAttempt(_)
        | Command::Watch(_) => Access::Decide,
        Command::Plan(args) => args.access(),
        Command::Build(args) => args.access(),
        Command::Start(args) => args.access(),
        Command::Task(args) => args.access(),
        Command::Issue(args) => args.access(),
        Command::Spec(args) => args.access(),
        Command::Inbox(args) => args.access(),
        Command::Report(args) => args.access(),
        Command::Lanes(args) => args.access(),
        Command::Salvage(args) => args.access(),
        Command::Recover(args) => args.access(),
        Command::Config(args) => args.access(),
        Command::Backends(args) => args.access(),
    }
}
