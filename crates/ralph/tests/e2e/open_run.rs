//! Commands while a run is open: they read and write the run's copy of the ledger, and home stays.

use std::path::PathBuf;

use ralph_host::project::Project;
use ralph_host::run_ledger::{LedgerStart, OpenRun, RunLedger, RunWorkspace};
use ralph_testkit::{TestProject, project};

const PLAN: &str = "{\n  \"tasks\": [\n    {\"id\": \"a1\", \"title\": \"Read\", \"status\": \"pending\"}\n  ]\n}\n";

/// A project with an open run on its branch, and the path of the run's plan.
fn with_open_run() -> (TestProject, PathBuf) {
    let p = project!().git_init().file("plan.json", PLAN);
    let head = p.read(".git/HEAD");
    let branch = head.trim().strip_prefix("ref: refs/heads/").unwrap().to_owned();
    let run = OpenRun {
        run: "r1".to_owned(),
        branch: Some(branch.clone()),
        home_branch: Some(branch),
        plan: "plan.json".to_owned(),
        folder: String::new(),
        ignored: Vec::new(),
        workspace: RunWorkspace::Lane,
    };
    let project = Project::discover(p.root()).unwrap();
    let ledger = RunLedger::open(&project, run, LedgerStart::Home).unwrap();
    let copy = ledger.copy_path("plan.json");
    (p, copy)
}

#[test]
fn commands_use_the_copy_of_the_open_run_and_show_the_path_in_the_project() {
    let (p, copy) = with_open_run();
    p.run(["task", "add", "Write"]).ok();
    p.run(["task", "add", "Print", "--plan", "plan.json"]).ok();
    p.run(["task", "block", "a1", "no key"]).ok();
    assert_eq!(p.read("plan.json"), PLAN, "home changes only with an arrival");
    let text = std::fs::read_to_string(&copy).unwrap();
    for word in ["Write", "Print", "no key"] {
        assert!(text.contains(word), "{text}");
    }
    // No git is needed to find the copy.
    let status = p.command(["status"]).env("PATH", "").run().ok();
    status.stdout_has("Plan:   plan.json\n").stdout_has("2 pending").stdout_has("1 blocked");
    p.run(["validate", "--plan", "plan.json"]).ok();
    p.run(["status", "--plan", "plan.json", "--json"]).ok().stdout_lacks("runs/r1");
}

#[test]
fn on_another_branch_commands_use_homes_files() {
    let (p, copy) = with_open_run();
    p.write(".git/HEAD", "ref: refs/heads/other\n");
    p.run(["task", "add", "Write"]).ok();
    assert!(p.read("plan.json").contains("Write"));
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), PLAN);
}

#[test]
fn the_old_values_of_commit_ledger_are_refused_with_the_new_words() {
    let p = project!().git_init().file("ralph.toml", "commit_ledger = false\n");
    p.run(["config", "show"]).fails(1).stderr_has("with-task").stderr_has("at-end");
}
