//! A Ralph Deluxe project: `ralph.conf`, `agents.json`, the lists of MCP servers, `plan.json`.

use serde::Deserialize;
use serde_json::Value;

use super::text;
use crate::config::PassTrigger;
use crate::init::draft::{ConfigDraft, quote};
use crate::init::manifest::ManifestReader;
use crate::init::tree::{ProjectTree, is_mcp, join};

/// Folders that may hold the configuration of Ralph Deluxe, in order of preference.
const PLACES: [&str; 2] = [".ralph/config", ""];
const TEMPLATES: &str = ".ralph/templates";
const PLAN: &str = "plan.json";

/// Lists of MCP servers, each with the stage that uses it.
const MCP: [(&str, &str); 3] =
    [("mcp-coding.json", "build"), ("mcp-context.json", "context"), ("mcp-memory.json", "index")];

#[derive(Deserialize)]
struct DeluxeAgents {
    context_agent: Option<DeluxeContextAgent>,
    passes: Option<Vec<DeluxePass>>,
}

#[derive(Deserialize)]
struct DeluxeContextAgent {
    model: Option<String>,
    prep: Option<DeluxeCall>,
    post: Option<DeluxeCall>,
}

#[derive(Deserialize)]
struct DeluxeCall {
    max_turns: Option<u32>,
    mcp_config: Option<String>,
}

#[derive(Deserialize)]
struct DeluxePass {
    name: String,
    enabled: Option<bool>,
    model: Option<String>,
    trigger: Option<String>,
    max_turns: Option<u32>,
    prompt_template: Option<String>,
    schema: Option<String>,
    mcp_config: Option<String>,
    read_only: Option<bool>,
}

/// Settings of the project; the files that gave them.
pub(in crate::init) fn import(
    look: &mut ManifestReader<'_>,
    draft: &mut ConfigDraft,
) -> Vec<String> {
    let conf = find(look.tree, "ralph.conf");
    let agents =
        find(look.tree, "agents.json").filter(|path| conf.is_some() || is_ours(look.tree, path));
    let mut imported = Vec::new();
    if conf.is_none() && agents.is_none() && !look.tree.has_file(".ralph/ralph.sh") {
        return imported;
    }
    if let Some(path) = conf
        && super::conf::import(look, draft, &path)
    {
        imported.push(path);
    }
    if let Some(path) = agents
        && let Some(file) = look.json::<DeluxeAgents>(&path)
    {
        context_agent(look, draft, &path, file.context_agent);
        passes(look, draft, &path, file.passes.unwrap_or_default());
        imported.push(path);
    }
    mcp(look, draft, &mut imported);
    if look.tree.has_file(PLAN) {
        draft.set("", "plan", quote(PLAN));
        imported.push(PLAN.to_owned());
    }
    if look.tree.names(TEMPLATES).any(|name| name.ends_with(".md")) {
        look.note(format!(
            "{TEMPLATES}/: its files go on to override the prompts of the same name"
        ));
    }
    imported
}

/// The file of this name, in the first place that has it.
fn find(tree: &ProjectTree, name: &str) -> Option<String> {
    PLACES.iter().map(|place| join(place, name)).find(|path| tree.has_file(path))
}

/// Whether `agents.json` is Ralph Deluxe's: other programs use the name, too, at the root.
fn is_ours(tree: &ProjectTree, path: &str) -> bool {
    let looks_so = || {
        let value: Value =
            tree.text(path).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        value.get("passes").is_some() || value.get("context_agent").is_some()
    };
    path.contains('/') || looks_so()
}

fn context_agent(
    look: &mut ManifestReader<'_>,
    draft: &mut ConfigDraft,
    path: &str,
    agent: Option<DeluxeContextAgent>,
) {
    const TABLE: &str = "stages.context";
    let Some(agent) = agent else { return };
    if let Some(model) = text(agent.model) {
        draft.set(TABLE, "model", quote(&model));
    }
    let turns = |call: &Option<DeluxeCall>| {
        call.as_ref().and_then(|call| call.max_turns).filter(|n| *n > 0)
    };
    let (prep, post) = (turns(&agent.prep), turns(&agent.post));
    if let Some(most) = prep.max(post) {
        draft.set(TABLE, "max_turns", most.to_string());
        if prep != post {
            look.note(format!(
                "{path}: prep and post have one max_turns here, the larger one: {most}"
            ));
        }
    }
    let list =
        [agent.prep, agent.post].into_iter().flatten().find_map(|call| text(call.mcp_config));
    if let Some(file) = list.and_then(|name| find(look.tree, &name)) {
        servers(look, draft, "context", &file);
    }
}

fn passes(
    look: &mut ManifestReader<'_>,
    draft: &mut ConfigDraft,
    path: &str,
    passes: Vec<DeluxePass>,
) {
    let mut names: Vec<String> = Vec::new();
    for pass in passes {
        if let Some(why) = refusal(&pass, &names) {
            look.problem(path, None, format!("the pass `{}` {why}: left out", pass.name));
            continue;
        }
        names.push(pass.name.clone());
        let tree = look.tree;
        // A name without a folder is a file in the place where Ralph Deluxe keeps that kind.
        let place = |folder: &str, name: String| {
            let path = join(folder, &name);
            quote(if tree.has_file(&path) { &path } else { &name })
        };
        let config =
            |name: String| find(tree, &name).map_or_else(|| quote(&name), |path| quote(&path));
        let values = [
            ("name", Some(quote(&pass.name))),
            ("enabled", pass.enabled.map(|yes| yes.to_string())),
            ("model", text(pass.model).map(|model| quote(&model))),
            ("trigger", text(pass.trigger).map(|trigger| quote(&trigger))),
            ("max_turns", pass.max_turns.map(|turns| turns.to_string())),
            ("prompt_template", text(pass.prompt_template).map(|name| place(TEMPLATES, name))),
            ("schema", text(pass.schema).map(config)),
            ("mcp_config", text(pass.mcp_config).map(config)),
            ("read_only", pass.read_only.map(|yes| yes.to_string())),
        ];
        draft
            .passes
            .push(values.into_iter().filter_map(|(key, value)| Some((key, value?))).collect());
    }
}

fn refusal(pass: &DeluxePass, names: &[String]) -> Option<&'static str> {
    if text(Some(pass.name.clone())).is_none() || names.contains(&pass.name) {
        Some("has no name of its own")
    } else if text(pass.trigger.clone()).is_some_and(|word| PassTrigger::from_word(&word).is_none())
    {
        Some("has a trigger that is none of always, on_success, on_failure, periodic:N")
    } else if pass.max_turns == Some(0) {
        Some("has no turns")
    } else if text(pass.prompt_template.clone()).is_none() {
        Some("has no prompt_template")
    } else {
        None
    }
}

/// The lists of MCP servers stay where they are; a stage is given one only if it names servers.
fn mcp(look: &mut ManifestReader<'_>, draft: &mut ConfigDraft, imported: &mut Vec<String>) {
    for (name, stage) in MCP {
        if let Some(path) = find(look.tree, name)
            && servers(look, draft, stage, &path)
        {
            imported.push(path);
        }
    }
    let tree = look.tree;
    for place in PLACES {
        let known = |name: &&str| MCP.iter().any(|(mcp, _)| mcp == name);
        for name in tree.names(place).filter(|name| is_mcp(name) && !known(name)) {
            let path = join(place, name);
            let used = draft.passes.iter().flatten().any(|(_, value)| *value == quote(&path));
            if !used && !draft.is_set_to(&quote(&path)) {
                look.note(format!("{path}: no stage uses it; `mcp_config` of a stage may name it"));
            }
        }
    }
}

/// Give the stage this list of servers, unless it is empty; whether it was taken.
fn servers(
    look: &mut ManifestReader<'_>,
    draft: &mut ConfigDraft,
    stage: &str,
    path: &str,
) -> bool {
    let list: Option<Value> = look.json(path);
    let servers = list.as_ref().and_then(|list| list.get("mcpServers")?.as_object());
    if servers.is_none_or(|servers| servers.is_empty()) {
        return false;
    }
    draft.set(&format!("stages.{stage}"), "mcp_config", quote(path));
    true
}
