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
pub(crate) mod import;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod issue;
pub(crate) mod knowledge;
pub(crate) mod log;
pub(crate) mod loop_args;
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

use crate::args::{Cli, Command};
use crate::context::Context;
use crate::error::CommandError;

pub(crate) fn run(cli: Cli) -> Result<ExitCode, CommandError> {
    let here = cli.directory.as_deref();
    permit::check(access(&cli.command), here)?;
    match cli.command {
        Command::Demo(args) => demo::run(here, &args),
        Command::Tutorial(args) => tutorial::run(here, &args),
        Command::Init(args) => init::run(&Context::open(here)?, &args),
        Command::Doctor(args) => doctor::run(&Context::open(here)?, &args),
        Command::Plan(args) => plan_spec::run(&Context::open(here)?, &args),
        Command::Construct(args) => construct::run(&Context::open(here)?, &args),
        Command::Agent(args) => agent::run(&Context::open(here)?, &args),
        Command::Build(args) => build::run(&Context::open(here)?, &args),
        Command::Start(args) => build::start(here, &args),
        Command::Pause(args) => control::pause(&Context::open(here)?, &args),
        Command::Resume(args) => control::resume(&Context::open(here)?, &args),
        Command::Skip(args) => control::skip(&Context::open(here)?, &args),
        Command::Note(args) => control::note(&Context::open(here)?, &args),
        Command::Stop(args) => control::stop(&Context::open(here)?, &args),
        Command::KillAttempt(args) => control::kill_attempt(&Context::open(here)?, &args),
        Command::Watch(args) => watch::run(&Context::open(here)?, &args),
        Command::Status(args) => status::run(&Context::open(here)?, &args),
        Command::Task(args) => task::run(&Context::open(here)?, args),
        Command::Issue(args) => issue::run(&Context::open(here)?, args),
        Command::Spec(args) => spec::run(&Context::open(here)?, args),
        Command::Inbox(args) => inbox::run(&Context::open(here)?, args),
        Command::Query(args) => query::run(&Context::open(here)?, &args),
        Command::Log(args) => log::run(&Context::open(here)?, &args),
        Command::Report(args) => report::run(&Context::open(here)?, &args),
        Command::Attempts(args) => attempts::run(&Context::open(here)?, &args),
        Command::Knowledge(args) => knowledge::run(&Context::open(here)?, &args),
        Command::Serve(args) => serve::run(&Context::open(here)?, &args),
        Command::Show(args) => show::run(&Context::open(here)?, &args),
        Command::Salvage(args) => salvage::run(&Context::open(here)?, &args),
        Command::Recover(args) => recover::run(&Context::open(here)?, &args),
        Command::Validate(args) => validate::run(&Context::open(here)?, &args),
        Command::Convert(args) => convert::run(&Context::open(here)?, &args),
        Command::Import(args) => import::run(&Context::open(here)?, &args),
        Command::Config(args) => config::run(&Context::open(here)?, args),
        Command::Backends(args) => backends::run(&Context::open(here)?, &args),
        Command::Mcp(args) => mcp::run(here, args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => completions::man(&args),
    }
}

/// What a command does, as far as a backend is concerned.
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
        | Command::Man(_) => Access::Look,
        // Each tool sees to it by itself.
        Command::Mcp(_) => Access::Say,
        // Whoever opens the page can decide.
        Command::Demo(_)
        | Command::Tutorial(_)
        | Command::Init(_)
        | Command::Doctor(_)
        | Command::Convert(_)
        | Command::Import(_)
        | Command::Serve(_) => Access::Decide,
        Command::Pause(_)
        | Command::Resume(_)
        | Command::Skip(_)
        | Command::Note(_)
        | Command::Stop(_)
        | Command::KillAttempt(_)
        | Command::Watch(_) => Access::Decide,
        Command::Plan(args) => args.access(),
        Command::Construct(args) => args.access(),
        Command::Agent(args) => args.access(),
        Command::Build(args) => args.access(),
        Command::Start(args) => args.access(),
        Command::Task(args) => args.access(),
        Command::Issue(args) => args.access(),
        Command::Spec(args) => args.access(),
        Command::Inbox(args) => args.access(),
        Command::Report(args) => args.access(),
        Command::Salvage(args) => args.access(),
        Command::Recover(args) => args.access(),
        Command::Config(args) => args.access(),
        Command::Backends(args) => args.access(),
    }
}
