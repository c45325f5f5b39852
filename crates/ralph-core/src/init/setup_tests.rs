use proptest::prelude::*;

use super::*;
use crate::config::{ConfigTier, LaneSettings, parse_layer, resolve};
use crate::init::fixture::{created, init, tree};
use crate::init::with_rules;

/// The project after init has done what it said.
fn carried_out(tree: &ProjectTree, setup: &ProjectSetup) -> ProjectTree {
    let mut after = tree.clone();
    for file in &setup.create {
        assert_eq!(tree.get(&file.path), None, "{} would be overwritten", file.path);
        for (at, _) in file.path.match_indices('/') {
            after.add(&file.path[..at], TreeEntry::Folder);
        }
        after.add(file.path.clone(), TreeEntry::Text(file.text.clone()));
    }
    if setup.ignore == IgnoreRulesState::Lacking {
        let text = with_rules(tree.text(".gitignore").unwrap()).unwrap();
        after.add(".gitignore", TreeEntry::Text(text));
    }
    after
}

fn paths(setup: &ProjectSetup) -> Vec<&str> {
    setup.create.iter().map(|file| file.path.as_str()).collect()
}

#[test]
fn an_empty_folder_gets_specs_ignore_rules_and_a_configuration() {
    let setup = init(&[]);
    assert_eq!(paths(&setup), ["ralph/specs/first.md", ".gitignore", "ralph.toml"]);
    assert!(setup.kept.is_empty());
}

#[test]
fn what_was_answered_is_in_the_configuration_and_what_was_dropped_is_named() {
    let request = InitRequest {
        spec: FirstSpec::None,
        backend: Some("codex".into()),
        dropped: ["lint".to_owned()].into(),
        ..InitRequest::default()
    };
    let found = tree(&[("Cargo.toml", ""), ("clippy.toml", "")]);
    let setup = set_up(&found, &request).unwrap();
    assert_eq!(paths(&setup), ["ralph/specs/.gitkeep", ".gitignore", "ralph.toml"]);
    let names: Vec<&str> = setup.gates.iter().map(|gate| gate.name.as_str()).collect();
    assert_eq!(names, ["test"]);
    let text = created(&setup, "ralph.toml");
    assert!(text.contains("\nbackend = \"codex\"\n") && !text.contains("# backend"), "{text}");
    let left_out = "# Left out: lint = cargo clippy --all-targets -- -D warnings\n";
    assert!(text.contains(left_out), "{text}");
    let layer = parse_layer(ConfigTier::Project, "ralph.toml", text).unwrap();
    assert_eq!(resolve([&layer]).unwrap().config.gates.len(), 1);
    let none = InitRequest { dropped: ["lint".to_owned(), "test".to_owned()].into(), ..request };
    let setup = set_up(&found, &none).unwrap();
    assert!(setup.gates.is_empty() && setup.notes.is_empty(), "{:?}", setup.notes);
}

#[test]
fn the_configuration_is_short_and_says_what_was_found() {
    let setup = init(&[("Cargo.toml", ""), ("clippy.toml", "")]);
    assert_eq!(
        created(&setup, "ralph.toml"),
        r#"# How ralph works in this project. `ralph config show` lists every key, its value and its origin.

# The program that writes code: claude, codex, gemini, opencode. Absent: the first one installed.
# backend = "claude"

[limits]
# Longest time of one backend run.
stage_timeout = "30m"
# Most dollars to spend. Absent: no limit.
# max_cost = 10.0

# Gates: commands that ralph itself runs to decide whether a task is done.
# kind is test or lint; required = false reports a failure without stopping the task.

# Rust, because of Cargo.toml
[[gates]]
name = "lint"
command = "cargo clippy --all-targets -- -D warnings"
kind = "lint"

[[gates]]
name = "test"
command = "cargo test --no-fail-fast"
kind = "test"
"#
    );
}

#[test]
fn the_loader_reads_the_gates_that_were_found() {
    let package = r#"{"scripts": {"lint": "eslint .", "test": "jest"}}"#;
    let setup = init(&[("package.json", package), ("go.mod", "")]);
    let layer =
        parse_layer(ConfigTier::Project, "ralph.toml", created(&setup, "ralph.toml")).unwrap();
    let config = resolve([&layer]).unwrap().config;
    assert_eq!(config.limits.stage_timeout.map(|t| t.get().as_secs()), Some(30 * 60));
    assert_eq!(config.gates.len(), 4);
    for (read, found) in config.gates.iter().zip(&setup.gates) {
        assert_eq!((&read.name, &read.command), (&found.name, &found.command));
        assert_eq!((read.kind, read.required), (Some(found.kind), found.required));
    }
}

#[test]
fn without_a_stack_the_configuration_says_what_to_write() {
    let setup = init(&[("README.md", "")]);
    let text = created(&setup, "ralph.toml");
    assert!(text.contains("# None were found.") && text.contains("# [[gates]]\n"), "{text}");
    assert!(setup.gates.is_empty());
}

#[test]
fn what_is_there_is_kept() {
    let setup = init(&[
        ("ralph.toml", ""),
        ("ralph/specs/a.md", ""),
        ("Cargo.toml", ""),
        (".gitignore", "a"),
    ]);
    assert_eq!(paths(&setup), [""; 0]);
    assert_eq!(setup.kept, ["ralph/specs/", "ralph.toml"]);
    assert_eq!(setup.ignore, IgnoreRulesState::Lacking);
}

#[test]
fn a_plan_of_another_format_is_made_and_becomes_the_plan() {
    let plan = Some((PlanFormat::Progress, "# Progress\n".to_owned()));
    let request = InitRequest { plan, ..InitRequest::default() };
    let new = set_up(&tree(&[]), &request).unwrap();
    assert_eq!(created(&new, "progress.md"), "# Progress\n");
    assert!(created(&new, "ralph.toml").contains("\nplan = \"progress.md\"\n"));

    let kept = set_up(&tree(&[("progress.md", "mine")]), &request).unwrap();
    assert!(kept.kept.contains(&"progress.md".to_owned()));
    assert!(created(&kept, "ralph.toml").contains("\nplan = \"progress.md\"\n"));

    let configured = set_up(&tree(&[("ralph.toml", "")]), &request).unwrap();
    assert!(
        configured.notes[0].contains("`ralph config set plan progress.md`"),
        "{:?}",
        configured.notes
    );
}

#[test]
fn an_unreadable_ignore_file_is_left_alone_and_named() {
    let mut tree = tree(&[]);
    tree.add(".gitignore", TreeEntry::Unreadable("not UTF-8 text".to_owned()));
    let setup = set_up(&tree, &InitRequest::default()).unwrap();
    assert_eq!(setup.ignore, IgnoreRulesState::Done);
    assert!(!paths(&setup).contains(&".gitignore"));
    assert_eq!(setup.problems[0].to_string(), ".gitignore: not UTF-8 text");
}

#[test]
fn a_file_where_a_folder_must_be_stops_everything() {
    let error = set_up(&tree(&[("ralph", "")]), &InitRequest::default()).unwrap_err();
    assert_eq!(error.to_string(), "ralph is in the way: ralph needs a folder there");
    let error = set_up(&tree(&[("ralph.toml/", "")]), &InitRequest::default()).unwrap_err();
    assert_eq!(error.to_string(), "ralph.toml is in the way: ralph needs a file there");
}

/// Files that init looks at, with contents that mean something and contents that do not.
fn any_project() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let names = proptest::sample::subsequence(
        vec![
            "Cargo.toml",
            "package.json",
            "Makefile",
            "justfile",
            "pyproject.toml",
            "go.mod",
            ".gitignore",
            "ralph.toml",
            "plan.json",
            "ralph.conf",
            "agents.json",
            "web/package.json",
            ".ralph/config/agents.json",
            ".ralph/config/ralph.conf",
            ".ralph/config/mcp-context.json",
            ".ralph-wiggum/config.json",
            ".ralph-wiggum/implementation.json",
            ".ralph-wiggum/specs/a.md",
        ],
        0..8,
    );
    let texts = proptest::sample::select(vec![
        "",
        "{}",
        "[]",
        "\u{feff}{}",
        "[workspace]",
        "test:\n\tx\n",
        "RALPH_MODE=\"x\"\n",
        "target/\r\n",
        "RALPH_MODE=handoff-only\nRALPH_VALIDATION_COMMANDS=(\"\" a a 'b\"')\nRALPH_MODEL=''\n",
        "RALPH_PLAN_FILE=x.json\nRALPH_CONTEXT_AGENT_MODEL=m\nRALPH_MAX_ITERATIONS=0\nif x\n",
        ".ralph/\n",
        r#"{"scripts": {"test": "a\u0001\"b", "lint": "x"}}"#,
        r#"{"passes": [{"name": "a\nb", "prompt_template": "'\"\\"}], "context_agent": {"model": "\u007f"}}"#,
        r#"{"config": {"agents": {"plan": {"agent": "claude", "model": "\u0000"}, "build": null}}}"#,
        r#"{"mcpServers": {"a": 1}, "qualityGates": ["x"]}"#,
    ]);
    (names, proptest::collection::vec(texts, 8)).prop_map(|(names, texts)| {
        names.into_iter().zip(texts).map(|(name, text)| (name, text.to_owned())).collect()
    })
}

proptest! {
    #[test]
    fn init_overwrites_nothing_writes_a_sound_configuration_and_has_nothing_to_do_twice(files in any_project()) {
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let before = tree(&files);
        let setup = set_up(&before, &InitRequest::default()).unwrap();
        if let Some(config) = setup.create.iter().find(|file| file.path == "ralph.toml") {
            let layer = parse_layer(ConfigTier::Project, "ralph.toml", &config.text);
            prop_assert!(layer.is_ok(), "{}\n{layer:?}", config.text);
            let resolved = resolve([&layer.unwrap()]);
            prop_assert!(resolved.is_ok(), "{}\n{resolved:?}", config.text);
        }
        let after = carried_out(&before, &setup);
        let again = set_up(&after, &InitRequest::default()).unwrap();
        prop_assert!(again.is_done(), "{again:#?}");
        prop_assert!(again.notes.is_empty() && again.problems.is_empty(), "{again:#?}");
    }
}

#[test]
fn the_configuration_says_how_a_lane_is_made_usable() {
    let mut project = tree(&[("package.json", "{}"), ("package-lock.json", "{}")]);
    project.set_repository(vec![".env".into(), "node_modules/".into()], 0);
    let setup = set_up(&project, &InitRequest::default()).unwrap();
    let text = created(&setup, "ralph.toml");
    let wanted =
        "[lane]\nsetup = \"npm ci\"\nsetup_when = [\"package-lock.json\"]\ncopy = [\".env\"]\n";
    assert!(text.contains(wanted), "{text}");
    let layer = parse_layer(ConfigTier::Project, "ralph.toml", text).unwrap();
    let lane = resolve([&layer]).unwrap().config.lane;
    assert_eq!(lane, setup.lane.over(LaneSettings::default()));
    let request =
        InitRequest { declined: [LaneKey::Setup, LaneKey::Copy].into(), ..InitRequest::default() };
    let setup = set_up(&project, &request).unwrap();
    assert!(!created(&setup, "ralph.toml").contains("[lane]") && setup.lane.is_empty());
}

#[test]
fn rules_for_commit_messages_and_layout_are_met_or_told() {
    let setup = init(&[("commitlint.config.js", ""), ("biome.json", "{}")]);
    assert!(created(&setup, "ralph.toml").contains("commit_prefix = \"chore(ralph)\"\n"));
    let notes = setup.notes.join("\n");
    assert!(notes.contains("commit_prefix = \"chore(ralph)\""), "{notes}");
    assert!(
        notes.contains("add \"!.ralph\" and \"!ralph\" to files.includes of biome.json"),
        "{notes}"
    );
    let package = r#"{"devDependencies": {"prettier": "3", "@commitlint/cli": "20"}}"#;
    let setup = init(&[("package.json", package)]);
    assert!(created(&setup, "ralph.toml").contains("commit_prefix"));
    assert!(setup.notes.join("\n").contains("add .ralph/ and ralph/ to .prettierignore"));
    let done = [("biome.json", "!.ralph"), (".prettierrc", ""), (".prettierignore", ".ralph/")];
    let setup = init(&done);
    assert!(!setup.notes.iter().any(|note| note.contains("layout")), "{:?}", setup.notes);
    assert!(!created(&setup, "ralph.toml").contains("commit_prefix ="));
}
