use serde_json::json;

use super::*;
use crate::backend::RunUsage;

fn request() -> BackendRequest<'static> {
    BackendRequest { scratch: "/scratch", ..BackendRequest::plain("do it") }
}

fn words(request: &BackendRequest<'_>) -> String {
    ClaudeDriver.invocation(request).args.join(" ")
}

const PLAIN: &str = "-p --output-format stream-json --verbose";
const NO_MCP: &str = r#"--strict-mcp-config --mcp-config {"mcpServers":{}}"#;

#[test]
fn the_prompt_goes_to_standard_input_and_it_works_alone() {
    let call = ClaudeDriver.invocation(&request());
    assert_eq!(call.args.join(" "), format!("{PLAIN} --dangerously-skip-permissions {NO_MCP}"));
    assert_eq!(call.stdin, "do it");
    assert_eq!(call.files, []);
    let env: Vec<&str> = call.env.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        env,
        [
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_AUTOUPDATER"
        ]
    );
}

#[test]
fn root_says_that_it_is_meant_only_where_permissions_are_skipped() {
    let sandbox = ("IS_SANDBOX".to_owned(), "1".to_owned());
    let root = BackendRequest { as_root: true, ..request() };
    assert!(ClaudeDriver.invocation(&root).env.contains(&sandbox));
    assert!(!ClaudeDriver.invocation(&request()).env.contains(&sandbox));
    let careful = BackendRequest { permissions: BackendPermissions::Default, ..root };
    assert!(!ClaudeDriver.invocation(&careful).env.contains(&sandbox));
}

#[test]
fn each_wish_has_its_flag() {
    let schema =
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"});
    let before = RunUsage::default();
    let whole = BackendRequest {
        system: Some("be kind"),
        model: Some("opus"),
        max_turns: Some(7),
        schema: Some(&schema),
        session: SessionStart::Resume { id: "abc", before },
        budget: Some(1.5),
        ..request()
    };
    assert_eq!(
        words(&whole),
        format!(
            "{PLAIN} --dangerously-skip-permissions --model opus --max-turns 7 \
             --max-budget-usd 1.5 --append-system-prompt be kind {NO_MCP} \
             --json-schema {{\"type\":\"object\"}} --resume abc"
        )
    );
}

#[test]
fn the_programs_own_settings_decide_by_default() {
    let careful = BackendRequest { permissions: BackendPermissions::Default, ..request() };
    assert_eq!(words(&careful), format!("{PLAIN} {NO_MCP}"));
    let servers = json!({"mcpServers": {"ralph": {"command": "ralph"}, "docs": {"command": "d"}}});
    let with_own = BackendRequest { mcp: Some(&servers), ..careful };
    assert!(
        words(&with_own).contains("--allowedTools mcp__ralph --strict"),
        "{}",
        words(&with_own)
    );
}

#[test]
fn read_only_leaves_no_tool_that_writes_or_runs_anything() {
    let look = BackendRequest { permissions: BackendPermissions::ReadOnly, ..request() };
    assert_eq!(words(&look), format!("{PLAIN} --tools Read,Glob,Grep {NO_MCP}"));
    let servers = json!({"mcpServers": {"ralph": {"command": "ralph"}, "docs": {"command": "d"}}});
    let with_servers = BackendRequest { mcp: Some(&servers), ..look };
    assert!(words(&with_servers).contains("--allowedTools mcp__ralph,mcp__docs "));
}

#[test]
fn servers_go_through_a_file_because_they_hold_secrets() {
    let servers = json!({"mcpServers": {"docs": {"command": "d", "env": {"TOKEN": "hush"}}}});
    let call = ClaudeDriver.invocation(&BackendRequest { mcp: Some(&servers), ..request() });
    assert!(!call.args.join(" ").contains("hush"));
    assert!(call.args.join(" ").ends_with("--strict-mcp-config --mcp-config /scratch/mcp.json"));
    assert_eq!(call.files[0].path, "/scratch/mcp.json");
    assert!(call.files[0].text.contains("hush"));
}

#[test]
fn what_is_too_long_for_an_argument_does_not_become_one() {
    let long = "x".repeat(MOST_ARGUMENT + 1);
    let schema = json!({"description": long});
    let call = ClaudeDriver.invocation(&BackendRequest {
        system: Some(&long),
        schema: Some(&schema),
        ..request()
    });
    assert!(call.args.iter().all(|argument| argument.len() <= MOST_ARGUMENT));
    let words = call.args.join(" ");
    assert!(words.contains("--append-system-prompt-file /scratch/system-prompt.md"));
    assert!(!words.contains("--json-schema"));
    assert_eq!(call.files[0].text, long);
}
