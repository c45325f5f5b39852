//! `ralph land`: bring commits that wait, or decide about them otherwise.

use std::process::ExitCode;

use clap::Args;
use ralph_core::cycle::{EventKind, LoopEvent, MissingWorkAnswer, SettlementWay, UnarrivedCommits};
use ralph_host::drive::{self, LandAction, LandReport, RunOptions};
use serde_json::{Value, json};

use super::build;
use crate::args::{OutputArgs, PlanArgs};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// The exit code when commits still wait.
const WAITS: u8 = 3;

/// Bring commits that wait to your branch, or decide about them otherwise
///
/// Agents work in a checkout of ralph's own, and what they land arrives on your branch by git's own
/// fast-forward. Commits wait while that would touch a file that you are editing, and in a few other
/// cases; `ralph status` says why. This command tries again. Your files are never merged, moved or
/// overwritten: what cannot arrive goes on waiting, and the answer names the command that helps.
///
/// Exit code 0: everything has arrived. 3: something waits.
///
/// Examples:
///   ralph land
///   ralph land --branch from-ralph
///   ralph land --no-commit
///   ralph land --discard
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LandArgs {
    #[command(flatten)]
    way: LandWayArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
struct LandWayArgs {
    /// Put the commits on a new branch instead; your branch stays as it is
    ///
    /// Their tasks are done on that branch, and pending on yours.
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Bring the rest after your branch lost landed work (a rebase or reset); lost tasks are pending again
    #[arg(long)]
    rest: bool,
    /// Land what is done of this spec as one commit, although tasks of it are left
    #[arg(long, value_name = "SPEC")]
    spec: Option<String>,
    /// Bring the work as uncommitted changes
    #[arg(long)]
    no_commit: bool,
    /// Give the commits up; a ref keeps them, and their tasks are pending again
    #[arg(long)]
    discard: bool,
}

impl LandWayArgs {
    fn action(&self) -> LandAction {
        match (&self.branch, &self.spec) {
            (Some(name), _) => LandAction::NewBranch(name.clone()),
            (_, Some(spec)) => LandAction::PartialSpec(spec.clone()),
            _ if self.no_commit => LandAction::Uncommitted,
            _ if self.discard => LandAction::GiveUp,
            _ if self.rest => LandAction::Bring(MissingWorkAnswer::BringRest),
            _ => LandAction::Bring(MissingWorkAnswer::Wait),
        }
    }
}

pub(crate) fn run(context: &CommandContext, args: &LandArgs) -> Result<ExitCode, CommandError> {
    let file = context.read_plan(&PlanArgs::default())?;
    let resolved = context.config_with(&[], &file)?;
    let setup = build::setup(context, &file, &resolved, RunOptions::default())?;
    let mut warn = |event: &LoopEvent<'_>| {
        if let EventKind::Warning(remark) | EventKind::Recovered(remark) = &event.kind {
            out::warn(&remark.text);
        }
    };
    let report = drive::land(setup, &args.way.action(), &mut warn)?;
    match args.output.render() {
        OutputMode::Json => out::json(&as_json(&report))?,
        OutputMode::People => lines(&report).into_iter().try_for_each(out::line)?,
    }
    Ok(ExitCode::from(if report.waits.is_some() { WAITS } else { 0 }))
}

/// Describe the result, one sentence per line.
fn lines(report: &LandReport) -> Vec<String> {
    let mut lines = Vec::new();
    let commits = |n: usize| out::count(n, "commit");
    if let Some((way, count)) = &report.settled {
        lines.push(match way {
            SettlementWay::Uncommitted => {
                format!("{} brought as uncommitted changes.", commits(*count))
            }
            SettlementWay::NewBranch(name) => {
                format!("{} put on the new branch {name}.", commits(*count))
            }
            SettlementWay::GivenUp(name) => format!(
                "{} given up; {name} keeps {}.",
                commits(*count),
                if *count == 1 { "it" } else { "them" }
            ),
        });
    }
    match report.branch.as_ref().filter(|_| report.arrived > 0) {
        // What is left to arrive after that is the ledger alone.
        Some(branch) if report.settled.is_some() => {
            lines.push(format!("The plan on {branch} is up to date."));
        }
        Some(branch) => lines.push(format!("{} arrived on {branch}.", commits(report.arrived))),
        None => {}
    }
    lines.extend(report.waits.as_ref().map(|not| format!("{}.", not.sentence)));
    if lines.is_empty() {
        lines.push("No commits wait.".to_owned());
    }
    if let Some(task) = &report.open_attempt {
        lines.push(format!(
            "An attempt on {task} was interrupted; `ralph build` brings it to its end."
        ));
    }
    lines
}

fn as_json(report: &LandReport) -> Value {
    let settled = report.settled.as_ref().map(|(way, count)| {
        let (way, place) = match way {
            SettlementWay::Uncommitted => ("uncommitted", None),
            SettlementWay::NewBranch(name) => ("new_branch", Some(name)),
            SettlementWay::GivenUp(name) => ("given_up", Some(name)),
        };
        json!({ "way": way, "place": place, "commits": count })
    });
    let waits = report.waits.as_ref().map(|UnarrivedCommits { why, sentence, commits }| {
        json!({ "why": why, "sentence": sentence, "commits": commits })
    });
    json!({
        "branch": report.branch, "arrived": report.arrived, "settled": settled, "waits": waits,
        "open_attempt": report.open_attempt,
    })
}
