//! `ralph doctor`: what keeps ralph from working here, and what to do about it.
//!
//! `look` gathers what can be seen at once, `gates` runs the gates, `report` prints, `bundle` writes what
//! a bug report needs. Nothing is changed without `--fix`, and then only what `ralph_core::doctor::Remedy`
//! names.

mod bundle;
mod gates;
mod look;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ralph_core::doctor::DoctorReport;
use ralph_host::store::RunLock;

use self::look::DoctorContext;
use self::report::DoctorPrinter;
use crate::args::OutputArgs;
use crate::context::CommandContext;
use crate::error::CommandError;

/// Find out what keeps ralph from working here, and how to put it right
///
/// Looks at git, the settings, the backends, ralph's own files, what an earlier crash left, the lanes and
/// the disk, and runs every gate once. Each line is ok, unknown, a warning or a problem, and says what to do.
/// Whether you are logged in to a backend shows only when it runs, so that is unknown.
///
/// --compare runs the gates in a lane too, the checkout in which agents work, and says what a lane lacks
/// when a gate passes in your checkout alone.
///
/// --fix does what can neither lose nor decide anything: stale locks, processes and unfinished files of
/// a killed ralph, commands for a loop that is gone, salvage past its time, lanes of repositories that are
/// gone.
///
/// Exit codes: 0 there is no problem, 3 there is one.
///
/// Examples:
///   ralph doctor
///   ralph doctor --fix --no-gates
///   ralph doctor --compare
///   ralph doctor --bundle report.txt
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct DoctorArgs {
    /// Put right what can be put right without losing or deciding anything
    #[arg(long)]
    fix: bool,
    /// Do not run the gates
    #[arg(long)]
    no_gates: bool,
    /// Run the gates in your checkout and in a lane, and say what the lane lacks
    #[arg(long, conflicts_with = "no_gates")]
    compare: bool,
    /// Write what a bug report needs into this file: no secrets, no code, no prompts
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// Put the last prompt into the bundle too: it has your task, and may have your code
    #[arg(long, requires = "bundle")]
    with_prompts: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(context: &CommandContext, args: &DoctorArgs) -> Result<ExitCode, CommandError> {
    let mut printer = DoctorPrinter::new(args.output.render());
    let look = DoctorContext::new(context);
    let mut report = DoctorReport { findings: look.findings() };
    if args.fix {
        mend(&look, &report, &mut printer)?;
        report = DoctorReport { findings: look.findings() };
    }
    report.findings.iter().try_for_each(|finding| printer.finding(finding))?;
    if !args.no_gates {
        let places = match args.compare {
            true => gates::GatePlaces::HomeAndLane,
            false => gates::GatePlaces::Home,
        };
        gates::run(&look, places, &mut |finding| {
            printer.finding(&finding)?;
            report.findings.push(finding);
            Ok(())
        })?;
    }
    printer.summary(&report)?;
    if let Some(file) = &args.bundle {
        let prompts = match args.with_prompts {
            true => bundle::BundledPrompts::Last,
            false => bundle::BundledPrompts::None,
        };
        printer.bundle(bundle::write(&look, &report, &context.directory.join(file), prompts)?)?;
    }
    printer.end(&report)?;
    Ok(if report.has_problem() { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

/// Put right what can be put right, while no loop can start.
fn mend(
    look: &DoctorContext<'_>,
    report: &DoctorReport,
    printer: &mut DoctorPrinter,
) -> Result<(), CommandError> {
    if report.remedies().next().is_none() {
        return printer.nothing_to_fix();
    }
    let context = look.context;
    let store = context.store();
    let lock = RunLock::acquire(&context.project.state_dir(), store.holder())?;
    let runner = look.worker();
    let (Some(repo), history) = (look.repo(&runner)?, look.history()) else { return Ok(()) };
    let plan = look.plan_path();
    let checkup = look.checkup(&repo, &store, &plan);
    for remedy in report.remedies() {
        let done = checkup.mend(remedy, &history, &mut context.ids(), &lock);
        printer.mended(done.map_err(|e| e.to_string()))?;
    }
    Ok(())
}
