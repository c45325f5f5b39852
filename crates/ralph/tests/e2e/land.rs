//! `ralph land`: commits that wait, and what a person decides about them.

use ralph_testkit::{Run, TestProject};
use serde_json::Value;

use crate::stage::{WAITS, build_beside, stage, steps};

/// Each task adds a line to `one.txt` and makes a file of its own.
pub(crate) const BOTH: &str = "{ run = \"echo {task} >> one.txt\" }, { write = \"{task}.txt\", text = \"x\\n\" }, \
     { claim = \"done\" }";

/// A repository whose two commits wait, because `one.txt` is edited in home.
pub(crate) fn waiting() -> TestProject {
    waiting_with("")
}

/// The same with more settings.
pub(crate) fn waiting_with(settings: &str) -> TestProject {
    let p = stage(&steps(BOTH));
    if !settings.is_empty() {
        p.write("ralph.toml", format!("{settings}\n{}", p.read("ralph.toml")));
        p.git(["commit", "-qam", "settings"]).ok();
    }
    p.write("one.txt", "mine\n");
    p.run(["build"]).fails(3);
    p
}

/// The need about commits that wait.
#[track_caller]
pub(crate) fn need(p: &TestProject) -> Option<Value> {
    let status = p.run(["status", "--json"]).ok().json();
    let needs = status["view"]["needs"].as_array().unwrap().clone();
    needs.into_iter().find(|need| need["kind"] == "waiting")
}

/// Undo the edit in home.
pub(crate) fn undo_edit(p: &TestProject) {
    p.git(["restore", "one.txt"]).ok();
}

/// Subjects of the commits on a branch that are not on another one, oldest first.
fn subjects(p: &TestProject, range: &str) -> Vec<String> {
    let log = p.git(["log", "--reverse", "--format=%s", range]).ok().stdout;
    log.lines().map(|subject| subject.chars().take(8).collect()).collect()
}

/// The statuses of both tasks, in words of `ralph query`.
fn statuses(p: &TestProject) -> String {
    let tally = &p.run(["status", "--json"]).ok().json()["tally"];
    format!("{} pending, {} accepted", tally["pending"], tally["accepted"])
}

fn refs(p: &TestProject) -> String {
    p.git(["for-each-ref", "--format=%(refname)", "refs/ralph/"]).ok().stdout
}

/// What `git status` says about home.
fn dirty(p: &TestProject) -> String {
    p.git(["status", "--porcelain", "-uall"]).ok().stdout
}

#[test]
fn commits_that_touch_an_edited_file_wait_and_land_brings_them() {
    let p = stage(&steps(BOTH));
    p.write("one.txt", "mine\n");
    let head = p.git(["rev-parse", "HEAD"]).ok().stdout;
    let build = p.run(["build"]).fails(3);
    let said = format!("{}{}", build.stdout, build.stderr);
    assert!(said.contains("commits wait: they touch one.txt, which you are editing"), "{said}");
    assert!(said.contains("`ralph land` brings them when you are ready"), "{said}");
    p.run(["status"]).ok().stdout_has("which you are editing (`ralph land` brings them");
    p.run(["report"]).ok().stdout_has("which you are editing").stdout_has("`ralph land`");
    assert_eq!(statuses(&p), "0 pending, 2 accepted", "the run's ledger is the ledger");
    p.run(["land"]).fails(3).stdout_has("wait: they touch one.txt").stdout_has("`ralph land`");
    let json = p.run(["land", "--json"]).fails(3).json();
    assert_eq!(json["waits"]["why"]["reason"], "edited");
    assert_eq!(p.read("one.txt"), "mine\n");
    assert_eq!(p.git(["rev-parse", "HEAD"]).ok().stdout, head);
    undo_edit(&p);
    p.run(["land"]).ok().stdout_has(" commits arrived on main.\n");
    assert_eq!(p.read("one.txt"), "one\nt-aaaa\nt-bbbb\n");
    assert_eq!((dirty(&p), need(&p)), (String::new(), None));
    assert_eq!((statuses(&p), refs(&p)), ("0 pending, 2 accepted".into(), String::new()));
    p.run(["land"]).ok().stdout("No commits wait.\n");
    p.run(["build"]).ok();
}

#[test]
fn while_a_run_is_open_its_waiting_commits_are_a_need_and_land_is_refused() {
    let p = stage(
        &[
            "[[rule]]\ntask = \"t-aaaa\"\nsteps = [".to_owned() + BOTH + "]\n",
            format!("[[rule]]\nsteps = [{WAITS} {BOTH}]\n"),
        ]
        .concat(),
    );
    p.write("one.txt", "mine\n");
    p.run(["build", "--once"]).fails(3);
    let person = || {
        let need = need(&p).unwrap();
        assert_eq!(need["command"], "ralph land");
        let text = need["text"].as_str().unwrap();
        assert!(text.ends_with("which you are editing"), "{text}");
        p.run(["land"]).fails(1).stderr_has("already running").stderr_has("`ralph stop`");
    };
    build_beside(&p, person).fails(3);
}

#[test]
fn the_new_lines_of_a_persons_plan_are_committed_and_arrive() {
    let p = waiting();
    let plan = p.read("ralph/plan.jsonl");
    p.write(
        "ralph/plan.jsonl",
        format!("{plan}{{\"t\":\"task\",\"id\":\"t-cccc\",\"name\":\"Third\",\"s\":\"p\"}}\n"),
    );
    undo_edit(&p);
    p.run(["land"]).ok().stdout_has("arrived on main.");
    assert_eq!((statuses(&p), dirty(&p)), ("1 pending, 2 accepted".into(), String::new()));
    assert!(p.git(["show", "HEAD:ralph/plan.jsonl"]).ok().stdout.contains("t-cccc"));
}

#[test]
fn waiting_commits_go_to_a_new_branch_and_the_tasks_are_pending_here() {
    let p = waiting();
    p.run(["task", "add", "Third"]).ok();
    p.run(["land", "--branch", "from-ralph"]).ok().stdout_has("put on the new branch from-ralph.");
    let work = subjects(&p, "main..from-ralph");
    assert_eq!(&work[..2], ["ralph[1]", "ralph[2]"], "{work:?}");
    assert_eq!(statuses(&p), "3 pending, 0 accepted");
    assert_eq!((p.read("one.txt"), need(&p)), ("mine\n".into(), None));
    assert_eq!(dirty(&p), " M one.txt\n");
    p.git(["stash", "-q"]).ok();
    p.git(["switch", "-q", "from-ralph"]).ok();
    assert_eq!(statuses(&p), "1 pending, 2 accepted");
    p.run(["land", "--branch", "main"]).ok().stdout("No commits wait.\n");
}

#[test]
fn commits_that_wait_for_two_branches_are_both_told_and_both_come() {
    let p = waiting();
    p.git(["switch", "-q", "-c", "other"]).ok();
    p.run(["build"]).fails(3);
    let status = p.run(["status"]).ok().stdout;
    assert!(status.contains("git switch main && ralph land"), "{status}");
    undo_edit(&p);
    p.run(["land"]).ok().stdout_has("2 commits arrived on other.");
    p.git(["switch", "-q", "main"]).ok();
    p.run(["land"]).ok().stdout_has("2 commits arrived on main.");
    assert_eq!((need(&p), refs(&p), dirty(&p)), (None, String::new(), String::new()));
    assert_eq!(p.read("one.txt"), "one\nt-aaaa\nt-bbbb\n");
}

#[test]
fn a_branch_that_exists_is_refused_and_nothing_changes() {
    let p = waiting();
    p.git(["branch", "taken"]).ok();
    p.run(["land", "--branch", "taken"]).fails(1).stderr_has("already exists");
    assert!(need(&p).is_some());
    assert!(subjects(&p, "main..taken").is_empty());
}

#[test]
fn waiting_commits_come_as_uncommitted_changes() {
    let p = waiting();
    p.run(["land", "--no-commit"]).fails(3).stdout_has("they touch one.txt");
    assert_eq!(p.read("one.txt"), "mine\n");
    undo_edit(&p);
    p.git(["add", "."]).ok();
    let head = p.git(["rev-parse", "HEAD"]).ok().stdout;
    p.run(["land", "--no-commit"]).ok().stdout_has("brought as uncommitted changes.");
    assert_eq!(p.git(["rev-parse", "HEAD"]).ok().stdout, head);
    let status = dirty(&p);
    for line in [" M one.txt", " M ralph/plan.jsonl", "?? t-aaaa.txt", "?? t-bbbb.txt"] {
        assert!(status.contains(line), "{line}: {status}");
    }
    assert_eq!((statuses(&p), need(&p)), ("0 pending, 2 accepted".into(), None));
    p.git(["add", "-A"]).ok();
    p.git(["commit", "-qm", "all of it"]).ok();
    p.run(["build"]).ok();
    assert_eq!(statuses(&p), "0 pending, 2 accepted");
}

#[test]
fn without_auto_commit_work_that_you_commit_by_hand_does_not_wait_again() {
    let p = waiting_with("auto_commit = false");
    undo_edit(&p);
    p.run(["land", "--no-commit"]).ok();
    p.git(["add", "-A"]).ok();
    p.git(["commit", "-qm", "by hand"]).ok();
    p.run(["build"]).ok();
    assert_eq!((need(&p), refs(&p)), (None, String::new()));
}

#[test]
fn a_detached_head_shows_the_tasks_of_the_run_whose_commits_wait() {
    let p = waiting();
    p.run(["task", "add", "Third"]).ok();
    p.git(["switch", "-q", "--detach"]).ok();
    p.run(["build"]).fails(1);
    assert_eq!(statuses(&p), "1 pending, 2 accepted");
    p.run(["task", "list"]).ok().stdout_has("Third");
}

#[test]
fn discarded_commits_are_kept_by_a_ref_and_their_tasks_are_pending_again() {
    let p = waiting();
    p.run(["task", "add", "Third"]).ok();
    p.run(["task", "block", "t-bbbb", "later"]).fails(1);
    let run = p.run(["land", "--discard"]).ok().stdout_has("given up; refs/ralph/");
    let run = run.stdout_lacks("arrived");
    p.run(["report"]).ok().stdout_lacks("t-aaaa");
    let name = run.stdout.split_whitespace().find(|word| word.starts_with("refs/ralph/")).unwrap();
    assert_eq!(&subjects(&p, &format!("main..{name}"))[..1], ["ralph[1]"]);
    assert_eq!(statuses(&p), "3 pending, 0 accepted", "a task of a person stays");
    assert_eq!((p.read("one.txt"), need(&p)), ("mine\n".into(), None));
    undo_edit(&p);
    p.run(["build"]).ok();
    assert_eq!(statuses(&p), "0 pending, 3 accepted");
}

#[test]
fn failures_of_other_tasks_stay_when_commits_are_discarded() {
    let p = stage(
        &[
            "[[rule]]\ntask = \"t-aaaa\"\nsteps = [".to_owned() + BOTH + "]\n",
            "[[rule]]\nsteps = [{ write = \"bad.txt\", text = \"x\" }, { claim = \"done\" }]\n"
                .into(),
        ]
        .concat(),
    );
    p.write("one.txt", "mine\n");
    p.run(["build"]).fails(3);
    let failed = |p: &TestProject| p.run(["status", "--json"]).ok().json()["tally"].to_string();
    let before = failed(&p);
    p.run(["land", "--discard"]).ok();
    let after = failed(&p);
    assert_ne!(before, after);
    p.run(["status"]).ok().stdout_has("t-bbbb failed").stdout_has("1 pending");
}

#[test]
fn land_has_one_way_at_a_time() {
    let p = stage("");
    let run: Run = p.run(["land", "--discard", "--no-commit"]);
    run.fails(2).stderr_has("cannot be used with");
    p.run(["land"]).ok().stdout("No commits wait.\n");
    let json = p.run(["land", "--json"]).ok().json();
    assert_eq!((&json["arrived"], &json["waits"]), (&0.into(), &Value::Null));
}

#[test]
fn what_is_done_of_a_spec_lands_as_one_commit() {
    let p = stage(&steps(BOTH));
    p.write("ralph.toml", format!("commit = \"spec\"\n{}", p.read("ralph.toml")));
    p.git(["commit", "-qam", "settings"]).ok();
    p.run(["land", "--spec", "all"]).fails(1).stderr_has("no work on all waits");
    p.run(["build", "--once"]);
    assert!(refs(&p).contains("refs/ralph/spec-all/spec"), "{}", refs(&p));
    assert!(!p.exists("t-aaaa.txt"), "the spec is not complete");
    p.run(["land", "--spec", "other"]).fails(1).stderr_has("there is work on: all");
    p.run(["land", "--spec", "all"]).ok().stdout_has("1 commit arrived on main.");
    assert_eq!(p.read("one.txt"), "one\nt-aaaa\n");
    assert_eq!(subjects(&p, "HEAD~1..HEAD"), ["ralph: a"]);
    assert_eq!((refs(&p), dirty(&p)), (String::new(), String::new()));
    assert_eq!(statuses(&p), "1 pending, 1 accepted");
}

#[test]
fn a_commit_gives_no_status_to_the_work_of_a_spec_that_is_open() {
    let p = stage(&steps("{ write = \"{task}.txt\", text = \"x\\n\" }, { claim = \"done\" }"));
    p.write("ralph.toml", format!("commit = \"spec\"\n{}", p.read("ralph.toml")));
    let task = |id: &str, spec: &str, after: &str| {
        format!(
            "{{\"t\":\"task\",\"id\":\"{id}\",\"name\":\"{id}\",\"s\":\"p\",\"spec\":\"{spec}\"{after}}}\n"
        )
    };
    let first = task("t-aaaa", "a.md", "");
    let second = task("t-bbbb", "b.md", ",\"deps\":[\"t-aaaa\"]");
    let third = task("t-cccc", "a.md", ",\"deps\":[\"t-bbbb\"]");
    p.write("ralph/plan.jsonl", format!("{first}{second}{third}"));
    p.git(["commit", "-qam", "two specs"]).ok();
    p.run(["build", "--max-iterations", "2"]).fails(4);
    assert!(refs(&p).contains("refs/ralph/spec-a-md/spec"), "{}", refs(&p));
    // b.md is on the branch, and of a.md nothing, neither code nor status.
    assert!(p.exists("t-bbbb.txt") && !p.exists("t-aaaa.txt"));
    p.shell("git clone -q . $HOME/clone").ok();
    let tasks = p.shell("cd $HOME/clone && $BIN task list --json").ok().json();
    let of = |id: &str| {
        let all = tasks["tasks"].as_array().or(tasks.as_array()).unwrap();
        all.iter().find(|task| task["id"] == id).map(|task| task["state"].clone())
    };
    assert_eq!(of("t-aaaa"), Some("pending".into()), "{tasks}");
    assert_ne!(of("t-bbbb"), Some("pending".into()), "{tasks}");
    assert_eq!(dirty(&p), "");
    // Here it is known, and nothing is done again.
    assert_eq!(statuses(&p), "1 pending, 2 accepted");
    p.run(["build"]).ok();
    assert!(p.exists("t-aaaa.txt") && p.exists("t-cccc.txt"));
    assert_eq!(
        (statuses(&p), refs(&p), dirty(&p)),
        ("0 pending, 3 accepted".into(), String::new(), String::new())
    );
}

/// Kill `ralph land` at every `stride`-th point at which something changes, and run it again.
fn killed_everywhere(
    args: &[&str],
    stride: usize,
    prepare: impl Fn(&TestProject),
    proof: impl Fn(&TestProject),
) {
    for point in (1..).step_by(stride) {
        let p = waiting();
        prepare(&p);
        let run = p
            .command(["land"].iter().chain(args))
            .env("RALPH_CRASH_POINT", point.to_string())
            .run();
        if run.code == 0 {
            assert!(point > 3, "no point was reached");
            return;
        }
        assert_eq!(run.code, 137, "{}", run.stderr);
        let again = p.run(["land"].iter().chain(args));
        assert_eq!(again.code, 0, "killed at point {point}: {}{}", again.stdout, again.stderr);
        proof(&p);
        assert!(!p.exists(".git/index.lock"), "killed at point {point}");
    }
}

#[test]
fn a_land_that_is_killed_anywhere_is_done_again() {
    let add_task = |p: &TestProject| {
        undo_edit(p);
        let plan = p.read("ralph/plan.jsonl");
        let task = "{\"t\":\"task\",\"id\":\"t-cccc\",\"name\":\"Third\",\"s\":\"p\"}\n";
        p.write("ralph/plan.jsonl", format!("{plan}{task}"));
    };
    killed_everywhere(&[], 1, add_task, |p| {
        assert_eq!(p.read("one.txt"), "one\nt-aaaa\nt-bbbb\n");
        assert_eq!((statuses(p), dirty(p)), ("1 pending, 2 accepted".into(), String::new()));
        assert_eq!((need(p), refs(p)), (None, String::new()));
        let landed = subjects(p, "main").iter().filter(|one| one.starts_with("ralph[")).count();
        assert_eq!(landed, 2, "nothing lands twice");
    });
}

#[test]
fn a_discard_that_is_killed_anywhere_leaves_no_task_done_without_its_work() {
    killed_everywhere(
        &["--discard"],
        4,
        |_| {},
        |p| {
            assert_eq!((statuses(p), need(p)), ("2 pending, 0 accepted".into(), None));
            assert_eq!(p.read("one.txt"), "mine\n");
        },
    );
}

#[test]
fn a_landing_on_a_new_branch_that_is_killed_anywhere_is_done_again() {
    killed_everywhere(&["--branch", "from-ralph"], 3, undo_edit, |p| {
        assert_eq!((statuses(p), need(p)), ("2 pending, 0 accepted".into(), None));
        assert_eq!(&subjects(p, "main..from-ralph")[..2], ["ralph[1]", "ralph[2]"]);
        assert_eq!(p.read("one.txt"), "one\n");
    });
}

#[test]
fn work_that_is_brought_uncommitted_survives_a_kill() {
    killed_everywhere(&["--no-commit"], 4, undo_edit, |p| {
        assert_eq!(statuses(p), "0 pending, 2 accepted");
        assert_eq!(p.read("one.txt"), "one\nt-aaaa\nt-bbbb\n");
        assert_eq!(need(p), None);
    });
}
