//! Work that was done on another branch than the one that is checked out.

use ralph_testkit::{Run, TestProject, until};

use crate::stage::{WAITS, stage, steps};

const WRITE: &str = "{ write = \"{task}.txt\", text = \"x\\n\" }, { claim = \"done\" }";

/// Switch to a new branch while the first backend works.
fn build_and_switch<const N: usize>(p: &TestProject, args: [&str; N]) -> Run {
    let run = p.spawn(["build"].into_iter().chain(args));
    until(|| p.home().join("there").exists());
    p.git(["switch", "-qc", "feature"]).ok();
    std::fs::write(p.home().join("go"), "").unwrap();
    run.wait()
}

fn with_untracked_plan() -> TestProject {
    let p = stage(&steps(&format!("{WAITS} {WRITE}")));
    p.git(["rm", "-q", "--cached", "ralph/plan.jsonl"]).ok();
    p.git(["commit", "-qm", "a plan of my own"]).ok();
    p
}

#[track_caller]
fn says(run: &Run, words: &str) {
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains(words), "{words}: {said}");
}

const DONE_THERE: &str = "t-aaaa and t-bbbb were done on branch main; `git merge main`";

#[test]
fn tasks_that_were_done_on_the_branch_that_you_left_are_named_on_the_other_one() {
    let p = stage(&steps(&format!("{WAITS} {WRITE}")));
    let run = build_and_switch(&p, []).ok();
    says(&run, "what landed is on branch main, and you are on feature: `git switch main`");
    p.run(["status"]).ok().stdout_has("2 pending").stdout_has(DONE_THERE);
    says(&p.run(["build", "--once"]).ok(), DONE_THERE);
    p.git(["switch", "-q", "main"]).ok();
    p.run(["status"]).ok().stdout_has("2 accepted").stdout_lacks("were done on branch");
}

#[test]
fn a_plan_that_git_does_not_know_and_that_is_done_does_not_block_the_way_back() {
    let p = with_untracked_plan();
    let run = build_and_switch(&p, []).ok();
    says(&run, "ralph/plan.jsonl was in no commit of feature, and is on main now: it was moved to");
    p.run(["status"]).ok().stdout_has(DONE_THERE);
    says(&p.run(["build"]).fails(1), DONE_THERE);
    p.git(["switch", "-q", "main"]).ok();
    p.run(["status"]).ok().stdout_has("2 accepted");
    assert_eq!(p.git(["status", "--porcelain"]).ok().stdout, "");
}

#[test]
fn a_plan_with_work_left_stays_and_the_printed_command_leads_back() {
    let p = with_untracked_plan();
    let run = build_and_switch(&p, ["--once"]).ok();
    let said = format!("{}{}", run.stdout, run.stderr);
    let command = said.split("refuses to switch: `").nth(1).unwrap().split('`').next().unwrap();
    p.run(["status"]).ok().stdout_has("t-aaaa was done on branch main");
    p.git(["switch", "-q", "main"]).fails(1);
    p.shell(command).ok();
    p.run(["status"]).ok().stdout_has("1 pending").stdout_has("1 accepted");
}
