//! `ralph init`: what it finds, what it writes, and what it leaves alone.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends in a panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ralph_testkit::{SmallDisk, TestProject, project};
use serde_json::Value;

/// Paths and texts.
type Files = &'static [(&'static str, &'static str)];

/// Every file below the project but git's own, with its bytes.
fn tree(p: &TestProject) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![p.root().to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(p.root()).unwrap().display().to_string();
            if path == Path::new(&p.path(".git")) {
                continue;
            }
            if path.is_dir() {
                found.insert(format!("{name}/"), Vec::new());
                open.push(path);
            } else {
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

/// The gates as `ralph config` sees them after `ralph init`.
fn gates(p: &TestProject) -> Vec<String> {
    p.run(["init", "--yes"]).ok();
    let gates = p.run(["config", "get", "gates", "--json"]).ok().json();
    let text = |gate: &Value, key: &str| gate[key].as_str().unwrap().to_owned();
    let list = gates["value"].as_array().unwrap_or_else(|| panic!("{gates}"));
    list.iter().map(|gate| format!("{}: {}", text(gate, "name"), text(gate, "command"))).collect()
}

#[test]
fn an_empty_repository_becomes_a_project() {
    let p = project!().git_init();
    p.run(["init"]).ok().stderr("").stdout(
        "\
Created:  ralph/specs/first.md
          .gitignore
          ralph.toml
Note:     no gates were found: ralph.toml shows how to write one
Next:     `git add .gitignore ralph.toml ralph/specs/first.md && git commit -m \"ralph: set up\" -- .gitignore ralph.toml ralph/specs/first.md`
          say what you want in ralph/specs/first.md, then `ralph construct`
",
    );
    p.run(["task", "add", "first"]).ok();
    p.run(["query", "stage"]).ok().stdout("BUILD\n");
}

#[test]
fn the_second_run_changes_nothing() {
    let p = project!().git_init().file("Cargo.toml", "[workspace]\n").file(".gitignore", "/target");
    p.run(["init", "--format", "implementation"]).ok().stdout_has("Changed:  .gitignore");
    let before = tree(&p);
    for args in [&["init"][..], &["init", "--format", "implementation"], &["init", "--json"]] {
        p.run(args).ok().stderr("");
        assert_eq!(tree(&p), before, "{args:?}");
    }
    p.run(["init"]).ok().stdout("Everything is already there; nothing was changed.\n");
}

#[test]
fn nothing_that_exists_is_overwritten() {
    let files = [
        ("ralph.toml", "# mine\nmax_retries = 7\n"),
        ("ralph/specs/login.md", "# Login\n"),
        ("progress.md", "# Progress: mine\n"),
        (".gitignore", "*.log\r\n.ralph/logs/\r\nlast"),
    ];
    let p = files.iter().fold(project!().git_init(), |p, (path, text)| p.file(path, text));
    p.run(["init", "--yes", "--format", "progress"]).ok().stdout_has("Kept:     ralph/specs/");
    for (path, text) in &files[..3] {
        assert_eq!(p.read(path), *text);
    }
    let ignore = p.read(".gitignore");
    assert!(ignore.starts_with("*.log\r\n.ralph/logs/\r\nlast\r\n\r\n# what ralph"), "{ignore:?}");
    assert!(!ignore.replace("\r\n", "").contains('\n'), "{ignore:?}");
    assert_eq!(ignore.matches(".ralph/logs/").count(), 1);
}

#[test]
fn what_ralph_writes_while_it_runs_is_ignored_and_the_rest_is_not() {
    let p = project!().git_init();
    p.run(["init"]).ok();
    for path in [
        "ralph/.agent-session",
        ".ralph/state.json",
        ".ralph/handoffs/handoff-001.json",
        ".ralph/context/prepared-prompt.md",
        ".ralph/control/commands.json",
        ".ralph/logs/events.jsonl",
        "build/ralph-logs/a.log",
        "ralph/.ralph-tmp-x1",
    ] {
        p.git(["check-ignore", "-q", path]).ok();
    }
    for path in [
        "ralph.toml",
        "ralph/plan.jsonl",
        "ralph/inbox.jsonl",
        "ralph/specs/first.md",
        ".ralph/knowledge-index.md",
        ".ralph/progress-log.json",
        ".ralph/skills/a.md",
        ".ralph/templates/a.md",
        "build/app",
    ] {
        p.git(["check-ignore", "-q", path]).fails(1);
    }
}

#[test]
fn each_stack_gets_its_gates() {
    let cases: &[(Files, &[&str])] = &[
        (&[("Cargo.toml", "[package]\n")], &["test: cargo test --no-fail-fast"]),
        (
            &[
                ("Cargo.toml", "[workspace]\n[workspace.lints.clippy]\n"),
                (".config/nextest.toml", ""),
            ],
            &[
                "lint: cargo clippy --workspace --all-targets -- -D warnings",
                "test: cargo nextest run --workspace --no-fail-fast",
            ],
        ),
        (
            &[("package.json", r#"{"scripts": {"test": "vitest", "lint": "eslint ."}}"#)],
            &["lint: npm run lint", "test: npm run test"],
        ),
        (
            &[("package.json", r#"{"scripts": {"test": "jest"}}"#), ("pnpm-lock.yaml", "")],
            &["test: pnpm run test"],
        ),
        (
            &[("package.json", r#"{"scripts": {"build": "tsc"}}"#), ("yarn.lock", "")],
            &["build: yarn run build"],
        ),
        (
            &[("package.json", r#"{"scripts": {"typecheck": "tsc"}}"#), ("bun.lock", "")],
            &["typecheck: bun run typecheck"],
        ),
        (
            &[
                ("pyproject.toml", "[tool.ruff]\n[tool.mypy]\n"),
                ("uv.lock", ""),
                ("tests/test_a.py", ""),
            ],
            &[
                "typecheck: uv run --with mypy mypy .",
                "lint: uv run --with ruff ruff check .",
                "test: uv run --with pytest pytest",
            ],
        ),
        (&[("go.mod", "module a\n")], &["lint: go vet ./...", "test: go test ./..."]),
        (
            &[("Makefile", "test:\n\ttrue\ncheck:\n\ttrue\n")],
            &["test: make test", "check: make check"],
        ),
        (&[("justfile", "lint:\n  true\n")], &["lint: just lint"]),
        (
            &[("Cargo.toml", ""), ("web/package.json", r#"{"scripts": {"test": "jest"}}"#)],
            &["test: cargo test --no-fail-fast", "web-test: cd web && npm run test"],
        ),
    ];
    for (files, wanted) in cases {
        let p = files.iter().fold(project!().git_init(), |p, (path, text)| p.file(path, text));
        assert_eq!(gates(&p), *wanted, "{files:?}");
    }
}

#[test]
fn what_was_found_is_shown_with_the_reason() {
    let p = project!().git_init().file("go.mod", "module a\n").file("package.json", "{\n oops }");
    let run = p.run(["init"]).ok().stdout_has(
        "\
Found:    Node (package.json)
          Go (go.mod)
Gates:    lint  go vet ./...
          test  go test ./...
",
    );
    run.stderr_has("warning: package.json:2: ");
}

#[test]
fn each_format_gives_an_empty_plan_that_ralph_goes_on_with() {
    for (format, file) in [
        ("implementation", "implementation.json"),
        ("progress", "progress.md"),
        ("deluxe", "plan.json"),
    ] {
        let p = project!().git_init();
        p.run(["init", "--yes", "--format", format]).ok().stdout_has(file);
        p.run(["query", "stage"]).ok().stdout("COMPLETE\n").stderr("");
        p.run(["validate"]).ok();
        p.run(["status"]).ok().stdout_has(file);
        assert!(!p.exists("ralph/plan.jsonl"));
    }
    project!().git_init().run(["init", "--format", "xml"]).fails(2);
}

const CONF: &str = "\
# settings
RALPH_MODE=\"handoff-plus-index\"
RALPH_VALIDATION_COMMANDS=(\"bats tests/\" \"shellcheck a.sh\")
eval \"$SOMETHING\"
";

const AGENTS: &str = r#"{"context_agent": {"model": "haiku", "prep": {"max_turns": 25}},
"passes": [{"name": "review", "enabled": false, "model": "haiku", "trigger": "on_success", "max_turns": 5,
 "prompt_template": "review-agent-prompt.md", "schema": "review-agent-schema.json",
 "mcp_config": "mcp-coding.json", "read_only": true}]}"#;

#[test]
fn a_ralph_deluxe_project_is_taken_over() {
    let p = project!()
        .git_init()
        .file(".ralph/config/ralph.conf", CONF)
        .file(".ralph/config/agents.json", AGENTS)
        .file(".ralph/config/mcp-context.json", r#"{"mcpServers": {"docs": {"command": "npx"}}}"#)
        .file("plan.json", r#"{"tasks": [{"id": "T-001", "title": "A", "status": "pending"}]}"#)
        .file("Cargo.toml", "");
    let before = tree(&p);
    p.run(["init", "--yes"])
        .ok()
        .stdout_has("Imported:  .ralph/config/ralph.conf")
        .stdout_has("Gates:     bats tests/")
        .stderr_has("warning: .ralph/config/ralph.conf:4: ");
    let after = tree(&p);
    assert!(
        before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)),
        "an original changed"
    );
    for (key, value) in [
        ("mode", "handoff-plus-index"),
        ("min_delay", "30s"),
        ("plan", "plan.json"),
        ("stages.context.model", "haiku"),
        ("stages.context.max_turns", "25"),
        ("stages.context.mcp_config", ".ralph/config/mcp-context.json"),
    ] {
        p.run(["config", "get", key]).ok().stdout(&format!("{value}\n"));
    }
    let passes = p.run(["config", "get", "passes", "--json"]).ok().json();
    assert_eq!(passes["value"][0]["trigger"], "on_success", "{passes}");
    assert_eq!(passes["value"][0].as_object().map(serde_json::Map::len), Some(9), "{passes}");
    p.run(["query", "next"]).ok().stdout_has("T-001");
}

#[test]
fn the_settings_of_a_ralph_deluxe_project_count_before_init() {
    let p = project!()
        .git_init()
        .file(".ralph/config/ralph.conf", CONF)
        .file("plan.json", r#"{"tasks": [{"id": "T-001", "title": "A", "status": "pending"}]}"#);
    let get = |key: &str| p.run(["config", "get", key]).ok().stdout;
    assert_eq!(get("mode"), "handoff-plus-index\n");
    assert_eq!(get("min_delay"), "30s\n");
    p.run(["config", "show"]).ok().stdout_has("(.ralph/config/ralph.conf:2)");
    p.run(["build", "--dry-run", "--backend", "sim"])
        .ok()
        .stdout_has("bats tests/")
        .stderr_has("`ralph init` makes ralph.toml of them")
        .stderr_has("warning: .ralph/config/ralph.conf:4: `eval");
    let doctor = p.run(["doctor"]).stdout;
    assert!(doctor.contains("the settings are those of .ralph/config/ralph.conf"), "{doctor}");
    assert!(!doctor.contains("there is no ralph.toml"), "{doctor}");
    // A setting must not put the others out of force.
    p.run(["config", "set", "max_retries", "1"]).fails(1).stderr_has("`ralph init`");
    p.run(["init", "--yes"]).ok();
    p.run(["config", "set", "max_retries", "1"]).ok();
    p.write(".ralph/config/ralph.conf", "RALPH_MODE=handoff-only\n");
    assert_eq!(get("mode"), "handoff-plus-index\n", "ralph.toml counts, and nothing else");
}

#[test]
fn a_wiggum_folder_is_taken_over() {
    let plan = r#"{"version": 1, "qualityGates": ["bun test"], "specs": [{"id": "a", "file": "specs/a.md",
        "name": "A", "priority": 1, "status": "pending",
        "tasks": [{"id": "a-1", "description": "Do it", "status": "pending"}]}]}"#;
    let config = r#"{"config": {"projectName": "x", "agents": {"plan": {"agent": "claude", "model": "opus"},
        "build": {"agent": "codex"}}}, "sessions": []}"#;
    let p = project!()
        .git_init()
        .file(".ralph-wiggum/implementation.json", plan)
        .file(".ralph-wiggum/config.json", config)
        .file(".ralph-wiggum/specs/a.md", "# A\r\n")
        .file(".ralph-wiggum/specs/b.md", "# B\n")
        .file(".ralph-wiggum/GUARDRAILS.md", "- be kind\n")
        .file("ralph/specs/b.md", "# mine\n");
    let before = tree(&p);
    p.run(["init", "--yes"]).ok().stdout_has(".ralph-wiggum/GUARDRAILS.md: ");
    let after = tree(&p);
    assert!(
        before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)),
        "an original changed"
    );
    assert_eq!(p.read("ralph/specs/a.md"), "# A\r\n");
    p.run(["query", "next"]).ok().stdout_has("a-1");
    p.run(["config", "get", "stages.plan.model"]).ok().stdout("opus\n");
    p.run(["config", "get", "stages.build.backend"]).ok().stdout("codex\n");
    p.run(["init"]).ok().stdout("Everything is already there; nothing was changed.\n");
}

#[test]
fn json_is_all_of_standard_output() {
    let p = project!().git_init().file("Cargo.toml", "").file("package.json", "[");
    let run = p.run(["init", "--json"]).ok().stderr("");
    let value = run.json();
    assert_eq!(value["created"][2], "ralph.toml");
    assert_eq!(value["gates"][0]["command"], "cargo test --no-fail-fast");
    assert_eq!(value["found"][0]["evidence"], "Cargo.toml");
    assert_eq!(value["problems"][0]["file"], "package.json");
    assert_eq!(p.run(["init", "--json"]).ok().json()["created"], serde_json::json!([]));
}

#[test]
fn without_a_repository_it_works_and_says_what_comes_next() {
    let p = project!();
    p.run(["init"]).ok().stdout_has("Next:     `git init`");
    let before = tree(&p);
    p.run(["init"]).ok().stdout_has("nothing was changed");
    assert_eq!(tree(&p), before);
}

#[test]
fn it_sets_up_the_project_and_not_the_directory_it_is_started_in() {
    let p = project!().git_init().dir("src/deep");
    let root = p.root().display().to_string();
    p.command(["init"]).dir("src/deep").run().ok().stdout_has(&format!("Project:  {root}\n"));
    assert!(p.exists("ralph.toml") && !p.exists("src/deep/ralph.toml"));
    p.command(["init"]).dir("src").run().ok().stdout_has(&format!("already there in {root};"));
}

#[test]
fn something_in_the_way_stops_it_before_anything_is_written() {
    for (path, needed) in [("ralph", "a folder"), ("ralph/specs", "a folder")] {
        let p = project!().git_init().file(path, "x");
        let before = tree(&p);
        p.run(["init"])
            .fails(1)
            .stderr_has(&format!("error: {path} is in the way: ralph needs {needed} there\n"))
            .stderr_has(&format!("hint: move {path} away"));
        assert_eq!(tree(&p), before);
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error_and_stays_as_it_was() {
    let p = project!().git_init().file("Cargo.toml", "").as_nobody();
    let before = tree(&p);
    p.mode("", 0o555);
    p.run(["init"]).fails(1).stderr_has("permission denied").stderr_has("hint: ");
    assert_eq!(tree(&p), before);
}

#[test]
fn a_full_disk_is_an_error_and_the_next_run_finishes_the_work() {
    let name = "a_full_disk_is_an_error_and_the_next_run_finishes_the_work";
    let Some(disk) = SmallDisk::mount(name, 64) else { return };
    let p = TestProject::inside(env!("CARGO_BIN_EXE_ralph"), disk.path()).file(".gitignore", "a\n");
    disk.fill();
    p.run(["init"]).fails(1).stderr_has("the disk is full").stderr_has("hint: make room");
    assert_eq!(p.read(".gitignore"), "a\n");
    assert!(!p.exists("ralph.toml"));
    disk.free();
    p.run(["init"]).ok().stdout_has("ralph.toml");
    p.run(["init"]).ok().stdout_has("nothing was changed");
}

#[test]
fn a_linked_ignore_file_stays_a_link() {
    let p = project!().git_init().file("shared/ignore", "a\n").link(".gitignore", "shared/ignore");
    p.run(["init"]).ok().stdout_has("Changed:  .gitignore");
    assert!(fs::symlink_metadata(p.path(".gitignore")).unwrap().is_symlink());
    assert!(p.read("shared/ignore").contains("/.ralph/state.json\n"));
}

#[test]
fn nobody_works_on_the_starter_before_it_was_edited() {
    let p = project!().git_init();
    p.run(["init", "--yes"]).ok();
    let refused = "error: ralph/specs/first.md is still the starter that `ralph init` wrote\n\
                   hint: open ralph/specs/first.md and say what you want, in your own words\n";
    for args in [
        &["plan"][..],
        &["plan", "first"],
        &["plan", "--dry-run"],
        &["construct", "--backend", "sim"],
        &["construct", "ralph/specs/first.md"],
        &["inbox", "add", "first.md"],
    ] {
        p.run(args).fails(1).stderr(refused);
    }
    assert!(!p.exists("ralph/plan.jsonl") && !p.exists("ralph/inbox.jsonl"));
    // It may have been queued when it was another spec.
    let text = p.read("ralph/specs/first.md");
    p.write("ralph/specs/first.md", text.replace("A title that says", "Lists that say"));
    p.run(["inbox", "add", "first.md"]).ok();
    p.write("ralph/specs/first.md", text);
    p.git(["add", "-A"]).ok();
    p.git(["commit", "-qm", "start"]).ok();
    p.run(["agent", "--backend", "sim"]).fails(3);
    p.run(["inbox"]).ok().stdout_has("nobody has written ralph/specs/first.md yet");
    // Beside a spec that somebody wrote it is not in the way.
    p.write("ralph/specs/mine.md", "# Mine\n\nA file `mine.txt`.\n");
    p.run(["plan", "--dry-run", "--backend", "sim"]).ok().stdout_has("mine.md");
}

#[test]
fn many_at_once_make_one_project() {
    let p = &project!().git_init().file("Cargo.toml", "");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(move || p.run(["init", "--yes"]).ok());
        }
    });
    p.run(["init"]).ok().stdout("Everything is already there; nothing was changed.\n");
    assert_eq!(gates(p), ["test: cargo test --no-fail-fast"]);
}
