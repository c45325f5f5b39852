//! SIGINT and SIGTERM, wherever they find the agent.

use crate::lab::{
    GOOD, ONE_TASK, PLAN, TWO_TASKS, VERIFY, coder, held, lab, rule, touch, wait_for,
};
use crate::repo::says;

#[test]
fn a_service_manager_ends_the_agent_with_sigterm_as_a_person_does() {
    let lab = lab(&["a.md", "b.md"]);
    lab.agents(&coder("", &format!("{}, {}, {GOOD}", touch("began"), wait_for("go"))));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    lab.signal("TERM", agent.pid());
    agent.until_prints("Stopping");
    lab.allow("go");
    let run = agent.wait().fails(143);
    says(&run, "Terminated. Agent stopping.");
    assert_eq!(lab.statuses(), ["a.md done", "b.md pending"]);
    assert!(lab.exists("ralph/.agent-session"));
    lab.agent([]).ok();
    assert_eq!(lab.statuses(), ["a.md done", "b.md done"]);
}

#[test]
fn all_tasks_of_the_iteration_are_built_and_verified_before_the_end() {
    let lab = lab(&["a.md"]);
    let reject = r#"{ answer = { task_id = "{task}", verdict = "reject", reason = "more" } }"#;
    let first = format!("{}, {}, {GOOD}", touch("began"), wait_for("go"));
    lab.agents(
        &(rule(&[PLAN], "", TWO_TASKS)
            + &coder("when = \"Write one\"\nattempt = 1", &first)
            + &rule(&[VERIFY], "attempt = 1", reject)),
    );
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    lab.signal("INT", agent.pid());
    agent.until_prints("Stopping");
    lab.allow("go");
    agent.wait().fails(130);
    let attempts = lab.journal().iter().filter(|r| r["record"] == "attempt_started").count();
    assert_eq!(attempts, 2, "both tasks of BUILD");
    assert!(lab.asked("verify") >= 2, "and VERIFY");
    let iterations = lab.journal().iter().filter(|r| r["record"] == "iteration_started").count();
    assert_eq!(iterations, 1, "no other iteration");
    assert_eq!(lab.statuses(), ["a.md pending"]);
}

#[test]
fn a_signal_during_the_plan_ends_before_the_first_iteration() {
    let lab = lab(&["a.md"]);
    lab.agents(&rule(&[PLAN], "", &held(ONE_TASK)));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("go.held");
    lab.signal("INT", agent.pid());
    agent.until_prints("Stopping");
    lab.allow("go");
    agent.wait().fails(130);
    assert_eq!(lab.statuses(), ["a.md pending"]);
    assert_eq!(lab.asked("plan"), 1);
    lab.agent([]).ok();
    assert_eq!(lab.asked("plan"), 1, "the plan was kept");
}

#[test]
fn a_machine_that_slept_in_the_middle_of_an_attempt_loses_nothing() {
    let lab = lab(&["a.md", "b.md"]);
    lab.agents(&coder("attempt = 1", &format!("{}, {}, {GOOD}", touch("began"), wait_for("go"))));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    let all = |word: &str, pid: u32| {
        lab.shell(&format!(
            "each() {{ for c in $(cat /proc/$1/task/*/children); do each $c; done; kill -{word} $1; }}; each {pid}"
        ))
        .ok();
    };
    all("STOP", agent.pid());
    // How long it slept does not matter: a clock that jumped is in the tests of the monitor.
    lab.allow("go");
    all("CONT", agent.pid());
    agent.wait().ok();
    assert_eq!(lab.statuses(), ["a.md done", "b.md done"]);
    assert_eq!(lab.completed().len(), 2);
}
