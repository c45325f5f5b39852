//! Seed 000's example flow, step by step, and the promises of its core.

use serde_json::json;

use crate::lab::{
    accepts, builds, decomposes, done, investigates, issue, judges, lab, new, planned, plans,
    rejects, task, verifies, with,
};
use crate::repo::says;

/// The steps of the work that is killed: it says something, and hangs.
const HANGS: &str = r#"{ say = "I am at it." }, { hang = true }"#;

/// Work on something that was rejected: it has to differ from what is there.
const BETTER: &str = r#"{ append = "work/{task}.txt", text = "better\n" }, { claim = "done" }"#;

#[test]
fn the_example_flow_of_the_seed_runs_step_by_step() {
    let lab = planned(&[issue("i-aaa1", "what are one and two"), issue("i-aaa2", "what is three")]);
    let two =
        json!({ "outcome": "tasks", "tasks": [new("one", "Write one"), new("two", "Write two")] });
    let three = json!({ "outcome": "tasks", "tasks": [new("three", "Write three")] });
    let five = json!({ "outcome": "tasks", "tasks": [new("five", "Mend the flaky test")] });
    let gaps = json!({ "verdict": "reject", "reason": "incomplete edge case", "gaps": [
        { "kind": "missing_feature", "description": "error handling is missing",
          "title": "Handle errors", "accept": ["`cat nothing` says what is wrong"] },
        { "kind": "bug", "description": "the login test is flaky" },
    ]});
    let halves = json!({ "tasks": [new("a", "Write the upper part"), new("b", "Write the lower part")],
                         "reason": "it waited for ever" });
    let unsatisfied = json!({ "satisfied": false, "reason": "errors", "gaps": [
        { "kind": "missing_feature", "description": "error handling is missing", "title": "Handle errors" },
    ]});
    lab.agents(
        &[
            investigates("with = \"what are one\"", two),
            investigates("with = \"what is three\"", three),
            investigates("with = \"flaky\"", five),
            builds("with = \"Write three\"\nunless = \"Part of\"", HANGS),
            builds("with = \"incomplete edge case\"", BETTER),
            decomposes("", halves),
            verifies("with = \"Write the lower part\"\nunless = \"Rejected before\"", gaps),
            judges(
                "with = \"(done): Write the lower part\"\nunless = \"Handle errors\"",
                unsatisfied,
            ),
        ]
        .concat(),
    );
    let run = lab.construct(["--timeout", "8000"]).ok();
    assert_eq!(
        lab.stages(),
        [
            "1 investigate",
            "1 build",
            "1 decompose",
            "2 build",
            "2 verify",
            "3 investigate",
            "3 build",
            "3 verify",
        ]
    );
    let came = |n: usize| lab.stage_ends()[n]["came"].clone();
    let count = |n: usize, what: &str| came(n)[what].as_array().map_or(0, Vec::len);
    // Iteration 1: two issues become three tasks; two are done, the third is killed and split in two.
    assert_eq!((count(0, "resolved"), count(0, "created")), (2, 3));
    assert_eq!((count(1, "built"), count(1, "killed")), (2, 1));
    assert_eq!((count(2, "split"), count(2, "created")), (1, 2));
    // Iteration 2: the parts are done; all but one are accepted; a new task and a new issue.
    assert_eq!(count(3, "built"), 2);
    assert_eq!((count(4, "accepted"), count(4, "rejected")), (3, 1));
    assert_eq!((count(4, "created"), count(4, "raised")), (1, 1));
    // Iteration 3: the issue becomes a task, three are done, all are accepted, and so is the spec.
    assert_eq!((count(5, "resolved"), count(5, "created")), (1, 1));
    assert_eq!(count(6, "built"), 3);
    assert_eq!((count(7, "accepted"), came(7)["spec_accepted"].clone()), (3, json!(true)));
    assert!(
        lab.is_satisfied() && lab.of_type("task").is_empty() && lab.of_type("issue").is_empty()
    );
    let mut accepted = lab.accepted();
    accepted.sort();
    assert_eq!(
        accepted,
        [
            "Handle errors",
            "Mend the flaky test",
            "Write one",
            "Write the lower part",
            "Write the upper part",
            "Write two",
        ]
    );
    says(&run, "the spec is satisfied");
}

#[test]
fn the_command_is_called_construct_and_says_so_in_every_view() {
    let lab = lab();
    lab.run(["--help"]).ok().stdout_has("construct");
    let run = lab.construct([]).ok();
    says(&run, "Complete: the spec is satisfied");
    assert_eq!(
        lab.journal().iter().find(|r| r["record"] == "run_started").unwrap()["command"],
        "construct"
    );
}

#[test]
fn an_iteration_is_investigate_then_build_then_verify() {
    let lab = planned(&[issue("i-aaa1", "what is one")]);
    lab.agents(&investigates(
        "",
        json!({ "outcome": "tasks", "tasks": [new("one", "Write one")] }),
    ));
    lab.construct([]).ok();
    assert_eq!(lab.stages(), ["1 investigate", "1 build", "1 verify"]);
}

#[test]
fn a_stage_without_anything_to_do_is_skipped() {
    let lab = planned(&[done("t-aaa1")]);
    lab.construct([]).ok();
    assert_eq!(lab.stages(), ["1 verify"]);
}

#[test]
fn a_spec_without_a_plan_is_planned_first() {
    let lab = lab();
    lab.construct([]).ok();
    assert_eq!(lab.stages(), ["0 plan", "1 build", "1 verify"]);
    assert_eq!(lab.accepted(), ["Write one", "Write two"]);
    assert_eq!(lab.status(), "", "everything is committed, the plan too");
}

#[test]
fn build_takes_tasks_by_dependency_and_then_by_priority() {
    let lab = planned(&[
        with(task("t-aaa1"), json!({ "priority": "low" })),
        with(task("t-aaa2"), json!({ "priority": "high", "deps": ["t-aaa3"] })),
        with(task("t-aaa3"), json!({ "priority": "medium" })),
        with(task("t-aaa4"), json!({ "priority": "high" })),
    ]);
    lab.construct([]).ok();
    assert_eq!(lab.built(), ["t-aaa4", "t-aaa3", "t-aaa2", "t-aaa1"]);
}

#[test]
fn a_claimed_dependency_is_enough_within_construct() {
    let lab = planned(&[done("t-aaa1"), with(task("t-aaa2"), json!({ "deps": ["t-aaa1"] }))]);
    lab.construct([]).ok();
    assert_eq!(lab.stages(), ["1 build", "1 verify"]);
}

#[test]
fn verify_compares_done_work_with_the_spec_and_gets_diff_criteria_and_gates() {
    let lab = planned(&[task("t-aaa1")]);
    lab.construct([]).ok();
    let prompt = lab.prompt_of("verify-t-aaa1");
    for part in [
        "`cat work/t-aaa1.txt` prints it",
        "+t-aaa1 is done",
        "- test: passed",
        "There are files in `work/`",
        "ralph/specs/work.md",
        "git show",
    ] {
        assert!(prompt.contains(part), "no {part:?} in\n{prompt}");
    }
    let whole = lab.prompt_of("verify-spec");
    assert!(
        whole.contains("There are files in `work/`") && whole.contains("t-aaa1 (done)"),
        "{whole}"
    );
}

#[test]
fn an_accepted_task_leaves_the_plan_and_a_rejected_one_stays_with_a_tombstone() {
    let lab = planned(&[task("t-aaa1"), task("t-aaa2")]);
    lab.agents(&rejects("task = \"t-aaa2\"\nattempt = 1"));
    lab.construct(["--max-iterations", "1"]).fails(4);
    assert_eq!(lab.accepted(), ["Do t-aaa1"]);
    let stone = &lab.of_type("reject")[0];
    assert_eq!(
        (&stone["id"], &stone["reason"]),
        (&json!("t-aaa2"), &json!("an edge case is missing"))
    );
    let task = lab.item("t-aaa2");
    assert_eq!((&task["s"], &task["reject"]), (&json!("p"), &json!("an edge case is missing")));
    assert!(!lab.is_satisfied());
}

#[test]
fn what_was_rejected_is_tried_again_and_the_reason_is_in_the_prompt() {
    let lab = planned(&[task("t-aaa1")]);
    lab.agents(&rejects("unless = \"Rejected before\""));
    let again = r#"{ write = "work/{task}.txt", text = "better\n" }, { claim = "done" }"#;
    lab.agents(
        &(rejects("unless = \"Rejected before\"")
            + &builds("with = \"an edge case is missing\"", again)),
    );
    lab.construct([]).ok();
    assert_eq!(lab.stages(), ["1 build", "1 verify", "2 build", "2 verify"]);
    assert_eq!(lab.read("work/t-aaa1.txt"), "better\n");
}

#[test]
fn gaps_become_tasks_or_issues_by_their_kind() {
    let lab = planned(&[done("t-aaa1")]);
    let gap = |kind: &str, more: serde_json::Value| {
        with(
            json!({ "kind": kind, "description": format!("about {kind}"), "title": format!("Mend {kind}") }),
            more,
        )
    };
    let criteria = json!({ "accept": ["`true` prints nothing"] });
    lab.agents(&verifies(
        "",
        json!({ "verdict": "accept", "reason": "yes", "gaps": [
            gap("missing_feature", criteria.clone()), gap("test_coverage", json!({})),
            gap("edge_case", criteria), gap("bug", json!({})), gap("ambiguity", json!({})),
        ]}),
    ));
    lab.construct(["--max-iterations", "1"]).fails(4);
    let mut names: Vec<String> =
        lab.of_type("task").iter().map(|t| t["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    assert_eq!(names, ["Mend edge_case", "Mend missing_feature", "Mend test_coverage"]);
    let mut issues: Vec<String> =
        lab.of_type("issue").iter().map(|i| i["desc"].as_str().unwrap().to_owned()).collect();
    issues.sort();
    assert_eq!(
        issues,
        [
            "found while verifying t-aaa1: about ambiguity",
            "found while verifying t-aaa1: about bug"
        ]
    );
}

#[test]
fn an_incomplete_task_is_rejected_and_gets_a_follow_up() {
    let lab = planned(&[done("t-aaa1")]);
    lab.agents(&verifies("", json!({ "verdict": "accept", "reason": "nearly", "gaps": [
        { "kind": "incomplete", "description": "the second half", "title": "Write the second half" },
    ]})));
    lab.construct(["--max-iterations", "1"]).fails(4);
    assert_eq!(lab.item("t-aaa1")["s"], "p");
    assert_eq!(lab.named("Write the second half")["deps"], json!(["t-aaa1"]));
}

#[test]
fn a_gap_of_the_whole_spec_becomes_work_although_every_task_is_accepted() {
    let lab = planned(&[task("t-aaa1")]);
    let missing = json!({ "satisfied": false, "reason": "no", "gaps": [
        { "kind": "missing_feature", "description": "nobody wrote the manual", "title": "Write the manual",
          "accept": ["`cat work/manual.txt` prints it"] },
    ]});
    lab.agents(&judges("unless = \"Write the manual\"", missing));
    lab.construct([]).ok();
    assert_eq!(lab.stages(), ["1 build", "1 verify", "2 build", "2 verify"]);
    assert_eq!(lab.accepted(), ["Do t-aaa1", "Write the manual"]);
}

#[test]
fn only_an_accepted_spec_ends_construct_as_complete() {
    let lab = planned(&[task("t-aaa1")]);
    lab.agents(&judges("", json!({ "satisfied": false, "reason": "I do not like it" })));
    let run = lab.construct(["--max-iterations", "2"]).fails(4);
    assert!(!lab.is_satisfied());
    says(&run, "max iterations");
    lab.agents("");
    let run = lab.construct([]).ok();
    assert!(lab.is_satisfied());
    says(&run, "the spec is satisfied");
}

#[test]
fn plan_and_verify_end_with_priorities_from_dependencies_size_and_critical_path() {
    let lab = lab();
    let chain = json!({ "tasks": [
        with(new("base", "Add base"), json!({})),
        with(new("mid", "Write the middle"), json!({ "deps": ["base"] })),
        with(new("top", "Write the top"), json!({ "deps": ["mid"] })),
        new("docs", "Document it in the README"),
    ]});
    let gap = json!({ "verdict": "accept", "reason": "yes", "gaps": [
        { "kind": "missing_feature", "description": "more", "title": "Write more of it" },
    ]});
    lab.agents(&(plans(chain) + &verifies("with = \"Add base\"", gap)));
    let seen = lab.construct(["--max-iterations", "1"]).fails(4);
    let built: Vec<String> = lab.built();
    let names = |id: &String| {
        let all = lab.journal();
        let start =
            all.iter().find(|r| r["record"] == "attempt_started" && r["task_id"] == id.as_str());
        start.unwrap()["name"].as_str().unwrap().to_owned()
    };
    let order: Vec<String> = built.iter().map(names).collect();
    assert_eq!(order.first().map(String::as_str), Some("Add base"), "{order:?}");
    assert_eq!(order.last().map(String::as_str), Some("Document it in the README"), "{order:?}");
    assert!(lab.named("Write more of it")["priority"].is_string(), "{}", seen.stdout);
}

#[test]
fn every_verdict_of_a_stage_is_one_write_of_the_plan() {
    let lab = planned(&[done("t-aaa1"), done("t-aaa2"), done("t-aaa3")]);
    // Whoever verifies looks at the plan: nothing of the stage may be in it yet.
    let look = r#"{ run = "cat ralph/plan.jsonl >> \"$HOME/seen\"" }"#;
    let accept =
        crate::lab::answers(&json!({ "task_id": "{task}", "verdict": "accept", "reason": "yes" }));
    lab.agents(&crate::lab::verifier("", &format!("{look}, {accept}")));
    lab.construct(["--jobs", "1"]).ok();
    let seen = std::fs::read_to_string(lab.home().join("seen")).unwrap();
    assert_eq!(seen.matches("\"t\":\"task\"").count(), 9, "{seen}");
    assert_eq!(seen.matches("\"accept\"").count(), 9, "only criteria: {seen}");
    assert_eq!(lab.accepted().len(), 3);
}

#[test]
fn a_spec_that_is_satisfied_already_runs_nobody() {
    let lab = lab();
    lab.construct([]).ok();
    let (asked, head) = (lab.journal().len(), lab.head());
    let run = lab.construct([]).ok();
    says(&run, "the spec is satisfied");
    assert!(lab.journal()[asked..].iter().all(|r| r["record"] != "consulting"));
    assert_eq!(lab.head(), head);
}

#[test]
fn good_work_needs_no_gate_to_be_verified_by_a_second_agent() {
    let lab = planned(&[task("t-aaa1")]);
    lab.config("backend = \"sim\"\n");
    lab.agents(&accepts());
    let run = lab.construct([]).ok();
    says(&run, "no gates are configured");
    assert!(lab.prompt_of("verify-t-aaa1").contains("No gates are configured"));
}

#[test]
fn other_specs_of_the_plan_are_never_touched() {
    let other =
        json!({ "t": "task", "id": "t-zzz1", "spec": "other.md", "name": "Not mine", "s": "p" });
    let done =
        json!({ "t": "task", "id": "t-zzz2", "spec": "other.md", "name": "Nor this", "s": "d" });
    let question = json!({ "t": "issue", "id": "i-zzz3", "spec": "other.md", "desc": "nor this" });
    let lab = planned(&[other.clone(), done.clone(), question.clone(), task("t-aaa1")]);
    lab.write("ralph/specs/other.md", "# Other\n");
    lab.commit("other");
    lab.construct([]).ok();
    let records = lab.records();
    for record in [other, done, question] {
        assert!(records.contains(&record), "{record} is not as it was:\n{}", lab.plan());
    }
    assert!(!lab.built().contains(&"t-zzz1".to_owned()) && lab.is_satisfied());
}
