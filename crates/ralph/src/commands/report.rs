//! `ralph report`: what happened while nobody looked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::needs::NeedSources;
use ralph_core::report::{Report, ReportHistory, ReportSources, ReportStart};
use ralph_host::proc::JobRunner;
use ralph_host::store::{put_view, read_entries};

use crate::args::{CommonArgs, PlanArgs};
use crate::commands::permit::CommandAccess;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// Tell what happened: what landed, what failed, what needs you, what it cost, how to undo it
///
/// Without --since: the last 24 hours, or the last run if nothing happened in them. What landed is shown
/// with its gates, its commit and the command that takes it out again; what failed with the reason and
/// the command that brings its work back.
///
/// Examples:
///   ralph report
///   ralph report --since 3d --html report.html
///   ralph report --since last --json | jq .totals
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// From when on: `12h`, `3d`, a date, a time, or `last` for the last run
    #[arg(long, value_name = "WHEN")]
    since: Option<ReportStart>,
    /// Write one HTML file with charts instead; it needs no network
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    html: Option<PathBuf>,
}

impl ReportArgs {
    pub(crate) fn access(&self) -> CommandAccess {
        if self.html.is_some() { CommandAccess::Decide } else { CommandAccess::Look }
    }
}

pub(crate) fn run(context: &CommandContext, args: &ReportArgs) -> Result<(), CommandError> {
    let report = report(context, args)?;
    match (&args.html, args.common.render()) {
        (Some(file), _) => write_page(context, file, &report),
        (None, OutputMode::Json) => out::json(&report),
        (None, OutputMode::People) => {
            report.markdown().lines().map(out::clean).try_for_each(out::line)
        }
    }
}

fn report(context: &CommandContext, args: &ReportArgs) -> Result<Report, CommandError> {
    let mut past = ReportHistory::default();
    read_entries(&context.project.state_dir(), &mut |entry| past.add(entry))?;
    let file = context.read_plan(&plan_args(context, args, &past))?;
    let inbox = context.inbox()?;
    let (on_branch, ledger) = ask_git(context, &past.commits())?;
    let here = context.project.branch();
    let other_ledgers = other_ledgers(context, &past, here.as_deref())?;
    let (now, offset) = (context.clock().now().as_second(), context.clock().utc_offset());
    let since = args.since.clone().unwrap_or_default().moment(&past, now, offset);
    Ok(Report::of(&ReportSources {
        project: &context.project.name(),
        past: &past,
        on_branch: on_branch.as_ref(),
        branch: here.as_deref(),
        ledger: &ledger,
        other_ledgers: &other_ledgers,
        since,
        until: now,
        utc_offset: offset,
        needs: NeedSources {
            plan: &file.plan,
            plan_file: &file.shown,
            running: &context.running(),
            inbox: &inbox,
            history: &past.history,
            damage: &[],
        },
    }))
}

/// The plan that was asked for, else that of the last run.
fn plan_args(context: &CommandContext, args: &ReportArgs, past: &ReportHistory) -> PlanArgs {
    let last = past.history.run.as_ref().map(|run| context.project.ledger_file(&run.plan));
    let last = last.filter(|path| path.is_file());
    PlanArgs { plan: args.common.plan.plan.clone().or(last) }
}

/// Ask git which commits are on the branch and which parts of the ledger are in git.
fn ask_git(
    context: &CommandContext,
    commits: &[&str],
) -> Result<(Option<BTreeSet<String>>, Vec<String>), CommandError> {
    if commits.is_empty() || context.project.git_dir().is_none() {
        return Ok((None, Vec::new()));
    }
    let runner = JobRunner::new(format!("report-{}", std::process::id()));
    let repo = context.repo(&runner)?;
    let on_branch = repo.on_branch(commits)?;
    let ledger = repo.ledger_in_git()?;
    Ok((Some(on_branch), ledger))
}

/// What of the ledger is in git on other branches that have landed work.
fn other_ledgers(
    context: &CommandContext,
    past: &ReportHistory,
    here: Option<&str>,
) -> Result<BTreeMap<String, Vec<String>>, CommandError> {
    let names = past.history.attempts.iter().filter_map(|view| view.branch.name());
    let names: BTreeSet<&str> =
        names.filter(|name| here.is_some_and(|here| here != *name)).collect();
    let mut ledgers = BTreeMap::new();
    if names.is_empty() {
        return Ok(ledgers);
    }
    let runner = JobRunner::new(format!("report-{}", std::process::id()));
    let repo = context.repo(&runner)?;
    for name in names {
        if let Some(ledger) = repo.ledger_on_branch(name)? {
            ledgers.insert(name.to_owned(), ledger);
        }
    }
    Ok(ledgers)
}

fn write_page(context: &CommandContext, file: &Path, report: &Report) -> Result<(), CommandError> {
    let path = context.directory.join(file);
    put_view(&path, report.html().as_bytes())?;
    out::line(format!("Written: {}", context.show(&path)))
}
