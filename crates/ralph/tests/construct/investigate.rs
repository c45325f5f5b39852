//! INVESTIGATE: issues become tasks, or are out of scope, and never pile up.

use serde_json::json;

use crate::lab::{
    answers, builds, decomposes, investigates, investigator, issue, judges, new, planned, task,
    with,
};
use crate::repo::says;

#[test]
fn an_issue_that_is_out_of_scope_is_cleared_and_the_reason_is_told() {
    let lab = planned(&[issue("i-aaa1", "should it be blue"), task("t-aaa1")]);
    let run = lab.construct([]).ok();
    says(&run, "i-aaa1 is out of scope: it is fine as it is");
    assert!(lab.of_type("issue").is_empty());
    assert_eq!(lab.accepted(), ["Do t-aaa1"]);
}

#[test]
fn findings_inherit_the_priority_of_their_issue_and_say_where_they_come_from() {
    let lab = planned(&[
        with(issue("i-aaa1", "it crashes"), json!({ "priority": "high" })),
        task("t-aaa1"),
    ]);
    let found = json!({ "outcome": "tasks", "tasks": [new("one", "Mend the crash")] });
    let stop = builds("", r#"{ fault = "not_logged_in" }"#);
    lab.agents(&(investigates("", found) + &stop));
    lab.construct([]).fails(1);
    let task = lab.named("Mend the crash");
    assert_eq!((&task["priority"], &task["created_from"]), (&json!("high"), &json!("i-aaa1")));
    assert!(lab.of_type("issue").is_empty());
}

#[test]
fn all_issues_are_investigated_at_the_same_time() {
    let ids = ["i-aaa1", "i-aaa2", "i-aaa3", "i-aaa4"];
    let questions = ["why is it red", "where is the door", "when does it end", "who are you"];
    let lab = planned(&[0, 1, 2, 3].map(|n| issue(ids[n], questions[n])));
    let meet = r#"{ run = "mkdir -p $HOME/here; touch $HOME/here/$$; until [ $(ls $HOME/here | wc -l) -ge 4 ]; do sleep 0.05; done" }"#;
    let answer = answers(&json!({ "outcome": "out_of_scope", "reason": "no" }));
    lab.agents(&investigator("", &format!("{meet}, {answer}")));
    lab.construct(["--timeout", "60000"]).ok();
    assert_eq!(lab.asked("investigate").len(), 4);
}

#[test]
fn issues_that_say_the_same_are_investigated_once() {
    let lab = planned(&[
        issue("i-aaa1", "the login test is flaky on the CI"),
        with(issue("i-aaa2", "The login test is flaky on CI."), json!({ "priority": "high" })),
        issue("i-aaa3", "the parser is slow"),
    ]);
    let found = json!({ "outcome": "tasks", "tasks": [new("one", "Mend the login test")] });
    lab.agents(
        &(investigates("with = \"login\"", found) + &builds("", r#"{ fault = "not_logged_in" }"#)),
    );
    let run = lab.construct([]).fails(1);
    let mut asked = lab.asked("investigate");
    asked.sort();
    assert_eq!(asked, ["i-aaa1", "i-aaa3"]);
    says(&run, "i-aaa2 says the same as i-aaa1");
    assert_eq!(lab.named("Mend the login test")["priority"], "high", "the higher one of both");
}

#[test]
fn an_investigation_that_is_killed_gets_its_reason_and_is_broken_down() {
    let lab = planned(&[issue("i-aaa1", "everything is wrong"), task("t-aaa1")]);
    let narrower = json!({ "issues": [{ "desc": "is the parser wrong" }, { "desc": "does the printer lie" }],
                           "reason": "too broad" });
    lab.agents(
        &(investigator("with = \"everything is wrong\"", r#"{ hang = true }"#)
            + &decomposes("", narrower)),
    );
    let run = lab.construct(["--timeout", "5000"]).ok();
    assert_eq!(
        lab.stages(),
        ["1 investigate", "1 decompose", "2 investigate", "2 build", "2 verify"]
    );
    says(&run, "i-aaa1 killed");
    let asked = lab.asked("investigate");
    assert_eq!(asked.len(), 3, "{asked:?}");
    let prompt = lab.prompt_of("decompose-i-aaa1");
    assert!(
        prompt.contains("everything is wrong") && prompt.contains("it ran out of time"),
        "{prompt}"
    );
}

#[test]
fn a_killed_issue_has_kill_reason_and_kill_log_in_the_plan() {
    let lab = planned(&[issue("i-aaa1", "everything is wrong")]);
    lab.agents(
        &(investigator("", r#"{ hang = true }"#)
            + &crate::lab::decomposer("", r#"{ fault = "not_logged_in" }"#)),
    );
    lab.construct(["--timeout", "3000"]).fails(1);
    let issue = lab.item("i-aaa1");
    assert_eq!(issue["kill_reason"], "timeout");
    let log = issue["kill_log"].as_str().unwrap();
    assert!(log.starts_with("build/ralph-logs/ralph-") && log.contains("-investigate"), "{log}");
    assert!(lab.exists(log));
    assert_eq!(lab.query("stage"), "DECOMPOSE");
}

#[test]
fn a_blocked_task_becomes_an_issue_and_runs_when_that_is_resolved() {
    let lab = planned(&[task("t-aaa1")]);
    let found = json!({ "outcome": "tasks", "reason": "the key was missing", "tasks": [new("key", "Make a key")] });
    lab.agents(
        &(builds(
            "task = \"t-aaa1\"\nattempt = 1",
            r#"{ claim = "blocked", why = "there is no key" }"#,
        ) + &investigates("with = \"there is no key\"", found)),
    );
    let run = lab.construct([]).ok();
    says(&run, "there is no key");
    says(&run, "t-aaa1 blocked");
    assert_eq!(lab.stages(), ["1 build", "2 investigate", "2 build", "2 verify"]);
    let built = lab.built();
    assert_eq!(
        (built.len(), &built[0], &built[2]),
        (3, &"t-aaa1".to_owned(), &"t-aaa1".to_owned())
    );
    assert!(lab.is_satisfied());
}

#[test]
fn an_investigator_without_a_usable_answer_is_asked_twice_and_leaves_the_issue_to_a_person() {
    let lab = planned(&[issue("i-aaa1", "what is it"), task("t-aaa1")]);
    let lost = r#"{ run = "echo x >> \"$HOME/runs\"" }, { answer = "I do not know." }"#;
    let repaired = format!("[[rule]]\nwhen = \"could not be used\"\nsteps = [{lost}]\n");
    lab.agents(&(repaired + &investigator("", lost)));
    let run = lab.construct([]).fails(3);
    says(&run, "i-aaa1 was not investigated: no usable answer");
    says(&run, "no work can go on");
    says(&run, "`ralph issue list` shows them");
    assert_eq!(lab.runs().len(), 2, "one question and one repair question");
    assert_eq!(lab.stages(), ["1 investigate", "1 build", "1 verify"], "the rest went on");
    assert_eq!(lab.item("i-aaa1")["desc"], "what is it");
}

#[test]
fn an_investigator_that_edits_files_or_the_plan_is_undone_and_told() {
    let lab = planned(&[issue("i-aaa1", "what is it"), task("t-aaa1")]);
    let edit = r#"{ append = "ralph/plan.jsonl", text = "{\"t\":\"delete\",\"id\":\"t-aaa1\"}\n" }, { write = "src/main.c", text = "x\n" }"#;
    let answer = answers(&json!({ "outcome": "out_of_scope", "reason": "no" }));
    lab.agents(&investigator("", &format!("{edit}, {answer}")));
    let run = lab.construct([]).ok();
    says(&run, "ralph/plan.jsonl: investigate may not write it; its changes are left out");
    says(&run, "changed src/main.c");
    assert_eq!(lab.read("src/main.c"), "int main(void) { return 0; }\n");
    assert_eq!(lab.accepted(), ["Do t-aaa1"]);
}

#[test]
fn a_ruling_reaches_the_next_verifier_and_a_verifier_who_does_not_heed_it_is_a_circle() {
    let gap = json!({ "satisfied": false, "reason": "unclear", "gaps": [
        { "kind": "ambiguity", "description": "the spec does not say which blue is meant" }] });
    // Whoever reads the ruling is satisfied.
    let lab = planned(&[task("t-aaa1")]);
    let ruling = "with = \"it is fine as it is\"";
    lab.agents(&(judges(ruling, json!({ "satisfied": true })) + &judges("", gap.clone())));
    lab.construct([]).ok();
    assert_eq!(lab.stages(), ["1 build", "1 verify", "2 investigate", "2 verify"]);
    // Whoever does not is told so by the breaker, long before the iterations are used up.
    let lab = planned(&[task("t-aaa1")]);
    lab.agents(&judges("", gap));
    let run = lab.construct([]).fails(3);
    says(&run, "no progress: nothing moved in 3 iterations");
    assert_eq!(lab.asked("investigate").len(), 3);
}
