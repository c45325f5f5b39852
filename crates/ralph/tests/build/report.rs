//! The morning after a build: the report tells what landed and failed, and its commands work as printed.

use serde_json::Value;

use crate::plans::{Format, task};
use crate::repo::{BROKEN, GOOD, Repo, repo, repo_with, rule, says};

/// Three tasks land, the second at its second try, and a fourth fails three times.
fn night() -> Repo {
    let repo = repo(&[task("t-aaaa"), task("t-bbbb"), task("t-cccc"), task("t-dddd")]);
    repo.script(
        &(rule("task = \"t-bbbb\"\nattempt = 1", BROKEN)
            + &rule("task = \"t-dddd\"", BROKEN)
            + &rule("", GOOD)),
    );
    repo.build([]);
    repo
}

fn json(repo: &Repo) -> Value {
    repo.run(["report", "--json"]).ok().json()
}

/// Run a command as a person would, pasted into a shell.
#[track_caller]
fn paste(repo: &Repo, command: &Value) {
    let bin = env!("CARGO_BIN_EXE_ralph");
    repo.shell(&command.as_str().unwrap().replace("ralph salvage", &format!("{bin} salvage"))).ok();
}

#[test]
fn the_report_says_what_landed_what_failed_and_how_often_the_first_try_was_good() {
    let repo = night();
    let head = repo.head();
    let report = json(&repo);
    let totals = &report["totals"];
    assert_eq!((&totals["tasks_landed"], &totals["tasks_failed"]), (&3.into(), &1.into()));
    assert_eq!((&totals["first_try_landed"], &totals["first_tries"]), (&2.into(), &4.into()));
    let failed = &report["failed_tasks"][0];
    assert_eq!((&failed["attempt"]["task_id"], &failed["tries"]), (&"t-dddd".into(), &3.into()));
    let text = repo.run(["report"]).ok().stdout;
    for part in [
        "3 tasks landed, 1 failed, ",
        "2 of 4 tasks at the first try (50 %)",
        "**t-bbbb Do t-bbbb**: green: test; 2 tries",
        "gates failed: test",
        "bring it back: `ralph salvage restore ",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert_eq!((repo.head(), repo.status()), (head, String::new()), "a report changes nothing");
}

#[test]
fn the_undo_command_takes_out_exactly_that_task_and_leaves_the_ledger_alone() {
    let repo = night();
    let plan = repo.plan();
    let tasks = json(&repo)["specs"][0]["tasks"].clone();
    let first = tasks
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["attempt"]["task_id"] == "t-aaaa")
        .unwrap()
        .clone();
    paste(&repo, &first["undo"]);
    assert!(!repo.exists("work/t-aaaa.txt") && repo.exists("work/t-bbbb.txt"));
    assert_eq!((repo.plan(), repo.status()), (plan, String::new()));
    assert_eq!(repo.ask_git(["log", "-1", "--format=%s"]), "Undo t-aaaa");
}

#[test]
fn a_whole_spec_is_undone_with_one_command_whether_it_is_one_commit_or_several() {
    let several = repo_with(Format::Implementation, &[task("work-1"), task("work-2")]);
    several.set("commit = \"task\"").build([]).ok();
    let one = repo_with(Format::Implementation, &[task("work-1"), task("work-2")]);
    one.build([]).ok();
    for (repo, commits) in [(several, 0), (one, 1)] {
        let plan = repo.plan();
        let spec = json(&repo)["specs"][0].clone();
        assert_eq!(spec["spec"], "The Work", "{spec:#}");
        assert_eq!(spec["commits"].as_array().unwrap().len(), commits, "{spec:#}");
        assert_eq!(spec["tasks"].as_array().unwrap().len(), 2, "{spec:#}");
        paste(&repo, &spec["undo"]);
        assert!(!repo.exists("work/work-1.txt") && !repo.exists("work/work-2.txt"));
        assert_eq!((repo.plan(), repo.status()), (plan, String::new()));
    }
}

#[test]
fn failed_work_is_brought_back_with_the_command_that_the_report_prints() {
    let repo = night();
    paste(&repo, &json(&repo)["failed_tasks"][0]["restore"]);
    assert_eq!(repo.read("work/t-dddd.txt"), "BROKEN\n");
}

#[test]
fn work_that_a_person_took_out_of_the_branch_is_said_not_to_be_there() {
    let repo = night();
    repo.git(["reset", "-q", "--hard", "HEAD~3"]).ok();
    let text = repo.run(["report"]).ok().stdout;
    assert!(text.contains("which is not on this branch"), "{text}");
}

#[test]
fn the_page_is_one_file_with_charts_and_asks_nobody_for_anything() {
    let repo = night();
    repo.run(["report", "--html", "out/report.html"]).ok().stdout("Written: out/report.html\n");
    let page = repo.read("out/report.html");
    assert_eq!(page.matches("<svg").count(), 2, "attempts and stages");
    assert!(page.contains("<strong>unknown</strong> cost"), "nobody knows what it cost");
    assert!(!page.contains("http") && !page.contains("<script"), "it stands alone");
    repo.run(["report", "--html", "x.html", "--json"]).fails(2);
}

#[test]
fn since_is_refused_by_name_and_an_empty_project_has_a_report_too() {
    let repo = repo(&[task("t-aaaa")]);
    repo.run(["report", "--since", "teatime"]).fails(2).stderr_has("`12h`");
    repo.run(["report", "--since", "2h"]).ok().stdout_has("nothing happened");
    repo.build([]).ok();
    let later = repo.command(["report"]).env("RALPH_NOW", "2025-02-20T10:00:00Z").run().ok();
    assert!(later.stdout.contains("1 task landed"), "the last run, a month ago: {}", later.stdout);
    let day = repo.command(["report", "--since", "24h"]).env("RALPH_NOW", "2025-02-20T10:00:00Z");
    day.run().ok().stdout_has("nothing happened");
}

#[test]
fn a_task_that_a_person_rejected_before_its_first_attempt_is_counted_as_it_ran() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    repo.run(["task", "done", "t-aaa1"]).ok();
    repo.run(["task", "reject", "an edge case is missing"]).ok();
    repo.build([]).ok();
    let report = repo.run(["report"]).ok();
    says(&report, "2 tasks landed in 2 attempts, 2 of 2 tasks at the first try (100 %)");
    assert!(!report.stdout.contains(" tries"), "{}", report.stdout);
}
