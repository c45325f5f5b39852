//! What each role is given on its command line: a stand-in for claude writes down how it was started.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::memory::{GOOD_PROMPT, INDEXER, PREPARE, PREPARED, PUT_AWAY, REVIEW, has};
use crate::plans::{Format, task};
use crate::repo::{GATE, Repo, repo_with};

/// Keeps its arguments, one a line, and the servers it is given; then does what the role wants.
const CLAUDE: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo "2.1.0 (Claude Code)"; exit 0; fi
prompt=$(cat)
case $prompt in
*"@INDEXER@"*) role=index; answer='{"summary":"x"}' ;;
*"@PREPARE@"*) role=prepare; cp "$HOME/prepared.md" @PREPARED@; answer='{"action":"proceed","reason":"x"}' ;;
*"@PUT_AWAY@"*) role=put-away; answer='{"action":"proceed","reason":"x"}' ;;
*"@REVIEW@"*) role=pass; answer='{"verdict":"approve","summary":"x"}' ;;
*) role=build; mkdir -p work; date +%N > work/x.txt; answer='null' ;;
esac
for one in "$@"; do
    echo "$one"
    case $one in */mcp.json) echo "SERVERS: $(cat "$one")" ;; esac
done > "$HOME/args-$role"
echo '{"type":"system","subtype":"init","session_id":"s","model":"m","tools":[],"mcp_servers":[]}'
printf '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"duration_ms":1,"session_id":"s","result":"done\\n\\n<TASK_DONE>","total_cost_usd":0.01,"usage":{"input_tokens":1,"output_tokens":1},"structured_output":%s}\n' "$answer"
"#;

fn with_claude(mode: &str, tables: &str) -> Repo {
    let repo = repo_with(Format::Deluxe, &[task("T-001")]);
    let program = repo.home().join("claude");
    let text = [("@INDEXER@", INDEXER), ("@PREPARE@", PREPARE), ("@PUT_AWAY@", PUT_AWAY)]
        .into_iter()
        .chain([("@REVIEW@", REVIEW), ("@PREPARED@", PREPARED)])
        .fold(CLAUDE.to_owned(), |text, (hole, word)| text.replace(hole, word));
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(repo.home().join("prepared.md"), GOOD_PROMPT).unwrap();
    for (file, server) in [("context.json", "docs"), ("pass.json", "lint"), ("index.json", "notes")]
    {
        repo.write(
            file,
            format!(r#"{{"mcpServers":{{"{server}":{{"command":"{server}-server"}}}}}}"#),
        );
    }
    repo.config(&format!(
        "backend = \"claude\"\nmode = \"{mode}\"\n[backends.claude]\nprogram = {program:?}\n{tables}\n{GATE}"
    ));
    repo
}

impl Repo {
    /// How the program was started in a role.
    #[track_caller]
    fn arguments(&self, role: &str) -> String {
        let path = self.home().join(format!("args-{role}"));
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{role} was not started: {e}"))
    }
}

const NONE: &str = "--strict-mcp-config\n--mcp-config\n{\"mcpServers\":{}}\n";

#[test]
fn invariant_12_the_coding_agent_gets_no_servers_and_the_others_get_their_own() {
    let tables = "[stages.context]\nmcp_config = \"context.json\"\n\
        [[passes]]\nname = \"review\"\nprompt_template = \"review-agent-prompt.md\"\nmcp_config = \"pass.json\"\n";
    let repo = with_claude("agent-orchestrated", tables);
    repo.build([]).ok();
    has(&repo.arguments("build"), &[NONE]);
    for role in ["prepare", "put-away"] {
        has(&repo.arguments(role), &["--strict-mcp-config", "SERVERS: ", "docs-server"]);
    }
    let pass = repo.arguments("pass");
    has(&pass, &["--strict-mcp-config", "SERVERS: ", "lint-server"]);
    assert!(!pass.contains("docs-server"), "{pass}");
}

#[test]
fn invariant_12_nobody_gets_servers_unless_they_are_configured() {
    let tables = "[[passes]]\nname = \"review\"\nprompt_template = \"review-agent-prompt.md\"\n";
    let repo = with_claude("agent-orchestrated", tables);
    repo.build([]).ok();
    for role in ["build", "prepare", "put-away", "pass"] {
        has(&repo.arguments(role), &[NONE]);
    }
}

#[test]
fn the_indexer_gets_the_servers_and_the_turns_of_its_stage() {
    let own = with_claude("handoff-plus-index", "[stages.index]\nmcp_config = \"index.json\"\n");
    own.each_task(&serde_json::json!({ "needs_docs": true }));
    own.build([]).ok();
    has(&own.arguments("index"), &["notes-server", "--max-turns\n10\n"]);
    has(&own.arguments("build"), &[NONE]);
    let set = with_claude("handoff-plus-index", "[stages.index]\nmax_turns = 3\n");
    set.each_task(&serde_json::json!({ "needs_docs": true }));
    set.build([]).ok();
    has(&set.arguments("index"), &["--max-turns\n3\n"]);
}

#[test]
fn a_pass_has_its_model_its_turns_its_schema_and_tools_that_only_read() {
    let tables = "[[passes]]\nname = \"review\"\nprompt_template = \"review-agent-prompt.md\"\n\
        model = \"haiku\"\nmax_turns = 4\n\
        [[passes]]\nname = \"writer\"\nprompt_template = \"review-agent-prompt.md\"\nread_only = false\nenabled = false\n";
    let repo = with_claude("handoff-only", tables);
    repo.build([]).ok();
    let pass = repo.arguments("pass");
    has(
        &pass,
        &["--model\nhaiku\n", "--max-turns\n4\n", "--tools\nRead,Glob,Grep\n", "\"verdict\""],
    );
    assert!(!pass.contains("--dangerously-skip-permissions"), "{pass}");
    let build = repo.arguments("build");
    assert!(!build.contains("haiku"), "{build}");
    let writer = repo.read("ralph.toml").replace("enabled = false", "enabled = true");
    let own = with_claude("handoff-only", "");
    own.config(
        &writer.replace(&repo.home().display().to_string(), &own.home().display().to_string()),
    );
    own.build([]).ok();
    has(&own.arguments("pass"), &["--dangerously-skip-permissions"]);
}

#[test]
fn the_context_agent_has_the_model_of_its_stage_and_its_own_schema() {
    let repo = with_claude("agent-orchestrated", "");
    repo.command(["build"]).env("RALPH_CONTEXT_AGENT_MODEL", "opus").run().ok();
    has(&repo.arguments("prepare"), &["--model\nopus\n", "stuck_detection"]);
    has(&repo.arguments("put-away"), &["--model\nopus\n", "failure_pattern"]);
    let build = repo.arguments("build");
    assert!(!build.contains("opus") && build.contains("fully_complete"), "{build}");
}

#[test]
fn skills_are_appended_to_the_system_prompt_of_the_coding_agent() {
    let repo = with_claude("handoff-only", "");
    repo.each_task(&serde_json::json!({ "skills": ["style"] }));
    repo.write(".ralph/skills/style.md", "Be brief.\n");
    repo.commit("skill");
    repo.build([]).ok();
    has(&repo.arguments("build"), &["--append-system-prompt\n## Skills", "Be brief."]);
}
