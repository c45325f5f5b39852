//! VERIFY: everybody at once, nobody disturbs the others, and no word is never a good word.

use serde_json::{Value, json};

use crate::lab::{
    Lab, accepts, answers, done, judge, judges, planned, rejects, task, verifier, verifies,
};
use crate::repo::{says, until};

const ACCEPT: &str =
    r#"{ answer = { task_id = "{task}", verdict = "accept", reason = "I looked at it" } }"#;

fn ten() -> Vec<Value> {
    (0..10).map(|n| done(&format!("t-aaa{n}"))).collect()
}

#[test]
fn ten_verifiers_work_at_the_same_time() {
    let lab = planned(&ten());
    // Nobody goes on before all ten are there: one after another they would wait for ever.
    let meet = r#"{ run = "mkdir -p $HOME/here; touch $HOME/here/{task}; until [ $(ls $HOME/here | wc -l) -ge 10 ]; do sleep 0.05; done" }"#;
    lab.agents(&verifier("", &format!("{meet}, {ACCEPT}")));
    lab.construct(["--timeout", "60000"]).ok();
    assert_eq!(lab.accepted().len(), 10);
    assert_eq!(lab.asked("verify").len(), 11, "each once, and the spec");
}

#[test]
fn jobs_is_how_many_verifiers_work_at_once() {
    let lab = planned(&ten()[..5]);
    // The first two wait for each other: one at a time would wait for ever.
    let count = r#"{ run = "echo + >> $HOME/log; until [ $(grep -c + $HOME/log) -ge 2 ]; do sleep 0.05; done; echo - >> $HOME/log" }"#;
    lab.agents(&verifier("", &format!("{count}, {ACCEPT}")));
    lab.construct(["--jobs", "2"]).ok();
    let log = std::fs::read_to_string(lab.home().join("log")).unwrap();
    let (mut now, mut most) = (0_i32, 0);
    for line in log.lines() {
        now += if line == "+" { 1 } else { -1 };
        most = most.max(now);
    }
    assert_eq!((most, now), (2, 0), "{log}");
}

#[test]
fn verifiers_that_write_are_undone_and_all_are_asked_again_one_at_a_time() {
    let lab = planned(&ten()[..3]);
    lab.write("user/kept.txt", "kept, and edited by the user\n");
    let scribble =
        r#"{ write = "src/main.c", text = "rubbish\n" }, { write = "rubbish.txt", text = "x\n" }"#;
    lab.agents(&(verifier("task = \"t-aaa1\"", &format!("{scribble}, {ACCEPT}")) + &accepts()));
    let run = lab.construct([]).ok();
    says(&run, "verify may change nothing, and changed");
    says(&run, "rubbish.txt");
    says(&run, "all are asked again, one at a time");
    assert!(!lab.exists("rubbish.txt"));
    assert_eq!(lab.read("src/main.c"), "int main(void) { return 0; }\n");
    assert_eq!(lab.read("user/kept.txt"), "kept, and edited by the user\n");
    assert_eq!(lab.asked("verify").len(), 7, "three, three again, and the spec");
    assert_eq!(lab.accepted().len(), 3);
    assert_eq!(lab.status(), " M user/kept.txt");
    lab.run(["salvage", "list"]).ok();
}

/// A step that counts the starts of verifiers.
const COUNT: &str = r#"{ run = "echo {task} >> \"$HOME/runs\"" }"#;

/// What follows the repair question.
fn repaired(steps: &str) -> String {
    format!("[[rule]]\nwhen = \"could not be used\"\nsteps = [{COUNT}, {steps}]\n")
}

/// A verifier that says nothing usable, twice: its task stays done and needs a person; the next run
/// asks again.
fn unusable(steps: &str, args: [&str; 2], asked: usize) -> Lab {
    let lab = planned(&[task("t-aaa1"), task("t-aaa2")]);
    lab.agents(&(repaired(steps) + &verifier("task = \"t-aaa1\"", &format!("{COUNT}, {steps}"))));
    let run = lab.construct(args).fails(3);
    assert_eq!(lab.runs().len(), asked, "at most one question and one repair question");
    assert_eq!(lab.item("t-aaa1")["s"], "d", "it stays done, and is never accepted");
    assert_eq!(lab.accepted(), ["Do t-aaa2"]);
    let bad = [lab.of_type("reject"), lab.of_type("issue")].concat();
    assert!(bad.is_empty() && !lab.is_satisfied(), "{bad:?}");
    let log = &lab.logs("-verify-t-aaa1-", ".log")[0];
    let log = log.file_name().unwrap().to_string_lossy();
    let (line, verdicts) = (|item: &str| format!("verify   {item} "), run.stdout.as_str());
    let said = |item: &str, word: &str| verdicts.contains(&(line(item) + word));
    assert!(said("t-aaa1", "unusable: ") && said("t-aaa2", "accepted"), "{verdicts}");
    says(&run, "t-aaa1: not verified: ");
    says(&run, &log);
    says(&run, "`ralph construct work.md` asks the verifiers again");
    let report = lab.run(["report"]).ok().stdout;
    assert!(report.contains("t-aaa1: not verified: "), "{report}");
    assert!(report.contains("ralph construct work.md"), "{report}");
    lab.agents("");
    lab.construct([]).ok();
    assert_eq!(lab.accepted(), ["Do t-aaa2", "Do t-aaa1"]);
    assert!(lab.run(["report"]).ok().stdout.contains("nothing needs you"));
    lab
}

#[test]
fn a_verifier_that_crashes_is_asked_once_more_and_then_the_task_is_not_verified() {
    unusable(r#"{ signal = "kill" }"#, ["--jobs", "2"], 2);
}

#[test]
fn a_verifier_that_talks_nonsense_is_no_verdict() {
    unusable(r#"{ answer = "It looks fine to me, accept!" }"#, ["--jobs", "2"], 2);
}

#[test]
fn a_verifier_that_hangs_is_ended_and_is_no_verdict() {
    unusable(r#"{ hang = true }"#, ["--timeout", "8000"], 1);
}

#[test]
fn one_bad_answer_is_mended_by_asking_again() {
    let lab = planned(&[done("t-aaa1")]);
    lab.agents(&verifier("attempt = 1", r#"{ signal = "kill" }"#));
    lab.construct([]).ok();
    assert_eq!(lab.accepted(), ["Do t-aaa1"]);
    assert_eq!(lab.stages(), ["1 verify"]);
}

#[test]
fn a_rejection_is_told_in_the_line_of_its_verifier() {
    let lab = planned(&[done("t-aaa1")]);
    lab.agents(&rejects(""));
    let run = lab.construct(["--max-iterations", "1"]).fails(4);
    says(&run, "verify   t-aaa1 rejected; ");
}

#[test]
fn a_verdict_about_another_task_says_nothing_about_this_one() {
    let lab = planned(&[done("t-aaa1"), done("t-aaa2")]);
    let other = json!({ "task_id": "t-zzz9", "verdict": "accept", "reason": "yes" });
    lab.agents(&verifier("task = \"t-aaa1\"", &answers(&other)));
    lab.construct([]).fails(3);
    assert_eq!(lab.item("t-aaa1")["s"], "d");
    assert_eq!(lab.accepted(), ["Do t-aaa2"]);
}

#[test]
fn other_work_goes_on_beside_a_task_that_nobody_can_verify() {
    let lab = planned(&[done("t-aaa1"), task("t-aaa2")]);
    let gap = json!([{ "kind": "missing_feature", "title": "Add more", "description": "more" }]);
    lab.agents(
        &(verifier("task = \"t-aaa1\"", r#"{ signal = "kill" }"#)
            + &verifies(
                "task = \"t-aaa2\"",
                json!({ "verdict": "accept", "reason": "yes", "gaps": gap }),
            )),
    );
    lab.construct([]).fails(3);
    assert_eq!(lab.accepted(), ["Do t-aaa2", "Add more"]);
    assert_eq!(lab.asked("verify").iter().filter(|item| *item == "t-aaa1").count(), 1);
}

#[test]
fn no_word_about_the_spec_is_not_a_good_word_about_it() {
    let lab = planned(&[done("t-aaa1")]);
    let sure = r#"{ answer = "Sure." }"#;
    lab.agents(&(repaired(sure) + &judge("", &format!("{COUNT}, {sure}"))));
    let run = lab.construct([]).fails(3);
    says(&run, "the spec as a whole: not verified: ");
    assert_eq!(lab.runs().len(), 2, "one question and one repair question");
    assert!(!lab.is_satisfied());
}

#[test]
fn a_verifier_that_always_rejects_ends_with_a_reason() {
    let lab = planned(&[task("t-aaa1")]);
    let better = r#"{ append = "work/{task}.txt", text = "more\n" }, { claim = "done" }"#;
    let again =
        json!({ "outcome": "tasks", "tasks": [crate::lab::new("x", "Try it another way")] });
    lab.agents(
        &(rejects("") + &crate::lab::builds("", better) + &crate::lab::investigates("", again)),
    );
    let run = lab.construct(["--max-iterations", "8"]);
    assert!([3, 4].contains(&run.code), "{}", run.stdout);
    assert!(lab.accepted().is_empty() && !lab.is_satisfied());
    let first = lab.built().iter().filter(|id| *id == "t-aaa1").count();
    assert_eq!(first, 3, "two retries, and then it is an issue");
    says(&run, "everything was rejected in 4 iterations");
}

#[test]
fn a_verifier_that_always_finds_more_work_is_bounded_by_the_breaker_and_the_iterations() {
    let lab = planned(&[task("t-aaa1")]);
    // Each time thirty gaps that nobody has told before.
    let gap = |n: usize| {
        json!({ "kind": "missing_feature", "title": format!("Add part {n} of {{task}}"),
                                 "description": format!("part {n} of {{task}} is missing") })
    };
    let gaps: Vec<Value> = (0..30).map(gap).collect();
    lab.agents(&verifies("", json!({ "verdict": "accept", "reason": "yes", "gaps": gaps })));
    let run = lab.construct(["--max-iterations", "2"]).fails(4);
    says(&run, "left out: enough for now");
    let created = |n: usize| lab.stage_ends()[n]["came"]["created"].as_array().unwrap().len();
    assert!(created(1) <= 20, "{} new tasks in one stage", created(1));
    assert!(created(3) <= 20, "{} new tasks in one stage", created(3));
    says(&run, "max iterations (2) reached");
}

#[test]
fn the_same_gap_told_twice_is_one_task() {
    let lab = planned(&[done("t-aaa1"), done("t-aaa2")]);
    let gap = json!([{ "kind": "missing_feature", "title": "Handle empty input", "description": "empty input" }]);
    lab.agents(
        &(verifies("", json!({ "verdict": "accept", "reason": "yes", "gaps": gap }))
            + &judges("", json!({ "satisfied": false, "reason": "no", "gaps": gap }))),
    );
    lab.construct(["--max-iterations", "1"]).fails(4);
    assert_eq!(lab.of_type("task").len(), 1, "{}", lab.plan());
}

#[test]
fn a_usage_limit_during_verify_is_waited_for_and_only_those_who_met_it_are_asked_again() {
    let lab = planned(&[done("t-aaa1"), done("t-aaa2"), done("t-aaa3")]).real_time();
    let limit =
        r#"{ fail = "rate_limit", resets_in = "2s", message = "You have hit your limit." }"#;
    lab.agents(&verifier("task = \"t-aaa2\"\nattempt = 1", limit));
    let run = lab.construct([]).ok();
    says(&run, "Waiting: ");
    let mut asked = lab.asked("verify");
    asked.sort();
    assert_eq!(asked, ["spec", "t-aaa1", "t-aaa2", "t-aaa2", "t-aaa3"]);
    assert_eq!(lab.stages(), ["1 verify"]);
    assert_eq!(lab.accepted().len(), 3);
}

#[test]
fn a_verifier_that_is_not_logged_in_ends_the_construct_with_advice() {
    let lab = planned(&[done("t-aaa1"), done("t-aaa2")]);
    lab.agents(&verifier("", r#"{ fault = "not_logged_in" }"#));
    let run = lab.construct([]).fails(1);
    says(&run, "Next: ");
    assert_eq!(lab.item("t-aaa1")["s"], "d");
    assert!(lab.of_type("issue").is_empty());
}

#[test]
fn a_stage_may_have_a_backend_of_its_own() {
    let lab = planned(&[task("t-aaa1")]);
    lab.write(
        "judge.sh",
        "cat > \"$HOME/asked\"\nid=$(grep -o 't-aaa[0-9]' \"$HOME/asked\" | head -1)\n\
         echo \"{\\\"task_id\\\": \\\"$id\\\", \\\"verdict\\\": \\\"accept\\\", \\\"reason\\\": \\\"yes\\\", \\\"satisfied\\\": true}\"\n",
    );
    lab.config(&format!(
        "backend = \"sim\"\n{}\n[backends.judge]\nkind = \"command\"\ncommand = [\"sh\", \"judge.sh\"]\nclaim = \"exit\"\n\n[stages.verify]\nbackend = \"judge\"\n",
        crate::repo::GATE
    ));
    lab.agents(&rejects(""));
    lab.construct([]).ok();
    assert_eq!(lab.accepted(), ["Do t-aaa1"]);
    let answered = lab.journal().into_iter().filter(|r| r["record"] == "answered");
    assert!(answered.into_iter().all(|r| r["backend"] == "judge"));
}

#[test]
fn what_changed_meanwhile_in_the_plan_is_respected() {
    let lab = planned(&[done("t-aaa1"), done("t-aaa2")]);
    // While the verifiers work, somebody else adds a task with a command and gives one up.
    let wait = r#"{ run = "touch $HOME/here; until [ -f $HOME/go ]; do sleep 0.05; done" }"#;
    lab.agents(&verifier("task = \"t-aaa1\"", &format!("{wait}, {ACCEPT}")));
    let run = lab.spawn(["construct", "work.md", "--timeout", "60000"]);
    until(|| lab.home().join("here").exists());
    lab.run(["task", "add", "A third thing"]).ok();
    lab.write(lab.home().join("go"), "");
    run.wait().ok();
    assert!(lab.accepted().contains(&"A third thing".to_owned()), "{}", lab.plan());
    assert_eq!(lab.stages(), ["1 verify", "2 build", "2 verify"]);
}
