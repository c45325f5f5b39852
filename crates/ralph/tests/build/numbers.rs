//! Iterations and handoffs are numbered once and for ever, and every view tells the same story.

use crate::plans::{Format, task};
use crate::repo::{BROKEN, GOOD, repo, repo_with, rule};

fn iterations(repo: &crate::repo::Repo) -> Vec<u64> {
    let starts = repo.events("iteration_start");
    starts.iter().map(|e| e["metadata"]["iteration"].as_u64().unwrap()).collect()
}

#[test]
fn iteration_numbers_go_on_across_runs_with_and_without_resume() {
    let repo = repo(&["t-aaa1", "t-aaa2", "t-aaa3", "t-aaa4"].map(task));
    repo.build(["--once"]).ok();
    repo.build(["--once"]).ok();
    repo.build(["--once", "--resume"]).ok();
    repo.build([]).ok();
    assert_eq!(iterations(&repo), [1, 2, 3, 4]);
    assert!(repo.subjects()[4].starts_with("ralph[4]: t-aaa4 — "), "{:?}", repo.subjects());
    assert_eq!(repo.state()["current_iteration"], 4);
}

#[test]
fn handoff_numbers_are_never_used_twice() {
    let repo = repo_with(Format::Deluxe, &["T-001", "T-002", "T-003"].map(task));
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    for _ in 0..6 {
        let before: Vec<_> = repo
            .handoffs()
            .into_iter()
            .map(|name| (repo.read(format!(".ralph/handoffs/{name}")), name))
            .collect();
        repo.build(["--once"]);
        for (text, name) in before {
            assert_eq!(
                repo.read(format!(".ralph/handoffs/{name}")),
                text,
                "{name} was overwritten"
            );
        }
    }
    let handoffs = repo.handoffs();
    assert!(handoffs.len() >= 3, "{handoffs:?}");
    assert!(handoffs.iter().all(|name| name.starts_with("handoff-") && name.ends_with(".json")));
}

#[test]
fn numbers_go_on_when_the_views_are_cleaned_away() {
    let repo = repo(&["t-aaa1", "t-aaa2"].map(task));
    repo.build(["--once"]).ok();
    repo.git(["clean", "-fdxq"]).ok();
    repo.build(["--once"]).ok();
    assert!(
        repo.subjects().iter().any(|s| s.starts_with("ralph[2]: t-aaa2")),
        "{:?}",
        repo.subjects()
    );
}

#[test]
fn resume_counts_the_iterations_of_the_run_before_towards_the_limit() {
    let repo = repo(&["t-aaa1", "t-aaa2", "t-aaa3", "t-aaa4"].map(task));
    repo.build(["--max-iterations", "1"]).fails(4);
    repo.build(["--max-iterations", "2", "--resume"]).fails(4);
    assert_eq!(repo.runs().len(), 2, "one more, since one was used");
    repo.build(["--max-iterations", "2"]).ok();
    assert_eq!(repo.runs().len(), 4, "a new start has a new count");
}

#[test]
fn the_state_file_has_its_eight_fields() {
    let repo = repo(&[task("t-aaa1")]);
    repo.build([]).ok();
    let state = repo.state();
    for (field, value) in [
        ("current_iteration", 1.into()),
        ("last_task_id", "t-aaa1".into()),
        ("status", "complete".into()),
        ("mode", "handoff-only".into()),
        ("started_at", ralph_testkit::NOW.into()),
    ] as [(&str, serde_json::Value); 5]
    {
        assert_eq!(state[field], value, "{field} in {state}");
    }
    for field in [
        "total_handoff_bytes_since_compaction",
        "coding_iterations_since_compaction",
        "last_compaction_iteration",
    ] {
        assert!(state[field].is_u64(), "{field} in {state}");
    }
}

#[test]
fn every_attempt_can_be_looked_at_afterwards() {
    let repo = repo(&[task("t-aaa1")]);
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    repo.build([]).ok();
    let list = repo.run(["attempts"]).ok();
    assert_eq!(list.stdout.matches("t-aaa1").count(), 2, "{}", list.stdout);
    repo.run(["show", "last"]).ok().stdout_has("t-aaa1");
    repo.run(["show", "1", "--diff"]).ok().stdout_has("BROKEN");
}

#[test]
fn what_a_rollback_removed_is_kept_listed_and_can_be_brought_back() {
    let repo = repo(&[task("t-aaa1")]);
    repo.script(&rule("", BROKEN));
    repo.build(["--once"]).fails(3);
    assert!(!repo.exists("work/t-aaa1.txt"));
    let refs = repo.ask_git(["for-each-ref", "--format=%(refname)", "refs/ralph"]);
    assert!(refs.contains("/salvage/"), "{refs}");
    repo.run(["salvage", "list"]).ok().stdout_has("t-aaa1");
    repo.run(["salvage", "restore", "1"]).ok();
    assert_eq!(repo.read("work/t-aaa1.txt"), "BROKEN\n");
}
