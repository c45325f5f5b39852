//! MCP servers, from the shape that is usual in settings files to the protocol's.

use agent_client_protocol_schema::v1::{
    EnvVariable, HttpHeader, McpServer, McpServerHttp, McpServerSse, McpServerStdio,
};
use serde_json::Value;

/// The servers of `{"mcpServers": {name: {command, args, env} | {type, url, headers}}}`. An entry
/// that is neither a command nor an address is no server.
pub(super) fn servers(config: &Value) -> Vec<McpServer> {
    let all = config.get("mcpServers").and_then(Value::as_object);
    all.into_iter().flatten().filter_map(|(name, server)| one(name, server)).collect()
}

fn one(name: &str, server: &Value) -> Option<McpServer> {
    if let Some(command) = server.get("command").and_then(Value::as_str) {
        let args = server.get("args").and_then(Value::as_array).into_iter().flatten();
        let args = args.filter_map(|arg| arg.as_str().map(str::to_owned)).collect();
        let env = pairs(server, "env").map(|(name, value)| EnvVariable::new(name, value));
        let server = McpServerStdio::new(name, command).args(args).env(env.collect());
        return Some(McpServer::Stdio(server));
    }
    let url = server.get("url").and_then(Value::as_str)?;
    let headers = pairs(server, "headers").map(|(name, value)| HttpHeader::new(name, value));
    Some(match server.get("type").and_then(Value::as_str) {
        Some("sse") => McpServer::Sse(McpServerSse::new(name, url).headers(headers.collect())),
        _ => McpServer::Http(McpServerHttp::new(name, url).headers(headers.collect())),
    })
}

/// The texts of an object.
fn pairs<'a>(server: &'a Value, name: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let object = server.get(name).and_then(Value::as_object);
    object.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
}
