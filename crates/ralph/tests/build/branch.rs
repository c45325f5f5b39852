//! `--branch NAME` and `[land] branch`: commits arrive on a branch that is named, and home stays.

use crate::plans::{Format, task};
use crate::repo::{GOOD, Repo, held, repo, rule, says};

/// Where home is: its HEAD, its files and its index.
fn home(repo: &Repo) -> [String; 4] {
    let plan = repo.plan();
    [repo.ask_git(["symbolic-ref", "HEAD"]), repo.head(), repo.status(), plan]
}

fn done_on(repo: &Repo, branch: &str) -> Vec<String> {
    let plan = repo.ask_git(["show", &format!("{branch}:ralph/plan.jsonl")]);
    let tasks = ["t-aaa1", "t-aaa2"].into_iter().filter(|id| Format::Jsonl.says_done(&plan, id));
    tasks.map(str::to_owned).collect()
}

fn subjects(repo: &Repo, range: &str) -> usize {
    repo.ask_git(["log", "--format=%s", range, "--", "work"]).lines().count()
}

#[test]
fn commits_arrive_on_the_branch_that_is_named_and_home_stays_where_it_is() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    repo.write("mine.txt", "not committed\n");
    let before = home(&repo);
    repo.build(["--branch", "work/x", "--once"]).ok();
    assert_eq!((home(&repo), done_on(&repo, "work/x")), (before.clone(), vec!["t-aaa1".into()]));
    repo.build(["--branch", "work/x"]).ok();
    assert_eq!(home(&repo), before);
    assert_eq!(done_on(&repo, "work/x"), ["t-aaa1", "t-aaa2"], "the branch is gone on with");
    assert_eq!(repo.runs(), ["t-aaa1", "t-aaa2"]);
    assert_eq!(subjects(&repo, "main..work/x"), 2);
    assert!(!repo.exists("work"));
    let runs = std::fs::read_dir(repo.git_dir().join("ralph/runs")).unwrap();
    assert_eq!(runs.count(), 0, "everything has arrived");
}

#[test]
fn new_tasks_of_home_are_added_to_the_plan_of_the_branch() {
    let repo = repo(&[task("t-aaa1")]);
    repo.build(["--branch", "work"]).ok();
    let more = repo.plan() + "{\"t\":\"task\",\"id\":\"t-aaa2\",\"name\":\"More\",\"s\":\"p\"}\n";
    repo.write("ralph/plan.jsonl", more);
    repo.commit("more");
    repo.build(["--branch", "work"]).ok();
    assert_eq!(repo.runs(), ["t-aaa1", "t-aaa2"]);
    assert_eq!(done_on(&repo, "work"), ["t-aaa1", "t-aaa2"]);
    assert!(!repo.is_done("t-aaa1") && !repo.is_done("t-aaa2"), "home's plan stays");
}

#[test]
fn commands_beside_the_run_change_its_ledger_and_not_home() {
    let repo = repo(&[task("t-aaa1")]);
    repo.script(&(rule("task = \"t-aaa1\"", &held(GOOD)) + &rule("", GOOD)));
    let before = home(&repo);
    let run = repo.spawn(["build", "--branch", "work"]);
    repo.until_home_has("go.held");
    repo.run(["task", "add", "Another one"]).ok();
    assert_eq!(home(&repo), before);
    repo.allow("go");
    run.wait().ok();
    assert_eq!((home(&repo), subjects(&repo, "main..work")), (before, 2));
}

#[test]
fn a_branch_that_is_checked_out_in_home_gets_its_commits_as_always() {
    let repo = repo(&[task("t-aaa1")]);
    repo.build(["--branch", "main"]).ok();
    assert!(repo.is_done("t-aaa1") && repo.exists("work/t-aaa1.txt"));
    assert_eq!(repo.status(), "");
}

#[test]
fn a_name_that_git_does_not_take_and_a_checkout_that_ralph_owns_are_refused() {
    let repo = repo(&[task("t-aaa1")]);
    let run = repo.build(["--branch", "a..b"]).fails(1);
    says(&run, "git does not take \"a..b\" as the name of a branch");
    repo.set("workspace = \"checkout\"");
    let run = repo.build(["--branch", "work"]).fails(1);
    says(&run, "set workspace = \"lane\"");
    assert!(repo.runs().is_empty());
}

#[test]
fn a_branch_of_its_own_is_named_after_the_spec_and_its_review_is_asked_for_once() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    let ask = r#"pull_request = "echo \"$RALPH_BRANCH on $RALPH_BASE: $RALPH_BODY\" | tee -a \"$HOME/asked\"""#;
    let gates = crate::repo::GATE;
    repo.config(&format!("backend = \"sim\"\n{gates}\n[land]\nbranch = \"spec\"\n{ask}\n"));
    let before = home(&repo);
    let run = repo.build([]).ok();
    assert_eq!(
        (home(&repo), done_on(&repo, "ralph/work")),
        (before, vec!["t-aaa1".into(), "t-aaa2".into()])
    );
    let asked = std::fs::read_to_string(repo.home().join("asked")).unwrap();
    assert_eq!(asked, "ralph/work on main: Tasks completed: t-aaa1, t-aaa2\n");
    says(&run, "PULL REQUEST: ralph/work on main");
}

#[test]
fn commits_that_a_killed_run_left_arrive_on_its_branch() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    repo.script(&(rule("task = \"t-aaa2\"\nattempt = 1", "{ hang = true }") + &rule("", GOOD)));
    let before = home(&repo);
    let run = repo.spawn(["build", "--branch", "work"]);
    crate::repo::until(|| repo.runs() == ["t-aaa1", "t-aaa2"]);
    assert_eq!(run.kill().code, 137);
    repo.build(["--branch", "work"]).ok();
    assert_eq!(
        (home(&repo), done_on(&repo, "work")),
        (before, vec!["t-aaa1".into(), "t-aaa2".into()])
    );
    assert_eq!(subjects(&repo, "main..work"), 2);
}
