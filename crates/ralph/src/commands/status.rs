//! `ralph status`: where things stand, for a person.

use std::process::ExitCode;

use clap::Args;
use ralph_core::inbox::Status;
use ralph_core::plan::{self, Item, Stage};
use ralph_core::view::{self, Tally};
use serde_json::json;

use crate::args::Common;
use crate::context::Context;
use crate::error::CommandError;
use crate::out::{self, Render};

/// Show where the plan stands: stage, tasks, what comes next, what is in the way
///
/// Examples:
///   ralph status
///   ralph status --plan progress.md --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    common: Common,
}

/// Run it.
pub(crate) fn run(context: &Context, args: &StatusArgs) -> Result<ExitCode, CommandError> {
    let file = context.read_plan(&args.common.plan)?;
    let text = super::inbox::read(context)?;
    let inbox = super::inbox::parse(context, &text)?;
    let iteration = super::query::iteration(context)?;
    let tally = Tally::of(&file.plan);
    if args.common.render() == Render::Json {
        let mut value = view::summary(&file.plan, iteration);
        value["plan"] = json!(file.shown);
        value["tally"] = json!(tally);
        value["inbox"] = inbox.to_json().into();
        out::json(&value)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (stage, items) = plan::next(&file.plan);
    let mut rows = vec![
        vec!["Plan:".to_owned(), file.shown.clone()],
        vec!["Stage:".to_owned(), explain(stage, &tally, iteration)],
        vec!["Tasks:".to_owned(), tasks(&tally)],
    ];
    if let Some(spec) = &file.plan.current_spec {
        rows.insert(1, vec!["Spec:".to_owned(), spec.clone()]);
    }
    let issues = file.plan.scoped_issues().count();
    if issues > 0 {
        rows.push(vec!["Issues:".to_owned(), format!("{issues} open")]);
    }
    if !inbox.entries().is_empty() {
        let text = format!(
            "{} pending, {} active, {} done, {} failed",
            inbox.count(Status::Pending),
            inbox.count(Status::Active),
            inbox.count(Status::Done),
            inbox.count(Status::Failed)
        );
        rows.push(vec!["Inbox:".to_owned(), text]);
    }
    for (i, item) in items.iter().take(5).enumerate() {
        let label = match (i, stage) {
            (0, Stage::Blocked) => "Stuck:",
            (0, _) => "Next:",
            _ => "",
        };
        rows.push(vec![label.to_owned(), describe(item)]);
    }
    if items.len() > 5 {
        rows.push(vec![String::new(), format!("… and {} more", items.len() - 5)]);
    }
    out::table(&rows).into_iter().try_for_each(out::line)?;
    Ok(ExitCode::SUCCESS)
}

fn explain(stage: Stage, tally: &Tally, iteration: u64) -> String {
    let words = match stage {
        Stage::Decompose => "killed work must be broken down",
        Stage::Investigate => "issues must become tasks",
        Stage::Build => "tasks are ready",
        Stage::Verify => "claimed work must be checked",
        Stage::Complete if tally.total() == 0 => {
            "there are no tasks yet; `ralph task add` adds one"
        }
        Stage::Complete => "nothing is left to do",
        Stage::Blocked => "work is left, but none of it can go on",
    };
    match iteration {
        0 => format!("{stage}: {words}"),
        n => format!("{stage}: {words} (iteration {n})"),
    }
}

fn tasks(tally: &Tally) -> String {
    let parts = [
        (tally.pending, "pending"),
        (tally.done, "done"),
        (tally.accepted, "accepted"),
        (tally.blocked, "blocked"),
        (tally.failed, "failed"),
        (tally.skipped, "skipped"),
    ];
    let said: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    if said.is_empty() { "none".to_owned() } else { said.join(", ") }
}

fn describe(item: &Item<'_>) -> String {
    match item {
        Item::Task(t) => format!("{}  {}", t.id, out::clean(&t.name)),
        Item::Issue(i) => format!("{}  {}", i.id, out::clean(&i.desc)),
        Item::Stuck(t, why) => {
            format!("{}  {} [{}]", t.id, out::clean(&t.name), out::clean(&why.to_string()))
        }
    }
}
