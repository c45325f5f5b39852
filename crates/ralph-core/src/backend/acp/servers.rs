//! MCP servers in the protocol's words.

use agent_client_protocol_schema::v1::{
    EnvVariable, HttpHeader, McpServer, McpServerHttp, McpServerSse, McpServerStdio,
};
use serde_json::Value;

use crate::backend::mcp::{self, McpServerEntry, McpTransport};

/// The servers of a request. They go over standard input, so their secrets show in no argument.
pub(super) fn servers(config: Option<&Value>) -> Vec<McpServer> {
    let kind = |name: &str| config?.get("mcpServers")?.get(name)?.get("type")?.as_str();
    mcp::servers(config).into_iter().map(|server| one(&server, kind(server.name))).collect()
}

fn one(server: &McpServerEntry<'_>, kind: Option<&str>) -> McpServer {
    let name = server.name;
    match &server.at {
        McpTransport::Program { command, args, env } => {
            let args = args.iter().map(|arg| (*arg).to_owned()).collect();
            let env = env.iter().map(|(name, value)| EnvVariable::new(*name, *value)).collect();
            McpServer::Stdio(McpServerStdio::new(name, *command).args(args).env(env))
        }
        McpTransport::Url { url, headers } => {
            let headers = headers.iter().map(|(name, value)| HttpHeader::new(*name, *value));
            let headers = headers.collect();
            if kind == Some("sse") {
                McpServer::Sse(McpServerSse::new(name, *url).headers(headers))
            } else {
                McpServer::Http(McpServerHttp::new(name, *url).headers(headers))
            }
        }
    }
}
