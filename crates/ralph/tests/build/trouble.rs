//! A machine in trouble: no room, no right to write, locks left behind, a clock that goes back.

use std::fs;

use ralph_testkit::{SmallDisk, TestProject};

use crate::plans::{Format, task};
use crate::repo::{BROKEN, GOOD, Repo, repo, rule, said, says};

#[test]
fn a_lock_of_another_git_is_respected_and_explained() {
    let repo = repo(&[task("t-aaa1")]);
    let lock = repo.git_dir().join("index.lock");
    fs::write(&lock, "").unwrap();
    let run = repo.build([]).fails(3);
    says(&run, "index.lock");
    assert!(lock.exists(), "it may belong to somebody");
    assert!(repo.landed().is_empty(), "the commit waits");
    fs::remove_file(&lock).unwrap();
    repo.run(["land"]).ok();
    assert_eq!(repo.landed(), ["t-aaa1"]);
}

#[test]
fn locks_that_a_killed_ralph_left_behind_are_removed() {
    for lock in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
        let repo = repo(&[task("t-aaa1")]);
        fs::create_dir_all(repo.git_dir().join("ralph")).unwrap();
        // What ralph notes before each call that takes locks.
        fs::write(repo.git_dir().join("ralph/writes-index"), "01AAAAAAAAAAAAAAAAAAAAAAAA").unwrap();
        fs::write(repo.git_dir().join(lock), "").unwrap();
        repo.build([]).ok();
        assert_eq!(repo.landed(), ["t-aaa1"], "{lock}");
        assert!(!repo.git_dir().join(lock).exists(), "{lock}");
    }
}

#[test]
fn a_read_only_repository_is_an_error_and_no_backend_runs() {
    let Some(disk) = SmallDisk::mount("a_read_only_repository", 20_000) else { return };
    let project = TestProject::inside(env!("CARGO_BIN_EXE_ralph"), disk.path());
    let repo = Repo::new(project, Format::Jsonl, &[task("t-aaa1")]);
    disk.read_only();
    let run = repo.build([]).fails(1);
    says(&run, "error:");
    assert!(repo.runs().is_empty());
}

#[test]
fn a_full_disk_ends_the_run_and_the_next_one_goes_on() {
    let Some(disk) = SmallDisk::mount("a_full_disk", 30_000) else { return };
    let project = TestProject::inside(env!("CARGO_BIN_EXE_ralph"), disk.path());
    let repo = Repo::new(project, Format::Jsonl, &["t-aaa1", "t-aaa2"].map(task));
    let dirt = crate::dirt::make(&repo);
    let start = repo.head();
    // The backend uses up what is left, and its work cannot be saved.
    let fill = r#"{ run = "head -c 100000000 /dev/zero > ignored/filler" }, "#;
    repo.script(
        &(rule("task = \"t-aaa1\"\nattempt = 1", &format!("{fill}{GOOD}")) + &rule("", GOOD)),
    );
    let run = repo.build([]);
    assert_ne!(run.code, 101, "{}", said(&run));
    assert!(!run.stderr.contains("panicked"), "{}", said(&run));
    if repo.exists("ignored/filler") {
        fs::remove_file(repo.path("ignored/filler")).unwrap();
    }
    let again = repo.build([]);
    assert_eq!(again.code, 0, "{}\nthen\n{}", said(&run), said(&again));
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"]);
    dirt.is_untouched(&repo, &start);
}

#[test]
fn a_clock_that_goes_back_changes_no_number_and_ends_no_run() {
    let repo = repo(&["t-aaa1", "t-aaa2"].map(task));
    repo.build(["--once"]).ok();
    let run = repo.command(["build"]).env("RALPH_NOW", "2001-01-01T00:00:00Z").run().ok();
    says(&run, "Complete");
    assert!(
        repo.subjects().iter().any(|s| s.starts_with("ralph[2]: t-aaa2")),
        "{:?}",
        repo.subjects()
    );
    let iterations: Vec<_> =
        repo.events("iteration_start").iter().map(|e| e["metadata"]["iteration"].clone()).collect();
    assert_eq!(iterations, [1, 2]);
}

#[test]
fn a_torn_line_at_the_end_of_the_journal_is_cut_off() {
    let repo = repo(&["t-aaa1", "t-aaa2"].map(task));
    repo.build(["--once"]).ok();
    let journal = repo.git_dir().join("ralph/journal.jsonl");
    let mut text = fs::read(&journal).unwrap();
    text.extend_from_slice(b"{\"at\":\"2025-01-20T10:30:00Z\",\"rec");
    fs::write(&journal, text).unwrap();
    repo.build([]).ok();
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"]);
}

#[test]
fn a_damaged_journal_stops_with_its_line_and_changes_nothing() {
    let repo = repo(&["t-aaa1", "t-aaa2"].map(task));
    repo.build(["--once"]).ok();
    let journal = repo.git_dir().join("ralph/journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap().replacen("run_started", "run_sta", 1);
    fs::write(&journal, &text).unwrap();
    let run = repo.build([]).fails(1);
    says(&run, "journal.jsonl:1");
    assert_eq!(fs::read_to_string(&journal).unwrap(), text);
}

#[test]
fn a_stale_mark_of_a_running_task_does_not_block_the_next_start() {
    let repo = crate::repo::repo_with(Format::Deluxe, &["T-001", "T-002"].map(task));
    repo.write("plan.json", repo.plan().replacen("pending", "in_progress", 1));
    repo.commit("a mark of a run that is long gone");
    repo.build([]).ok();
    assert!(repo.is_done("T-001") && repo.is_done("T-002"));
}

#[test]
fn a_rollback_never_touches_what_landed_before() {
    let repo = crate::repo::repo_with(Format::Deluxe, &["T-001", "T-002"].map(task));
    repo.set("max_retries = 1");
    repo.script(&(rule("task = \"T-002\"", BROKEN) + &rule("", GOOD)));
    repo.build([]).fails(3);
    let tasks = repo.plan_json()["tasks"].clone();
    assert_eq!(crate::plans::field(&tasks, "T-001", "status"), "done");
    assert_eq!(crate::plans::field(&tasks, "T-002", "status"), "failed");
    assert_eq!(repo.runs(), ["T-001", "T-002", "T-002"], "two runs, not more");
}
