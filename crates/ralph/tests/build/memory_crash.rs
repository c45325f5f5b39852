//! Ralph is killed with SIGKILL at points all over a run that asks other agents too, and started again:
//! the work, the index and the log end as if nothing had happened.
//!
//! Every run takes each `STEP`-th point; `RALPH_EVERY_POINT=1` takes all of them.

use serde_json::json;

use crate::memory::{
    INDEXER, JSON, MARKDOWN, NEW_JSON, NEW_MD, OLD_JSON, OLD_MD, PUT_AWAY, QUIET, REVIEW,
    directive, in_mode, index_of, prepares, role, write,
};
use crate::plans::{Format, task, value};
use crate::repo::{BROKEN, GOOD, Repo, rule, said};

const STEP: usize = 9;

const PASS: &str = "[[passes]]\nname = \"review\"\nprompt_template = \"review-agent-prompt.md\"\nread_only = false\n";

/// Agents that do their work and more than they may; one attempt fails.
fn busy(mode: &str) -> Repo {
    let tables = format!("{QUIET}compaction_interval = 1\n{PASS}");
    let repo = in_mode(mode, Format::Deluxe, &[task("T-001"), task("T-002")], &tables);
    repo.knows(OLD_MD, OLD_JSON);
    let stray = write("src/stray.c", "int stray;\n");
    let index = format!("{stray}, {}", index_of(NEW_MD, NEW_JSON));
    let away = format!(
        "{stray}, {}, {}, {}",
        write(MARKDOWN, NEW_MD),
        write(JSON, NEW_JSON),
        directive("proceed")
    );
    let review = format!("{stray}, {{ answer = {{ verdict = \"approve\", summary = \"x\" }} }}");
    repo.script(
        &(role(INDEXER, "", &index)
            + &prepares()
            + &role(PUT_AWAY, "", &away)
            + &role(REVIEW, "", &review)
            + &rule("task = \"T-001\"\nattempt = 1", BROKEN)
            + &rule("", GOOD)),
    );
    repo
}

#[track_caller]
fn is_as_if_nothing_had_happened(repo: &Repo, what: &str) {
    let mut landed = repo.landed();
    landed.sort();
    assert_eq!(landed, ["T-001", "T-002"], "{what}");
    assert!(!repo.exists("src/stray.c"), "{what}");
    assert_eq!(repo.status(), "", "{what}");
    assert_eq!(repo.state()["status"], "complete", "{what}");
    let log = value(&repo.read(".ralph/progress-log.json"));
    let entries = log["entries"].as_array().unwrap();
    let tasks: Vec<_> = entries.iter().map(|entry| entry["task_id"].clone()).collect();
    assert_eq!(tasks, [json!("T-001"), json!("T-002")], "{what}: {log:#}");
}

/// A backend that writes what it may not, in its lane and into the user's ledger, in a run that asks nobody else; one attempt fails.
fn meddling() -> Repo {
    let repo = in_mode("handoff-only", Format::Deluxe, &[task("T-001"), task("T-002")], QUIET);
    repo.knows(OLD_MD, OLD_JSON);
    let edits = [MARKDOWN, JSON, ".ralph/progress-log.json", ".ralph/handoffs/handoff-001.json"];
    let in_lane = edits.map(|file| write(file, "MINE\n")).join(", ");
    let users = [MARKDOWN, JSON, ".ralph/progress-log.json"];
    let users =
        users.map(|file| write(&repo.path(file).display().to_string(), "MINE\n")).join(", ");
    let edits = format!("{in_lane}, {users}");
    repo.script(
        &(rule("task = \"T-001\"\nattempt = 1", &format!("{edits}, {BROKEN}"))
            + &rule("", &format!("{edits}, {GOOD}"))),
    );
    repo
}

fn survives(mode: &str) {
    killed_all_over(mode, STEP, || busy(mode), |_| {}, |repo| repo.index_is(NEW_MD, NEW_JSON));
}

fn killed_all_over(
    mode: &str,
    step: usize,
    new: impl Fn() -> Repo,
    mut killed: impl FnMut(&Repo),
    index_is_right: impl Fn(&Repo),
) {
    let step = if std::env::var_os("RALPH_EVERY_POINT").is_some() { 1 } else { step };
    let mut kills = 0;
    for point in (1..).step_by(step) {
        let repo = new();
        let what = format!("{mode}, killed at point {point}");
        let run = repo.command(["build"]).env("RALPH_CRASH_POINT", point.to_string()).run();
        let was_killed = run.code == 137;
        if was_killed {
            kills += 1;
            killed(&repo);
            let again = repo.build([]);
            assert_eq!(again.code, 0, "{what}: {}", said(&again));
        } else {
            assert_eq!(run.code, 0, "{what}: {}", said(&run));
        }
        is_as_if_nothing_had_happened(&repo, &what);
        index_is_right(&repo);
        if !was_killed {
            break;
        }
    }
    println!("{kills} kills, {mode}");
    assert!(kills * step >= 40, "only {kills} kills: the points are gone");
}

#[test]
fn killed_anywhere_beside_a_backend_that_meddles_with_the_ledger_nothing_of_it_stays() {
    let mut left = 0;
    let looks = |repo: &Repo| left += usize::from(repo.read(MARKDOWN).contains("MINE"));
    killed_all_over("handoff-only", 3, meddling, looks, |repo| {
        repo.index_is(OLD_MD, OLD_JSON);
        for handoff in repo.handoffs() {
            let text = repo.read(format!(".ralph/handoffs/{handoff}"));
            assert!(!text.contains("MINE"), "{handoff}");
        }
    });
    assert!(left > 0, "no kill came before the edits were undone");
}

#[test]
fn killed_anywhere_in_a_run_with_an_indexer_nothing_is_lost() {
    survives("handoff-plus-index");
}

#[test]
fn killed_anywhere_in_a_run_with_a_context_agent_nothing_is_lost() {
    survives("agent-orchestrated");
}
