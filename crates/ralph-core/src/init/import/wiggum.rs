//! A `.ralph-wiggum/` folder: the plan stays where it is, specs are copied, stages are taken over.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::text;
use crate::init::draft::{ConfigDraft, GateSource, quote};
use crate::init::manifest::ManifestReader;
use crate::init::{NewFile, TreeEntry};

const PLAN: &str = ".ralph-wiggum/implementation.json";
const SETTINGS: &str = ".ralph-wiggum/config.json";
const SPECS: &str = ".ralph-wiggum/specs";

/// Files that ralph has no use for, and where their contents belong.
const NAMED: [(&str, &str); 4] = [
    (
        "GUARDRAILS.md",
        "ralph does not read it; put what still holds where your backend reads its rules",
    ),
    ("PROMPT_build.md", "ralph has prompts of its own; files in ralph/prompts/ override them"),
    ("PROMPT_plan.md", "ralph has prompts of its own; files in ralph/prompts/ override them"),
    ("PROGRESS.md", "it stays, and ralph goes on with it beside the plan"),
];

/// Names of agents and the backends that they are here.
const BACKENDS: [(&str, &str); 6] = [
    ("claude", "claude"),
    ("claude-code", "claude"),
    ("codex", "codex"),
    ("gemini", "gemini"),
    ("gemini-cli", "gemini"),
    ("opencode", "opencode"),
];

#[derive(Deserialize)]
struct WiggumFile {
    #[serde(default)]
    config: WiggumSettings,
}

#[derive(Default, Deserialize)]
struct WiggumSettings {
    #[serde(default)]
    agents: BTreeMap<String, Option<WiggumAgent>>,
}

#[derive(Deserialize)]
struct WiggumAgent {
    agent: Option<String>,
    model: Option<String>,
}

/// Specs that are not in `folder` yet.
pub(in crate::init) fn specs(look: &mut ManifestReader<'_>, folder: &str) -> Vec<NewFile> {
    let tree = look.tree;
    let mut copies = Vec::new();
    for name in tree.names(SPECS).filter(|name| name.ends_with(".md")) {
        let path = format!("{folder}/{name}");
        let from = format!("{SPECS}/{name}");
        if tree.get(&path).is_some() || tree.has_folder(&from) {
            continue;
        }
        // As it is, with its byte order mark if it has one: a copy is a copy.
        if let Some(TreeEntry::Text(text)) = tree.get(&from) {
            copies.push(NewFile { path, text: text.clone() });
        } else {
            let _ = look.text(&from);
        }
    }
    copies
}

/// Settings of the folder; the files that gave them.
pub(in crate::init) fn import(
    look: &mut ManifestReader<'_>,
    draft: &mut ConfigDraft,
) -> Vec<String> {
    let mut imported = Vec::new();
    if look.tree.has_file(PLAN) {
        plan(look, draft);
        imported.push(PLAN.to_owned());
    }
    if let Some(mut file) = look.json::<WiggumFile>(SETTINGS) {
        for stage in ["plan", "build"] {
            if let Some(Some(agent)) = file.config.agents.remove(stage) {
                self::stage(look, draft, stage, agent);
            }
        }
        imported.push(SETTINGS.to_owned());
    }
    for (name, what) in NAMED {
        if look.tree.has_file(&format!(".ralph-wiggum/{name}")) {
            look.note(format!(".ralph-wiggum/{name}: {what}"));
        }
    }
    imported
}

/// Use the plan where it is, with its own gates if it has some.
fn plan(look: &mut ManifestReader<'_>, draft: &mut ConfigDraft) {
    if draft.has("", "plan") {
        look.note(format!("{PLAN} is a plan too: `--plan {PLAN}` works on it"));
        return;
    }
    draft.set("", "plan", quote(PLAN));
    let plan: Option<Value> = look.json(PLAN);
    let gates = plan.as_ref().and_then(|plan| plan.get("qualityGates")?.as_array());
    if draft.gates == GateSource::None && gates.is_some_and(|gates| !gates.is_empty()) {
        draft.gates = GateSource::InThePlan(PLAN.to_owned());
    }
}

fn stage(look: &mut ManifestReader<'_>, draft: &mut ConfigDraft, stage: &str, agent: WiggumAgent) {
    let table = format!("stages.{stage}");
    let Some(name) = text(agent.agent) else { return };
    let Some((_, backend)) =
        BACKENDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name.trim()))
    else {
        look.note(format!(
            "{SETTINGS}: ralph knows no backend `{name}` for the stage {stage}; \
             describe it as [backends.{name}] or choose another"
        ));
        return;
    };
    draft.set(&table, "backend", quote(backend));
    if let Some(model) = text(agent.model) {
        draft.set(&table, "model", quote(&model));
    }
}
