//! `ralph issue`: questions and bugs to be investigated.

use clap::{Args, Subcommand};
use ralph_core::format::PlanCodec;
use ralph_core::format::jsonl::fresh_issue_id;
use ralph_core::plan::{Id, Issue, Plan, PlanEdit, Priority, verbs};
use serde_json::json;

use crate::args::{CommonArgs, PlanArgs};
use crate::commands::permit::{self, CommandAccess};
use crate::commands::task::refused;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// Keep the questions and bugs that must be investigated before they are work
///
/// Examples:
///   ralph issue add "the parser test is flaky on CI"
///   ralph issue list
///   ralph issue done i-1a2b
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct IssueArgs {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    action: IssueAction,
}

#[derive(Debug, Subcommand)]
enum IssueAction {
    /// Add an issue
    Add {
        /// The question or the problem
        description: String,
        /// The priority; tasks made from the issue inherit it
        #[arg(long, value_parser = ["high", "medium", "low"])]
        priority: Option<String>,
    },
    /// List the open issues of the current spec
    List,
    /// The issue was dealt with: take it out of the plan
    Done {
        /// The id of the issue
        id: String,
    },
}

impl IssueArgs {
    pub(crate) fn access(&self) -> CommandAccess {
        match self.action {
            IssueAction::List => CommandAccess::Look,
            IssueAction::Add { .. } => CommandAccess::Say,
            IssueAction::Done { .. } => CommandAccess::Decide,
        }
    }
}

pub(crate) fn run(context: &CommandContext, args: IssueArgs) -> Result<(), CommandError> {
    let render = args.common.render();
    match args.action {
        IssueAction::Add { description, priority } => {
            add(context, &args.common.plan, &description, priority.as_deref(), render)
        }
        IssueAction::List => list(context, &args.common.plan, render),
        IssueAction::Done { id } => done(context, &args.common.plan, &Id::new(id), render),
    }
}

/// Open an issue; inside an attempt only a few.
pub(crate) fn open(
    context: &CommandContext,
    plan: &PlanArgs,
    description: &str,
    priority: Option<Priority>,
) -> Result<Issue, CommandError> {
    if description.trim().is_empty() {
        return Err(CommandError::usage("an issue needs a description"));
    }
    let description = permit::secrets_hider(context)?(description.trim());
    let mut added = Issue::default();
    let add = |plan: &Plan, _: &dyn PlanCodec| {
        added = Issue {
            id: fresh_issue_id(&|id| plan.knows(id), &mut context.random()),
            desc: description.clone(),
            spec: plan.current_spec.clone(),
            priority,
            ..Issue::default()
        };
        Ok(vec![PlanEdit::AddIssue(added.clone())])
    };
    permit::adding(context, 1, || context.change_plan(plan, add))?;
    Ok(added)
}

fn add(
    context: &CommandContext,
    plan: &PlanArgs,
    description: &str,
    priority: Option<&str>,
    render: OutputMode,
) -> Result<(), CommandError> {
    let added = open(context, plan, description, priority.and_then(Priority::from_word))?;
    render.print(&added, format!("Added: {} {}", added.id, out::clean(&added.desc)))
}

fn list(context: &CommandContext, plan: &PlanArgs, render: OutputMode) -> Result<(), CommandError> {
    let file = context.read_plan(plan)?;
    let plan = &file.plan;
    if render == OutputMode::Json {
        return out::json(&plan.scoped_issues().collect::<Vec<_>>());
    }
    let rows: Vec<Vec<String>> = plan
        .scoped_issues()
        .map(|i| {
            let priority = i.priority.map_or("-", Priority::as_str);
            vec![i.id.to_string(), priority.to_owned(), out::clean(&i.desc)]
        })
        .collect();
    if rows.is_empty() {
        return out::line("No open issues.");
    }
    out::print_table(&rows)
}

fn done(
    context: &CommandContext,
    plan: &PlanArgs,
    id: &Id,
    render: OutputMode,
) -> Result<(), CommandError> {
    let changed = context.change_plan(plan, |plan, _| {
        verbs::resolve_issue(plan, id).map_err(|e| refused(&e, plan))
    })?;
    let desc = changed.before.issue(id).map(|i| out::clean(&i.desc)).unwrap_or_default();
    render.print(&json!({ "id": id, "desc": desc }), format!("Done: {id} {desc}"))
}
