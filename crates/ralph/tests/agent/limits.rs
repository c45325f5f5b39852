//! How the agent ends at its limits, in exit codes and words.

use crate::lab::{VERIFY, coder, hopeless, lab, rule};
use crate::repo::says;

#[test]
fn a_limit_that_leaves_nothing_pending_is_a_success() {
    let lab = lab(&["a.md"]);
    lab.agent(["--max-specs", "1"]).ok();
}

#[test]
fn a_failed_spec_does_not_count_towards_max_specs() {
    let lab = lab(&["a.md", "b.md", "c.md"]);
    lab.agents(&hopeless("a.md"));
    lab.agent(["--max-specs", "1"]).fails(3);
    assert_eq!(lab.statuses(), ["a.md failed", "b.md done", "c.md pending"]);
}

#[test]
fn limits_of_nothing_are_refused() {
    let lab = lab(&["a.md"]);
    for args in [["--max-specs", "0"], ["--max-failures", "0"], ["--max-specs", "many"]] {
        lab.agent(args).fails(2);
    }
    assert_eq!(lab.statuses(), ["a.md pending"]);
}

#[test]
fn a_construct_that_uses_up_its_iterations_fails_its_spec() {
    let lab = lab(&["a.md", "b.md"]);
    let reject = r#"{ answer = { task_id = "{task}", verdict = "reject", reason = "more" } }"#;
    lab.agents(&crate::lab::planned("a.md", "Never good enough"));
    lab.agents(
        &(crate::lab::planned("a.md", "Never good enough")
            + &crate::lab::rule(&[crate::lab::VERIFY, "Never good enough"], "", reject)),
    );
    lab.agent(["--max-iterations", "1"]).fails(3);
    assert_eq!(lab.statuses(), ["a.md failed", "b.md done"]);
    let error = lab.entry("a.md")["error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("max iterations (1) reached"), "{error}");
}

#[test]
fn a_backend_that_cannot_be_used_stops_the_agent_with_advice_and_fails_nothing() {
    let lab = lab(&["a.md", "b.md"]);
    lab.agents(
        &(crate::lab::planned("a.md", "Sad")
            + &coder("when = \"Sad\"\nattempt = 1", r#"{ fail = "not_logged_in" }"#)),
    );
    let run = lab.agent([]);
    assert!(![0, 3].contains(&run.code), "{}", crate::repo::said(&run));
    says(&run, "Next: ");
    assert_eq!(lab.statuses(), ["a.md pending", "b.md pending"]);
    lab.agent([]).ok();
}

#[test]
fn no_wait_stops_at_a_usage_limit() {
    let lab = lab(&["a.md"]);
    let limited =
        r#"{ fail = "rate_limit", resets_in = "2h", message = "You have hit your limit." }"#;
    lab.agents(&coder("attempt = 1", limited));
    lab.agent(["--no-wait"]).fails(4);
    assert_eq!(lab.statuses(), ["a.md pending"]);
}

#[test]
fn only_one_agent_runs_at_a_time() {
    let lab = lab(&["a.md"]);
    let work = format!(
        "{}, {}, {}",
        crate::lab::touch("began"),
        crate::lab::wait_for("go"),
        crate::lab::GOOD
    );
    lab.agents(&coder("", &work));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    lab.agent([]).fails(1).stderr_has("already running");
    lab.allow("go");
    agent.wait().ok();
}

#[test]
fn a_spec_that_nobody_can_verify_stops_the_agent_and_loses_no_work() {
    let lab = lab(&["a.md", "b.md"]);
    lab.agents(&rule(&[VERIFY], "", r#"{ answer = "It looks fine." }"#));
    let run = lab.agent([]).fails(3);
    says(&run, "not verified");
    assert_eq!(lab.statuses(), ["a.md pending", "b.md pending"]);
    assert!(lab.stashes().is_empty());
    lab.agents("");
    lab.agent([]).ok();
    assert_eq!(lab.statuses(), ["a.md done", "b.md done"]);
    assert_eq!(lab.asked("plan"), 2, "it is not planned again");
}
