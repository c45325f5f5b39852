//! progress.md, and the pitfalls of the core build loop's own document.

use std::fs;

use crate::plans::{Format, task};
use crate::repo::{BROKEN, GOOD, Repo, held, repo_with, rule, said, says};

fn two() -> Repo {
    repo_with(Format::Progress, &[task("one"), task("two")])
}

#[test]
fn pitfall_1_every_iteration_is_a_fresh_process_without_a_session() {
    let repo = two();
    let pid = r#"{ run = "echo $PPID >> \"$HOME/pids\"" }, "#;
    repo.script(&rule("", &format!("{pid}{GOOD}")));
    repo.build([]).ok();
    let pids = fs::read_to_string(repo.home().join("pids")).unwrap();
    let pids: std::collections::BTreeSet<&str> = pids.lines().collect();
    assert_eq!(pids.len(), 2);
    assert!(!repo.prompt(2).contains("Do one (phase"), "{}", repo.prompt(2));
}

#[test]
fn pitfall_2_an_interrupt_lets_the_attempt_end_and_loses_nothing() {
    let repo = two();
    repo.script(&rule("", &held(GOOD)));
    let run = repo.spawn(["build"]);
    repo.until_home_has("go.held");
    repo.signal("INT", run.pid());
    run.until_prints("Stopping");
    repo.allow("go");
    run.wait().fails(130);
    assert!(repo.is_done("one"), "the attempt under way ended as it would have");
    assert_eq!(repo.runs().len(), 1, "no other began");
    assert_eq!(repo.status(), "");
    assert_eq!(repo.state()["status"], "interrupted");
    repo.script(&rule("", GOOD));
    repo.build(["--resume"]).ok();
    assert!(repo.is_done("two"));
}

#[test]
fn pitfall_3_the_word_ralph_done_in_an_answer_does_not_end_the_loop() {
    let repo = two();
    repo.script(&rule("", &format!(r#"{{ say = "RALPH_DONE" }}, {GOOD}"#)));
    repo.build([]).ok();
    assert_eq!(repo.runs().len(), 2);
    assert!(repo.is_done("one") && repo.is_done("two"));
}

#[test]
fn pitfall_3_a_sentence_with_ralph_done_in_the_status_is_no_end() {
    let repo = two();
    repo.write("progress.md", repo.plan().replace("In Progress", "Not RALPH_DONE yet"));
    repo.commit("status");
    repo.build([]).ok();
    assert_eq!(repo.runs().len(), 2);
}

#[test]
fn ralph_done_with_open_tasks_is_reported_and_exits_3() {
    let repo = two();
    repo.write("progress.md", repo.plan().replace("In Progress", "RALPH_DONE"));
    repo.commit("status");
    let run = repo.build([]).fails(3);
    says(&run, "RALPH_DONE");
    says(&run, "Tasks remaining: 2");
    assert!(repo.runs().is_empty());
}

#[test]
fn ralph_done_without_open_tasks_is_complete() {
    let repo = two();
    repo.write(
        "progress.md",
        repo.plan().replace("In Progress", "RALPH_DONE").replace("[ ]", "[x]"),
    );
    repo.commit("status");
    repo.build([]).ok();
    assert!(repo.runs().is_empty());
    assert_eq!(repo.state()["status"], "complete");
}

#[test]
fn ralph_writes_ralph_done_itself_when_the_last_task_is_done() {
    let repo = two();
    repo.build([]).ok();
    assert!(repo.plan().contains("## Status\n\nRALPH_DONE\n"), "{}", repo.plan());
    assert_eq!(repo.status(), "", "and it is committed");
}

#[test]
fn words_that_you_change_in_the_plan_while_a_backend_works_stay_changed() {
    let repo = two();
    repo.write("progress.md", format!("{}\n## Notes\n\nkeep me\n", repo.plan()));
    repo.commit("notes");
    repo.script(&rule("", &held(GOOD)));
    let run = repo.spawn(["build", "--once"]);
    repo.until_home_has("go.held");
    let plan = repo.read("progress.md").replace("keep me", "mine now");
    repo.write("progress.md", plan.replacen("- [ ]", "- [x]", 2));
    repo.allow("go");
    let run = run.wait().ok();
    assert!(
        repo.plan().contains("mine now") && !repo.plan().contains("keep me"),
        "{}",
        repo.plan()
    );
    assert!(repo.is_done("one") && !repo.is_done("two"), "a status stays guarded: {}", repo.plan());
    says(&run, "was marked done");
}

#[test]
fn pitfall_4_max_iterations_says_so_and_what_remains() {
    let repo = two();
    let run = repo.build(["--max-iterations", "1"]).fails(4);
    says(&run, "Stopped: max iterations (1) reached. Tasks remaining: 1");
    assert_eq!(repo.state()["status"], "max_iterations_reached");
}

#[test]
fn finishing_on_the_very_last_iteration_is_complete() {
    let repo = two();
    let run = repo.build(["--max-iterations", "2"]).ok();
    says(&run, "Complete: all tasks complete.");
    assert_eq!(repo.state()["status"], "complete");
}

#[test]
fn pitfall_5_recent_attempts_are_kept_to_a_depth_and_the_log_has_a_row_each() {
    let repo = repo_with(Format::Progress, &["one", "two", "three", "four"].map(task));
    repo.config(&format!("backend = \"sim\"\n[build]\nrecent_attempts = 2\n{}", crate::repo::GATE));
    repo.build([]).ok();
    let plan = repo.plan();
    let attempts =
        plan.split("## Recent Attempts").nth(1).unwrap().split("## Iteration Log").next().unwrap();
    assert_eq!(attempts.matches("### Iteration").count(), 2, "{attempts}");
    assert!(attempts.contains("### Iteration 4"), "{attempts}");
    let rows = plan.split("## Iteration Log").nth(1).unwrap();
    for n in 1..=4 {
        assert!(rows.contains(&format!("| {n} | 2025-01-20 10:30 | ")), "{rows}");
    }
}

#[test]
fn pitfall_6_how_long_an_iteration_may_take_is_configured() {
    let repo = two();
    repo.config(&format!(
        "backend = \"sim\"\nmax_retries = 0\n[limits]\nstage_timeout = \"1s\"\n{}",
        crate::repo::GATE
    ));
    repo.script(&rule("attempt = 1", r#"{ hang = true }"#));
    let run = repo.build(["--once"]).fails(3);
    says(&run, "took too long");
}

#[test]
fn a_failed_attempt_is_a_row_and_an_entry_and_the_box_stays_open() {
    let repo = two();
    repo.script(&rule("", BROKEN));
    repo.build(["--once"]).fails(3);
    let plan = repo.plan();
    assert!(plan.contains("test failed. The agent: Finished t-uw104t."), "{plan}");
    assert!(plan.contains("- [ ] Do one\n"), "{plan}");
    assert!(plan.contains("## Recent Attempts") && plan.contains("### Iteration 1"), "{plan}");
    assert!(plan.contains("| 1 | 2025-01-20 10:30 |"), "{plan}");
}

#[test]
fn sections_that_ralph_does_not_know_survive_byte_for_byte() {
    let repo = two();
    repo.build([]).ok();
    let own = "## Ideas of mine\n\nA section that ralph does not know: `keep | it`.\n";
    assert!(repo.plan().contains(own), "{}", repo.plan());
}

#[test]
fn an_agent_that_returns_a_shorter_file_takes_no_task_away() {
    let repo = two();
    let file = "# Progress: Work\\n\\n## Status\\n\\nRALPH_DONE\\n\\n## Tasks\\n\\n- [x] Do one\\n";
    let edit = format!(
        r#"{{ write = "progress.md", text = "{file}" }}, {{ write = "work/{{task}}.txt", text = "x\n" }}, {{ answer = "{file}" }}"#
    );
    repo.script(&(rule("task = \"t-uw104t\"", &edit) + &rule("", GOOD)));
    repo.build([]).ok();
    assert_eq!(repo.runs().len(), 2, "{}", repo.plan());
    assert!(repo.is_done("one") && repo.is_done("two"), "{}", repo.plan());
}

#[test]
fn an_answer_that_cannot_be_read_does_not_end_the_run() {
    let repo = two();
    repo.script(&(rule("attempt = 1", r#"{ fault = "wrong_json" }"#) + &rule("", GOOD)));
    repo.build([]).ok();
    assert!(repo.is_done("one") && repo.is_done("two"));
}

#[test]
fn what_a_person_writes_into_the_plan_between_two_attempts_is_respected() {
    let repo = two();
    repo.build(["--once"]).ok();
    repo.write(
        "progress.md",
        repo.plan().replace("- [ ] Do two\n", "- [ ] Do two\n- [ ] Do three\n"),
    );
    repo.build([]).ok();
    assert_eq!(repo.runs().len(), 3);
    assert!(repo.is_done("three"), "{}", repo.plan());
}

#[test]
fn a_task_that_is_added_while_a_backend_runs_is_kept() {
    let repo = two();
    repo.script(&rule("", &held(GOOD)));
    let run = repo.spawn(["build", "--once"]);
    repo.until_home_has("go.held");
    repo.run(["task", "add", "Do three"]).ok();
    repo.allow("go");
    run.wait().ok();
    assert!(repo.plan().contains("Do three"), "{}", repo.plan());
    assert!(repo.is_done("one"));
}

/// A backend ticks the boxes of these lines by hand and says nothing that counts.
fn ticks(lines: &str, work: &str) -> String {
    let tick = format!(r#"{{ run = "sed -i '/{lines}/s/- .[ ]./- [x]/' progress.md" }}"#);
    format!(r#"{work}, {tick}, {{ answer = "I ticked it." }}"#)
}

const WORK: &str = r#"{ write = "work/{task}.txt", text = "x\n" }"#;

#[test]
fn a_tick_by_hand_is_a_claim_for_the_task_at_hand_and_is_told() {
    let repo = two();
    repo.script(&rule("", &ticks("Do one", WORK)));
    let run = repo.build(["--once"]).ok();
    assert!(repo.is_done("one"), "{}", repo.plan());
    says(&run, "progress.md: the backend may not write it; its changes are left out");
    let journal = repo.journal();
    let end = journal.iter().find(|r| r["record"] == "backend_ended").unwrap();
    assert_eq!(end["claim"]["kind"], "done");
}

#[test]
fn a_tick_by_hand_proves_nothing() {
    let repo = two();
    let broken = WORK.replace("x\\n", "BROKEN\\n");
    repo.script(&rule("", &ticks("Do one", &broken)));
    let run = repo.build(["--once"]).fails(3);
    says(&run, "gates failed");
    assert!(!repo.is_done("one"), "{}", repo.plan());
}

#[test]
fn a_tick_by_hand_of_another_task_is_left_out_and_is_no_claim() {
    let repo = two();
    repo.script(&rule("", &ticks("Do two", WORK)));
    let run = repo.build(["--once"]).fails(3);
    says(&run, "progress.md: the backend may not write it; its changes are left out");
    says(&run, "no claim that counts");
    assert!(!repo.is_done("one") && !repo.is_done("two"), "{}", repo.plan());
}

#[test]
fn one_attempt_adds_three_tasks_at_most_whichever_way_it_adds_them() {
    let repo = two();
    let bin = env!("CARGO_BIN_EXE_ralph");
    let command = format!(r#"{{ run = "{bin} task add 'By command'" }}"#);
    let add = |name: &str| {
        format!(r#"{{ action = "add", task = {{ name = "{name}", notes = "more" }} }}"#)
    };
    let amend = format!(
        r#"{{ claim = "done", handoff = {{ plan_amendments = [{}, {}] }} }}"#,
        add("First of the handoff"),
        add("Second of the handoff")
    );
    repo.script(&rule("", &format!("{WORK}, {command}, {command}, {amend}")));
    repo.build(["--once"]).ok();
    let plan = repo.plan();
    assert_eq!(plan.matches("- [ ] By command\n").count(), 2, "{plan}");
    assert!(plan.contains("- [ ] First of the handoff\n"), "{plan}");
    assert!(!plan.contains("Second of the handoff"), "{plan}");
}

/// A step that adds this many tasks to a plan by hand.
fn adds_by_hand(most: u32, plan: &str) -> String {
    let lines = (1..=most).map(|n| format!("- [ ] More {n}\\\\n"));
    let lines: String = lines.collect();
    format!(
        r#"{{ run = "sed -i 's/^- .[ ]. Do two$/&\\n{}/' {plan}" }}"#,
        lines.trim_end_matches("\\\\n")
    )
}

#[test]
fn tasks_that_are_written_by_hand_into_the_plan_of_a_lane_are_left_out_and_told() {
    let repo = two();
    repo.script(&rule("", &format!("{}, {GOOD}", adds_by_hand(1, "progress.md"))));
    let run = repo.build(["--once"]).ok();
    says(&run, "progress.md: the backend may not write it; its changes are left out");
    let plan = repo.plan();
    assert!(!plan.contains("More 1") && repo.is_done("one"), "{plan}");
}

#[test]
fn of_tasks_that_are_written_into_the_users_plan_while_a_backend_runs_three_stay() {
    let repo = two();
    let plan = repo.path("progress.md").display().to_string();
    repo.script(&rule("", &format!("{}, {GOOD}", adds_by_hand(5, &plan))));
    let run = repo.build(["--once"]).ok();
    says(&run, "progress.md in your checkout: edited while a backend ran");
    says(&run, "more than 3 tasks and issues were added");
    let plan = repo.plan();
    assert!(plan.contains("More 3") && !plan.contains("More 4"), "{plan}");
    assert!(repo.is_done("one"), "{plan}");
    assert!(repo.read(".ralph/context/progress.md.of-iteration-1").contains("More 5"));
    assert_eq!(repo.status(), "");
}

#[test]
fn a_plan_of_the_users_that_is_edited_while_a_backend_runs_stays_as_it_is_until_the_run_ends() {
    // The work fails in a gate, or the account has met its limit, and then nothing arrives.
    for (steps, code) in [(BROKEN, 3), ("{ fault = \"usage_limit\" }", 4)] {
        let repo = two();
        let plan = repo.path("progress.md").display().to_string();
        let tick = format!(r#"{{ run = "sed -i '/Do two/s/- .[ ]./- [x]/' {plan}" }}"#);
        repo.set("max_retries = 0");
        repo.script(&rule("", &format!("{tick}, {steps}")));
        let ticked = repo.plan().replace("- [ ] Do two", "- [x] Do two");
        let run = repo.build(["--once", "--no-wait"]).fails(code);
        says(&run, "progress.md in your checkout: edited while a backend ran, and left out");
        assert_eq!(repo.read(".ralph/context/progress.md.of-iteration-1"), ticked);
        let plan = repo.plan();
        assert!(plan.contains("- [ ] Do two\n") && !plan.contains("- [x] Do two"), "{plan}");
        assert_eq!(repo.status(), "", "{}", said(&run));
        repo.script(&rule("", GOOD));
        repo.build([]);
        assert!(repo.is_done("two"), "the second task is done by work, not by an edit");
    }
}

#[test]
fn nothing_is_written_into_the_users_plan_between_a_backend_and_an_arrival() {
    let repo = two();
    let plan = repo.path("progress.md").display().to_string();
    let tick = format!(r#"{{ run = "sed -i '/Do two/s/- .[ ]./- [x]/' {plan}" }}"#);
    let look = format!("cp {plan} seen-$RALPH_LANE; mv seen-* \\\"$HOME\\\"");
    repo.config(&format!("backend = \"sim\"\n[[gates]]\nname = \"look\"\ncommand = \"{look}\"\n"));
    repo.script(&rule("", &format!("{tick}, {GOOD}")));
    let ticked = repo.plan().replace("- [ ] Do two", "- [x] Do two");
    let run = repo.build(["--once"]).ok();
    let seen = fs::read_to_string(repo.home().join("seen-1")).unwrap();
    assert_eq!(seen, ticked, "{}", said(&run));
    assert!(repo.is_done("one") && repo.plan().contains("- [ ] Do two\n"), "{}", repo.plan());
    assert_eq!(repo.status(), "");
}

#[test]
fn a_status_that_is_written_into_the_users_plan_while_a_backend_runs_is_undone_and_told() {
    let repo = two();
    let plan = repo.path("progress.md").display().to_string();
    let tick = format!(r#"{{ run = "sed -i '/Do two/s/- .[ ]./- [x]/' {plan}" }}"#);
    repo.script(&rule("", &format!("{tick}, {GOOD}")));
    let run = repo.build([]).ok();
    says(&run, "progress.md in your checkout: edited while a backend ran");
    says(&run, "was marked done");
    assert_eq!(repo.runs().len(), 2, "the second task is done by work, not by an edit");
    assert_eq!(repo.status(), "");
}

#[test]
fn what_is_written_into_the_plan_of_the_run_in_the_git_directory_is_undone_and_told() {
    let repo = two();
    let copies = repo.git_dir().join("ralph/runs/*/ledger/progress.md").display().to_string();
    let tick = format!(r#"{{ run = "sed -i '/Do two/s/- .[ ]./- [x]/' {copies}" }}"#);
    repo.script(&rule("", &format!("{tick}, {GOOD}")));
    let run = repo.build([]).ok();
    says(&run, "was marked done");
    assert_eq!(repo.runs().len(), 2, "the second task is done by work, not by an edit");
}
