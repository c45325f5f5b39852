//! The session file, and going on from where an agent was stopped or killed.

use serde_json::{Value, json};

use crate::lab::{GOOD, Lab, ONE_TASK, PLAN, TWO_TASKS, VERIFY, coder, lab, planned, rule, touch};
use crate::repo::{says, until};

#[test]
fn a_signal_keeps_the_session_file_and_the_next_start_takes_its_spec_first() {
    let lab = lab(&["a.md", "b.md"]);
    lab.write_spec("0.md");
    lab.commit("0");
    let hang = format!("{}, {{ hang = true }}", touch("began"));
    lab.agents(
        &(rule(&[PLAN], "", TWO_TASKS)
            + &coder("when = [\"Write two\", \"a.md\"]\nattempt = 1", &hang)),
    );
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    lab.signal_twice("INT", &agent);
    agent.wait().fails(130);
    let session = lab.session();
    assert_eq!(session["current_spec_id"], lab.entry("a.md")["id"]);
    // Somebody edits the queue so that another spec comes first.
    lab.run(["inbox", "add", "0.md"]).ok();
    let text = lab.read("ralph/inbox.jsonl");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.rotate_right(1);
    lab.write("ralph/inbox.jsonl", lines.join("\n") + "\n");
    let asked = lab.asked("plan");
    lab.agent(["--max-specs", "1"]).fails(4);
    assert_eq!(lab.statuses(), ["0.md pending", "a.md done", "b.md pending"]);
    assert_eq!(lab.asked("plan"), asked, "the plan is continued");
    let work = lab.ask_git(["show", "--format=", "--name-only", "HEAD", "--", "work"]);
    assert_eq!(work.lines().count(), 2, "the uncommitted half is in the commit: {work}");
}

#[test]
fn the_session_file_has_the_fields_of_the_seed() {
    let lab = lab(&["a.md"]);
    let hang = format!("{}, {{ hang = true }}", touch("began"));
    lab.agents(&coder("attempt = 1", &hang));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    agent.kill();
    let session = lab.session();
    type Fits = fn(&Value) -> bool;
    let kinds: [(&str, Fits); 5] = [
        ("started_at", Value::is_string),
        ("specs_completed", Value::is_u64),
        ("specs_failed", Value::is_u64),
        ("total_cost", Value::is_number),
        ("current_spec_id", Value::is_string),
    ];
    for (field, is) in kinds {
        assert!(is(&session[field]), "{field}: {session}");
    }
}

#[test]
fn an_active_spec_without_a_session_file_is_taken_up_again() {
    let lab = lab(&["a.md", "b.md"]);
    let hang = format!("{}, {{ hang = true }}", touch("began"));
    lab.agents(&(planned("b.md", "Late") + &coder("when = \"Late\"\nattempt = 1", &hang)));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    agent.kill();
    std::fs::remove_file(lab.path("ralph/.agent-session")).unwrap();
    lab.agent([]).ok();
    assert_eq!(lab.statuses(), ["a.md done", "b.md done"]);
}

#[test]
fn a_session_file_that_cannot_be_read_is_told_and_nothing_is_lost() {
    let lab = lab(&["a.md"]);
    lab.write("ralph/.agent-session", "{ half");
    let run = lab.agent([]).ok();
    says(&run, "ralph/.agent-session cannot be read");
    assert_eq!(lab.statuses(), ["a.md done"]);
}

#[test]
fn cost_adds_up_over_restarts_and_is_checked_before_the_next_start() {
    let lab = lab(&["a.md", "b.md"]);
    lab.agents(
        &(rule(&[PLAN], "", &format!("{{ cost = 0.40 }}, {ONE_TASK}"))
            + &rule(&[VERIFY], "attempt = 1", "{ hang = true }")),
    );
    let agent = lab.spawn(["agent", "--allow-unknown-cost"]);
    lab.until_asked("verify", 1);
    // What the journal knows and the session file does not yet is not forgotten.
    agent.kill();
    let runs = lab.asked("plan");
    let run = lab.agent(["--max-cost", "0.30", "--allow-unknown-cost"]).fails(4);
    says(&run, "Max cost ($0.30) reached, $0.40 spent. Agent stopping.");
    assert_eq!(lab.asked("plan"), runs, "no backend was started");
    assert_eq!(lab.statuses(), ["a.md pending", "b.md pending"]);
    lab.agents("").agent([]).ok();
    assert_eq!(lab.statuses(), ["a.md done", "b.md done"]);
}

#[test]
fn cost_is_checked_while_a_backend_runs() {
    let lab = lab(&["a.md"]);
    let spend = format!("{{ cost = 5.00 }}, {}, {{ hang = true }}", touch("began"));
    lab.agents(&coder("attempt = 1", &spend));
    let run = lab.agent(["--max-cost", "1.00", "--allow-unknown-cost"]).fails(4);
    says(&run, "Max cost ($1.00) reached");
    assert_eq!(lab.statuses(), ["a.md pending"]);
    assert!(!lab.exists("ralph/.agent-session"), "a limit ends the session");
}

#[test]
fn a_wait_for_a_usage_limit_survives_a_signal_and_a_kill() {
    let lab = lab(&["a.md"]).real_time();
    let limited =
        r#"{ fail = "rate_limit", resets_in = "20s", message = "You have hit your limit." }"#;
    lab.agents(&coder("attempt = 1", limited));
    let journal = lab.path(".git/ralph/journal.jsonl");
    let waits = || {
        let text = std::fs::read_to_string(&journal).unwrap_or_default();
        text.contains("\"record\":\"waiting\"")
    };
    let agent = lab.spawn(["agent"]);
    until(waits);
    lab.signal("INT", agent.pid());
    agent.wait().fails(130);
    assert_eq!(lab.statuses(), ["a.md pending"]);
    let runs = |lab: &crate::lab::Lab| {
        lab.journal().iter().filter(|record| record["record"] == "attempt_started").count()
    };
    assert_eq!(runs(&lab), 1);
    // The next start goes on with the wait, is killed in it, and the one after it too.
    let agent = lab.spawn(["agent"]);
    until(|| lab.entry("a.md")["status"] == "active");
    agent.kill();
    assert_eq!(runs(&lab), 1, "nobody was asked before the limit was lifted");
    let run = lab.agent([]).ok();
    assert_eq!(lab.statuses(), ["a.md done"], "{}", crate::repo::said(&run));
    assert_eq!(lab.asked("plan"), 1);
}

#[test]
fn numbers_go_on_in_the_session_of_a_killed_agent() {
    let lab = lab(&["a.md", "b.md", "c.md"]);
    let hang = format!("{}, {{ hang = true }}", touch("began"));
    lab.agents(
        &(crate::lab::hopeless("a.md")
            + &planned("c.md", "Late")
            + &coder("when = \"Late\"\nattempt = 1", &hang)
            + &coder("when = \"Late\"", GOOD)),
    );
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    agent.kill();
    let session = lab.session();
    assert_eq!((&session["specs_completed"], &session["specs_failed"]), (&json!(1), &json!(1)));
    lab.agent([]).fails(3);
    let last = lab.agent_log().pop().unwrap();
    assert!(last.starts_with("Session summary: 2 specs, 1 failed, "), "{last}");
}

/// An agent that has built the first task of a spec and hangs in the second.
fn half_built() -> (Lab, ralph_testkit::Running) {
    let lab = lab(&["a.md", "b.md"]);
    lab.write("user/edited.txt", "edited by the user\n");
    let hang = format!("{}, {{ hang = true }}", touch("began"));
    lab.agents(&(rule(&[PLAN], "", TWO_TASKS) + &coder("when = \"Write two\"", &hang)));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    assert!(!lab.exists("work"), "{}", lab.status());
    (lab, agent)
}

/// The spec is out of the queue and out of the plan, its work is kept aside; the rest goes on.
fn removed(lab: &Lab) {
    let run = lab.run(["inbox", "remove", "a.md"]).ok();
    says(&run, "Removed: ");
    says(&run, "Its unfinished work is kept: ");
    assert_eq!(lab.statuses(), ["b.md pending"]);
    assert!(!lab.exists("work"), "{}", lab.status());
    assert_eq!(lab.read("user/edited.txt"), "edited by the user\n");
    assert_eq!(lab.stashes().len(), 1);
    assert!(!lab.records().iter().any(|record| record["t"] == "task"), "{}", lab.plan());
    lab.agents("");
    lab.agent([]).ok();
    assert_eq!(lab.completed(), ["ralph: complete b"]);
}

#[test]
fn a_spec_that_is_removed_after_an_interrupt_leaves_no_half_built_work() {
    let (lab, agent) = half_built();
    lab.signal_twice("INT", &agent);
    agent.wait().fails(130);
    removed(&lab);
}

#[test]
fn a_spec_that_a_killed_agent_left_can_be_removed() {
    let (lab, agent) = half_built();
    lab.run(["inbox", "remove", "a.md"]).fails(1).stderr_has("stop the agent first");
    lab.signal("KILL", agent.pid());
    agent.wait();
    removed(&lab);
}

#[test]
fn the_summary_of_a_session_counts_what_cost_nobody_knows_over_restarts() {
    let lab = lab(&["a.md"]);
    let hang = format!("{}, {{ hang = true }}", touch("began"));
    let plan = rule(&[PLAN], "", &format!("{{ cost = 0.50 }}, {ONE_TASK}"));
    lab.agents(&(plan + &coder("attempt = 1", &hang)));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    lab.signal_twice("INT", &agent);
    agent.wait().fails(130);
    let run = lab.env("RALPH_NOW", "2030-01-01T00:00:00Z").agent([]).ok();
    // The attempt that was ended, and who worked and verified after it.
    says(&run, "Session summary: 1 spec, $0.50 and 4 runs of unknown cost");
}
