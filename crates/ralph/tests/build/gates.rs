//! Gates decide: which of them count, what was red before, and what is written about them.

use std::fs;

use serde_json::{Value, json};

use crate::plans::{Format, task};
use crate::repo::{BROKEN, GOOD, Repo, repo, repo_with, rule, says};

/// One task, these settings, these gates as `(name, kind, more, command)`.
fn gated(settings: &str, gates: &[(&str, &str, &str, &str)]) -> Repo {
    let repo = repo(&[task("t-aaa1")]);
    let mut text = format!("backend = \"sim\"\nmax_retries = 0\n{settings}\n");
    for (name, kind, more, command) in gates {
        text.push_str(&format!(
            "[[gates]]\nname = \"{name}\"\nkind = \"{kind}\"\n{more}\ncommand = '''{command}'''\n"
        ));
    }
    repo.config(&text);
    repo
}

/// Red only on the work of an attempt.
const NEWLY_RED: &str = "! grep -rns BROKEN work";

fn check(report: &Value, name: &str) -> Value {
    let found = report["checks"].as_array().unwrap().iter().find(|c| c["name"] == name);
    found.cloned().unwrap_or_default()
}

#[test]
fn the_whole_result_is_written_for_each_iteration() {
    let repo = gated("", &[("unit", "test", "", NEWLY_RED), ("style", "lint", "", "echo fine")]);
    repo.build([]).ok();
    let report = repo.report(1);
    assert_eq!(report["iteration"], 1);
    assert_eq!(report["strategy"], "strict");
    assert_eq!(report["passed"], true);
    assert_eq!(report["timestamp"], ralph_testkit::NOW);
    let style = check(&report, "style");
    assert_eq!((&style["command"], &style["type"]), (&"echo fine".into(), &"lint".into()));
    assert_eq!(
        (&style["exit_code"], &style["passed"], &style["preexisting"]),
        (&0.into(), &true.into(), &false.into())
    );
    assert_eq!(style["output"], "fine\n");
}

#[test]
fn a_gate_that_says_nothing_leaves_no_log_and_one_that_speaks_does() {
    let repo = gated("", &[("silent", "test", "", "true"), ("loud", "test", "", "echo fine")]);
    repo.build([]).ok();
    let logs = repo.path(".ralph/logs/validation");
    let names = fs::read_dir(&logs).unwrap().map(|e| e.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["iter-1-base-loud.log", "iter-1-loud.log", "iter-1.json"]);
    assert_eq!(repo.read(".ralph/logs/validation/iter-1-loud.log"), "fine\n");
    assert_eq!(check(&repo.report(1), "silent")["output"], "");
    let shown = repo.run(["show", "last"]).ok().stdout_has("iter-1-loud.log");
    shown.stdout_lacks("iter-1-silent.log");
    repo.run(["show", "last", "--gates"]).ok().stdout_has("silent").stdout_has("fine");
}

#[test]
fn strict_wants_every_gate_green() {
    let repo = gated("", &[("unit", "test", "", "true"), ("style", "lint", "", NEWLY_RED)]);
    repo.script(&rule("", BROKEN));
    repo.build([]).fails(3);
    assert_eq!(repo.report(1)["passed"], false);
}

#[test]
fn lenient_tolerates_red_lint_and_says_so() {
    let repo = gated(
        "gate_strategy = \"lenient\"",
        &[("unit", "test", "", "true"), ("style", "lint", "", NEWLY_RED)],
    );
    repo.script(&rule("", BROKEN));
    let run = repo.build([]).ok();
    says(&run, "style");
    let report = repo.report(1);
    assert_eq!(
        (&report["passed"], &check(&report, "style")["passed"]),
        (&true.into(), &false.into())
    );
}

#[test]
fn lenient_still_wants_green_tests() {
    let repo = gated("gate_strategy = \"lenient\"", &[("unit", "test", "", NEWLY_RED)]);
    repo.script(&rule("", BROKEN));
    repo.build([]).fails(3);
}

#[test]
fn tests_only_does_not_run_lint() {
    let repo = gated(
        "gate_strategy = \"tests_only\"",
        &[("unit", "test", "", "true"), ("style", "lint", "", "touch linted; false")],
    );
    repo.build([]).ok();
    assert!(!repo.exists("linted"));
}

#[test]
fn required_wins_over_the_strategy_both_ways() {
    let repo =
        gated("gate_strategy = \"lenient\"", &[("style", "lint", "required = true", NEWLY_RED)]);
    repo.script(&rule("", BROKEN));
    repo.build([]).fails(3);
    let repo = gated(
        "",
        &[("unit", "test", "required = false", NEWLY_RED), ("other", "test", "", "true")],
    );
    repo.script(&rule("", BROKEN));
    repo.build([]).ok();
}

#[test]
fn a_gate_that_was_red_before_does_not_block() {
    let repo = gated("", &[("unit", "test", "", "echo 'test old ... FAILED'; exit 1")]);
    let run = repo.build([]).ok();
    assert!(repo.is_done("t-aaa1"));
    says(&run, "unit");
    assert_eq!(check(&repo.report(1), "unit")["preexisting"], true);
}

#[test]
fn a_newly_red_test_blocks_beside_an_old_one() {
    let command = "echo 'test old ... FAILED'; if grep -qs BROKEN work/*; then echo 'test new ... FAILED'; else echo 'test new ... ok'; fi; echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; exit 101";
    let repo = gated("", &[("unit", "test", "", command)]);
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    repo.build([]).fails(3);
    assert_eq!(check(&repo.report(1), "unit")["preexisting"], false);
    assert!(!repo.is_done("t-aaa1"));
}

#[test]
fn looking_at_the_base_leaves_no_trace_in_what_lands() {
    // The gate sees whether the work is there, and is red either way for the same reason.
    let repo = gated(
        "",
        &[("unit", "test", "", "ls work >> \"$HOME/seen\" 2>&1; echo 'always red'; exit 1")],
    );
    repo.build([]).ok();
    assert_eq!(repo.read("work/t-aaa1.txt"), "t-aaa1 is done\n");
    assert_eq!(repo.landed(), ["t-aaa1"]);
    assert_eq!(repo.status(), "");
}

/// These tasks, and one gate.
fn gated_tasks(tasks: &[&'static str], gate: &str) -> Repo {
    let repo = repo(&tasks.iter().map(|id| task(id)).collect::<Vec<_>>());
    repo.config(&format!(
        "backend = \"sim\"\n[[gates]]\nname = \"unit\"\ncommand = '''{gate}'''\n"
    ));
    repo
}

#[test]
fn the_base_is_gated_before_the_first_backend_and_each_landing_is_the_base_of_the_next() {
    let gate = "ls work 2>/dev/null | wc -l >> \"$HOME/gated\"";
    let repo = gated_tasks(&["t-aaa1", "t-bbb2", "t-ccc3"], gate);
    let look = r#"{ run = "cp -n \"$HOME/gated\" \"$HOME/before\"" }"#;
    repo.script(&rule("", &format!("{look}, {GOOD}")));
    repo.build([]).ok();
    let read = |name: &str| fs::read_to_string(repo.home().join(name)).unwrap();
    assert_eq!(read("before"), "0\n", "before anything was paid for");
    assert_eq!(read("gated"), "0\n1\n2\n3\n", "n + 1 runs for n tasks");
    // The next run knows nothing of this one.
    repo.run(["task", "add", "One more"]).ok();
    repo.build([]).ok();
    assert_eq!(read("gated"), "0\n1\n2\n3\n3\n4\n");
}

#[test]
fn a_retry_does_not_gate_its_base_again() {
    let repo = gated_tasks(&["t-aaa1"], "echo x >> \"$HOME/gated\"; ! grep -rns BROKEN work");
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    repo.build([]).ok();
    assert_eq!(fs::read_to_string(repo.home().join("gated")).unwrap(), "x\nx\nx\n");
}

#[test]
fn a_base_that_is_red_is_told_with_its_output_before_anything_is_paid_for() {
    let repo = gated_tasks(&["t-aaa1"], "echo 'error: old trouble'; exit 1");
    let run = repo.build([]).ok();
    says(&run, "unit: failed before the attempt");
    says(&run, "the gate unit fails before any work is done (exit code 1)");
    says(&run, "error: old trouble (.ralph/logs/validation/iter-1-base-unit.log)");
    let said = crate::repo::said(&run);
    let place = |words: &str| said.find(words).unwrap_or_else(|| panic!("{words}:\n{said}"));
    assert!(place("old trouble") < place("[1] t-aaa1"), "{said}");
}

#[test]
fn an_operator_can_leave_out_a_task_while_its_base_is_gated() {
    let gate = r#"if [ ! -e "$HOME/gate" ]; then touch "$HOME/gate"; sleep 600; fi"#;
    let repo = gated_tasks(&["t-aaa1", "t-bbb2"], gate);
    let run = repo.spawn(["build"]);
    crate::repo::until(|| repo.home().join("gate").exists());
    repo.run(["skip", "t-aaa1"]).ok();
    run.wait();
    assert_eq!(repo.landed(), ["t-bbb2"]);
    assert_eq!(repo.runs().len(), 1);
}

#[test]
fn without_gates_work_lands_and_is_called_unproven_everywhere() {
    let repo = gated("", &[]);
    let run = repo.build([]).ok();
    says(&run, "no gates");
    says(&run, "unproven");
    assert!(repo.is_done("t-aaa1"));
    repo.run(["attempts"]).ok().stdout_has("unproven");
    let ends = repo.events("iteration_end");
    assert_eq!(ends[0]["metadata"]["proof"], "unproven", "{ends:?}");
}

#[test]
fn a_gate_that_takes_too_long_is_red_and_ended() {
    let repo =
        gated("", &[("slow", "test", "timeout = \"1s\"", "if [ -d work ]; then sleep 600; fi")]);
    let run = repo.build([]).fails(3);
    says(&run, "slow");
    crate::processes::none_is_left(repo.home());
}

#[test]
fn a_gate_sees_what_would_land_and_not_what_the_gate_before_made_of_it() {
    let repo = gated(
        "",
        &[
            ("format", "lint", "", "echo FIXED > work/t-aaa1.txt"),
            ("unit", "test", "", "grep FIXED work/t-aaa1.txt || [ ! -e work ]"),
        ],
    );
    let run = repo.build([]).fails(3);
    says(&run, "unit: failed");
    says(&run, "gates changed files, which were put back: work/t-aaa1.txt");
    assert_eq!(repo.landed(), [""; 0]);
}

#[test]
fn files_that_git_cannot_take_fail_the_attempt_and_not_the_run() {
    let repo = gated("", &[("unit", "test", "", "true")]);
    let odd = r#"{ write = ".gitattributes", text = "enc.txt working-tree-encoding=UTF-16\n" }, { write = "enc.txt", text = "x\n" }, { claim = "done" }"#;
    repo.script(&(rule("attempt = 1", odd) + &rule("", crate::repo::GOOD)));
    says(&repo.build([]).fails(3), "git cannot take the files that it left");
    repo.run(["task", "retry", "t-aaa1"]).ok();
    repo.build([]).ok();
    assert!(repo.is_done("t-aaa1"));
}

#[test]
fn a_gate_may_take_longer_where_it_has_nothing_built_yet() {
    let builds = r#"if [ ! -f "$HOME/built" ]; then sleep 5; touch "$HOME/built"; fi"#;
    let repo = gated("", &[("slow", "test", "timeout = \"4s\"", builds)]);
    repo.build([]).ok();
    assert!(repo.is_done("t-aaa1"));
}

#[test]
fn gate_commands_are_those_of_the_start() {
    let repo = gated("", &[("unit", "test", "", "false || ! grep -rns BROKEN work")]);
    // The backend makes the gate easier. Its change fails the attempt, and the old gate is what ran.
    let easier = r#"{ run = "sed -i s/BROKEN/NOTHING/ ralph.toml" }, "#;
    repo.script(&rule("", &format!("{easier}{BROKEN}")));
    repo.build([]).fails(3);
    assert!(repo.read("ralph.toml").contains("BROKEN"));
}

#[test]
fn new_files_that_a_gate_makes_are_not_committed_and_do_not_stay() {
    let repo = gated("", &[("unit", "test", "", "echo report > report.xml")]);
    repo.build([]).ok();
    assert_eq!(repo.ask_git(["ls-files", "report.xml"]), "");
    assert!(!repo.exists("report.xml"));
}

#[test]
fn validation_commands_of_ralph_deluxe_are_used_and_sorted_into_tests_and_lint() {
    let repo = repo_with(Format::Deluxe, &[task("T-001")]);
    let commands = r#"["echo pytest", "echo shellcheck", "true"]"#;
    let run = repo.command(["build"]).env("RALPH_VALIDATION_COMMANDS", commands).run().ok();
    drop(run);
    let report = repo.report(1);
    let kinds: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|c| c["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["test", "lint", "test"]);
}

#[test]
fn events_tell_what_the_gates_said() {
    let repo = gated("", &[]);
    repo.config(&format!("backend = \"sim\"\n{}", crate::repo::GATE));
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    repo.build([]).ok();
    let kinds: Vec<String> =
        repo.events("").iter().map(|e| e["event"].as_str().unwrap().to_owned()).collect();
    let expected = [
        "orchestrator_start",
        "iteration_start",
        "validation_fail",
        "iteration_end",
        "iteration_start",
        "validation_pass",
        "iteration_end",
        "orchestrator_end",
    ];
    let of_seed: Vec<&str> =
        kinds.iter().map(String::as_str).filter(|k| expected.contains(k)).collect();
    assert_eq!(of_seed, expected);
}

/// Cargo's words for these tests, of which `new` fails on broken work; some pass.
fn libtest(passing: &str, old: &[String]) -> String {
    let echo = |line: &str| format!("echo \"{line}\"; ");
    let failed = |name: &str| echo(&format!("test {name} ... FAILED"));
    let output = |name: &str| {
        let noise = format!("for i in 1 2 3 4 5 6 7 8 9; do echo \"{name} works\"; done; ");
        echo(&format!("---- {name} stdout ----"))
            + &noise
            + &echo(&format!("thread '{name}' panicked at src/a.rs: {name} is 7"))
    };
    let if_broken = |commands: &str| format!("if grep -qs BROKEN work/*; then {commands} fi; ");
    let mut script = passing.to_owned();
    old.iter().for_each(|name| script.push_str(&failed(name)));
    script.push_str(&if_broken(&failed("tests::zz_new")));
    script.push_str("echo; echo failures:; echo; ");
    let (first, last) = old.split_at(old.len() / 2);
    first.iter().for_each(|name| script.push_str(&output(name)));
    script.push_str(&if_broken(&output("tests::zz_new")));
    last.iter().for_each(|name| script.push_str(&output(name)));
    script + "exit 101"
}

const PASSING: &str = "echo 'test tests::fine ... ok'; ";

#[test]
fn old_failures_beside_passing_tests_are_proven_except_for_their_names() {
    let old = ["tests::a_old".to_owned(), "tests::b_old".to_owned()];
    let repo = gated("", &[("unit", "test", "", &libtest(PASSING, &old))]);
    let run = repo.command(["build"]).env("RALPH_UNPROVEN", "stop").run().ok();
    says(&run, "; proven except 2 old failures");
    says(&run, "failed before, too: tests::a_old, tests::b_old");
    assert!(repo.is_done("t-aaa1"));
    let ends = repo.events("iteration_end");
    let names = &ends[0]["metadata"]["proof"]["proven_except_old"]["names"];
    assert_eq!(names, &json!(["tests::a_old", "tests::b_old"]), "{ends:?}");
    repo.run(["attempts"]).ok().stdout_has("proven except 2 old failures");
    let shown = repo.run(["show", "last"]).ok().stdout_has("tests::a_old, tests::b_old");
    shown.stdout_has("unit: failed as before");
    let report = repo.run(["report"]).ok().stdout_has("proven except 2 old failures");
    report.stdout_has("tests::a_old, tests::b_old");
    assert_eq!(check(&repo.report(1), "unit")["standing"], "old");
}

#[test]
fn every_gate_red_as_before_proves_nothing() {
    let old = ["tests::a_old".to_owned()];
    let repo = gated("", &[("unit", "test", "", &libtest("", &old))]);
    let run = repo.command(["build"]).env("RALPH_UNPROVEN", "stop").run().fails(3);
    says(&run, "; unproven");
    let ends = repo.events("iteration_end");
    assert_eq!(ends[0]["metadata"]["proof"], "unproven", "{ends:?}");
}

#[test]
fn the_retry_sees_the_new_failure_among_dozens_of_old_ones() {
    let old: Vec<String> = (10..70).map(|n| format!("tests::old_{n}")).collect();
    let repo = gated("", &[("unit", "test", "", "sh ./check.sh")]);
    repo.write("check.sh", libtest(PASSING, &old));
    repo.config(&repo.read("ralph.toml").replace("max_retries = 0", "max_retries = 1"));
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    repo.build([]).ok();
    let prompt = repo.prompt(2);
    assert!(prompt.contains("panicked at src/a.rs: tests::zz_new is 7"), "{prompt}");
    assert!(
        prompt.contains("- tests::zz_new\n") && !prompt.contains("\n- tests::old_"),
        "{prompt}"
    );
    let red = check(&repo.report(1), "unit");
    assert_eq!(red["new"], json!({ "names": ["tests::zz_new"], "more": 0 }));
    assert_eq!(
        (&red["old"]["names"][0], &red["old"]["more"]),
        (&json!("tests::old_10"), &json!(40))
    );
}

#[test]
fn blocked_judges_fail_with_a_kind_of_their_own_and_are_in_every_verdict() {
    let steps = r#"{ write = "tests/test_a.py", text = "def test_a():\n    pass\n" }, "#;
    for (policy, code) in [("list", 0), ("block", 3)] {
        let repo = gated(&format!("judges = \"{policy}\""), &[("unit", "test", "", "true")]);
        repo.write("tests/test_a.py", "def test_a():\n    assert f() == 1\n");
        repo.commit("a test");
        repo.script(&rule("", &format!("{steps}{GOOD}")));
        let run = repo.build([]);
        assert_eq!(run.code, code, "{policy}");
        let word = if code == 0 { "validation_pass" } else { "validation_fail" };
        let verdict = &repo.events(word)[0]["metadata"];
        assert_eq!(verdict["judges"][0]["path"], "tests/test_a.py", "{verdict}");
        let shown = repo.run(["show", "last", "--json"]).ok();
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(shown["verdict"]["judges"][0]["extent"], "changed", "{shown}");
        if policy == "block" {
            says(&run, "changed its judges");
            assert_eq!(shown["failure"]["kind"], "judges", "{shown}");
            assert_eq!(
                shown["verdict"]["ruling"]["refused"]["forbidden"],
                json!(["tests/test_a.py"])
            );
        }
    }
}

#[test]
fn gates_and_hooks_do_not_see_what_only_prompts_need() {
    let gate = "! find .ralph -path '*/handoffs/*' -o -path '*/context/*' | grep .";
    let repo = gated_tasks(&["t-aaa1", "t-bbb2"], gate);
    let hook = repo.git_dir().join("hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\n{gate}\n")).unwrap();
    repo.shell(&format!("chmod +x '{}'", hook.display())).ok();
    let look = r#"{ run = "ls .ralph/handoffs >> \"$HOME/handoffs\" || true" }"#;
    repo.script(&rule("", &format!("{look}, {GOOD}")));
    repo.build([]).ok();
    let seen = fs::read_to_string(repo.home().join("handoffs")).unwrap();
    assert!(seen.contains("handoff"), "agents see them: {seen}");
}

#[test]
fn a_link_in_the_place_of_ralphs_folder_leads_nobody_to_the_persons_files() {
    let repo = gated_tasks(&["t-aaa1", "t-bbb2"], "true");
    repo.write(".gitignore", ".ralph\n");
    repo.git(["rm", "-rq", "--cached", "--ignore-unmatch", ".ralph"]).ok();
    repo.commit("ignored");
    fs::write(repo.home().join("project"), repo.root().to_str().unwrap()).unwrap();
    let link = r#"{ run = "rm -rf .ralph; ln -s \"$(cat \"$HOME/project\")/.ralph\" .ralph" }"#;
    repo.script(&rule("", &format!("{link}, {GOOD}")));
    repo.build([]).ok();
    assert_eq!(repo.landed().len(), 2);
    let handoffs = fs::read_dir(repo.path(".ralph/handoffs")).unwrap().count();
    assert!(handoffs >= 2, "{handoffs} handoffs are left");
}
