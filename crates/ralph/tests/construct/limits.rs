//! Limits of a construct: time, context, money, iterations, and where they are set.

use serde_json::json;

use crate::lab::{Lab, answers, builds, done, planned, task, verifier, verifies, with};
use crate::repo::{GOOD, says};

/// A session fills its context like this; what then, the steps say.
fn fills(percent: &str, then: &str) -> String {
    builds("task = \"t-aaa1\"\nattempt = 1", &format!("{{ context = {percent} }}, {then}"))
}

/// What a native compaction of the sim comes to.
fn compacts(from: u32, to: u32) -> String {
    format!("[[rule]]\nwhen = \"/compact\"\nsteps = [{{ compact = [{from}, {to}] }}]\n")
}

/// Everything that was written about the run of a task.
fn all_of(lab: &Lab, run: &ralph_testkit::Run) -> String {
    let logs = lab.logs("-build-", ".log");
    let logs: Vec<String> = logs.iter().map(|log| lab.read(log)).collect();
    format!("{}{}", run.stdout, logs.concat())
}

#[test]
fn at_70_percent_there_is_a_warning_and_nothing_else() {
    let lab = planned(&[task("t-aaa1")]);
    lab.agents(&fills("[40, 72, 75]", GOOD));
    let run = lab.construct([]).ok();
    says(&run, "[RALPH] Context pressure: 72% - consider wrapping up");
    assert_eq!(run.stdout.matches("Context pressure").count(), 1);
    assert_eq!(lab.built(), ["t-aaa1"]);
    let log = all_of(&lab, &run);
    assert!(!log.contains("Context compacted"), "{log}");
}

#[test]
fn the_warning_says_the_threshold_of_the_seed_when_it_is_just_reached() {
    let lab = planned(&[task("t-aaa1")]);
    lab.agents(&fills("[70]", GOOD));
    says(&lab.construct([]).ok(), "[RALPH] Context pressure: 70% - consider wrapping up");
}

#[test]
fn at_85_percent_the_context_is_compacted_and_the_work_goes_on() {
    let lab = planned(&[task("t-aaa1")]);
    lab.agents(&(compacts(85, 30) + &fills("[50, 85]", r#"{ hang = true }"#)));
    let run = lab.construct([]).ok();
    says(&run, "[RALPH] Context compacted: 85% -> 30%");
    assert_eq!(lab.built(), ["t-aaa1"], "the same attempt went on");
    assert!(lab.is_satisfied());
}

#[test]
fn a_compaction_that_leaves_the_context_between_70_and_80_percent_goes_on_too() {
    let lab = planned(&[task("t-aaa1")]);
    lab.agents(&(compacts(86, 75) + &fills("[86]", r#"{ hang = true }"#)));
    let run = lab.construct([]).ok();
    says(&run, "[RALPH] Context compacted: 86% -> 75%");
    assert_eq!(lab.stages(), ["1 build", "1 verify"]);
}

#[test]
fn a_compaction_that_leaves_more_than_80_percent_is_a_kill_and_the_work_is_broken_down() {
    let lab = planned(&[task("t-aaa1")]);
    lab.agents(&(compacts(86, 82) + &fills("[86]", r#"{ hang = true }"#)));
    lab.construct([]).ok();
    assert_eq!(lab.stages(), ["1 build", "1 decompose", "2 build", "2 verify"]);
    let prompt = lab.prompt_of("decompose-t-aaa1");
    assert!(prompt.contains("its context was full"), "{prompt}");
}

#[test]
fn a_compaction_by_digest_keeps_what_matters_and_drops_the_rest() {
    let lab = planned(&[task("t-aaa1")]);
    // The backend cannot compact, so a new session gets a digest. It works on only when its prompt has
    // what must be kept, and nothing of what must not.
    let kept = [
        "with = \"=== COMPACTED CONTEXT ===\"",
        "with = \"Task: Do t-aaa1\"",
        "with = \"- src/half.c\"",
        "with = \"src/half.c |\"",
        "with = \"I use a lookup table.\"",
        "with = \"`seq 1 2000`: \"",
        "with = \"1 file changed\"",
        "with = \"=== END COMPACTED ===\"",
        "with = \"## Acceptance Criteria\"",
        "unless = \"\\n1234\\n\"",
    ];
    let work = r#"{ say = "I use a lookup table." }, { write = "src/half.c", text = "half\n" },
                  { run = "seq 1 2000" }, { context = 86 }, { hang = true }"#;
    lab.agents(
        &[
            "[[rule]]\nwhen = \"/compact\"\nsteps = [{ compaction_fails = \"too little\" }]\n"
                .to_owned(),
            builds(&kept.join("\n"), GOOD),
            builds(
                "with = \"COMPACTED\"",
                r#"{ claim = "blocked", why = "the digest lacks something" }"#,
            ),
            builds("", &work.replace('\n', " ")),
        ]
        .concat(),
    );
    let run = lab.construct(["--max-iterations", "1"]).ok();
    assert!(lab.exists("src/half.c"), "{}", run.stdout);
}

#[test]
fn at_95_percent_the_work_is_killed_at_once_with_its_reason_and_broken_down() {
    let lab = planned(&[task("t-aaa1")]);
    let stop = crate::lab::decomposer("", r#"{ fault = "not_logged_in" }"#);
    lab.agents(&(fills("[60, 96]", r#"{ hang = true }"#) + &stop));
    lab.construct([]).fails(1);
    let killed = lab.item("t-aaa1");
    assert_eq!(killed["kill_reason"], "context_limit");
    assert!(lab.exists(killed["kill_log"].as_str().unwrap()));
    lab.agents("");
    lab.construct([]).ok();
    let notes = lab.of_type("accept");
    assert_eq!(notes.iter().filter(|r| r["id"].is_string()).count(), 2, "{notes:?}");
}

#[test]
fn the_thresholds_are_settings_of_the_plan_and_of_the_project() {
    let record = json!({ "t": "config", "timeout_ms": 300_000, "max_iterations": 10,
                         "context_warn": 0.3, "context_compact": 0.5, "context_kill": 0.6 });
    let lab = planned(&[record, task("t-aaa1")]);
    lab.agents(&(compacts(50, 10) + &fills("[31, 51]", r#"{ hang = true }"#)));
    let run = lab.construct([]).ok();
    says(&run, "[RALPH] Context pressure: 31% - consider wrapping up");
    says(&run, "[RALPH] Context compacted: 51% -> 10%");

    let lab = planned(&[task("t-aaa1")]);
    lab.config("backend = \"sim\"\n[limits]\ncontext_warn = 0.2\ncontext_compact = 0.3\ncontext_kill = 0.4\n");
    lab.agents(&fills("[45]", r#"{ hang = true }"#));
    lab.construct([]).ok();
    assert_eq!(lab.stages()[1], "1 decompose");
}

#[test]
fn the_config_record_of_the_plan_sets_time_and_iterations_and_flags_outrank_it() {
    let record = json!({ "t": "config", "timeout_ms": 2000, "max_iterations": 1 });
    let lab = planned(&[record, task("t-aaa1")]);
    lab.agents(&builds("task = \"t-aaa1\"", r#"{ hang = true }"#));
    let run = lab.construct([]).fails(4);
    says(&run, "max iterations (1) reached");
    assert_eq!(lab.stages(), ["1 build", "1 decompose"]);
    lab.agents("");
    lab.construct(["--max-iterations", "3", "--timeout", "300000"]).ok();
}

#[test]
fn a_task_may_have_a_time_of_its_own() {
    let lab = planned(&[with(task("t-aaa1"), json!({ "timeout_ms": 60_000 })), task("t-aaa2")]);
    let slow = format!("{{ sleep = \"3s\" }}, {GOOD}");
    lab.agents(
        &(builds("task = \"t-aaa1\"", &slow) + &builds("task = \"t-aaa2\"", "{ hang = true }")),
    );
    lab.construct(["--timeout", "2500", "--max-iterations", "1"]).fails(4);
    let killed = lab.of_type("delete");
    assert_eq!(killed.len(), 1, "only the one without: {}", lab.plan());
    assert_eq!(killed[0]["id"], "t-aaa2");
    assert_eq!(lab.item("t-aaa1")["s"], "d");
}

#[test]
fn a_stage_may_have_a_time_of_its_own() {
    let lab = planned(&[done("t-aaa1")]);
    lab.config("backend = \"sim\"\n[stages.verify]\ntimeout = \"60s\"\n");
    let answer = answers(&json!({ "task_id": "{task}", "verdict": "accept", "reason": "yes" }));
    lab.agents(&verifier("", &format!("{{ sleep = \"3s\" }}, {answer}")));
    lab.construct(["--timeout", "2000"]).ok();
    assert_eq!(lab.accepted(), ["Do t-aaa1"]);
}

#[test]
fn iterations_are_counted_and_the_last_one_may_finish_the_work() {
    let lab = planned(&[task("t-aaa1")]);
    lab.construct(["--max-iterations", "1"]).ok();
    assert!(lab.is_satisfied());
}

#[test]
fn resume_goes_on_with_the_count_of_iterations() {
    let lab = planned(&[task("t-aaa1")]);
    let gap = json!({ "verdict": "accept", "reason": "yes", "gaps": [
        { "kind": "missing_feature", "title": "Add more after {task}", "description": "more after {task}" }] });
    lab.agents(&verifies("", gap));
    lab.construct(["--max-iterations", "2"]).fails(4);
    let built = lab.built().len();
    lab.construct(["--max-iterations", "2", "--resume"]).fails(4);
    assert_eq!(lab.built().len(), built, "the count was used up");
    lab.construct(["--max-iterations", "2"]).fails(4);
    assert!(lab.built().len() > built);
}

#[test]
fn money_is_counted_over_all_agents_and_ends_the_construct() {
    let lab = planned(&[task("t-aaa1"), task("t-aaa2")]);
    let answer = answers(&json!({ "task_id": "{task}", "verdict": "accept", "reason": "yes" }));
    lab.agents(
        &(builds("", &format!("{{ cost = 0.2 }}, {GOOD}"))
            + &verifier("", &format!("{{ cost = 0.4 }}, {answer}"))
            + &crate::lab::judge(
                "",
                &format!("{{ cost = 0.1 }}, {}", answers(&json!({ "satisfied": true }))),
            )),
    );
    let run = lab.construct(["--max-cost", "1"]).fails(4);
    says(&run, "max cost");
    assert!(!lab.is_satisfied());
    let run = lab.construct(["--max-cost", "3"]).ok();
    says(&run, "verify");
    assert!(lab.is_satisfied());
}

#[test]
fn money_is_checked_before_every_start_of_an_agent() {
    let ids = ["t-aaa1", "t-aaa2", "t-aaa3", "t-aaa4", "t-aaa5", "t-aaa6"];
    let lab = planned(&ids.map(done));
    let answer = answers(&json!({ "task_id": "{task}", "verdict": "accept", "reason": "yes" }));
    lab.agents(&verifier("", &format!("{{ cost = 5.0 }}, {answer}")));
    let run = lab.construct(["--max-cost", "6"]).fails(4);
    says(&run, "max cost ($6.00) reached, $10.00 spent");
    assert_eq!(lab.asked("verify").len(), 2, "at most one call above the limit");
    assert_eq!(lab.accepted().len(), 2, "what was paid for counts");
    // So it is before a repair question.
    let lab = planned(&[done("t-aaa1"), done("t-aaa2")]);
    let count = r#"{ run = "echo x >> \"$HOME/runs\"" }, { cost = 4.0 }"#;
    lab.agents(
        &(format!("[[rule]]\nwhen = \"could not be used\"\nsteps = [{count}]\n")
            + &verifier("task = \"t-aaa1\"", &format!("{count}, {answer}"))
            + &verifier("", &format!("{count}, {{ answer = \"Fine.\" }}"))),
    );
    lab.construct(["--max-cost", "6", "--jobs", "1"]).fails(4);
    assert_eq!(lab.runs().len(), 2);
    assert_eq!(lab.item("t-aaa2")["s"], "d");
}

#[test]
fn verifiers_run_alone_until_three_calls_tell_what_one_costs() {
    let ids = ["t-aaa1", "t-aaa2", "t-aaa3", "t-aaa4", "t-aaa5", "t-aaa6"];
    let lab = planned(&ids.map(done));
    let answer = answers(&json!({ "task_id": "{task}", "verdict": "accept", "reason": "yes" }));
    lab.agents(&verifier("", &format!("{{ cost = 2.5 }}, {answer}")));
    let run = lab.construct(["--max-cost", "6"]).fails(4);
    says(&run, "max cost ($6.00) reached, $7.50 spent");
    assert_eq!(lab.asked("verify").len(), 3, "at most one call above the limit");
    // What three calls cost is known in the next run too, and each open one reserves it.
    let gauge = r#"{ run = "echo + >> $HOME/calls; until [ $(grep -c + $HOME/calls) -ge 2 ]; do sleep 0.05; done; echo - >> $HOME/calls" }"#;
    lab.agents(&verifier("", &format!("{gauge}, {{ cost = 2.5 }}, {answer}")));
    lab.construct(["--max-cost", "7"]).fails(4);
    let calls = std::fs::read_to_string(lab.home().join("calls")).unwrap();
    assert_eq!(calls.split_whitespace().collect::<String>(), "++--+-", "two fit, a third does not");
}

#[test]
fn an_answer_that_reaches_the_limit_exactly_is_used() {
    let lab = planned(&[done("t-aaa1"), done("t-aaa2")]);
    let answer = answers(&json!({ "task_id": "{task}", "verdict": "accept", "reason": "yes" }));
    lab.agents(&verifier("", &format!("{{ cost = 5.0 }}, {answer}")));
    let run = lab.construct(["--max-cost", "5"]).fails(4);
    says(&run, "max cost ($5.00) reached, $5.00 spent");
    assert!(!run.stdout.contains("unusable"), "{}", run.stdout);
    // Either may come first.
    assert_eq!(lab.accepted().len(), 1, "{:?}", lab.accepted());
}

#[test]
fn verifiers_work_side_by_side_while_there_is_money_for_all_that_run() {
    let ids = ["t-aaa1", "t-aaa2", "t-aaa3", "t-aaa4", "t-aaa5", "t-aaa6", "t-aaa7"];
    let lab = planned(&ids.map(done));
    // The first three alone say what one costs; after them four have to be there at the same time.
    let meet = r#"{ run = "mkdir -p $HOME/here; touch $HOME/here/{task}; [ $(ls $HOME/here | wc -l) -gt 3 ] || exit 0; until [ $(ls $HOME/here | wc -l) -ge 7 ]; do sleep 0.05; done" }"#;
    let answer = answers(&json!({ "task_id": "{task}", "verdict": "accept", "reason": "yes" }));
    lab.agents(&verifier("", &format!("{meet}, {{ cost = 1.0 }}, {answer}")));
    lab.construct(["--max-cost", "10", "--timeout", "60000"]).ok();
    assert_eq!(lab.accepted().len(), 7);
}
