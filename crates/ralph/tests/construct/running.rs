//! A construct that is under way: seen from another terminal, stopped, and gone on with.

use serde_json::json;

use crate::lab::{
    Lab, answers, builds, decomposer, investigator, issue, judge, lab, planned, planner, task,
    verifier, with,
};
use crate::plans::value;
use crate::repo::{GOOD, held, said, says, until};

/// A step that says that it is there, and waits for permission to go on.
const GATE: &str = r#"{ run = "touch $HOME/here; until [ -f $HOME/go ]; do sleep 0.02; done; rm -f $HOME/go $HOME/here" }"#;

/// The same for an agent that may only look: it sleeps.
const SLEEPS: &str = r#"{ say = "I think." }, { sleep = "120s" }"#;

const ACCEPT: &str = r#"{ answer = { task_id = "{task}", verdict = "accept", reason = "yes" } }"#;

fn is_waiting(lab: &Lab) -> bool {
    lab.home().join("here").exists()
}

fn go(lab: &Lab) {
    lab.write(lab.home().join("go"), "");
}

#[test]
fn stage_iteration_and_next_are_true_from_another_terminal() {
    let lab = planned(&[issue("i-aaa1", "what is one"), task("t-aaa1")]);
    let nothing = answers(&json!({ "outcome": "out_of_scope", "reason": "no" }));
    let whole = answers(&json!({ "satisfied": true }));
    lab.agents(
        &[
            investigator("", &format!("{GATE}, {nothing}")),
            builds("", &format!("{GATE}, {GOOD}")),
            verifier("", &format!("{GATE}, {ACCEPT}")),
            judge("", &format!("{GATE}, {whole}")),
        ]
        .concat(),
    );
    assert_eq!((lab.query("stage"), lab.query("iteration")), ("INVESTIGATE".into(), "0".into()));
    let run = lab.spawn(["construct", "work.md", "--timeout", "120000"]);
    for (stage, item) in
        [("INVESTIGATE", "i-aaa1"), ("BUILD", "t-aaa1"), ("VERIFY", "t-aaa1"), ("VERIFY", "t-aaa1")]
    {
        until(|| is_waiting(&lab));
        assert_eq!(lab.query("stage"), stage);
        assert_eq!(lab.query("iteration"), "1");
        let next = value(&lab.query("next"));
        assert!(next.to_string().contains(item), "{stage}: {next}");
        says(&lab.run(["status"]).ok(), stage);
        std::fs::remove_file(lab.home().join("here")).unwrap();
        go(&lab);
        until(|| !lab.home().join("go").exists());
    }
    run.wait().ok();
    assert_eq!((lab.query("stage"), lab.query("iteration")), ("COMPLETE".into(), "1".into()));
}

#[test]
fn the_stage_is_plan_while_a_plan_is_made_and_decompose_while_work_is_broken_down() {
    let lab = lab();
    lab.agents(&planner("", SLEEPS));
    let run = lab.spawn(["construct", "work.md"]);
    until(|| lab.path("build/ralph-logs").is_dir() && !lab.logs("-plan-", ".log").is_empty());
    assert_eq!((lab.query("stage"), lab.query("iteration")), ("PLAN".into(), "0".into()));
    run.kill();

    let lab = planned(&[with(task("t-aaa1"), json!({ "timeout_ms": 1000 }))]);
    lab.agents(&(builds("", r#"{ hang = true }"#) + &decomposer("", SLEEPS)));
    let run = lab.spawn(["construct", "work.md"]);
    until(|| lab.path("build/ralph-logs").is_dir() && !lab.logs("-decompose-", ".log").is_empty());
    assert_eq!((lab.query("stage"), lab.query("iteration")), ("DECOMPOSE".into(), "1".into()));
    assert!(lab.query("next").contains("t-aaa1"));
    run.kill();
}

/// Start, wait until an agent is at work, and send a signal.
fn stopped(lab: &Lab, signal: &str) -> ralph_testkit::Run {
    let run = lab.spawn(["construct", "work.md", "--timeout", "120000"]);
    until(|| is_waiting(lab));
    lab.shell(&format!("kill -{signal} {}", run.pid())).ok();
    run.until_prints("Stopping");
    std::fs::remove_file(lab.home().join("here")).unwrap();
    go(lab);
    run.wait()
}

#[test]
fn the_first_signal_ends_after_the_attempt_and_the_next_start_goes_on() {
    let lab = planned(&[task("t-aaa1"), task("t-aaa2")]);
    lab.agents(&builds("task = \"t-aaa1\"", &format!("{GATE}, {GOOD}")));
    let run = stopped(&lab, "INT").fails(130);
    says(&run, "Stopping: ");
    assert_eq!(
        (lab.item("t-aaa1")["s"].clone(), lab.item("t-aaa2")["s"].clone()),
        (json!("d"), json!("p"))
    );
    assert_eq!(lab.landed(), ["t-aaa1"]);
    lab.agents("");
    lab.construct(["--resume"]).ok();
    assert_eq!(lab.built(), ["t-aaa1", "t-aaa2"]);
    assert!(lab.is_satisfied());
}

#[test]
fn the_first_signal_during_verify_ends_without_a_verdict_and_nothing_is_lost() {
    let lab = planned(&[crate::lab::done("t-aaa1"), crate::lab::done("t-aaa2")]);
    lab.agents(&verifier("task = \"t-aaa1\"", &format!("{GATE}, {ACCEPT}")));
    stopped(&lab, "TERM").fails(143);
    assert_eq!(lab.item("t-aaa1")["s"], "d");
    assert!(lab.of_type("issue").is_empty() && !lab.is_satisfied());
    lab.agents("");
    lab.construct([]).ok();
    assert_eq!(lab.accepted().len(), 2);
}

#[test]
fn the_second_signal_ends_everything_at_once() {
    let lab = planned(&[crate::lab::done("t-aaa1"), crate::lab::done("t-aaa2")]);
    let scribble =
        r#"{ write = "rubbish.txt", text = "x\n" }, { run = "touch $HOME/here" }, { hang = true }"#;
    lab.agents(&verifier("", scribble));
    let run = lab.spawn(["construct", "work.md"]);
    until(|| is_waiting(&lab));
    lab.signal_twice("INT", &run);
    let run = run.wait();
    assert_eq!(run.code, 130, "{}", said(&run));
    ralph_testkit::none_is_left(lab.home());
    lab.agents("");
    lab.construct([]).ok();
    assert!(!lab.exists("rubbish.txt"), "the verifiers' rubbish is gone");
    assert_eq!(lab.accepted().len(), 2);
}

#[test]
fn an_interrupted_plan_is_no_success() {
    let lab = lab();
    lab.agents(&planner("", &held(r#"{ answer = "hm" }"#)));
    let run = lab.spawn(["plan", "work.md"]);
    lab.until_home_has("go.held");
    lab.signal("INT", run.pid());
    run.until_prints("Stopping");
    lab.allow("go");
    let code = run.wait().code;
    assert!([3, 130].contains(&code), "{code}");
    lab.agents("");
    lab.run(["plan", "work.md"]).ok();
    assert_eq!(lab.of_type("task").len(), 2);
}

#[test]
fn stage_logs_have_the_names_of_the_seed_and_old_ones_are_pruned() {
    let lab = planned(&[
        issue("i-aaa1", "what is it"),
        with(task("t-aaa1"), json!({ "timeout_ms": 1000 })),
    ]);
    lab.agents(&builds("task = \"t-aaa1\"", r#"{ say = "words of the agent" }, { hang = true }"#));
    lab.construct([]).ok();
    for stage in ["investigate", "build", "decompose", "verify"] {
        let logs = lab.logs(&format!("-{stage}"), ".log");
        assert!(!logs.is_empty(), "no log of {stage}");
        let name = logs[0].file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with(&format!("ralph-20250120-103000-{stage}")), "{name}");
    }
    assert!(lab.read(&lab.logs("-build-", ".log")[0]).contains("words of the agent"));
    let before = lab.logs("ralph-", ".log").len();
    lab.set("[retention]\nlogs = 2\n");
    lab.config("backend = \"sim\"\n[retention]\nlogs = 2\n");
    lab.construct([]).ok();
    let after = lab.logs("ralph-", ".log").len();
    assert!(before > 4 && after <= 2, "{before} → {after}");
}

#[test]
fn the_summary_tells_each_iteration_with_time_and_cost_and_what_is_left() {
    let lab = planned(&[task("t-aaa1"), task("t-aaa2")]);
    let dear = format!("{{ cost = 0.25 }}, {GOOD}");
    let dear_verdict = format!("{{ cost = 0.05 }}, {ACCEPT}");
    lab.agents(
        &(builds("", &dear)
            + &crate::lab::rejects("task = \"t-aaa2\"")
            + &verifier("", &dear_verdict)),
    );
    let run = lab.construct(["--max-iterations", "1"]).fails(4);
    says(&run, "Iteration 1\n  build        t-aaa1, t-aaa2 done");
    says(&run, "$0.50");
    says(&run, "t-aaa1 accepted · t-aaa2 rejected");
    says(&run, "work.md: 2 built, 1 accepted, 1 rejected");
    says(&run, "1 left:\n  t-aaa2 Do t-aaa2: to be done again: an edge case is missing");
    says(&run, "Stopped: max iterations (1) reached. Tasks remaining: 1");
    says(&run, "Next: `ralph construct work.md` goes on");
}

#[test]
fn each_mode_of_memory_works_inside_a_construct() {
    let lab = planned(&[task("t-aaa1"), task("t-aaa2")]);
    let index = r#"{ write = ".ralph/knowledge-index.md", text = "x" }, { answer = "Updated." }"#;
    lab.agents(&format!(
        "[[rule]]\nwhen = \"knowledge index\"\nunless = \"## Current Task\"\nsteps = [{index}]\n"
    ));
    lab.set("[memory]\nindexer_interval = 1\n");
    lab.config("backend = \"sim\"\n");
    let run = lab.construct(["--mode", "handoff-plus-index"]).ok();
    assert!(lab.is_satisfied(), "{}", said(&run));
    assert_eq!(
        lab.journal().iter().find(|r| r["record"] == "run_started").unwrap()["mode"],
        "handoff-plus-index"
    );

    let lab = planned(&[task("t-aaa1"), task("t-aaa2")]);
    let run = lab.construct(["--mode", "agent-orchestrated"]).ok();
    assert!(lab.is_satisfied(), "{}", said(&run));
    let roles: Vec<String> = lab
        .journal()
        .iter()
        .filter(|r| r["record"] == "consulting")
        .map(|r| r["role"].as_str().unwrap().to_owned())
        .collect();
    assert!(roles.iter().any(|role| role == "prepare"), "{roles:?}");
}

#[test]
fn task_done_without_an_id_means_the_task_that_a_loop_works_on() {
    let lab = planned(&[task("t-aaa1"), task("t-aaa2")]);
    let wait = r#"{ run = "touch $HOME/here; until [ -f $HOME/go ]; do sleep 0.05; done" }"#;
    lab.agents(&builds("task = \"t-aaa1\"", &format!("{wait}, {GOOD}")));
    let run = lab.spawn(["construct", "work.md", "--timeout", "60000"]);
    until(|| lab.home().join("here").exists());
    lab.run(["task", "done"]).ok().stdout("Done: t-aaa1 Do t-aaa1\n");
    lab.write(lab.home().join("go"), "");
    run.wait();
    lab.run(["task", "done"]).fails(1).stderr_has("no task is open");
}

#[test]
fn commits_that_wait_at_the_end_have_the_exit_code_of_the_event() {
    let lab = lab();
    lab.set("auto_commit = false");
    let run = lab.construct([]).fails(3);
    says(&run, "commits wait");
    assert_eq!(lab.events("orchestrator_end").pop().unwrap()["metadata"]["exit_code"], 3);
    assert_eq!(lab.state()["status"], "paused");
    lab.construct(["--json"]).fails(3);
    lab.run(["land"]).ok();
    lab.construct([]).ok();
}
