//! The protocol, spoken by the official SDK. One thread, one call after the other.

use std::borrow::Cow;
use std::path::PathBuf;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, MetaObject, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool as Listed, ToolAnnotations,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;

use super::tools::{McpTool, McpToolContext, TOOLS};
use crate::args::PlanArgs;
use crate::commands::mailbox;
use crate::commands::permit::{self, CommandAccess};
use crate::context::CommandContext;
use crate::error::CommandError;

/// Most bytes of a call's arguments. The longest line that the SDK reads is much longer, so that whoever
/// sends too much is told so.
const MOST_INPUT: usize = 256 * 1024;

/// claude hides the tools of servers behind a search. A claim must not depend on what that finds.
const ALWAYS_LOAD: &str = "anthropic/alwaysLoad";

const INSTRUCTIONS: &str = "\
ralph works through a plan of tasks and starts coding agents, one task at a time. Inside such an attempt, \
call task_done when the task is complete, or task_block when it cannot go on, and leave what the next \
attempt has to know with handoff_write. ralph then runs the gates itself: a claim proves nothing. Work \
that you find on the way and that is not your task goes into task_add, a question or a bug into issue_add.";

/// MCP server with the tools of one project.
pub(super) struct McpToolServer {
    /// The directory it was started for.
    pub(super) here: Option<PathBuf>,
    pub(super) plan: PlanArgs,
    /// The loop's mailbox, inside an attempt.
    pub(super) mailbox: Option<PathBuf>,
}

impl McpToolServer {
    fn call(&self, tool: &McpTool, arguments: Value) -> Result<Value, CommandError> {
        let length = arguments.to_string().len();
        if length > MOST_INPUT {
            return Err(CommandError::usage(format!(
                "{} got {length} bytes, and takes at most {MOST_INPUT}",
                tool.name
            ))
            .hint("say it shorter; what is long belongs into a file of the project"));
        }
        let here = self.here.as_deref();
        if let Some(socket) = &self.mailbox
            && let Some(answer) = mailbox::ask_for_tool(socket, here, tool.name, &arguments)?
        {
            return Ok(answer);
        }
        if tool.access == CommandAccess::Say {
            permit::check(CommandAccess::Say, here)?;
        }
        let context = CommandContext::open(here)?;
        (tool.call)(&McpToolContext { context: &context, plan: &self.plan }, arguments)
    }
}

impl ServerHandler for McpToolServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("ralph", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(listed).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
            let message = format!("there is no tool `{}`: {}", request.name, names.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let result = match self.call(tool, arguments) {
            Ok(value) => CallToolResult::success(vec![ContentBlock::text(value.to_string())]),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.told())]),
        };
        Ok(result.into())
    }
}

fn listed(tool: &McpTool) -> Listed {
    let schema = match (tool.schema)() {
        Value::Object(schema) => schema,
        _ => serde_json::Map::new(),
    };
    let hints = ToolAnnotations::new()
        .read_only(tool.access == CommandAccess::Look)
        .destructive(false)
        .open_world(false);
    let mut meta = MetaObject::new();
    meta.insert(ALWAYS_LOAD.to_owned(), Value::Bool(true));
    Listed::new(Cow::Borrowed(tool.name), Cow::Borrowed(tool.description), schema)
        .with_annotations(hints)
        .with_meta(meta)
}

/// Answer until standard input is closed.
pub(super) fn serve(server: McpToolServer) -> Result<(), CommandError> {
    let failed = |what: String| CommandError::new(format!("the MCP server cannot go on: {what}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|e| failed(e.to_string()))?;
    let ended = runtime.block_on(async {
        let transport = AsyncRwTransport::new_server(tokio::io::stdin(), tokio::io::stdout());
        match server.serve(transport).await {
            Ok(running) => running.waiting().await.map(drop).map_err(|e| failed(e.to_string())),
            // Whoever started it thought better of it.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
                Err(failed("the first message is no `initialize` request".into())
                    .hint("this is for programs that speak MCP; `ralph mcp --help` names one"))
            }
            Err(error) => Err(failed(error.to_string())),
        }
    });
    // A read of standard input may be under way that nobody waits for any more.
    runtime.shutdown_background();
    ended
}
