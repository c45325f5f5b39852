//! `ralph mcp`: ralph's tools for coding agents.
//!
//! # Theory of operation
//!
//! [`tools`] says what each tool takes and does, in terms of the functions that the commands use too, so
//! that a tool can do no more than the command of the same name. [`server`] is the only place that knows
//! the protocol and its SDK. Nothing is kept between two calls: each opens the project anew, so that any
//! number of servers work beside a loop and beside each other, as commands do. Inside an attempt a server
//! opens nothing: it asks the loop for each call.

mod server;
mod tools;

use std::path::Path;

use clap::Args;
use serde_json::Value;

use self::tools::{McpTool, McpToolContext, TOOLS};
use super::mailbox;
use super::permit::CommandAccess;
use crate::args::PlanArgs;
use crate::context::CommandContext;
use crate::error::CommandError;

/// Offer ralph's tools to a coding agent: an MCP server on standard input and output
///
/// The tools are task_list, task_show, task_add, task_done, task_block, issue_add, knowledge_search and
/// handoff_write. Each may do what the command of that name may do. task_done, task_block and
/// handoff_write are for a backend inside an attempt and its own task: the gates decide about its claim.
///
/// With `mcp_tools = true` in ralph.toml, backends that take MCP servers are given this one. An agent
/// that you start yourself can look at the plan with it, and add tasks and issues.
///
/// Examples:
///   ralph config set mcp_tools true
///   claude mcp add ralph -- ralph mcp
///   ralph mcp --plan plan.json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    plan: PlanArgs,
}

/// Run it until standard input is closed.
pub(crate) fn run(here: Option<&Path>, args: McpArgs) -> Result<(), CommandError> {
    let mailbox = mailbox::of_attempt();
    if mailbox.is_none() {
        // A wrong directory is told now, and not by each of the tools.
        CommandContext::open(here)?;
    }
    server::serve(server::McpToolServer {
        here: here.map(Path::to_owned),
        plan: args.plan,
        mailbox,
    })
}

fn find(name: &str) -> Result<&'static McpTool, CommandError> {
    let tool = TOOLS.iter().find(|tool| tool.name == name);
    tool.ok_or_else(|| CommandError::usage(format!("there is no tool `{name}`")))
}

/// Return the kind of access that a tool needs. It decides whether a backend may use the tool.
pub(crate) fn access_of(name: &str) -> Result<CommandAccess, CommandError> {
    Ok(find(name)?.access)
}

/// Call a tool by its name and return its result.
pub(crate) fn call(
    name: &str,
    context: &CommandContext,
    plan: &PlanArgs,
    arguments: Value,
) -> Result<Value, CommandError> {
    (find(name)?.call)(&McpToolContext { context, plan }, arguments)
}
