//! The failure ladder: one test a row, and one a kind of failure within a row.

use crate::plans::{Format, records, task};
use crate::repo::{BROKEN, GOOD, Repo, repo, repo_with, rule, says};

fn one() -> Repo {
    repo(&[task("t-aaa1")])
}

/// Do this in the first attempt and good work in the second.
fn once_then_good(steps: &str) -> Repo {
    let repo = one();
    repo.script(&(rule("attempt = 1", steps) + &rule("", GOOD)));
    repo
}

/// The first attempt fails with these words, counts, and the second one succeeds from a clean tree.
#[track_caller]
fn fails_once(steps: &str, words: &str) -> Repo {
    let repo = once_then_good(steps);
    let tree = repo.ask_git(["ls-tree", "-r", "HEAD", "--", "src", "user"]);
    let run = repo.build([]).ok();
    says(&run, words);
    assert_eq!(repo.runs().len(), 2);
    assert_eq!(repo.landed(), ["t-aaa1"]);
    assert_eq!(repo.read("work/t-aaa1.txt"), "t-aaa1 is done\n");
    assert_eq!(repo.ask_git(["ls-tree", "-r", "HEAD", "--", "src", "user"]), tree, "debris landed");
    assert_eq!(repo.status(), "");
    assert!(repo.prompt(2).contains("## Failure Context"), "{}", repo.prompt(2));
    repo
}

#[test]
fn a_red_gate_rolls_back_and_retries_with_the_failure() {
    let repo = fails_once(BROKEN, "gates failed");
    let prompt = repo.prompt(2);
    assert!(prompt.contains("work/t-aaa1.txt:1:BROKEN"), "{prompt}");
    let path =
        prompt.split('`').find(|word| word.contains("validation/") || word.contains("ralph-logs/"));
    let path = path.unwrap_or_else(|| panic!("no path of the whole output:\n{prompt}"));
    assert!(repo.read(path).contains("BROKEN"), "{path} does not have the whole output");
}

#[test]
fn a_lie_is_no_work() {
    fails_once(r#"{ fault = "lie" }"#, "nothing changed");
}

#[test]
fn saying_nothing_is_no_claim_even_when_files_changed() {
    let repo =
        once_then_good(r#"{ write = "work/x.txt", text = "x\n" }, { say = "All tests pass." }"#);
    let run = repo.build([]).ok();
    says(&run, "no claim");
    assert_eq!(repo.runs(), ["t-aaa1", "none", "t-aaa1"], "one question is asked before that");
    assert!(!repo.exists("work/x.txt"));
}

#[test]
fn ending_early_with_exit_code_0_is_no_claim() {
    fails_once(r#"{ write = "src/half.c", text = "x\n" }, { fault = "early_exit" }"#, "t-aaa1");
}

#[test]
fn a_crash_in_the_middle_of_an_edit_leaves_no_debris() {
    fails_once(
        r#"{ half = "src/main.c", text = "int main(void) { return 1; }\n" }, { signal = "kill" }"#,
        "backend failed",
    );
}

#[test]
fn garbage_on_standard_output_does_not_end_the_run() {
    let repo = one();
    repo.script(&rule("", &format!(r#"{{ garbage = "utf8" }}, {{ garbage = "binary" }}, {{ garbage = "half_json" }}, {GOOD}"#)));
    repo.build([]).ok();
    assert_eq!(repo.runs().len(), 1);
}

#[test]
fn half_an_answer_is_none() {
    fails_once(r#"{ write = "src/x.c", text = "x\n" }, { fault = "cut" }"#, "t-aaa1");
}

#[test]
fn a_model_that_fails_is_a_failed_attempt() {
    fails_once(r#"{ fault = "api_error" }"#, "backend failed");
}

#[test]
fn a_full_context_is_a_failed_attempt_with_its_reason_in_the_prompt() {
    let repo = fails_once(r#"{ fail = "context_limit" }"#, "context");
    assert!(repo.prompt(2).contains("context"), "{}", repo.prompt(2));
}

#[test]
fn using_all_turns_is_a_failed_attempt() {
    fails_once(r#"{ fail = "max_turns" }"#, "turns");
}

#[test]
fn a_backend_that_hangs_is_killed_after_its_time_and_tried_again() {
    let repo = once_then_good(r#"{ write = "src/x.c", text = "x\n" }, { hang = true }"#);
    repo.config(&format!(
        "backend = \"sim\"\n[limits]\nstage_timeout = \"1s\"\n{}",
        crate::repo::GATE
    ));
    let run = repo.build([]).ok();
    says(&run, "took too long");
    assert!(!repo.exists("src/x.c"));
    assert!(repo.prompt(2).to_lowercase().contains("time"), "{}", repo.prompt(2));
}

#[test]
fn a_backend_that_falls_silent_is_ended() {
    let repo = once_then_good(r#"{ say = "Let me think." }, { hang = true }"#);
    repo.config(&format!(
        "backend = \"sim\"\n[limits]\nidle_timeout = \"1s\"\n{}",
        crate::repo::GATE
    ));
    let run = repo.build([]).ok();
    says(&run, "fell silent");
}

#[test]
fn two_retries_are_at_most_three_runs_then_the_task_is_failed_and_the_next_one_goes_on() {
    for format in Format::ALL {
        let jsonl = format == Format::Jsonl;
        let ids = if jsonl { ["t-aaa1", "t-aaa2"] } else { ["work-1", "work-2"] };
        let repo = repo_with(format, &ids.map(task));
        let conditions = format!("when = \"Do {}\"\nunless = \"Do {}\"", ids[0], ids[1]);
        // Different every time, so that no breaker trips.
        let broken =
            r#"{ write = "work/{task}-{attempt}.txt", text = "BROKEN\n" }, { claim = "done" }"#;
        repo.script(&(rule(&conditions, broken) + &rule("", GOOD)));
        let run = repo.build([]).fails(3);
        assert_eq!(repo.runs().len(), 4, "{format:?}: three and one");
        // What is said of a spec that is not complete is in the ledger of its run.
        match format {
            Format::Implementation => {
                repo.run(["task", "show", ids[0]]).ok().stdout_has("failed");
                repo.run(["task", "show", ids[1]]).ok().stdout_has("accepted");
            }
            _ => assert!(!repo.is_done(ids[0]) && repo.is_done(ids[1]), "{format:?}"),
        }
        says(&run, "Tasks remaining: 1");
        // A spec that is not complete has no commit yet.
        assert_eq!(repo.landed().len(), usize::from(format != Format::Implementation));
        // A second start does not try it again by itself.
        repo.build([]).fails(3);
        assert_eq!(repo.runs().len(), 4, "{format:?}: it is given up");
    }
}

#[test]
fn a_failed_task_of_a_plan_jsonl_leaves_an_issue() {
    let repo = one();
    repo.set("max_retries = 0").script(&rule("", BROKEN));
    repo.build([]).fails(3);
    let records = records(&repo.plan());
    let issue =
        records.iter().find(|r| r["t"] == "issue").unwrap_or_else(|| panic!("{}", repo.plan()));
    assert!(issue["desc"].as_str().unwrap().contains("t-aaa1"), "{issue}");
    assert!(records.iter().any(|r| r["t"] == "reject" && r["id"] == "t-aaa1"), "{}", repo.plan());
}

#[test]
fn the_retry_knows_every_approach_that_failed() {
    let repo = one();
    let tried = |n: u32, text: &str| {
        rule(
            &format!("attempt = {n}"),
            &format!(
                r#"{{ write = "work/x.txt", text = "BROKEN {text}\n" }}, {{ claim = "done", form = "json", handoff = {{ summary = "{text}" }} }}"#
            ),
        )
    };
    repo.script(&(tried(1, "with a table") + &tried(2, "with a tree") + &rule("", GOOD)));
    repo.build([]).ok();
    let prompt = repo.prompt(3);
    assert!(prompt.contains("with a table") && prompt.contains("with a tree"), "{prompt}");
}

#[test]
fn a_long_gate_output_is_cut_in_the_prompt_and_whole_on_disk() {
    let repo = once_then_good(BROKEN);
    let gate = "[[gates]]\nname = \"test\"\nkind = \"test\"\n\
        command = \"if grep -qs BROKEN work/*; then seq 1 20000; echo THE END; exit 1; fi\"\n";
    repo.config(&format!("backend = \"sim\"\n{gate}")).build([]).ok();
    let prompt = repo.prompt(2);
    assert!(prompt.len() < 12_000, "{} bytes", prompt.len());
    let path = prompt
        .split('`')
        .find(|word| word.contains("validation/"))
        .unwrap_or_else(|| panic!("{prompt}"));
    let whole = repo.read(path);
    assert!(whole.contains("THE END") && whole.contains("12345"), "{path} is not whole");
}

#[test]
fn blocked_keeps_its_reason_spends_no_retry_and_leaves_nothing_behind() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    let blocked = r#"{ write = "src/x.c", text = "x\n" }, { claim = "blocked", form = "marker", why = "there is no key" }"#;
    repo.script(&(rule("task = \"t-aaa1\"", blocked) + &rule("", GOOD)));
    let run = repo.build([]).fails(3);
    says(&run, "there is no key");
    says(&run, "`ralph task retry t-aaa1` gives it another attempt");
    assert_eq!(repo.runs(), ["t-aaa1", "t-aaa2"], "other work goes on, and it is not tried again");
    assert!(!repo.exists("src/x.c"));
    let plan = records(&repo.plan());
    let task = plan.iter().find(|r| r["id"] == "t-aaa1" && r["t"] == "task").unwrap();
    assert_eq!(task["blocked"], "there is no key");
    // It waits for a person, not for a restart.
    repo.build([]).fails(3);
    assert_eq!(repo.runs().len(), 2);
    repo.script(&rule("", GOOD));
    repo.run(["task", "retry", "t-aaa1"]).ok();
    repo.build([]).ok();
    assert!(repo.is_done("t-aaa1"));
}

#[test]
fn a_backend_that_asks_for_a_person_blocks_its_task() {
    let repo = one();
    repo.script(&rule("", r#"{ claim = "not_complete", form = "json", handoff = { request_human_review = { needed = true, reason = "which colour?" } } }"#));
    let run = repo.build([]).fails(3);
    says(&run, "which colour?");
}

#[test]
fn a_backend_that_is_not_there_stops_at_once_with_advice_and_counts_nothing() {
    let repo = one();
    repo.config(&format!(
        "backend = \"claude\"\n{}\n[backends.claude]\nprogram = \"no-such-program-here\"\n",
        crate::repo::GATE
    ));
    let run = repo.build([]).fails(1);
    says(&run, "install it, or say where it is");
    assert!(records(&repo.plan()).iter().all(|r| r["t"] != "reject"));
}

#[test]
fn a_backend_without_credentials_stops_at_once_and_counts_nothing() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    repo.script(&rule("", r#"{ fault = "not_logged_in" }"#));
    repo.build([]).fails(1);
    assert_eq!(repo.runs().len(), 1);
    assert!(records(&repo.plan()).iter().all(|r| r["t"] != "reject"));
    repo.script(&rule("", GOOD));
    repo.build([]).ok();
}

#[test]
fn a_backend_that_may_not_write_stops_at_once() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    repo.script(&rule("", r#"{ fault = "permission_denied" }"#));
    repo.build([]).fails(1);
    assert_eq!(repo.runs().len(), 1);
}

#[test]
fn the_same_failure_on_task_after_task_trips_the_breaker_and_shows_why() {
    let repo = repo(&["t-aaa1", "t-aaa2", "t-aaa3", "t-aaa4"].map(task));
    repo.set("max_retries = 0").script(&rule("", r#"{ fault = "lie" }"#));
    let run = repo.build([]).fails(3);
    assert_eq!(repo.runs().len(), 3);
    says(&run, "no progress");
    says(&run, "iteration 3, t-aaa3");
}

#[test]
fn productive_work_does_not_trip_the_breaker() {
    let tasks: Vec<String> = (0..8).map(|n| format!("t-aaa{n}")).collect();
    let tasks: Vec<&'static str> = tasks.into_iter().map(|t| &*t.leak()).collect();
    let tasks: Vec<_> = tasks.into_iter().map(task).collect();
    let repo = repo(&tasks);
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    repo.build([]).ok();
    assert_eq!(repo.runs().len(), 16);
}

#[test]
fn a_part_that_is_green_lands_and_the_task_goes_on() {
    let repo = one();
    let part = r#"{ write = "work/part.txt", text = "part\n" }, { claim = "not_complete", form = "json", why = "the other half" }"#;
    repo.script(&(rule("attempt = 1", part) + &rule("", GOOD)));
    repo.build([]).ok();
    assert_eq!(repo.runs().len(), 2);
    assert_eq!(repo.read("work/part.txt"), "part\n");
    assert!(repo.prompt(2).contains("the other half"), "{}", repo.prompt(2));
    assert_eq!(repo.landed().len(), 2, "each part is a commit of the task");
}

#[test]
fn nothing_to_change_counts_only_with_a_reason_and_a_green_gate() {
    let nothing = r#"{ claim = "done", form = "json", handoff = { no_change_needed = "it is there since last year" } }"#;
    let repo = one();
    repo.script(&rule("", nothing));
    let run = repo.build([]).ok();
    says(&run, "no change");
    assert!(repo.is_done("t-aaa1"));
    let repo = one();
    repo.config("backend = \"sim\"\nmax_retries = 0\n").script(&rule("", nothing));
    repo.build([]).fails(3);
    assert!(!repo.is_done("t-aaa1"), "nobody can confirm it");
}

#[test]
fn a_changed_specification_or_setting_is_left_out_and_told() {
    for path in ["ralph.toml", "ralph/specs/work.md", ".ralph/skills/x.md"] {
        let repo = one();
        repo.write("ralph/specs/work.md", "# Work\n");
        repo.write(".ralph/skills/x.md", "# X\n");
        repo.commit("sources");
        let before = repo.read(path);
        repo.script(&rule("", &format!(r#"{{ append = "{path}", text = " easier\n" }}, {GOOD}"#)));
        let run = repo.build([]).ok();
        says(&run, &format!("{path}: the backend may not write it; its changes are left out"));
        assert_eq!((repo.landed(), repo.read(path)), (vec!["t-aaa1".to_owned()], before), "{path}");
        assert_eq!(repo.status(), "", "{path}");
    }
}

#[test]
fn a_specification_or_skill_that_a_backend_makes_up_is_left_out_and_told() {
    for path in ["ralph/specs/easy.md", ".ralph/skills/x.md"] {
        let repo = one();
        repo.script(&rule("", &format!(r#"{{ write = "{path}", text = "easy\n" }}, {GOOD}"#)));
        let run = repo.build([]).ok();
        says(&run, &format!("{path}: the backend may not write it; its changes are left out"));
        assert!(!repo.exists(path) && repo.status().is_empty(), "{path}");
        assert_eq!(repo.landed(), ["t-aaa1"]);
    }
}

#[test]
fn deleted_tests_are_named_in_the_verdict() {
    let repo = one();
    repo.write("tests/one_test.sh", "exit 0\n");
    repo.write("tests/two_test.sh", "exit 0\n");
    repo.commit("tests");
    repo.script(&rule("", &format!(r#"{{ delete = "tests/one_test.sh" }}, {GOOD}"#)));
    let run = repo.build([]).ok();
    says(&run, "tests/one_test.sh");
}

#[test]
fn deleted_tests_fail_the_attempt_when_judges_block() {
    let repo = one();
    repo.write("tests/one_test.sh", "exit 0\n");
    repo.set("judges = \"block\"\nmax_retries = 0");
    repo.script(&rule("", &format!(r#"{{ delete = "tests/one_test.sh" }}, {GOOD}"#)));
    let run = repo.build([]).fails(3);
    says(&run, "tests/one_test.sh");
    assert!(repo.exists("tests/one_test.sh"));
}

#[test]
fn a_backend_that_writes_the_ledger_is_undone_and_reported() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    let cheat = r#"{ write = "ralph/plan.jsonl", text = "{\"t\":\"accept\",\"id\":\"t-aaa2\",\"name\":\"x\",\"done_at\":\"x\",\"at\":\"x\"}\n" }, "#;
    repo.script(&(rule("task = \"t-aaa1\"", &format!("{cheat}{GOOD}")) + &rule("", GOOD)));
    let run = repo.build([]).ok();
    says(&run, "ralph/plan.jsonl");
    assert_eq!(
        repo.runs(),
        ["t-aaa1", "t-aaa2"],
        "the second task is done by work, not by an edit"
    );
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"]);
}

#[test]
fn a_backend_that_deletes_ralphs_files_takes_no_history_away() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    let wipe = r#"{ delete = ".ralph" }, { delete = "build" }, { delete = "ralph" }, "#;
    repo.script(&(rule("task = \"t-aaa1\"", &format!("{wipe}{GOOD}")) + &rule("", GOOD)));
    repo.build([]).ok();
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"]);
    assert!(repo.is_done("t-aaa1") && repo.is_done("t-aaa2"), "{}", repo.plan());
}
