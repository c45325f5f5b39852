//! MCP servers of a request, for the programs that want them in a form of their own.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The name of ralph's own server among those of a request.
pub const OWN_SERVER: &str = "ralph";

/// A configuration of MCP servers: `{"mcpServers": {…}}`, in the form that most programs read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct McpServers(Value);

impl McpServers {
    /// Return the configuration as JSON, in the form that a request takes.
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// The servers that are configured, with ralph's own one beside them. It is a program, so that every
    /// backend that takes servers takes it.
    pub fn with_own(
        configured: Option<Self>,
        program: &str,
        args: &[String],
        env: &[(String, String)],
    ) -> Result<Self, &'static str> {
        let mut config = configured.map_or_else(|| json!({}), |configured| configured.0);
        let all = config.as_object_mut().ok_or("it is no JSON object")?;
        let servers = all.entry("mcpServers").or_insert_with(|| json!({}));
        let servers = servers.as_object_mut().ok_or("its `mcpServers` is no JSON object")?;
        if servers.contains_key(OWN_SERVER) {
            return Err("it has a server called `ralph`, which is what ralph calls its own");
        }
        let env: Map<String, Value> =
            env.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let own = json!({ "command": program, "args": args, "env": env });
        servers.insert(OWN_SERVER.to_owned(), own);
        Ok(Self(config))
    }
}

/// One server from the `mcpServers` object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct McpServerEntry<'a> {
    pub(super) name: &'a str,
    pub(super) at: McpTransport<'a>,
}

/// Way to reach a server. Values of `env` and `headers` may be secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum McpTransport<'a> {
    /// A program for the backend to start.
    Program {
        command: &'a str,
        args: Vec<&'a str>,
        env: Vec<(&'a str, &'a str)>,
    },
    Url {
        url: &'a str,
        headers: Vec<(&'a str, &'a str)>,
    },
}

/// The servers of a request. What is neither a program nor an address is left out.
pub(super) fn servers(mcp: Option<&Value>) -> Vec<McpServerEntry<'_>> {
    let all = mcp.and_then(|mcp| mcp.get("mcpServers")).and_then(Value::as_object);
    all.into_iter()
        .flatten()
        .filter_map(|(name, server)| Some(McpServerEntry { name, at: at(server.as_object()?)? }))
        .collect()
}

fn at(server: &Map<String, Value>) -> Option<McpTransport<'_>> {
    if let Some(command) = server.get("command").and_then(Value::as_str) {
        let args = server.get("args").and_then(Value::as_array);
        let args = args.into_iter().flatten().filter_map(Value::as_str).collect();
        return Some(McpTransport::Program { command, args, env: pairs(server, "env") });
    }
    let url = server.get("url").and_then(Value::as_str)?;
    Some(McpTransport::Url { url, headers: pairs(server, "headers") })
}

fn pairs<'a>(server: &'a Map<String, Value>, key: &str) -> Vec<(&'a str, &'a str)> {
    let object = server.get(key).and_then(Value::as_object);
    object
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(configured: Option<Value>) -> Result<Value, &'static str> {
        let env = [("RALPH_ATTEMPT".to_owned(), "01A".to_owned())];
        let configured = configured.map(McpServers);
        McpServers::with_own(configured, "/bin/ralph", &["mcp".to_owned()], &env).map(|own| own.0)
    }

    #[test]
    fn ralphs_own_server_stands_beside_those_that_are_configured() {
        let docs = json!({ "command": "docs" });
        let both = own(Some(json!({ "mcpServers": { "docs": docs }, "x": 1 }))).unwrap();
        let ralph =
            json!({ "command": "/bin/ralph", "args": ["mcp"], "env": { "RALPH_ATTEMPT": "01A" } });
        assert_eq!(both, json!({ "mcpServers": { "docs": docs, "ralph": ralph }, "x": 1 }));
        assert_eq!(own(None).unwrap()["mcpServers"], json!({ "ralph": ralph }));
    }

    #[test]
    fn what_is_no_list_of_servers_or_has_ralphs_name_in_it_is_refused() {
        for (configured, why) in [
            (json!([]), "no JSON object"),
            (json!({ "mcpServers": 1 }), "`mcpServers`"),
            (json!({ "mcpServers": { "ralph": {} } }), "a server called `ralph`"),
        ] {
            assert!(own(Some(configured)).unwrap_err().contains(why));
        }
    }
}
