//! MCP servers of a request, for the programs that want them in a form of their own.

use serde_json::{Map, Value};

/// One server of `{"mcpServers": {…}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// How to reach it.
    pub(super) at: At<'a>,
}

/// How a server is reached. Values of `env` and `headers` may be secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum At<'a> {
    /// A program that is started.
    Program { command: &'a str, args: Vec<&'a str>, env: Vec<(&'a str, &'a str)> },
    /// An address.
    Url { url: &'a str, headers: Vec<(&'a str, &'a str)> },
}

/// The servers of a request. What is neither a program nor an address is left out.
pub(super) fn servers(mcp: Option<&Value>) -> Vec<Server<'_>> {
    let all = mcp.and_then(|mcp| mcp.get("mcpServers")).and_then(Value::as_object);
    all.into_iter()
        .flatten()
        .filter_map(|(name, server)| Some(Server { name, at: at(server.as_object()?)? }))
        .collect()
}

fn at(server: &Map<String, Value>) -> Option<At<'_>> {
    if let Some(command) = server.get("command").and_then(Value::as_str) {
        let args = server.get("args").and_then(Value::as_array);
        let args = args.into_iter().flatten().filter_map(Value::as_str).collect();
        return Some(At::Program { command, args, env: pairs(server, "env") });
    }
    let url = server.get("url").and_then(Value::as_str)?;
    Some(At::Url { url, headers: pairs(server, "headers") })
}

fn pairs<'a>(server: &'a Map<String, Value>, key: &str) -> Vec<(&'a str, &'a str)> {
    let object = server.get(key).and_then(Value::as_object);
    object
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
        .collect()
}
