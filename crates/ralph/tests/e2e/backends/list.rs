//! The list.

use serde_json::json;

use super::machine;

#[test]
fn the_list_says_what_is_installed_and_guesses_nothing() {
    let p = machine([
        ("claude", "echo '2.1.325 (Claude Code)'"),
        ("codex", "echo 'no version for you' >&2; exit 1"),
    ]);
    p.write("ralph.toml", "[backends.mybot]\nkind = 'command'\ncommand = ['mybot', '-']\n");
    let version = env!("CARGO_PKG_VERSION");
    p.run(["backends"]).ok().stderr("").stdout(&format!(
        "\
NAME      VERSION        LOGIN       SCHEMA  RESUME  COST  CONTEXT  MCP  TURNS  BUDGET  COMPACT
claude    2.1.325        unknown     yes     yes     yes   yes      yes  yes    yes     yes
codex     unknown        unknown     yes     yes     -     -        yes  -      -       -
gemini    not installed  -           -       yes     -     -        -    -      -       -
opencode  not installed  -           -       yes     yes   -        yes  -      -       -
sim       {version:13}  not needed  yes     yes     yes   yes      -    yes    yes     yes
mybot     not installed  -           -       -       -     -        -    -      -       -

Default: claude, the first one installed
Login is known only when one runs: ralph backends try [NAME] \"say hello\"
"
    ));
}

#[test]
fn the_list_for_programs_says_the_same() {
    let p = machine([("claude", "echo 2.1.325"), ("codex", "echo codex-cli 0.166.0")]);
    p.write("ralph.toml", "backend = 'codex'\n");
    let all = p.run(["backends", "--json"]).ok().json();
    let names: Vec<_> = all.as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["claude", "codex", "gemini", "opencode", "sim"]);
    assert_eq!(
        all[1],
        json!({
            "name": "codex", "default": true, "installed": true,
            "program": p.path("bin/codex"), "version": "0.166.0", "kind": "codex",
            "login": "unknown",
            "supports": {"schema": true, "resume": true, "cost": false, "context": false,
                "mcp": true, "turns": false, "budget": false, "compact": false},
        })
    );
    let (gemini, sim) = (&all[2], &all[4]);
    assert_eq!((&gemini["installed"], &gemini["login"]), (&json!(false), &json!(null)));
    assert_eq!((&sim["default"], &sim["login"]), (&json!(false), &json!("not needed")));
    p.run(["backends", "list", "--json"]).ok().stdout_has("0.166.0");
}

#[test]
fn sim_is_no_default_even_when_nothing_else_is_installed() {
    let p = machine([]);
    p.run(["backends"]).ok().stdout_has("Default: none; no coding agent is installed");
    p.run(["backends", "try", "say hello"])
        .fails(1)
        .stdout("")
        .stderr_has("looked for claude, codex, gemini and opencode")
        .stderr_has("ralph backends try sim");
}

#[test]
fn a_program_of_ones_own_is_not_started_to_learn_its_version() {
    let p = machine([("mybot", "echo 1.2.3; echo started >started.txt")]);
    p.write("ralph.toml", "[backends.mybot]\nkind = 'command'\ncommand = ['mybot']\n");
    let all = p.run(["backends", "--json"]).ok().json();
    let mybot = &all[5];
    assert_eq!((&mybot["installed"], &mybot["version"]), (&json!(true), &json!(null)));
    assert!(!p.exists("started.txt"));
}

#[test]
fn the_settings_in_the_documentation_are_settings() {
    let page = include_str!("../../../../../docs/backends.md");
    let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut seen = 0;
    for block in blocks {
        let p = machine([]);
        p.write("ralph.toml", block);
        p.run(["backends"]).ok().stderr("");
        seen += 1;
    }
    assert_eq!(seen, 2);
}
