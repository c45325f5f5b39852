//! No process survives: not a backend's children, not a gate's, not those of a ralph that was killed.

use std::time::Duration;

pub(crate) use ralph_testkit::{left, none_is_left};

use crate::plans::task;
use crate::repo::{GOOD, held, repo, rule, said, until};

/// The one process that a ralph starts itself.
pub(crate) fn supervisor_of(ralph: u32) -> u32 {
    let parent = |pid: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let children: Vec<u32> = pids.filter(|pid| parent(*pid) == Some(ralph)).collect();
    assert_eq!(children.len(), 1, "ralph starts nothing but its supervisor: {children:?}");
    children[0]
}

/// Whether a process is no more, or only waits to be asked how it ended.
fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

#[test]
fn children_that_a_backend_leaves_behind_are_ended_before_its_work_is_judged() {
    let repo = repo(&[task("t-aaa1")]);
    // Each would write into the tree after the backend has ended.
    let late = r#"command = "sleep 2; echo late >> late.txt""#;
    let strays = format!(
        r#"{{ spawn = "nohup", {late} }}, {{ spawn = "setsid", {late} }}, {{ spawn = "double_fork", {late} }}, {{ spawn = "setsid", hold_stdout = true, {late} }}, "#
    );
    repo.script(&rule("", &format!("{strays}{GOOD}")));
    let run = repo.build([]).ok();
    none_is_left(repo.home());
    std::thread::sleep(Duration::from_millis(2200));
    assert!(!repo.exists("late.txt"), "{}", said(&run));
}

#[test]
fn what_a_gate_leaves_behind_is_ended_too() {
    let repo = repo(&[task("t-aaa1")]);
    let gate = "[[gates]]\nname = \"test\"\ncommand = \"setsid sleep 600 & sleep 601 & true\"\n";
    repo.config(&format!("backend = \"sim\"\n{gate}")).build([]).ok();
    none_is_left(repo.home());
}

#[test]
fn a_second_signal_ends_everything_at_once_and_the_next_start_recovers() {
    let repo = repo(&[task("t-aaa1")]);
    let hang = r#"{ write = "src/x.c", text = "x\n" }, { spawn = "setsid" }, { hang = true }"#;
    repo.script(&(rule("attempt = 1", hang) + &rule("", GOOD)));
    let run = repo.spawn(["build"]);
    until(|| !repo.runs().is_empty());
    repo.signal_twice("TERM", &run);
    let run = run.wait();
    assert_eq!(run.code, 143, "{}", said(&run));
    none_is_left(repo.home());
    repo.build([]).ok();
    assert!(!repo.exists("src/x.c"));
    assert_eq!(repo.landed(), ["t-aaa1"]);
}

#[test]
fn nothing_outlives_a_ralph_that_is_killed() {
    let repo = repo(&[task("t-aaa1")]);
    let hang = r#"{ write = "src/x.c", text = "x\n" }, { spawn = "setsid" }, { spawn = "double_fork" }, { hang = true }"#;
    repo.script(&(rule("attempt = 1", hang) + &rule("", GOOD)));
    let run = repo.spawn(["build"]);
    until(|| repo.lane("src/x.c").exists());
    assert!(!left(repo.home()).is_empty(), "the mark is there to be found");
    assert_eq!(run.kill().code, 137);
    none_is_left(repo.home());
    let run = repo.build([]).ok();
    crate::repo::says(&run, "interrupted");
    assert!(!repo.exists("src/x.c"), "what the interrupted attempt wrote is gone");
    assert_eq!(repo.landed(), ["t-aaa1"]);
}

#[test]
fn a_supervisor_that_comes_too_late_starts_nothing_beside_the_next_run() {
    let repo = repo(&[task("t-aaa1")]);
    let hang = r#"{ write = "src/x.c", text = "x\n" }, { hang = true }"#;
    repo.script(&(rule("attempt = 1", hang) + &rule("", GOOD)));
    let run = repo.spawn(["build"]);
    until(|| repo.lane("src/x.c").exists());
    let supervisor = supervisor_of(run.pid());
    // A busy machine: it does not get its turn before the next run is at work.
    repo.shell(&format!("kill -STOP {supervisor}")).ok();
    assert_eq!(run.kill().code, 137);
    repo.build([]).ok();
    assert!(is_gone(supervisor), "it would go on when it is let go");
    assert_eq!(repo.landed(), ["t-aaa1"]);
}

#[test]
fn no_process_of_a_loop_is_left_when_it_gives_its_lock_back() {
    let repo = repo(&[task("t-aaa1")]);
    repo.script(&rule("", &held(GOOD)));
    let run = repo.spawn(["build"]);
    repo.until_home_has("go.held");
    let supervisor = supervisor_of(run.pid());
    repo.allow("go");
    // Whoever gets the lock next would take it for one of a killed run, and end it.
    std::fs::File::open(repo.path(".git/ralph/run.lock")).unwrap().lock().unwrap();
    assert!(is_gone(supervisor));
    run.wait().ok();
}
