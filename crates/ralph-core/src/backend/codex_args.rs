//! Settings that codex takes as `-c key=value`, where the value is TOML.
//!
//! Arguments can be read by everybody on the machine and one of them holds at most 128 KiB. So
//! secrets of MCP servers go through a file or the environment, and instructions that are too long
//! go into the prompt.

use super::mcp::{McpServerEntry, McpTransport, servers};
use super::{BackendPermissions, BackendRequest, Invocation, ScratchFile};

/// Most bytes of instructions in one argument; Linux allows 131072 with the final NUL.
const LONGEST: usize = 120_000;

/// The setting that puts instructions beside codex's own system prompt; `None` when they are too long
/// for an argument.
pub(super) fn instructions(system: &str) -> Option<String> {
    let setting = format!("developer_instructions={}", quoted(system));
    (setting.len() <= LONGEST).then_some(setting)
}

/// Return the arguments that set the permissions.
/// `exec resume` has no `--sandbox`, so the setting `sandbox_mode` takes its place.
pub(super) fn permissions(permissions: BackendPermissions) -> Vec<String> {
    let sandbox = match permissions {
        BackendPermissions::Bypass => {
            return vec!["--dangerously-bypass-approvals-and-sandbox".to_owned()];
        }
        BackendPermissions::Default => "workspace-write",
        BackendPermissions::ReadOnly => "read-only",
    };
    vec!["-c".to_owned(), format!("sandbox_mode={}", quoted(sandbox))]
}

/// Adds the MCP servers of a request.
pub(super) fn mcp(request: &BackendRequest<'_>, run: &mut Invocation) {
    for (n, server) in servers(request.mcp).iter().enumerate() {
        for (key, value) in settings(n, server, request.scratch, run) {
            let name = match bare(server.name) {
                true => server.name.to_owned(),
                false => quoted(server.name),
            };
            run.args.extend(["-c".to_owned(), format!("mcp_servers.{name}.{key}={value}")]);
        }
    }
}

/// The settings of one server. A program with an environment of its own is started by a shell that
/// reads it from a file; headers are named by variables, whose names have `TOKEN` in them because
/// codex keeps such variables from its tools.
fn settings(
    n: usize,
    server: &McpServerEntry<'_>,
    scratch: &str,
    run: &mut Invocation,
) -> Vec<(&'static str, String)> {
    match &server.at {
        McpTransport::Program { command, args, env } if env.is_empty() => {
            vec![("command", quoted(command)), ("args", list(args))]
        }
        McpTransport::Program { command, args, env } => {
            let path = format!("{scratch}/mcp-{n}.env");
            let mut words = vec!["-c", ". \"$0\" && exec \"$@\"", path.as_str(), *command];
            words.extend(args);
            let settings = vec![("command", quoted("/bin/sh")), ("args", list(&words))];
            run.files.push(ScratchFile { path, text: exports(env) });
            settings
        }
        McpTransport::Url { url, headers } => {
            let mut settings = vec![("url", quoted(url))];
            let mut named = Vec::new();
            for (i, (header, value)) in headers.iter().enumerate() {
                let variable = format!("RALPH_MCP_TOKEN_{n}_{i}");
                named.push(format!("{} = {}", quoted(header), quoted(&variable)));
                run.env.push((variable, (*value).to_owned()));
            }
            if !named.is_empty() {
                settings.push(("env_http_headers", format!("{{ {} }}", named.join(", "))));
            }
            settings
        }
    }
}

/// A file for `/bin/sh`. A name that no shell variable can have is left out.
fn exports(env: &[(&str, &str)]) -> String {
    let named = |name: &str| {
        !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    env.iter()
        .filter(|(name, _)| named(name))
        .map(|(name, value)| format!("export {name}='{}'\n", value.replace('\'', r"'\''")))
        .collect()
}

/// Whether a TOML key needs no quotes.
fn bare(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

fn list(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[{}]", words.join(", "))
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_ascii_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_text_survives_being_quoted(text in any::<String>()) {
            let document: toml_edit::DocumentMut = format!("x = {}", quoted(&text)).parse().unwrap();
            prop_assert_eq!(document["x"].as_str(), Some(text.as_str()));
        }
    }
}
