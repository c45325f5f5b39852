//! Settings that change what is left behind: each does what the reference says.

use std::fs;

use crate::plans::task;
use crate::repo::{GATE, GOOD, repo, rule};

#[test]
fn without_commit_ledger_the_plan_of_a_blocked_run_stays_uncommitted() {
    let blocked = rule("", r#"{ claim = "blocked", why = "no key" }"#);
    let of = |settings: &str| {
        let repo = repo(&[task("t-aaa1")]);
        repo.set(settings).script(&blocked);
        repo.build([]).fails(3);
        repo
    };
    assert!(of("").subjects().contains(&"ralph: ledger".to_owned()));
    let repo = of("commit_ledger = \"never\"");
    assert!(!repo.subjects().contains(&"ralph: ledger".to_owned()), "{:?}", repo.subjects());
    assert_eq!(repo.status().trim(), "M ralph/plan.jsonl");
}

#[test]
fn the_log_is_where_it_is_wanted_as_loud_as_it_is_wanted_and_nobodys_work() {
    let repo = repo(&[task("t-aaa1")]);
    repo.set("log_file = \"loop.log\"").build([]).ok();
    let log = repo.read("loop.log");
    assert!(log.contains("[info] Starting iteration 1"), "{log}");
    assert_eq!(repo.ask_git(["log", "--format=%h", "--", "loop.log"]), "");
    assert!(!repo.exists(".ralph/logs/ralph.log"));

    let quiet = crate::repo::repo(&[task("t-aaa1")]);
    quiet.config("log_level = \"warn\"\nbackend = \"sim\"\n").build([]).ok();
    let log = quiet.read(".ralph/logs/ralph.log");
    assert!(log.contains("[warn] no gates are configured") && !log.contains("[info]"), "{log}");
}

#[test]
fn only_so_many_stage_logs_stay() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2"), task("t-aaa3")]);
    repo.config(&format!("backend = \"sim\"\n{GATE}\n[retention]\nlogs = 1\n"));
    repo.script(&rule("", GOOD));
    let count = || {
        let names = fs::read_dir(repo.path("build/ralph-logs")).unwrap();
        let names = names.map(|e| e.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".log")).count()
    };
    repo.build(["--max-iterations", "2"]).fails(4);
    assert_eq!(count(), 2, "old logs go when a loop begins");
    repo.build([]).ok();
    assert_eq!(count(), 2, "one of the last run, one of this");
}
