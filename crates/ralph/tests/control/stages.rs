//! The same commands in construct and agent mode, where agents are asked and verifiers decide.

use std::fs;

use crate::desk::{Desk, WAITS, desk};
use crate::repo::{GOOD, rule, says, until};

/// A desk with a spec and one task of it; `rules` come first, then everybody does well.
fn lab(rules: &str) -> Desk {
    let desk = desk();
    desk.write("ralph/specs/work.md", "# Work\n\nWrite the files.\n");
    desk.write(
        "ralph/plan.jsonl",
        "{\"t\":\"spec\",\"spec\":\"work.md\"}\n\
         {\"t\":\"task\",\"id\":\"t-aaa1\",\"spec\":\"work.md\",\"name\":\"Do it\",\"s\":\"p\",\"accept\":\"it is there\"}\n",
    );
    desk.commit("spec");
    let verdict = r#"{ answer = { task_id = "{task}", verdict = "accept", reason = "I looked" } }"#;
    let whole = r#"{ answer = { satisfied = true, reason = "all of it is there" } }"#;
    let usual = [
        asked("You verify one task", verdict),
        asked("as a whole is satisfied", whole),
        rule("", GOOD),
    ];
    desk.script(&format!("{rules}{}", usual.concat()));
    desk
}

fn asked(when: &str, steps: &str) -> String {
    format!("[[rule]]\nwhen = {when:?}\nsteps = [{steps}]\n")
}

/// The one who writes code waits.
fn waiting_builder() -> String {
    let others = "unless = [\"You verify one task\", \"as a whole is satisfied\"]";
    rule(&format!("task = \"t-aaa1\"\n{others}"), &format!("{WAITS}, {GOOD}"))
}

/// Only the first verifier hangs.
const HANGS: &str =
    "[[rule]]\nwhen = \"You verify one task\"\nattempt = 1\nsteps = [{ hang = true }]\n";

#[test]
fn a_construct_pauses_between_its_stages_and_goes_on() {
    let desk = lab(&waiting_builder());
    let run = desk.spawn(["construct", "work"]);
    until(|| desk.home().join("there").exists());
    desk.run(["pause"]).ok();
    desk.taken("pause");
    desk.go();
    until(|| desk.records("landed").len() == 1);
    assert!(desk.records("answered").is_empty(), "nobody is asked while it is paused");
    desk.run(["resume"]).ok();
    run.wait().ok();
    assert!(!desk.records("answered").is_empty());
}

#[test]
fn a_construct_stops_after_the_attempt_and_goes_on_at_the_next_start() {
    let desk = lab(&waiting_builder());
    let run = desk.spawn(["construct", "work"]);
    until(|| desk.home().join("there").exists());
    desk.run(["stop"]).ok();
    desk.taken("stop");
    desk.go();
    says(&run.wait().fails(4), "asked to stop");
    assert!(desk.records("answered").is_empty());
    desk.run(["construct", "work"]).ok();
}

#[test]
fn an_agent_that_is_asked_can_be_ended_and_notes_reach_it_while_it_works() {
    let desk = lab(HANGS);
    let run = desk.spawn(["construct", "work"]);
    until(|| !desk.records("consulting").is_empty());
    desk.run(["note", "look twice"]).ok();
    desk.taken("inject-note");
    desk.run(["kill-attempt"]).ok();
    let run = run.wait();
    assert!(run.code == 0 || run.code == 3, "{}", crate::repo::said(&run));
    assert!(desk.records("answered").iter().any(|record| record["outcome"] == "cancelled"));
}

#[test]
fn a_stop_lets_an_agent_put_its_spec_back_into_the_queue() {
    let desk = lab(&waiting_builder());
    desk.run(["inbox", "add", "work"]).ok();
    let run = desk.spawn(["agent"]);
    until(|| desk.home().join("there").exists());
    desk.run(["stop"]).ok();
    desk.taken("stop");
    desk.go();
    says(&run.wait().fails(4), "asked to stop");
    let inbox = fs::read_to_string(desk.path("ralph/inbox.jsonl")).unwrap();
    assert!(inbox.contains("pending"), "{inbox}");
    desk.run(["agent"]).ok();
}

#[test]
fn an_agent_that_waits_for_specs_can_be_stopped() {
    let desk = lab("");
    let run = desk.spawn(["agent", "--watch"]);
    until(|| !desk.records("run_started").is_empty());
    desk.run(["stop"]).ok();
    // A command that comes before the loop listens is from before the run.
    until(|| desk.pending().is_empty());
    if desk.records("run_ended").is_empty() {
        let _over_already = desk.run(["stop"]);
    }
    run.wait().fails(4);
}
