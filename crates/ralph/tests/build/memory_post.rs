//! `agent-orchestrated`, after an attempt: knowledge is put away, advice is passed on.

use crate::memory::{JSON, MARKDOWN};
use crate::memory::{
    NEW_JSON, NEW_MD, OLD_JSON, OLD_MD, PUT_AWAY, hands_over, has, in_mode, prepares,
    puts_nothing_away, role, write,
};
use crate::plans::{Format, records, task};
use crate::repo::{BROKEN, GOOD, Repo, rule, says};

const MODE: &str = "agent-orchestrated";

/// Two tasks, prepared well and put away with these steps; the coding agent does `work`.
fn put_away_by(steps: &str, work: &str) -> Repo {
    let repo = in_mode(MODE, Format::Jsonl, &[task("t-aaa1"), task("t-aaa2")], "");
    repo.knows(OLD_MD, OLD_JSON);
    repo.script(&(prepares() + &role(PUT_AWAY, "", steps) + &rule("", work)));
    repo
}

fn advises(fields: &str) -> String {
    format!("{{ answer = {{ reason = \"the parser\", {fields} }} }}")
}

fn index(markdown: &str, json: &str, fields: &str) -> String {
    format!("{}, {}, {}", write(MARKDOWN, markdown), write(JSON, json), advises(fields))
}

#[test]
fn what_was_learnt_is_in_the_index_after_each_attempt_in_every_format() {
    for format in Format::ALL {
        let repo = in_mode(MODE, format, &[task("t-aaa1"), task("t-aaa2")], "");
        repo.knows(OLD_MD, OLD_JSON);
        let kept = index(NEW_MD, NEW_JSON, "action = \"proceed\"");
        repo.script(&(prepares() + &role(PUT_AWAY, "", &kept) + &rule("", GOOD)));
        repo.build([]).ok();
        repo.index_is(NEW_MD, NEW_JSON);
        let asked = repo.asked("put-away");
        assert_eq!(asked.len(), 2, "{format:?}");
        has(
            &asked[0],
            &[
                "- validation: passed",
                "- handoff: `.ralph/handoffs/handoff-001.json`",
                "## Rules That Are Checked",
            ],
        );
        assert_eq!(repo.events("knowledge_indexed").len(), 2, "{format:?}");
        assert_eq!(repo.status(), "", "{format:?}: the index is committed");
        let stages = repo.run(["report", "--json"]).ok().json()["stages"].take();
        let mut names: Vec<_> = stages.as_array().unwrap().iter().map(|s| &s["name"]).collect();
        names.sort_by_key(|name| name.to_string());
        assert_eq!(names, ["build", "context"], "{format:?}: both agents are of one stage");
    }
}

#[test]
fn a_failed_attempt_is_put_away_too() {
    let repo = put_away_by(&advises("action = \"increase_retries\""), BROKEN);
    repo.build(["--once"]).fails(3);
    let asked = repo.asked("put-away");
    has(&asked[0], &["- validation: failed", "`.ralph/logs/validation/iter-1.json`"]);
}

#[test]
fn an_index_that_breaks_the_rules_is_put_back_and_the_next_time_it_is_told_why() {
    let soft = OLD_MD.replace("Must never", "Better not");
    let repo = put_away_by(&index(&soft, OLD_JSON, "action = \"proceed\""), GOOD);
    let run = repo.build([]).ok();
    says(&run, "the knowledge index is as before");
    repo.index_is(OLD_MD, OLD_JSON);
    let asked = repo.asked("put-away");
    has(&asked[1], &["## Why The Last Update Was Undone", "a hard constraint was dropped"]);
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"]);
}

#[test]
fn a_context_agent_that_crashes_afterwards_costs_nothing_but_its_update() {
    let crash = format!("{}, {{ signal = \"kill\" }}", write(MARKDOWN, "half"));
    let repo = put_away_by(&crash, GOOD);
    repo.build([]).ok();
    repo.index_is(OLD_MD, OLD_JSON);
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"]);
    assert_eq!(repo.events("knowledge_index_undone").len(), 2);
}

#[test]
fn advice_is_in_the_next_manifest_and_a_failure_pattern_is_an_event() {
    let advice = "action = \"modify_plan\", plan_suggestions = [\"Split t-aaa2\"], \
        failure_pattern = { pattern = \"the cache is cold\", evidence = \"iterations 1 and 2\" }";
    let repo = put_away_by(&advises(advice), GOOD);
    repo.build([]).ok();
    let manifests = repo.asked("prepare");
    assert!(!manifests[0].contains("advice after"));
    has(
        &manifests[1],
        &[
            "- advice after the last attempt: modify_plan: the parser",
            "- suggestion for the plan: Split t-aaa2",
        ],
    );
    let patterns = repo.events("failure_pattern");
    assert_eq!(patterns[0]["message"], "the cache is cold");
    assert_eq!(patterns[0]["metadata"]["evidence"], "iterations 1 and 2");
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"], "it is advice: the plan is as it was");
}

#[test]
fn a_wish_for_a_person_afterwards_is_a_warning_and_no_pause() {
    let repo = put_away_by(&advises("action = \"request_human_review\""), GOOD);
    let run = repo.build([]).ok();
    says(&run, "the context agent asks for a person: the parser");
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"]);
    assert_eq!(repo.state()["status"], "complete");
}

#[test]
fn the_signals_of_a_handoff_are_in_the_next_manifest() {
    let signals = "request_research = [\"how nom streams\"], confidence_level = \"low\", \
        request_human_review = { needed = true, reason = \"which licence?\" }";
    let repo = put_away_by(&advises("action = \"proceed\""), &hands_over(signals));
    repo.build([]).ok();
    let manifests = repo.asked("prepare");
    has(
        &manifests[1],
        &[
            "- confidence of the last attempt: low",
            "- the last attempt asks to look up: how nom streams",
            "- the last attempt asks for a person: which licence?",
        ],
    );
}

#[test]
fn a_task_that_asks_for_a_person_lands_when_claim_and_gates_are_good() {
    for mode in ["handoff-only", MODE] {
        let repo = in_mode(mode, Format::Jsonl, &[task("t-aaa1")], "");
        let asks = "request_human_review = { needed = true, reason = \"which licence?\" }";
        let work = rule("", &hands_over(asks));
        repo.script(&(prepares() + &puts_nothing_away() + &work));
        let run = repo.build([]).ok();
        says(&run, "the backend asks for a person: which licence?");
        assert_eq!(repo.landed(), ["t-aaa1"], "{mode}");
        let events = repo.events("human_review_requested");
        assert_eq!(events.len(), 1, "{mode}");
        assert_eq!(events[0]["message"], "which licence?");
    }
}

#[test]
fn a_task_that_asks_for_a_person_is_blocked_with_that_reason_when_its_gates_are_red() {
    let asks = "request_human_review = { needed = true, reason = \"which licence?\" }";
    let broken = format!(
        r#"{{ write = "work/{{task}}.txt", text = "BROKEN\n" }}, {{ claim = "done", handoff = {{ {asks} }} }}"#
    );
    let partly = hands_over(&format!(
        "{asks}, task_completed = {{ task_id = \"t-aaa1\", summary = \"half\", fully_complete = false }}"
    ));
    for work in [broken, partly] {
        let repo = in_mode("handoff-only", Format::Jsonl, &[task("t-aaa1"), task("t-aaa2")], "");
        repo.script(&(rule("task = \"t-aaa1\"", &work) + &rule("", GOOD)));
        let run = repo.build([]).fails(3);
        says(&run, "a person has to decide: which licence?");
        let plan = records(&repo.plan());
        let blocked = plan.iter().find(|r| r["id"] == "t-aaa1" && r["t"] == "task").unwrap();
        assert!(blocked["blocked"].as_str().unwrap().contains("which licence?"), "{blocked}");
        assert_eq!(repo.landed(), ["t-aaa2"], "others go on");
        assert_eq!(repo.runs(), ["t-aaa1", "t-aaa2"], "no retry is spent");
        assert_eq!(repo.events("human_review_requested").len(), 1);
    }
}
