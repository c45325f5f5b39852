//! Limits: usage limits are waited for and not counted, money and iterations end a run.

use crate::plans::{records, task};
use crate::repo::{BROKEN, GOOD, Repo, repo, rule, says, until};

fn limited(resets_in: &str) -> Repo {
    let repo = repo(&[task("t-aaa1")]);
    let limit = format!(
        r#"{{ write = "src/x.c", text = "x\n" }}, {{ fail = "rate_limit", resets_in = "{resets_in}", message = "You have hit your limit." }}"#
    );
    repo.script(&(rule("attempt = 1", &limit) + &rule("", GOOD)));
    repo
}

/// The project with the real time, for waits.
fn with_time(repo: Repo) -> Repo {
    Repo { project: repo.project.real_time(), ..repo }
}

#[test]
fn a_usage_limit_is_waited_for_and_the_attempt_is_not_counted() {
    let repo = with_time(limited("2s"));
    let run = repo.build(["--max-iterations", "1"]).ok();
    says(&run, "You have hit your limit.");
    assert_eq!(repo.runs().len(), 2);
    assert_eq!(repo.landed(), ["t-aaa1"]);
    assert!(!repo.exists("src/x.c"));
    assert_eq!(repo.state()["current_iteration"], 1, "the same iteration, again");
    assert!(!repo.prompt_of_last().contains("## Failure Context"));
}

impl Repo {
    fn prompt_of_last(&self) -> String {
        let dir = self.path("build/ralph-logs");
        let mut files: Vec<_> = std::fs::read_dir(dir)
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| p.to_string_lossy().ends_with(".prompt.md"))
            .collect();
        files.sort();
        self.read(files.last().unwrap())
    }
}

#[test]
fn with_no_wait_a_usage_limit_exits_4_with_the_tree_as_it_was() {
    let repo = limited("1h");
    let run = repo.build(["--no-wait"]).fails(4);
    says(&run, "You have hit your limit.");
    says(&run, "2025-01-20T11:30:00Z");
    assert_eq!(repo.state()["status"], "paused");
    assert!(!repo.exists("src/x.c"));
    assert!(records(&repo.plan()).iter().all(|r| r["t"] != "reject"), "nothing is counted");
}

#[test]
fn a_wait_survives_a_restart() {
    let repo = with_time(limited("1h"));
    let run = repo.spawn(["build"]);
    let waiting = || {
        repo.git_dir().join("ralph/journal.jsonl").exists()
            && repo.journal().iter().any(|r| r["record"] == "waiting")
    };
    until(waiting);
    run.kill();
    // The backend is not asked again before the time has come.
    let run = repo.build(["--no-wait"]).fails(4);
    says(&run, "usage limit");
    assert_eq!(repo.runs().len(), 1);
}

#[test]
fn a_signal_ends_a_wait() {
    let repo = with_time(limited("1h"));
    let run = repo.spawn(["build"]);
    let waiting = || {
        repo.git_dir().join("ralph/journal.jsonl").exists()
            && repo.journal().iter().any(|r| r["record"] == "waiting")
    };
    until(waiting);
    repo.shell(&format!("kill -INT {}", run.pid())).ok();
    run.wait().fails(130);
}

#[test]
fn money_is_counted_over_attempts_and_ends_the_run() {
    let repo = repo(&["t-aaa1", "t-aaa2", "t-aaa3"].map(task));
    repo.script(&rule("", &format!("{{ cost = 0.4 }}, {GOOD}")));
    let run = repo.build(["--max-cost", "0.7"]).fails(4);
    assert_eq!(repo.runs().len(), 2);
    says(&run, "max cost");
    says(&run, "Tasks remaining: 2");
}

#[test]
fn resume_counts_the_cost_of_the_run_before_towards_the_limit() {
    let repo = repo(&["t-aaa1", "t-aaa2", "t-aaa3"].map(task));
    repo.script(&rule("", &format!("{{ cost = 0.4 }}, {GOOD}")));
    repo.build(["--max-cost", "0.7", "--once"]).ok();
    repo.build(["--max-cost", "0.7", "--resume"]).fails(4);
    assert_eq!(repo.runs().len(), 2, "what the first run spent counts");
    assert_eq!(repo.landed(), ["t-aaa1"]);
    repo.build(["--max-cost", "0.7", "--once"]).ok();
    assert_eq!(repo.landed().len(), 2, "a new start has a new budget");
}

#[test]
fn money_is_counted_while_a_backend_runs() {
    let repo = repo(&[task("t-aaa1")]);
    repo.script(&rule("", r#"{ cost = 5.0 }, { hang = true }"#));
    repo.build(["--max-cost", "1"]).fails(4);
    crate::processes::none_is_left(repo.home());
}

#[test]
fn a_task_of_a_failed_run_is_counted_towards_max_iterations() {
    let repo = repo(&["t-aaa1", "t-aaa2"].map(task));
    repo.script(&(rule("task = \"t-aaa1\"\nattempt = 1", BROKEN) + &rule("", GOOD)));
    let run = repo.build(["--max-iterations", "2"]).fails(4);
    says(&run, "Stopped: max iterations (2) reached. Tasks remaining: 1");
}

#[test]
fn a_backend_whose_cost_is_unknown_does_not_run_under_a_limit_unless_allowed() {
    let repo = repo(&[task("t-aaa1")]);
    repo.write(
        "bot.sh",
        "cat > /dev/null\nmkdir -p work\necho x > work/x.txt\necho '<TASK_DONE>'\n",
    );
    repo.config(&format!("backend = \"bot\"\n{}\n[backends.bot]\nkind = \"command\"\ncommand = [\"sh\", \"bot.sh\"]\n", crate::repo::GATE));
    let run = repo.build(["--max-cost", "1"]);
    assert!([1, 4].contains(&run.code), "{}", crate::repo::said(&run));
    says(&run, "cost");
    assert!(!repo.is_done("t-aaa1"));
    repo.build(["--max-cost", "1", "--allow-unknown-cost"]).ok();
}
