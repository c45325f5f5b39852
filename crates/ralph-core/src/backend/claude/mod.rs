//! `claude`, Anthropic's Claude Code.
//!
//! It is started headless (`-p`) with one JSON event per line. What it is asked goes to standard
//! input. It works alone: no MCP servers but those of the request, no background tasks (with one, it
//! says that it is finished and then does not exit), no updates while it runs.
//!
//! The `result` event is the end. It carries the cost, the tokens and the reason for ending; the
//! process's exit code adds nothing to it. [`reader`] turns lines into events, [`judge`] the end into
//! an outcome.

mod account;
mod events;
mod judge;
mod reader;

use serde_json::Value;

use super::{
    BackendDriver, BackendFeatures, BackendPermissions, BackendReader, BackendRequest, Invocation,
    OWN_SERVER, ScratchFile, SessionStart, as_words, slash,
};

/// Longest text given as one argument; the kernel's own limit is 128 KiB.
const MOST_ARGUMENT: usize = 100_000;

/// Environment variables that turn off background tasks, extra network traffic and updates.
const ALONE: [(&str, &str); 3] = [
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
];

/// Driver of Claude Code (`claude -p`).
#[derive(Clone, Copy, Debug, Default)]
pub struct ClaudeDriver;

impl BackendDriver for ClaudeDriver {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn supports(&self) -> BackendFeatures {
        BackendFeatures {
            schema: true,
            resume: true,
            cost: true,
            context: true,
            mcp: true,
            system: true,
            max_turns: true,
            budget: true,
            compaction: true,
        }
    }

    fn invocation(&self, request: &BackendRequest<'_>) -> Invocation {
        let stdin = match request.session {
            SessionStart::Compact { .. } => slash("/compact", request.prompt),
            SessionStart::New | SessionStart::Resume { .. } => as_words(request.prompt.to_owned()),
        };
        let mut call = Invocation { stdin, ..Invocation::default() };
        // Without --verbose it refuses to stream.
        flags(&mut call, ["-p", "--output-format", "stream-json", "--verbose"]);
        for (name, value) in ALONE {
            call.env.push((name.to_owned(), value.to_owned()));
        }
        permissions(&mut call, request);
        if let Some(model) = request.model {
            flags(&mut call, ["--model", model]);
        }
        if let Some(turns) = request.max_turns {
            flags(&mut call, ["--max-turns", &turns.to_string()]);
        }
        if let Some(dollars) = request.budget {
            flags(&mut call, ["--max-budget-usd", &dollars.to_string()]);
        }
        system(&mut call, request);
        mcp(&mut call, request);
        // A schema too big for an argument is not given: the answer is read from prose instead.
        if let Some(schema) = request.schema.map(plain_schema)
            && schema.len() <= MOST_ARGUMENT
        {
            flags(&mut call, ["--json-schema", &schema]);
        }
        if let Some(id) = request.session.id() {
            flags(&mut call, ["--resume", id]);
        }
        call
    }

    fn reader(&self, request: &BackendRequest<'_>) -> Box<dyn BackendReader> {
        Box::new(reader::ClaudeReader::new(request))
    }
}

fn flags<const N: usize>(call: &mut Invocation, flags: [&str; N]) {
    call.args.extend(flags.map(str::to_owned));
}

fn permissions(call: &mut Invocation, request: &BackendRequest<'_>) {
    match request.permissions {
        BackendPermissions::Bypass => {
            flags(call, ["--dangerously-skip-permissions"]);
            if request.as_root {
                // As root it refuses to skip permissions unless it believes itself in a sandbox.
                call.env.push(("IS_SANDBOX".to_owned(), "1".to_owned()));
            }
        }
        // Its settings decide, but ralph's own tools were asked for by name.
        BackendPermissions::Default => {
            let own = request.mcp.and_then(|mcp| mcp.get("mcpServers")?.get(OWN_SERVER));
            if own.is_some() {
                flags(call, ["--allowedTools", &format!("mcp__{OWN_SERVER}")]);
            }
        }
        BackendPermissions::ReadOnly => {
            // Only tools that cannot write or run anything exist then, in subagents too, whatever
            // the user's own settings allow. Plan mode is not that: there Bash stays, and what it
            // may do is decided by a model.
            flags(call, ["--tools", "Read,Glob,Grep"]);
            let servers = request.mcp.and_then(|mcp| mcp.get("mcpServers")?.as_object());
            let allowed: Vec<String> =
                servers.into_iter().flatten().map(|(name, _)| format!("mcp__{name}")).collect();
            if !allowed.is_empty() {
                flags(call, ["--allowedTools", &allowed.join(",")]);
            }
        }
    }
}

fn system(call: &mut Invocation, request: &BackendRequest<'_>) {
    match request.system {
        None => {}
        Some(text) if text.len() <= MOST_ARGUMENT => {
            flags(call, ["--append-system-prompt", text]);
        }
        Some(text) => {
            let path = format!("{}/system-prompt.md", request.scratch);
            flags(call, ["--append-system-prompt-file", &path]);
            call.files.push(ScratchFile { path, text: text.to_owned() });
        }
    }
}

/// The servers of the request and no others. They go through a file: their settings hold secrets,
/// and everybody can read arguments.
fn mcp(call: &mut Invocation, request: &BackendRequest<'_>) {
    flags(call, ["--strict-mcp-config"]);
    match request.mcp {
        None => flags(call, ["--mcp-config", r#"{"mcpServers":{}}"#]),
        Some(servers) => {
            let path = format!("{}/mcp.json", request.scratch);
            flags(call, ["--mcp-config", &path]);
            call.files.push(ScratchFile { path, text: servers.to_string() });
        }
    }
}

#[cfg(test)]
mod reader_tests;
/// The schema without the name of its dialect: claude knows that of 2020 and refuses its name.
fn plain_schema(schema: &Value) -> String {
    let mut schema = schema.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("$schema");
    }
    schema.to_string()
}

#[cfg(test)]
mod tests;
