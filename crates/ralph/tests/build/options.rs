//! What the options of `ralph build` do, and which starts are refused.

use crate::plans::{Format, after, task, value};
use crate::repo::{BROKEN, GOOD, held, repo, repo_with, rule, says};

#[test]
fn every_format_is_built_to_its_end() {
    for format in Format::ALL {
        let ids = if format == Format::Jsonl { ["t-aaa1", "t-aaa2"] } else { ["work-1", "work-2"] };
        let repo = repo_with(format, &ids.map(task));
        repo.build([]).ok();
        assert!(ids.iter().all(|id| repo.is_done(id)), "{format:?}:\n{}", repo.plan());
        assert_eq!(repo.runs().len(), 2);
        assert_eq!(repo.status(), "", "{format:?} leaves a clean tree");
        assert_eq!(repo.state()["status"], "complete");
    }
}

#[test]
fn the_plan_can_be_named() {
    let repo = repo(&[task("t-aaa1")]);
    repo.write("docs/other.json", Format::Deluxe.text(&[task("T-001")]));
    repo.commit("another plan");
    repo.build(["docs/other.json"]).ok();
    assert_eq!(repo.runs(), ["T-001"]);
    assert!(Format::Deluxe.says_done(&repo.read("docs/other.json"), "T-001"));
}

#[test]
fn dry_run_shows_task_prompt_command_and_gates_and_changes_nothing() {
    for format in Format::ALL {
        let ids = if format == Format::Jsonl { ["t-aaa1", "t-aaa2"] } else { ["work-1", "work-2"] };
        let repo = repo_with(format, &ids.map(task));
        crate::dirt::make(&repo);
        let before = repo.everything();
        let run = repo.build(["--dry-run"]).ok();
        for part in [
            &*format!("Do {}", ids[0]),
            "## Current Task",
            "## Output Instructions",
            "__sim",
            "! grep -rns BROKEN work",
        ] {
            says(&run, part);
        }
        let after = repo.everything();
        let changed: Vec<_> =
            after.iter().filter(|(p, v)| before.get(*p) != Some(v)).map(|(p, _)| p).collect();
        assert!(
            changed.is_empty() && before.len() == after.len(),
            "{format:?} changed {changed:?}"
        );
        assert!(repo.runs().is_empty());
    }
}

#[test]
fn the_prompt_of_a_dry_run_is_the_one_the_backend_gets() {
    let repo = repo(&[task("t-aaa1")]);
    let shown = repo.build(["--dry-run"]).ok();
    repo.build([]).ok();
    let prompt = repo.prompt(1);
    assert!(crate::repo::said(&shown).contains(prompt.trim_end()), "{prompt}");
}

#[test]
fn once_is_one_attempt_and_its_exit_code_says_whether_it_landed() {
    let repo = repo(&["t-aaa1", "t-aaa2"].map(task));
    repo.build(["--once"]).ok();
    assert_eq!(repo.runs().len(), 1);
    repo.script(&rule("", BROKEN));
    repo.build(["--once"]).fails(3);
    assert_eq!(repo.runs().len(), 2);
}

#[test]
fn task_works_on_that_one_only() {
    let repo = repo(&["t-aaa1", "t-aaa2", "t-aaa3"].map(task));
    repo.build(["--task", "t-aaa2"]).ok();
    assert_eq!(repo.runs(), ["t-aaa2"]);
    assert!(!repo.is_done("t-aaa1"));
}

#[test]
fn task_that_does_not_exist_is_an_error_and_one_that_waits_says_what_for() {
    let repo = repo(&[task("t-aaa1"), after("t-aaa2", &["t-aaa1"])]);
    let run = repo.build(["--task", "t-none"]);
    assert!([1, 2].contains(&run.code), "{}", crate::repo::said(&run));
    says(&run, "t-none");
    let run = repo.build(["--task", "t-aaa2"]).fails(3);
    says(&run, "t-aaa1");
    assert!(repo.runs().is_empty());
}

#[test]
fn an_empty_or_finished_plan_is_complete() {
    let repo = repo(&[]);
    repo.build([]).ok();
    assert!(repo.runs().is_empty());
}

#[test]
fn json_prints_one_object_a_line_and_nothing_else() {
    let repo = repo(&["t-aaa1", "t-aaa2"].map(task));
    repo.script(&(rule("task = \"t-aaa1\"\nattempt = 1", BROKEN) + &rule("", GOOD)));
    let run = repo.build(["--json"]).ok();
    let lines: Vec<_> = run.stdout.lines().map(value).collect();
    assert!(lines.len() > 6 && lines.iter().all(|line| line.is_object()), "{}", run.stdout);
}

#[test]
fn quiet_says_only_what_went_wrong_and_the_end() {
    let repo = repo(&["t-aaa1", "t-aaa2"].map(task));
    let run = repo.build(["--quiet"]).ok();
    assert!(crate::repo::said(&run).lines().count() <= 4, "{}", crate::repo::said(&run));
    says(&run, "Complete");
}

#[test]
fn a_second_loop_in_the_same_worktree_is_refused_with_the_pid_of_the_first() {
    let repo = repo(&[task("t-aaa1")]);
    repo.script(&rule("", &held(GOOD)));
    let first = repo.spawn(["build"]);
    repo.until_home_has("go.held");
    let second = repo.build([]).fails(1);
    says(&second, &format!("{}", first.pid()));
    // Every other command works beside it.
    repo.run(["status"]).ok();
    repo.run(["task", "add", "Another one"]).ok();
    repo.allow("go");
    first.wait().ok();
    assert!(repo.plan().contains("Another one"));
}

#[test]
fn a_loop_inside_an_attempt_is_refused() {
    let repo = repo(&[task("t-aaa1")]);
    let run = repo.command(["build"]).env("RALPH_ATTEMPT", "01ABC").run().fails(1);
    says(&run, "inside an attempt");
    assert!(repo.runs().is_empty());
    // And for real: the backend itself tries it.
    let nested = format!(
        r#"{{ run = "{} build; echo $? > \"$HOME/nested\"" }}, {GOOD}"#,
        env!("CARGO_BIN_EXE_ralph")
    );
    repo.script(&rule("", &nested));
    repo.build([]).ok();
    assert_eq!(std::fs::read_to_string(repo.home().join("nested")).unwrap(), "1\n");
}

#[test]
fn outside_of_a_repository_it_says_so() {
    let p =
        ralph_testkit::project!().file("ralph/plan.jsonl", Format::Jsonl.text(&[task("t-aaa1")]));
    let run = p.run(["build", "--backend", "sim"]).fails(1);
    says(&run, "git");
}

#[test]
fn a_damaged_plan_is_refused_with_its_line_and_nothing_changes() {
    let repo = repo(&[task("t-aaa1")]);
    let text = format!("{{\"t\":\"task\",\"id\":\n{}", repo.plan());
    repo.write("ralph/plan.jsonl", &text);
    let run = repo.build([]).fails(1);
    says(&run, "ralph/plan.jsonl:1");
    assert_eq!(repo.plan(), text);
}

#[test]
fn a_dependency_cycle_is_told_and_nothing_waits_for_it() {
    let repo = repo(&[after("t-aaa1", &["t-aaa2"]), after("t-aaa2", &["t-aaa1"])]);
    let run = repo.build([]).fails(3);
    says(&run, "t-aaa1");
    says(&run, "t-aaa2");
}

#[test]
fn the_backend_is_told_its_attempt_and_gets_no_variables_of_git() {
    let repo = repo(&[task("t-aaa1")]);
    repo.script(&rule("", &format!(r#"{{ run = "env > \"$HOME/env\"" }}, {GOOD}"#)));
    repo.build([]).ok();
    let env = std::fs::read_to_string(repo.home().join("env")).unwrap();
    assert!(env.lines().any(|l| l.starts_with("RALPH_ATTEMPT=") && l.len() > 20), "{env}");
    for name in ["GIT_DIR=", "GIT_INDEX_FILE=", "GIT_WORK_TREE="] {
        assert!(!env.lines().any(|l| l.starts_with(name)), "{env}");
    }
}

#[test]
fn variables_of_a_git_call_around_ralph_reach_no_backend_gate_or_setup() {
    let repo = repo(&[task("t-aaa1")]);
    let env = |file: &str| format!("env >> \\\"$HOME/{file}\\\"");
    let gate = format!("[[gates]]\nname = \"test\"\ncommand = \"{}\"\n", env("env-gate"));
    let setup = format!("[lane]\nsetup = \"{}\"\n", env("env-setup"));
    repo.config(&format!("backend = \"sim\"\n{gate}{setup}"));
    repo.script(&rule("", &format!(r#"{{ run = "env > \"$HOME/env-agent\"" }}, {GOOD}"#)));
    let root = repo.root();
    let run = repo
        .command(["build"])
        .env("GIT_DIR", root.join(".git"))
        .env("GIT_WORK_TREE", root)
        .env("GIT_INDEX_FILE", root.join(".git/index"))
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.hooksPath")
        .env("GIT_CONFIG_VALUE_0", root.join("hooks"))
        .run();
    run.ok();
    for file in ["env-agent", "env-gate", "env-setup"] {
        let env = std::fs::read_to_string(repo.home().join(file)).unwrap();
        let names =
            ["DIR", "WORK_TREE", "INDEX_FILE", "CONFIG_COUNT", "CONFIG_KEY", "CONFIG_VALUE"];
        let is_set = |name: &&str| env.contains(&format!("GIT_{name}"));
        let set: Vec<&str> = names.into_iter().filter(is_set).collect();
        assert!(set.is_empty(), "{file}: {set:?}\n{env}");
    }
}

#[test]
fn backend_and_mode_can_be_given_on_the_command_line() {
    let repo = repo(&[task("t-aaa1")]);
    repo.config(&format!("backend = \"claude\"\n{}", crate::repo::GATE));
    repo.build(["--backend", "sim", "--mode", "handoff-plus-index"]).ok();
    assert_eq!(repo.state()["mode"], "handoff-plus-index");
}
