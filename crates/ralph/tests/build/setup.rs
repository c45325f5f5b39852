//! `[lane] setup` beside work that changes what it depends on.

use crate::memory::{has, section};
use crate::plans::task;
use crate::repo::{GOOD, Repo, repo, rule, says};

/// A lane whose dependencies follow from a lock file. Setup also scribbles into a tracked file, as some do.
fn with_dependencies(gate: &str) -> Repo {
    let repo = repo(&[task("t-aaa1")]);
    repo.write("deps.lock", "one\n");
    repo.write("tracked.txt", "as committed\n");
    repo.write("deps/.gitignore", "*\n");
    repo.config(&format!(
        "backend = \"sim\"\n[[gates]]\nname = \"test\"\nkind = \"test\"\ncommand = '{gate}'\n[lane]\n\
         setup = 'mkdir -p deps && ! grep -H broken deps.lock && cp deps.lock deps/version && \
         echo setup >> tracked.txt'\nsetup_when = [\"deps.lock\"]\n"
    ));
    repo.shell("git add -A && git add -f deps/.gitignore && git commit -qm dependencies").ok();
    repo
}

fn locks(version: &str) -> String {
    format!(r#"{{ write = "deps.lock", text = "{version}\n" }}, {GOOD}"#)
}

#[test]
fn work_that_changes_what_setup_depends_on_is_gated_with_the_new_setup_and_lands_whole() {
    let repo = with_dependencies("grep two deps/version && grep done work/t-aaa1.txt");
    repo.script(&rule("", &locks("two")));
    let run = repo.build([]).ok();
    says(&run, "1 of 1 task done");
    // Once for the lane, and once for the work.
    assert_eq!(repo.events("lane_setup").len(), 2);
    says(&run, "    setup    mkdir -p deps");
    assert_eq!(repo.ask_git(["show", "HEAD:deps.lock"]), "two");
    assert_eq!(repo.ask_git(["show", "HEAD:work/t-aaa1.txt"]), "t-aaa1 is done");
    assert_eq!(repo.ask_git(["show", "HEAD:tracked.txt"]), "as committed");
}

#[test]
fn a_setup_that_fails_on_the_work_is_a_failed_attempt_whose_retry_is_told_why() {
    let repo = with_dependencies("grep done work/t-aaa1.txt");
    repo.script(&(rule("attempt = 1", &locks("broken")) + &rule("", &locks("two"))));
    let run = repo.build([]).ok();
    says(&run, "1 landed in 2 attempts");
    has(section(&repo.prompt(2), "Failure Context"), &["setup of the lane", "deps.lock:broken"]);
    assert_eq!(repo.ask_git(["show", "HEAD:deps.lock"]), "two");
}

#[test]
fn a_red_gate_is_looked_at_on_the_base_with_the_setup_of_the_base() {
    let repo = with_dependencies("grep one deps/version");
    repo.script(&(rule("attempt = 1", &locks("two")) + &rule("", GOOD)));
    let run = repo.build([]).ok();
    says(&run, "1 landed in 2 attempts");
    assert_eq!(repo.ask_git(["show", "HEAD:deps.lock"]), "one");
}

#[test]
fn a_file_that_only_ends_like_one_of_setup_when_does_not_run_setup_again() {
    let repo = with_dependencies("grep done work/t-aaa1.txt || [ ! -e work ]");
    let other = r#"{ write = "other/deps.lock", text = "broken\n" }, { write = "my-deps.lock", text = "broken\n" }"#;
    repo.script(&rule("", &format!("{other}, {GOOD}")));
    repo.build([]).ok();
    assert_eq!(repo.events("lane_setup").len(), 1);
}

#[test]
fn a_setup_that_failed_on_the_work_of_one_attempt_runs_again_for_the_next() {
    let gate = "[ ! -e work ] || grep one deps/version";
    let repo = with_dependencies(gate);
    repo.config(
        &repo.read("ralph.toml").replace("&& ! grep", "&& cp deps.lock deps/version && ! grep"),
    );
    repo.script(&(rule("attempt = 1", &locks("broken")) + &rule("", GOOD)));
    repo.build([]).ok();
    assert_eq!(repo.landed(), ["t-aaa1"], "no half of another setup is there");
}
