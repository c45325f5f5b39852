//! Honest endings: unproven work, and what is found before the first paid call.

use ralph_testkit::project;

use crate::plans::{Format, task};
use crate::repo::{GOOD, Repo, repo, rule, said, says, until};

/// A repository whose runs end as they do for users.
fn strict() -> Repo {
    Repo::new(project!().with_proofs(), Format::Jsonl, &[task("t-aaaa")])
}

#[test]
fn work_that_no_gate_proves_lands_and_the_run_ends_with_exit_3_and_a_need() {
    for settings in ["", "[[gates]]\nname = \"test\"\ncommand = \"echo broken; exit 1\"\n"] {
        let repo = strict();
        repo.config(&format!("backend = \"sim\"\n{settings}"));
        let run = repo.build([]).fails(3);
        says(&run, "Unproven: nothing proves the work on t-aaaa");
        assert!(!said(&run).contains("Complete"), "{}", said(&run));
        assert!(repo.is_done("t-aaaa"), "it lands");
        let status = repo.run(["status"]).ok();
        says(&status, "t-aaaa landed, and nothing proves the work");
        let report = repo.run(["report"]).ok();
        says(&report, "1 thing needs you");
        let view = repo.run(["status", "--json"]).ok().json();
        assert_eq!(view["view"]["needs"][0]["kind"], "unproven");
        // Another start proves nothing.
        says(&repo.build([]).fails(3), "Unproven: nothing proves the work on t-aaaa");
        says(&repo.run(["report"]).ok(), "1 thing needs you");
        repo.build(["--allow-unproven"]).ok();
        repo.build([]).ok();
        assert!(!said(&repo.run(["status"]).ok()).contains("Needs:"));
    }
}

#[test]
fn tasks_of_other_specs_are_named_where_the_current_one_is_complete() {
    let repo = strict();
    repo.write("ralph/specs/work.md", "# Work\n");
    repo.run(["spec", "use", "work.md"]).ok();
    repo.run(["task", "add", r#"{"id":"t-bbbb","name":"Other","spec":"two.md"}"#]).ok();
    says(&repo.build([]).ok(), "1 task of other specs is open (`ralph spec list`)");
    says(&repo.run(["status"]).ok(), "1 task of other specs is open");
    says(&repo.run(["task", "list"]).ok(), "1 task of other specs is open");
}

#[test]
fn the_cost_of_an_attempt_that_was_killed_with_ralph_is_unknown_and_not_0() {
    let repo = repo(&[task("t-aaaa")]);
    let stuck = format!("{{ cost = 0.5 }}, {}", crate::repo::held(GOOD));
    repo.script(&(rule("attempt = 1", &stuck) + &rule("", &format!("{{ cost = 0.25 }}, {GOOD}"))));
    let run = repo.spawn(["build"]);
    repo.until_home_has("go.held");
    run.kill();
    repo.build([]).ok();
    says(&repo.run(["report"]).ok(), "| build | 2 | 0s | $0.25 and 1 run of unknown cost |");
}

#[test]
fn unproven_work_is_complete_where_that_is_allowed() {
    let with_flag = strict();
    with_flag.config("backend = \"sim\"\n");
    let run = with_flag.build(["--allow-unproven"]).ok();
    says(&run, "Complete: all tasks complete");
    assert!(!said(&with_flag.run(["status"]).ok()).contains("Needs:"));
    let with_key = strict();
    with_key.config("backend = \"sim\"\nunproven = \"allow\"\n");
    with_key.build([]).ok();
    let proven = strict();
    proven.build([]).ok();
}

#[test]
fn a_gate_that_cannot_start_is_found_before_the_first_paid_call() {
    let (program, script) = ("there is no program", "there is no file");
    let fix = "correct the gate in ralph.toml";
    for (command, what, fix) in [
        ("maek test", program, fix),
        ("CI=1 maek test", program, fix),
        ("./no-such-script.sh", program, fix),
        ("env CI=1 timeout 60 nice maek test", program, fix),
        ("sh -c 'true && maek test'", program, fix),
        ("( cd . ; maek test )", program, fix),
        ("sh no-such-script.sh", script, fix),
        ("./notes.txt", "`./notes.txt` is not executable", "chmod +x ./notes.txt"),
    ] {
        let repo = repo(&[task("t-aaaa")]);
        repo.write("notes.txt", "true\n");
        repo.config(&format!(
            "backend = \"sim\"\n[[gates]]\nname = \"test\"\ncommand = \"{command}\"\n"
        ));
        let run = repo.build([]).fails(1);
        says(&run, &format!("the gate test cannot be run: {what}"));
        says(&run, fix);
        assert_eq!(repo.runs(), [""; 0], "no backend was started");
        assert!(!said(&repo.run(["status"]).ok()).contains("gone without"), "it did not crash");
    }
}

#[test]
fn a_gate_that_turns_out_not_to_run_ends_the_run_after_one_attempt() {
    let repo = repo(&[task("t-aaaa"), task("t-bbbb")]);
    repo.config("backend = \"sim\"\n[[gates]]\nname = \"test\"\ncommand = \"eval maek test\"\n");
    let run = repo.build([]).fails(1);
    says(&run, "the gate test cannot be run (exit code 127)");
    says(&run, "correct the gate in ralph.toml");
    assert!(!said(&run).contains("ralph backends"), "{}", said(&run));
    assert_eq!(repo.runs().len(), 1, "nothing was paid for the same gate again");
}

#[test]
fn a_gate_that_an_attempt_broke_is_the_attempts_failure() {
    let repo = repo(&[task("t-aaaa")]);
    repo.write("check.sh", "true\n");
    repo.config(
        "max_retries = 1\nbackend = \"sim\"\n[[gates]]\nname = \"test\"\ncommand = \"cd . && . ./check.sh\"\n",
    );
    let breaks = r#"{ run = "echo maek > check.sh" }, { claim = "done" }"#;
    repo.script(&(rule("attempt = 1", breaks) + &rule("", GOOD)));
    repo.build([]).ok();
    assert_eq!(repo.runs().len(), 2, "it was tried again");
}

#[test]
fn without_a_git_identity_nothing_is_paid_for() {
    let repo = repo(&[task("t-aaaa")]);
    let mut build = repo.command(["build"]);
    for name in ["NAME", "EMAIL"] {
        build =
            build.env(format!("GIT_AUTHOR_{name}"), "").env(format!("GIT_COMMITTER_{name}"), "");
    }
    let run = build.run().fails(1);
    says(&run, "git does not know your name and address");
    says(&run, "git config user.name");
    assert_eq!(repo.runs(), [""; 0], "no backend was started");
}

#[test]
fn a_backend_that_is_not_installed_is_found_before_the_run_begins() {
    let repo = repo(&[task("t-aaaa")]);
    repo.config(
        "backend = \"mybot\"\n[backends.mybot]\nkind = \"command\"\ncommand = [\"no-such-bot\"]\n",
    );
    let run = repo.build([]).fails(1);
    says(&run, "mybot is not installed: there is no no-such-bot");
    assert!(!said(&repo.run(["status"]).ok()).contains("gone without"), "it did not crash");
}

#[test]
fn a_project_without_tasks_says_so_and_is_not_complete() {
    let repo = repo(&[]);
    let status = repo.run(["status"]).ok().stdout_has("no tasks yet").stdout_lacks("COMPLETE");
    drop(status);
    let view = repo.run(["status", "--json"]).ok().json();
    assert_eq!(view["view"]["loop"]["stage"], "NO TASKS");
    repo.run(["query", "stage"]).ok().stdout("COMPLETE\n");
}

#[test]
fn the_first_signal_is_told_at_once_while_a_gate_runs() {
    let repo = repo(&[task("t-aaaa"), task("t-bbbb")]);
    repo.config(
        "backend = \"sim\"\n[[gates]]\nname = \"test\"\n\
         command = \"[ -e work ] || exit 0; touch $HOME/gate.held; until [ -f $HOME/go ]; do sleep 0.05; done\"\n",
    );
    let run = repo.spawn(["build"]);
    repo.until_home_has("gate.held");
    repo.signal("INT", run.pid());
    run.until_prints("Stopping: ");
    until(|| said(&repo.run(["status"]).ok()).contains("Then it ends."));
    repo.allow("go");
    let run = run.wait().fails(130);
    assert_eq!(said(&run).matches("Stopping: ").count(), 1, "{}", said(&run));
    assert_eq!(repo.landed(), ["t-aaaa"]);
}

#[test]
fn a_run_beside_a_task_that_was_given_up_does_not_say_that_all_is_complete() {
    let repo = repo(&["t-aaa1", "t-aaa2"].map(task));
    repo.set("max_retries = 0");
    repo.script(&(rule("task = \"t-aaa1\"", crate::repo::BROKEN) + &rule("", GOOD)));
    repo.build([]).fails(3);
    let issues: serde_json::Value =
        serde_json::from_str(&repo.run(["issue", "list", "--json"]).ok().stdout).unwrap();
    let issue = issues[0]["id"].as_str().unwrap_or_else(|| panic!("{issues}"));
    repo.run(["issue", "done", issue]).ok();
    let run = repo.build([]);
    says(&run, "nothing is left to do; given up: 1 task");
    assert!(!said(&run).contains("all tasks complete"), "{}", said(&run));
    says(&repo.run(["status"]).ok(), "COMPLETE: nothing is left to do; given up: 1 task");
}

#[test]
fn unproven_work_names_the_command_that_accepts_it() {
    let repo = strict();
    repo.config("backend = \"sim\"\n");
    repo.build([]).fails(3);
    let status = repo.run(["status"]).ok();
    says(&status, "`ralph build --allow-unproven` accepts it as it is");
    repo.build(["--allow-unproven"]).ok();
    assert!(!said(&repo.run(["status"]).ok()).contains("Needs:"));
}

#[test]
fn the_terminal_shows_the_error_below_a_traceback_and_not_only_its_head() {
    let repo = repo(&[task("t-aaa1")]);
    let output = "FAIL: test_add (test_calc.Add.test_add)\n----\nTraceback (most recent call last):\n  \
                  File \"test_calc.py\", line 5, in test_add\n    self.assertEqual(add(1, 2), 3)\n\
                  AssertionError: -3 != 3\n\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n";
    repo.write("output.txt", output);
    repo.config(
        "max_retries = 0\nbackend = \"sim\"\n[[gates]]\nname = \"test\"\nkind = \"test\"\n\
         command = \"cat output.txt; ! test -e work/t-aaa1.txt\"\n",
    );
    repo.script(&rule("", GOOD));
    says(&repo.build([]).fails(3), "| AssertionError: -3 != 3");
}
