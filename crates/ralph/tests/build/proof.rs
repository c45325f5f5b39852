//! The proof of landed work is honest: what nobody can know is never called an old failure.

use serde_json::{Value, json};

use crate::plans::{Format, task};
use crate::repo::{BROKEN, GOOD, Repo, repo, repo_with, rule, says};

/// Whether an attempt has worked: its file is not there at the base.
const WORKED: &str = "[ -d work ]";

/// One task, and the gate `unit`, which runs this script beside a green one.
fn checked(settings: &str, script: &str) -> Repo {
    let repo = repo(&[task("t-aaa1")]);
    repo.write("check.sh", script);
    repo.config(&format!(
        "backend = \"sim\"\nmax_retries = 0\n{settings}\n\
         [[gates]]\nname = \"unit\"\nkind = \"test\"\ncommand = \"sh ./check.sh\"\n\
         [[gates]]\nname = \"style\"\nkind = \"lint\"\ncommand = \"true\"\n"
    ));
    repo
}

/// Libtest's words for two old failures.
fn libtest(passed: u32) -> String {
    format!(
        "echo 'test a_old ... FAILED'; echo 'test b_old ... FAILED'; \
         echo 'test result: FAILED. {passed} passed; 2 failed; 0 ignored'\n"
    )
}

#[track_caller]
fn lands_unproven(repo: &Repo, why: &str) {
    let run = repo.command(["build"]).env("RALPH_UNPROVEN", "stop").run().fails(3);
    says(&run, "; unproven");
    says(&run, why);
    assert_eq!(repo.events("iteration_end")[0]["metadata"]["proof"], "unproven");
    repo.run(["status"]).stdout_has(why);
}

#[track_caller]
fn shown(repo: &Repo, which: &str) -> Value {
    let run = repo.run(["show", which, "--json"]).ok();
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn a_runner_that_crashes_after_old_failures_is_a_new_failure() {
    let repo = checked("", &format!("{}{WORKED} && kill -SEGV $$\nexit 101\n", libtest(3)));
    says(&repo.build([]).fails(3), "unit failed");
    let attempt = shown(&repo, "last");
    let new = &attempt["verdict"]["checks"][0]["new"]["names"];
    assert_eq!(new, &json!(["ended by signal 11"]), "{attempt}");
}

#[test]
fn a_runner_that_always_crashes_proves_nothing() {
    let repo = checked("", &format!("{}kill -SEGV $$\n", libtest(3)));
    lands_unproven(&repo, "signal 11 before and now");
}

#[test]
fn tests_that_do_not_run_any_more_are_no_old_failures() {
    let script = format!("if {WORKED}; then {}else {}fi\nexit 101\n", libtest(3), libtest(12));
    lands_unproven(&checked("", &script), "fewer tests ran: 5, 14 before");
}

#[test]
fn an_output_without_names_and_with_other_counts_is_not_old() {
    let counts = |now: &str| {
        format!("if {WORKED}; then echo '{now}'; else echo '6 passed/1 failed'; fi\nexit 1\n")
    };
    let worse = checked("", &counts("5 passed/2 failed"));
    says(&worse.build([]).fails(3), "2 failed by its own count, 1 before");
    lands_unproven(&checked("", &counts("6 passed/1 failed")), "names no test");
}

#[test]
fn a_program_that_is_missing_behind_a_script_is_named_and_proves_nothing() {
    lands_unproven(&checked("", "no-such-tool --all || exit 1\n"), "`no-such-tool` is not there");
}

#[test]
fn a_changed_gate_script_is_a_judge_also_beside_a_red_gate() {
    let repo = checked("judges = \"block\"", "! grep -rns BROKEN work\n");
    let steps = r#"{ append = "check.sh", text = "false\n" }, "#;
    repo.script(&rule("", &format!("{steps}{BROKEN}")));
    repo.build([]).fails(3);
    let attempt = shown(&repo, "last");
    assert_eq!(attempt["failure"]["kind"], "judges", "{attempt}");
    assert_eq!(attempt["verdict"]["ruling"]["refused"]["forbidden"], json!(["check.sh"]));
    assert_eq!(attempt["verdict"]["checks"][0]["standing"], "new", "{attempt}");
}

#[test]
fn an_earlier_attempt_and_a_task_that_was_given_up_show_the_lines_that_failed() {
    let script = "grep -qs BROKEN work/* || exit 0\necho 'test a ... FAILED'; echo; echo failures:; \
                  echo \"thread 'a' panicked at src/a.rs:87:9:\"; echo ' left: 41'; echo 'right: 42'\nexit 101\n";
    let repo = checked("", script);
    repo.config(&repo.read("ralph.toml").replace("max_retries = 0", "max_retries = 1"));
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    repo.build([]).ok();
    repo.run(["show", "1"]).ok().stdout_has("src/a.rs:87:9").stdout_has("left: 41");
    let attempt = shown(&repo, "1");
    let excerpt = attempt["verdict"]["checks"][0]["excerpt"].as_str().unwrap_or_default();
    assert!(excerpt.contains("right: 42"), "{attempt}");
    let given_up = checked("", script);
    given_up.script(&rule("", BROKEN));
    given_up.build([]).fails(3);
    given_up.run(["report"]).stdout_has("src/a.rs:87:9").stdout_has("left: 41");
}

#[test]
fn a_task_that_is_always_partly_done_comes_to_an_end() {
    let repo = checked("", "exit 0\n");
    let part = r#"{ append = "work/part.txt", text = "part\n" }, { claim = "not_complete", form = "json", why = "the rest" }"#;
    repo.script(&rule("", part));
    says(&repo.build([]).fails(3), "partly done ten times");
    assert_eq!(repo.runs().len(), 11);
    assert_eq!(shown(&repo, "last")["failure"]["kind"], "partly_done");
}

#[test]
fn a_plan_with_an_id_twice_is_refused_before_anything_is_paid_for() {
    for format in [Format::Jsonl, Format::Deluxe, Format::Implementation] {
        let repo = repo_with(format, &[task("t-aaa1"), task("t-aaa1")]);
        let run = repo.build([]).fails(1);
        says(&run, &format!("{}: line ", format.path()));
        says(&run, "the id t-aaa1 is already used on line ");
        assert_eq!(repo.runs(), [""; 0], "{format:?}");
        assert_eq!(repo.status(), "", "{format:?}");
    }
    let repo = repo(&[task("t-aaa1"), task("t-aaa1")]);
    repo.write("ralph/specs/work.md", "# Work\n\nDo it.\n");
    repo.commit("a spec");
    for command in [&["construct", "work.md"][..], &["plan", "work.md"], &["agent"]] {
        repo.run(["inbox", "add", "work.md"]);
        let run = repo.run(command.iter().copied()).fails(1);
        says(&run, "the id t-aaa1 is already used on line ");
        assert_eq!(repo.runs(), [""; 0], "{command:?}");
    }
}

#[test]
fn a_record_of_unknown_type_is_kept_and_told_once() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    let record = "{\"t\":\"mystery\",\"text\":\"x\"}\n";
    repo.write("ralph/plan.jsonl", repo.plan() + record + record);
    repo.commit("a plan of tomorrow");
    let run = repo.build([]).ok();
    let said = crate::repo::said(&run);
    assert_eq!(said.matches("mystery").count(), 1, "{said}");
    says(&run, "records of unknown type are kept and ignored: mystery");
    assert_eq!(repo.plan().matches(record).count(), 2);
}
