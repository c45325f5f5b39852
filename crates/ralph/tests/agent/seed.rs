//! The 32 acceptance boxes of seed 001, one test each, in their order. `docs/seed-coverage.md` names
//! them.

use serde_json::json;

use crate::lab::{
    GOOD, ONE_TASK, PLAN, TWO_TASKS, VERIFY, coder, held, hopeless, lab, planned, rule, touch,
    wait_for,
};
use crate::repo::says;

#[test]
fn inbox_add_makes_a_pending_record() {
    let lab = lab(&["a.md"]);
    let record = crate::plans::value(lab.read("ralph/inbox.jsonl").trim());
    assert_eq!((&record["t"], &record["spec"]), (&json!("inbox"), &json!("a.md")));
    assert_eq!(record["status"], "pending");
    assert_eq!(record["added_at"], ralph_testkit::NOW);
    let id = record["id"].as_str().unwrap();
    assert!(id.len() == 6 && id.starts_with("q-"), "{id}");
}

#[test]
fn inbox_add_fails_when_the_spec_does_not_exist() {
    let lab = lab(&[]);
    lab.run(["inbox", "add", "no.md"]).fails(1).stderr_has("no.md");
    assert!(!lab.exists("ralph/inbox.jsonl"));
}

#[test]
fn inbox_lists_all_records_with_status_name_and_relative_time() {
    let lab = lab(&["a.md", "b.md"]);
    lab.agent(["--max-specs", "1"]).fails(4);
    let id = |spec: &str| lab.entry(spec)["id"].as_str().unwrap().to_owned();
    lab.run(["inbox"]).ok().stdout(&format!(
        "Inbox (2 specs):\n  {}  done      a.md              (done just now)\n  {}  pending   b.md              (added just now)\n",
        id("a.md"),
        id("b.md")
    ));
}

#[test]
fn inbox_remove_takes_a_pending_record_out() {
    let lab = lab(&["a.md", "b.md"]);
    let id = lab.entry("a.md")["id"].as_str().unwrap().to_owned();
    lab.run(["inbox", "remove", &id]).ok().stdout(&format!("Removed: {id} a.md\n"));
    assert_eq!(lab.statuses(), ["b.md pending"]);
    lab.agent([]).ok();
    assert_eq!(lab.completed(), ["ralph: complete b"]);
}

#[test]
fn inbox_remove_refuses_an_active_spec() {
    let lab = lab(&["a.md"]);
    lab.agents(&coder("", &format!("{}, {}, {GOOD}", touch("began"), wait_for("go"))));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    lab.run(["inbox", "remove", "a.md"]).fails(1).stderr_has("active");
    lab.allow("go");
    agent.wait().ok();
    assert_eq!(lab.statuses(), ["a.md done"]);
}

#[test]
fn inbox_clear_removes_what_is_pending_and_nothing_else() {
    let lab = lab(&["a.md", "b.md", "c.md", "d.md"]);
    lab.agents(
        &(hopeless("a.md")
            + &coder(
                "when = \"Late\"",
                &format!("{}, {}, {GOOD}", touch("began"), wait_for("go")),
            )
            + &planned("c.md", "Late")),
    );
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    lab.run(["inbox", "clear"]).ok().stdout("Cleared 1 pending specs\n");
    assert_eq!(lab.statuses(), ["a.md failed", "b.md done", "c.md active"]);
    lab.allow("go");
    agent.wait().fails(3);
    assert_eq!(lab.statuses(), ["a.md failed", "b.md done", "c.md done"]);
}

#[test]
fn query_inbox_returns_all_records_as_json() {
    let lab = lab(&["a.md", "b.md"]);
    lab.agent(["--max-specs", "1"]).fails(4);
    let records = lab.inbox();
    assert_eq!(records.len(), 2);
    assert_eq!((&records[0]["spec"], &records[0]["status"]), (&json!("a.md"), &json!("done")));
    for field in ["id", "added_at", "started_at", "completed_at"] {
        assert!(records[0][field].is_string(), "{field}: {records:?}");
    }
    assert_eq!(records[1]["status"], "pending");
    assert!(records[1].get("started_at").is_none());
}

#[test]
fn specs_are_worked_on_in_the_order_in_which_they_were_added() {
    let lab = lab(&["z.md", "a.md", "m.md"]);
    lab.agent([]).ok();
    assert_eq!(lab.completed(), ["ralph: complete z", "ralph: complete a", "ralph: complete m"]);
}

#[test]
fn a_spec_is_active_before_anything_else_happens_to_it() {
    let lab = lab(&["a.md"]);
    // The planner is the first to run.
    lab.agents(&rule(&[PLAN], "", &held(ONE_TASK)));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("go.held");
    let (record, plan) = (lab.entry("a.md"), lab.plan_of_run());
    lab.allow("go");
    agent.wait().ok();
    assert_eq!(record["status"], "active");
    assert_eq!(record["started_at"], ralph_testkit::NOW);
    assert!(plan.contains(r#""t":"spec","spec":"a.md""#), "it is the current spec: {plan}");
}

#[test]
fn each_spec_is_planned_and_then_constructed_in_full() {
    let lab = lab(&["a.md", "b.md"]);
    lab.agents(&rule(&[PLAN], "", TWO_TASKS));
    lab.agent([]).ok();
    assert_eq!(lab.asked("plan"), 2, "one plan for each");
    // Two tasks and the whole of each spec.
    assert_eq!(lab.asked("verify"), 6);
    assert_eq!(lab.records().iter().filter(|r| r["t"] == "accept").count(), 6);
    let log = lab.agent_log();
    let once =
        ["PLAN: 2 tasks generated", "CONSTRUCT: starting iteration 1", "CONSTRUCT: complete"];
    for line in once {
        assert_eq!(log.iter().filter(|l| *l == line).count(), 2, "{line}: {log:?}");
    }
}

#[test]
fn each_spec_that_succeeds_is_one_commit() {
    let lab = lab(&["a.md", "b.md"]);
    let before = lab.subjects();
    lab.agents(&rule(&[PLAN], "", TWO_TASKS));
    lab.agent([]).ok();
    let subjects = lab.subjects();
    assert_eq!(subjects[before.len()..], ["ralph: complete a", "ralph: complete b"]);
    assert_eq!(lab.status(), "", "all of it is committed");
    let files = lab.ask_git(["show", "--format=", "--name-only", "HEAD", "--", "work"]);
    assert_eq!(files.lines().count(), 2, "both tasks are in it: {files}");
}

#[test]
fn a_spec_that_succeeds_is_done_with_the_time() {
    let lab = lab(&["a.md"]);
    lab.agent([]).ok();
    let entry = lab.entry("a.md");
    assert_eq!(
        (&entry["status"], &entry["completed_at"]),
        (&json!("done"), &json!(ralph_testkit::NOW))
    );
    let committed = lab.ask_git(["show", "HEAD:ralph/inbox.jsonl"]);
    assert!(committed.contains(r#""status":"done""#), "it is in its own commit: {committed}");
}

#[test]
fn a_spec_that_fails_is_failed_with_the_reason() {
    let lab = lab(&["a.md"]);
    lab.agents(&hopeless("a.md"));
    lab.agent([]).fails(3);
    let entry = lab.entry("a.md");
    assert_eq!(
        (&entry["status"], &entry["completed_at"]),
        (&json!("failed"), &json!(ralph_testkit::NOW))
    );
    let error = entry["error"].as_str().unwrap();
    assert!(error.contains("no work can go on") || error.contains("no progress"), "{error}");
}

#[test]
fn the_agent_goes_on_with_the_next_spec_after_a_failure() {
    let lab = lab(&["a.md", "b.md"]);
    lab.agents(&hopeless("a.md"));
    lab.agent([]).fails(3);
    assert_eq!(lab.statuses(), ["a.md failed", "b.md done"]);
    assert_eq!(lab.completed(), ["ralph: complete b"]);
}

#[test]
fn the_agent_ends_when_the_inbox_is_empty() {
    let lab = lab(&[]);
    let run = lab.agent([]).ok();
    says(&run, "Inbox empty. Agent stopping.");
    let log = lab.agent_log();
    assert_eq!(
        log,
        ["Agent started", "Inbox empty. Agent stopping.", "Session summary: 0 specs, $0.00, 0s"]
    );
}

#[test]
fn max_specs_stops_the_agent_after_so_many() {
    let lab = lab(&["a.md", "b.md", "c.md"]);
    let run = lab.agent(["--max-specs", "2"]).fails(4);
    says(&run, "Max specs (2) reached. Agent stopping.");
    assert_eq!(lab.statuses(), ["a.md done", "b.md done", "c.md pending"]);
}

#[test]
fn max_cost_stops_the_agent_when_the_sum_exceeds_it() {
    let lab = lab(&["a.md", "b.md", "c.md"]);
    let costs = r#"{ cost = 0.30 }"#;
    lab.agents(
        &(rule(&[PLAN], "", &format!("{costs}, {ONE_TASK}"))
            + &coder("", &format!("{{ cost = 0.00 }}, {GOOD}"))),
    );
    let run = lab.agent(["--max-cost", "0.50", "--allow-unknown-cost"]).fails(4);
    says(&run, "Max cost ($0.50) reached, $0.60 spent. Agent stopping.");
    assert_eq!(lab.statuses()[0], "a.md done");
    assert_eq!(lab.statuses()[2], "c.md pending");
}

#[test]
fn max_failures_stops_the_agent_after_so_many_in_a_row() {
    let lab = lab(&["a.md", "b.md", "c.md"]);
    lab.agents(&(hopeless("a.md") + &hopeless("b.md")));
    let run = lab.agent(["--max-failures", "2"]).fails(3);
    says(&run, "2 specs failed in a row (max failures). Agent stopping.");
    assert_eq!(lab.statuses(), ["a.md failed", "b.md failed", "c.md pending"]);
}

#[test]
fn a_success_resets_the_count_of_failures_in_a_row() {
    let lab = lab(&["a.md", "b.md", "c.md", "d.md"]);
    lab.agents(&(hopeless("a.md") + &hopeless("c.md")));
    lab.agent(["--max-failures", "2"]).fails(3);
    assert_eq!(lab.statuses(), ["a.md failed", "b.md done", "c.md failed", "d.md done"]);
}

#[test]
fn a_signal_lets_the_iteration_come_to_its_end() {
    let lab = lab(&["a.md", "b.md"]);
    lab.agents(&coder("", &format!("{}, {}, {GOOD}", touch("began"), wait_for("go"))));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    lab.signal("INT", agent.pid());
    agent.until_prints("Stopping");
    lab.allow("go");
    let run = agent.wait().fails(130);
    says(&run, "Interrupted. Agent stopping.");
    // BUILD and VERIFY of the iteration, which completed the spec; the next one was not begun.
    assert_eq!(lab.asked("verify"), 2);
    assert_eq!(lab.statuses(), ["a.md done", "b.md pending"]);
}

#[test]
fn a_signal_makes_the_current_spec_pending_again() {
    let lab = lab(&["a.md"]);
    let reject = r#"{ answer = { task_id = "{task}", verdict = "reject", reason = "more" } }"#;
    lab.agents(&rule(&[VERIFY], "attempt = 1", &held(reject)));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("go.held");
    lab.signal("INT", agent.pid());
    agent.until_prints("Stopping");
    lab.allow("go");
    agent.wait().fails(130);
    assert_eq!(lab.statuses(), ["a.md pending"]);
    lab.agent([]).ok();
    assert_eq!(lab.statuses(), ["a.md done"]);
    assert_eq!(lab.asked("plan"), 1, "it is not planned again");
}

#[test]
fn a_second_signal_ends_the_agent_at_once() {
    let lab = lab(&["a.md"]);
    lab.agents(&coder("attempt = 1", &format!("{}, {{ hang = true }}", touch("began"))));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    lab.signal_twice("INT", &agent);
    agent.wait().fails(130);
    assert_eq!(lab.statuses(), ["a.md pending"]);
    lab.agent([]).ok();
    assert_eq!(lab.completed(), ["ralph: complete a"]);
}

#[test]
fn the_session_is_in_a_file() {
    let lab = lab(&["a.md", "b.md"]);
    lab.agents(
        &(planned("b.md", "Late")
            + &coder(
                "when = \"Late\"",
                &format!("{}, {}, {GOOD}", touch("began"), wait_for("go")),
            )),
    );
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    let session = lab.session();
    assert_eq!(session["started_at"], ralph_testkit::NOW);
    assert_eq!((&session["specs_completed"], &session["specs_failed"]), (&json!(1), &json!(0)));
    assert!(session["total_cost"].is_f64(), "{session}");
    assert_eq!(session["current_spec_id"], lab.entry("b.md")["id"]);
    lab.allow("go");
    agent.wait().ok();
}

#[test]
fn an_interrupted_session_is_resumed() {
    let lab = lab(&["a.md", "b.md"]);
    lab.agents(
        &(planned("b.md", "Late")
            + &coder(
                "when = \"Late\"\nattempt = 1",
                &format!("{}, {{ hang = true }}", touch("began")),
            )),
    );
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    assert_eq!(agent.kill().code, 137);
    let session = lab.session();
    let run = lab.agent([]).ok();
    says(&run, "going on with the agent's last session");
    assert!(lab.agent_log().last().unwrap().starts_with("Session summary: 2 specs"), "{session}");
    assert_eq!(lab.completed(), ["ralph: complete a", "ralph: complete b"]);
    assert_eq!(lab.asked("plan"), 2);
}

#[test]
fn the_session_file_goes_when_the_agent_ends_normally() {
    let lab = lab(&["a.md", "b.md"]);
    lab.agent(["--max-specs", "1"]).fails(4);
    assert!(!lab.exists("ralph/.agent-session"), "a limit");
    lab.agent([]).ok();
    assert!(!lab.exists("ralph/.agent-session"), "the inbox is empty");
}

#[test]
fn status_shows_the_agent_while_its_session_goes_on() {
    let lab = lab(&["a.md"]);
    lab.agents(&coder("", &format!("{}, {}, {GOOD}", touch("began"), wait_for("go"))));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    let status = lab.run(["status"]);
    lab.allow("go");
    agent.wait().ok();
    status.ok().stdout_has("Mode: agent");
}

#[test]
fn status_has_the_current_spec_the_counts_and_the_session() {
    let lab = lab(&["a.md", "b.md", "c.md"]);
    lab.agents(
        &(planned("b.md", "Late")
            + &coder(
                "when = \"Late\"",
                &format!("{}, {}, {GOOD}", touch("began"), wait_for("go")),
            )),
    );
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    let id = lab.entry("b.md")["id"].as_str().unwrap().to_owned();
    let status = lab.run(["status"]);
    lab.allow("go");
    agent.wait().ok();
    status
        .ok()
        .stdout_has(&format!("Current spec: b.md ({id})"))
        .stdout_has("Inbox: 1 pending, 1 active, 1 done, 0 failed")
        .stdout_has("Session: 1 spec");
}

#[test]
fn the_commit_of_a_spec_is_called_after_it() {
    let lab = lab(&["feature-x.md"]);
    lab.agent([]).ok();
    assert_eq!(lab.ask_git(["log", "-1", "--format=%s"]), "ralph: complete feature-x");
}

#[test]
fn the_commit_has_the_spec_the_tasks_the_duration_and_the_cost() {
    let lab = lab(&["feature-x.md"]);
    lab.agents(&rule(&[PLAN], "", &format!("{{ cost = 0.25 }}, {TWO_TASKS}")));
    lab.agent([]).ok();
    let body = lab.ask_git(["log", "-1", "--format=%b"]);
    let lines: Vec<&str> = body.lines().take(4).collect();
    assert_eq!(
        lines,
        ["Spec: ralph/specs/feature-x.md", "Tasks completed: 2", "Duration: 0s", "Cost: $0.25"]
    );
}

#[test]
fn the_work_of_a_failed_spec_is_stashed_and_not_committed() {
    let lab = lab(&["a.md"]);
    let head = lab.head();
    lab.agents(&crate::failures::half_way("a.md"));
    lab.agent([]).fails(3);
    assert_eq!(lab.stashes(), ["ralph: failed a"]);
    assert!(!lab.exists("work"), "the tree is as before");
    let range = format!("{head}..HEAD");
    assert_eq!(lab.ask_git(["log", "--format=%s", &range, "--", "work"]), "");
    assert_eq!(lab.status(), "");
}

#[test]
fn construct_works_on_one_spec_and_ends() {
    let lab = lab(&["a.md", "b.md"]);
    lab.run(["construct", "b.md"]).ok();
    let accepted = lab.records().into_iter().find(|r| r["t"] == "accept" && r["id"].is_null());
    assert_eq!(accepted.unwrap()["spec"], "b.md");
    assert!(!lab.exists("ralph/.agent-session"));
    assert_eq!(lab.completed(), [""; 0], "its commits are its own");
}

#[test]
fn construct_neither_reads_nor_changes_the_inbox() {
    let lab = lab(&["a.md"]);
    let before = lab.read("ralph/inbox.jsonl");
    lab.run(["construct", "a.md"]).ok();
    assert_eq!(lab.read("ralph/inbox.jsonl"), before);
    // Not even a damaged one is in its way.
    lab.write("ralph/inbox.jsonl", "no inbox\n");
    lab.write_spec("b.md");
    lab.commit("b");
    lab.run(["construct", "b.md"]).ok();
    assert_eq!(lab.read("ralph/inbox.jsonl"), "no inbox\n");
}
