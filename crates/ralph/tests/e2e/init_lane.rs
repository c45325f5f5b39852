//! `ralph init` and `ralph doctor --compare`: what makes a lane usable, and what is said when it is not.

use ralph_testkit::{Run, TestProject, project};

/// A project with one commit, in which the simulated agent is used.
fn committed(files: &[(&str, &str)]) -> TestProject {
    let p = project!().git_init().env("RALPH_BACKEND", "sim");
    files.iter().for_each(|(path, text)| p.write(path, text));
    p.git(["add", "-A"]).ok();
    p.git(["commit", "-qm", "start"]).ok();
    p
}

fn get(p: &TestProject, key: &str) -> serde_json::Value {
    p.run(["config", "get", key, "--json"]).ok().json()["value"].clone()
}

/// The gate findings of a comparison, one line each with its state and its remedy.
fn compare(p: &TestProject) -> (Run, Vec<String>) {
    let run = p.run(["doctor", "--compare", "--json"]);
    let report = run.json();
    let all = report["findings"].as_array().unwrap().iter().filter(|f| f["about"] == "gate");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let lines =
        all.map(|f| format!("{}: {} | {}", text(&f["state"]), text(&f["what"]), text(&f["fix"])));
    let lines = lines.collect();
    (run, lines)
}

const PACKAGE: &str = r#"{"scripts": {"test": "node --test"}, "dependencies": {"a": "file:../a"}}"#;

#[test]
fn what_makes_a_lane_usable_is_found_and_written() {
    let p = committed(&[
        ("package.json", PACKAGE),
        ("package-lock.json", "{}"),
        ("api/requirements.txt", "flask\n"),
        ("api/tests/test_a.py", ""),
        ("api/conftest.py", ""),
        (".gitignore", "node_modules/\n.env*\n!.env.example\n"),
        (".env.example", "KEY=\n"),
    ]);
    p.write(".env", "KEY=1\n");
    p.write("api/.env.test", "KEY=2\n");
    p.write(".env.production", "KEY=3\n");
    p.write("node_modules/a/.env", "KEY=4\n");
    p.run(["init", "--yes"])
        .ok()
        .stdout_has("Lane:     setup npm ci && (cd api && python3 -m venv .venv && ")
        .stdout_has("          copy .env: agents can read it\n")
        .stdout_has("          link ../a\n");
    let setup = "npm ci && (cd api && python3 -m venv .venv && \
                 .venv/bin/pip install -q -r requirements.txt pytest)";
    assert_eq!(get(&p, "lane.setup"), setup);
    assert_eq!(
        get(&p, "lane.setup_when"),
        serde_json::json!(["package-lock.json", "api/requirements.txt"])
    );
    assert_eq!(get(&p, "lane.copy"), serde_json::json!([".env", "api/.env.test"]));
    assert_eq!(get(&p, "lane.link"), serde_json::json!(["../a"]));
    let gates = get(&p, "gates");
    assert_eq!(gates[1]["command"], "cd api && .venv/bin/python -m pytest", "{gates}");
}

#[test]
fn in_a_folder_of_a_repository_paths_are_from_there() {
    let package = r#"{"dependencies": {"a": "file:../lib", "b": "file:../../b"}}"#;
    let p = committed(&[("web/package.json", package), (".gitignore", ".env\n")]);
    p.write("web/.env", "KEY=1\n");
    p.write(".env", "KEY=2\n");
    // A folder with a plan is a project.
    p.write("web/ralph/plan.jsonl", "");
    p.command(["init", "--yes"])
        .dir("web")
        .run()
        .ok()
        .stdout_has("Lane:     setup npm install --no-package-lock\n")
        .stdout_has("          copy .env: agents can read it\n")
        .stdout_has("          link ../../b\nCommit: ");
    let shown = p.git(["show", "--name-only", "--format=%s"]).ok().stdout;
    assert_eq!(
        shown,
        "ralph: set up\n\nweb/.gitignore\nweb/ralph.toml\nweb/ralph/specs/first.md\n"
    );
}

#[test]
fn with_yes_what_init_wrote_is_committed_and_nothing_else() {
    let p = committed(&[("Makefile", "test:\n\ttrue\n"), (".gitignore", "*.log\n")]);
    p.write("staged.txt", "staged\n");
    p.git(["add", "staged.txt"]).ok();
    p.write("untracked.txt", "untracked\n");
    p.write("Makefile", "test:\n\ttrue # edited\n");
    p.run(["init", "--yes"]).ok().stdout_has("Commit:   ralph: set up (3 files)\n").stderr("");
    let shown = p.git(["show", "--name-only", "--format=%s"]).ok().stdout;
    assert_eq!(shown, "ralph: set up\n\n.gitignore\nralph.toml\nralph/specs/first.md\n");
    let status = p.git(["status", "--porcelain"]).ok().stdout;
    assert_eq!(status, " M Makefile\nA  staged.txt\n?? untracked.txt\n");
}

#[test]
fn ignore_rules_that_the_user_edited_are_not_committed() {
    let p = committed(&[("Makefile", "test:\n\ttrue\n"), (".gitignore", "*.log\n")]);
    p.write(".gitignore", "*.log\nmine/\n");
    p.run(["init", "--yes"])
        .ok()
        .stdout_has("Commit:   ralph: set up (2 files)\n")
        .stderr_has("warning: .gitignore is not committed: it has changes of yours\n");
    assert_eq!(p.git(["status", "--porcelain"]).ok().stdout, " M .gitignore\n");
}

#[test]
fn a_hook_that_refuses_the_commit_is_told_and_the_files_stay() {
    let p = committed(&[("Makefile", "test:\n\ttrue\n")]);
    let hook = "mkdir -p .git/hooks && printf '#!/bin/sh\\necho not today >&2; exit 1\\n' > .git/hooks/pre-commit \
                && chmod +x .git/hooks/pre-commit";
    p.shell(hook).ok();
    p.run(["init", "--yes"])
        .ok()
        .stderr_has("not today")
        .stdout_has("Next:     `git add ralph/specs/first.md .gitignore ralph.toml && ");
    assert!(p.exists("ralph.toml"));
    assert_eq!(p.git(["log", "-1", "--format=%s"]).ok().stdout, "start\n");
}

#[test]
fn without_a_terminal_the_command_that_commits_is_printed_and_works() {
    let p = committed(&[("Makefile", "test:\n\ttrue\n")]).dir("sub");
    p.write("staged.txt", "staged\n");
    p.git(["add", "staged.txt"]).ok();
    let run = p.command(["init"]).dir("sub").run().ok();
    let command = run.stdout.lines().find_map(|line| {
        let (_, rest) = line.split_once("Next:     `")?;
        rest.strip_suffix('`')
    });
    let command = format!("cd sub && {}", command.unwrap());
    p.shell(&command).ok();
    let shown = p.git(["show", "--name-only", "--format=%s"]).ok().stdout;
    assert_eq!(shown, "ralph: set up\n\n.gitignore\nralph.toml\nralph/specs/first.md\n");
    assert_eq!(p.git(["status", "--porcelain"]).ok().stdout, "A  staged.txt\n");
}

#[test]
fn with_yes_an_empty_repository_gets_its_first_commit_and_files_of_the_user_do_not() {
    let p = project!().git_init();
    p.run(["init", "--yes"]).ok().stdout_has("Commit:   ralph: set up (3 files)\n");
    assert_eq!(p.git(["status", "--porcelain"]).ok().stdout, "");
    let p = project!().git_init().file("mine.txt", "mine\n");
    let next = "Next:     `git add -A && git commit -m \"first commit\"`: agents see only what is committed\n";
    p.run(["init", "--yes"]).ok().stdout_has(next);
    p.git(["log"]).fails(128);
    p.shell("git add -A && git commit -qm \"first commit\"").ok();
}

#[test]
fn a_gate_that_fails_in_a_lane_alone_is_explained_until_it_passes() {
    let gate = "test:\n\t@cat local.json && test -e installed && test -e ../sibling/file\n";
    let p = committed(&[
        ("Makefile", gate),
        (".gitignore", "local.json\ninstalled\n"),
        ("ralph.toml", "[[gates]]\nname = \"test\"\ncommand = \"make test\"\n"),
    ]);
    p.write("local.json", "{}\n");
    p.write("installed", "");
    p.shell("mkdir ../sibling && touch ../sibling/file").ok();
    let (run, lines) = compare(&p);
    assert_eq!(run.code, 3, "{lines:?}");
    assert!(lines[0].starts_with("ok: test: passed in "), "{lines:?}");
    let red = "problem: test: passes in your checkout and fails in a lane (exit code 2): ";
    assert!(lines[1].starts_with(red), "{lines:?}");
    assert_eq!(
        lines[2],
        "warning: the lane: it does not have local.json, which git ignores and the output names | \
         copy = [\"local.json\"] in [lane] of ralph.toml, or lines in .worktreeinclude"
    );
    let log = lines[1].rsplit(" | less ").next().unwrap();
    assert!(std::fs::read_to_string(log).unwrap().contains("local.json"), "{log}");
    // Nothing is told of the next reason before this one is gone.
    let lane =
        "\n[lane]\ncopy = [\"local.json\"]\nsetup = \"touch installed\"\nlink = [\"../sibling\"]\n";
    p.write("ralph.toml", format!("{}{lane}", p.read("ralph.toml")));
    let (run, lines) = compare(&p);
    assert_eq!(run.code, 0, "{lines:?}");
    assert!(lines[1].starts_with("ok: test: passes in a lane too, "), "{lines:?}");
}

#[test]
fn a_missing_setup_a_sibling_and_uncommitted_files_are_named() {
    let p = committed(&[
        ("Makefile", "test:\n\t@ls node_modules ../a new.txt\n"),
        ("package.json", r#"{"dependencies": {"a": "file:../a"}}"#),
        ("package-lock.json", "{}"),
        (".gitignore", "node_modules/\n"),
        ("ralph.toml", "[[gates]]\nname = \"test\"\ncommand = \"make test\"\n"),
    ]);
    p.write("node_modules/a/index.js", "");
    p.write("new.txt", "");
    p.shell("mkdir ../a").ok();
    let (_, lines) = compare(&p);
    assert_eq!(
        lines[2..],
        [
            "warning: the lane: no setup is configured, so nothing is installed in it | in [lane] of \
             ralph.toml: setup = \"npm ci\" and setup_when = [\"package-lock.json\"]",
            "warning: the lane: the project depends on ../a, beside the repository | in [lane] of \
             ralph.toml: link = [\"../a\"]",
            "warning: the lane: it has only what is committed: not new.txt | commit 1 file that the gates need",
        ]
    );
}

#[test]
fn packages_that_lead_to_the_checkout_are_named() {
    let p = committed(&[(
        "ralph.toml",
        "[[gates]]\nname = \"test\"\ncommand = \"test -z \\\"$RALPH_LANE\\\"\"\n",
    )]);
    let site = p.home().join("venv/lib/python3.12/site-packages");
    std::fs::create_dir_all(&site).unwrap();
    std::fs::write(site.join("app.pth"), format!("{}/src\n", p.root().display())).unwrap();
    let venv = p.home().join("venv");
    let p = p.env("VIRTUAL_ENV", &venv);
    let (_, lines) = compare(&p);
    let wanted = format!(
        "warning: the lane: the packages in {} lead to your checkout, so gates test your files there | ",
        venv.display()
    );
    assert!(lines[2].starts_with(&wanted), "{lines:?}");
}

#[test]
fn a_setup_that_fails_is_told_with_its_last_line() {
    let p = committed(&[(
        "ralph.toml",
        "[[gates]]\nname = \"test\"\ncommand = \"true\"\n[lane]\nsetup = \"echo one; echo two; exit 5\"\n",
    )]);
    let (run, lines) = compare(&p);
    assert_eq!(run.code, 3);
    assert_eq!(
        lines[1],
        "problem: not run in a lane: `echo one; echo two; exit 5`, the setup of the lane, failed with exit \
         code 5: two | change `setup` in [lane] of ralph.toml, or make the command work"
    );
}

#[test]
fn without_a_commit_or_a_repository_there_is_no_lane_to_compare_with() {
    let toml = "[[gates]]\nname = \"test\"\ncommand = \"true\"\n";
    let p = project!().git_init().env("RALPH_BACKEND", "sim").file("ralph.toml", toml);
    let (_, lines) = compare(&p);
    assert_eq!(
        lines[1],
        "problem: not run in a lane: the repository has no commit yet | git commit"
    );
    let p = project!().env("RALPH_BACKEND", "sim").file("ralph.toml", toml);
    let (_, lines) = compare(&p);
    assert_eq!(
        lines[1],
        "problem: not run in a lane: a lane is a checkout of a repository | git init"
    );
}

#[test]
fn a_gate_that_only_setup_makes_runnable_is_no_problem_in_home() {
    let toml = "[[gates]]\nname = \"test\"\ncommand = \"tools/check\"\n\
                [lane]\nsetup = \"mkdir -p tools && printf '#!/bin/sh\\n' > tools/check && chmod +x tools/check\"\n";
    let p = committed(&[("ralph.toml", toml), ("a.txt", "a\n")]);
    let (run, lines) = compare(&p);
    assert_eq!(run.code, 0, "{lines:?}");
    assert!(lines[0].starts_with("unknown: test: cannot be run in your checkout ("), "{lines:?}");
    assert!(lines[0].ends_with("| ralph doctor --compare"), "{lines:?}");
    assert!(lines[1].starts_with("ok: test: passes in a lane, where it counts, "), "{lines:?}");
    // A run does not look for it in home either.
    p.run(["task", "add", "Note"]).ok();
    let scenario = p.home().join("scenario.toml");
    std::fs::write(
        &scenario,
        "[[rule]]\nsteps = [{ write = \"n.txt\", text = \"n\\n\" }, { claim = \"done\" }]\n",
    )
    .unwrap();
    p.command(["build"]).env("RALPH_SIM", &scenario).run().ok().stdout_has("gate     test: passed");
    assert!(p.exists("n.txt") && !p.exists("tools"));
}
