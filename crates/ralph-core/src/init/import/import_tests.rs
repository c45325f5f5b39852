use crate::init::TreeEntry;
use crate::init::fixture::{created, gates, init};

const AGENTS: &str = r#"{
  "context_agent": {
    "model": "haiku",
    "prep": {"max_turns": 25, "prompt_template": "context-prep-prompt.md", "mcp_config": "mcp-context.json"},
    "post": {"max_turns": 20, "mcp_config": "mcp-context.json"}
  },
  "passes": [
    {"name": "review", "enabled": false, "model": "haiku", "trigger": "on_success", "max_turns": 5,
     "prompt_template": "review-agent-prompt.md", "schema": "review-agent-schema.json",
     "mcp_config": "mcp-coding.json", "read_only": true}
  ]
}"#;

const CONF: &str = r#"#!/bin/bash
# Ralph Deluxe
RALPH_MODE="handoff-plus-index"
RALPH_MAX_ITERATIONS=25
RALPH_VALIDATION_COMMANDS=(
  "bats tests/"
  "shellcheck *.sh"
)
RALPH_CONTEXT_AGENT_MODEL="opus"
RALPH_COMPACTION_INTERVAL=7
RALPH_MODEL=$(pick-a-model)
MY_OWN=1
"#;

#[test]
fn a_conf_becomes_keys_and_gates() {
    let setup = init(&[
        (".ralph/config/ralph.conf", CONF),
        (".ralph/config/agents.json", AGENTS),
        ("plan.json", "{}"),
        ("Cargo.toml", ""),
    ]);
    let text = created(&setup, "ralph.toml");
    for part in [
        "\nmode = \"handoff-plus-index\"\n",
        "\nmax_iterations = 25\n",
        "\nmin_delay = \"30s\"\n",
        "\nplan = \"plan.json\"\n",
        "\n[memory]\ncompaction_interval = 7\n",
        "\n[stages.context]\nmodel = \"opus\"\nmax_turns = 25\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(gates(&setup), ["bats tests/: bats tests/", "shellcheck *.sh: shellcheck *.sh"]);
    assert_eq!(setup.gates[1].kind, crate::config::GateKind::Lint);
    let problems: Vec<_> = setup.problems.iter().map(ToString::to_string).collect();
    assert!(problems[0].starts_with(".ralph/config/ralph.conf:11: "), "{problems:?}");
    assert!(problems[1].starts_with(".ralph/config/ralph.conf:12: MY_OWN"), "{problems:?}");
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(setup.imported[0], ".ralph/config/ralph.conf");
}

#[test]
fn agents_become_passes_and_the_context_stage() {
    let setup = init(&[
        (".ralph/config/agents.json", AGENTS),
        (".ralph/config/mcp-coding.json", r#"{"mcpServers": {}}"#),
        (".ralph/config/mcp-context.json", r#"{"mcpServers": {"docs": {"command": "npx"}}}"#),
        (".ralph/config/review-agent-schema.json", "{}"),
        (".ralph/templates/review-agent-prompt.md", ""),
    ]);
    let text = created(&setup, "ralph.toml");
    assert!(
        text.contains(
            "\n[stages.context]\nmodel = \"haiku\"\nmax_turns = 25\n\
             mcp_config = \".ralph/config/mcp-context.json\"\n"
        ),
        "{text}"
    );
    assert!(
        text.ends_with(
            "\n[[passes]]\nname = \"review\"\nenabled = false\nmodel = \"haiku\"\ntrigger = \"on_success\"\n\
             max_turns = 5\nprompt_template = \".ralph/templates/review-agent-prompt.md\"\n\
             schema = \".ralph/config/review-agent-schema.json\"\n\
             mcp_config = \".ralph/config/mcp-coding.json\"\nread_only = true\n"
        ),
        "{text}"
    );
    assert!(
        !text.contains("[stages.build]"),
        "an empty list of servers gives a stage nothing: {text}"
    );
    assert_eq!(setup.imported, [".ralph/config/agents.json", ".ralph/config/mcp-context.json"]);
    assert!(
        setup.notes.iter().any(|note| note.contains("the larger one: 25")),
        "{:?}",
        setup.notes
    );
    assert!(setup.problems.is_empty(), "{:?}", setup.problems);
}

#[test]
fn each_role_gets_its_own_servers_and_a_list_without_a_role_is_named() {
    let list = r#"{"mcpServers": {"a": {}}}"#;
    let setup = init(&[
        ("agents.json", r#"{"passes": []}"#),
        ("mcp-coding.json", list),
        ("mcp-memory.json", list),
        ("mcp-extra.json", list),
    ]);
    let text = created(&setup, "ralph.toml");
    assert!(text.contains("[stages.build]\nmcp_config = \"mcp-coding.json\"\n"), "{text}");
    assert!(text.contains("[stages.index]\nmcp_config = \"mcp-memory.json\"\n"), "{text}");
    assert!(setup.notes[0].starts_with("mcp-extra.json: no stage uses it"), "{:?}", setup.notes);
}

#[test]
fn a_plan_of_ralph_deluxe_becomes_the_plan() {
    let setup = init(&[(".ralph/ralph.sh", ""), ("plan.json", "{}")]);
    assert!(created(&setup, "ralph.toml").contains("\nplan = \"plan.json\"\n"));
    let stranger =
        init(&[("plan.json", "{}"), ("agents.json", r#"{"mine": 1}"#), ("mcp-x.json", "{}")]);
    assert!(!created(&stranger, "ralph.toml").contains("\nplan ="));
    assert!(stranger.imported.is_empty());
    assert_eq!(stranger.notes, ["no gates were found: ralph.toml shows how to write one"]);
}

#[test]
fn a_damaged_import_is_reported_with_its_line_and_the_rest_goes_on() {
    let setup = init(&[
        (
            ".ralph/config/agents.json",
            "{\"passes\": [\n  {\"name\": \"a\", \"max_turns\": \"many\"}]}",
        ),
        (".ralph/config/mcp-context.json", "{\n\n oops"),
        ("plan.json", "{}"),
        ("Cargo.toml", ""),
    ]);
    let problems: Vec<_> = setup.problems.iter().map(ToString::to_string).collect();
    assert!(problems[0].starts_with(".ralph/config/agents.json:2: "), "{problems:?}");
    assert!(problems[1].starts_with(".ralph/config/mcp-context.json:3: "), "{problems:?}");
    assert!(created(&setup, "ralph.toml").contains("\nplan = \"plan.json\"\n"));
    assert_eq!(gates(&setup), ["test: cargo test --no-fail-fast"]);
}

#[test]
fn a_pass_that_ralph_could_not_run_is_left_out_and_named() {
    let agents = r#"{"passes": [
        {"name": "", "prompt_template": "a.md"},
        {"name": "t", "prompt_template": "a.md", "trigger": "sometimes"},
        {"name": "z", "prompt_template": "a.md", "max_turns": 0},
        {"name": "p"},
        {"name": "good", "prompt_template": "a.md", "trigger": "periodic:3", "model": null},
        {"name": "good", "prompt_template": "a.md"}]}"#;
    let setup = init(&[(".ralph/config/agents.json", agents)]);
    let text = created(&setup, "ralph.toml");
    assert_eq!(text.matches("[[passes]]").count(), 1, "{text}");
    assert!(
        text.ends_with("name = \"good\"\ntrigger = \"periodic:3\"\nprompt_template = \"a.md\"\n"),
        "{text}"
    );
    assert_eq!(setup.problems.len(), 5, "{:?}", setup.problems);
}

const WIGGUM: &str = r#"{"config": {"projectName": "a", "agents": {
    "plan": {"agent": "claude", "model": "opus"}, "build": {"agent": "cursor"}}}, "sessions": []}"#;

#[test]
fn a_wiggum_folder_gives_plan_stages_and_specs() {
    let setup = init(&[
        (
            ".ralph-wiggum/implementation.json",
            r#"{"version": 1, "qualityGates": ["bun test"], "specs": []}"#,
        ),
        (".ralph-wiggum/config.json", WIGGUM),
        (".ralph-wiggum/specs/a.md", "\u{feff}# A\r\n"),
        (".ralph-wiggum/specs/b.md", "# B\n"),
        (".ralph-wiggum/specs/notes.txt", ""),
        (".ralph-wiggum/GUARDRAILS.md", ""),
        (".ralph-wiggum/PROMPT_build.md", ""),
        ("ralph/specs/b.md", ""),
        ("Cargo.toml", ""),
    ]);
    let text = created(&setup, "ralph.toml");
    assert!(text.contains("\nplan = \".ralph-wiggum/implementation.json\"\n"), "{text}");
    assert!(text.contains("\n[stages.plan]\nbackend = \"claude\"\nmodel = \"opus\"\n"), "{text}");
    assert!(!text.contains("[stages.build]"), "{text}");
    assert!(
        text.contains("They are the qualityGates of .ralph-wiggum/implementation.json."),
        "{text}"
    );
    assert!(setup.gates.is_empty(), "a gate here would replace those of the plan");
    assert_eq!(created(&setup, "ralph/specs/a.md"), "\u{feff}# A\r\n");
    assert!(setup.create.iter().all(|file| file.path != "ralph/specs/b.md"));
    for part in ["no backend `cursor` for the stage build", "GUARDRAILS.md: ", "PROMPT_build.md: "]
    {
        assert!(setup.notes.iter().any(|note| note.contains(part)), "{part}: {:?}", setup.notes);
    }
}

#[test]
fn a_wiggum_plan_without_gates_leaves_them_to_the_stack() {
    let setup = init(&[(".ralph-wiggum/implementation.json", "{\"specs\": []}"), ("go.mod", "")]);
    assert_eq!(gates(&setup), ["lint: go vet ./...", "test: go test ./..."]);
}

#[test]
fn a_spec_that_cannot_be_read_is_named_and_not_copied() {
    let mut tree = crate::init::fixture::tree(&[(".ralph-wiggum/specs/a.md", "")]);
    tree.add(".ralph-wiggum/specs/a.md", TreeEntry::Unreadable("not UTF-8 text".to_owned()));
    let setup = crate::init::set_up(&tree, &crate::init::InitRequest::default()).unwrap();
    assert_eq!(setup.problems[0].to_string(), ".ralph-wiggum/specs/a.md: not UTF-8 text");
    assert!(setup.create.iter().all(|file| !file.path.ends_with("a.md")));
}
