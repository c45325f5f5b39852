//! What every face shows of a loop that runs: `ralph status --json` has it whole.

use std::fs;

use serde_json::{Value, json};

use crate::desk::{Desk, desk};
use crate::repo::{GOOD, rule, until};

fn view(desk: &Desk) -> Value {
    desk.run(["status", "--json"]).ok().json()["view"].clone()
}

#[test]
fn the_view_knows_the_budgets_that_were_typed() {
    let desk = desk();
    let run = desk.spawn(["build", "--max-cost", "3", "--max-iterations", "7"]);
    until(|| desk.home().join("there").exists());
    let now = view(&desk);
    assert_eq!(
        (&now["cost"]["limit_usd"], &now["loop"]["iteration_limit"]),
        (&json!(3.0), &json!(7))
    );
    assert_eq!(
        (&now["loop"]["status"], &now["loop"]["pid"]),
        (&json!("running"), &json!(run.pid()))
    );
    assert_eq!(now["attempt"]["task_id"], "t-aaa1");
    desk.go();
    run.wait().ok();
    let after = view(&desk);
    assert_eq!(
        (&after["loop"]["status"], &after["loop"]["end"]),
        (&json!("ended"), &json!("complete"))
    );
    assert_eq!(after["cost"]["limit_usd"], 3.0, "that run may have spent so much");
}

#[test]
fn a_gate_is_seen_while_it_runs() {
    let desk = desk();
    desk.config(
        "backend = \"sim\"\n[[gates]]\nname = \"first\"\ncommand = \"true\"\n\
         [[gates]]\nname = \"slow\"\ncommand = \"while [ -e work ] && [ ! -e $HOME/go ]; do sleep 0.02; done\"\n",
    );
    desk.script(&rule("", GOOD));
    let run = desk.spawn(["build"]);
    let gates = || view(&desk)["attempt"]["gates"].clone();
    until(|| gates()[1]["state"] == "running");
    assert_eq!((&gates()[0]["state"], &gates()[1]["on"]), (&json!("passed"), &json!("result")));
    // Both have run on the base.
    assert_eq!(desk.events("gate_start").len(), 4);
    assert_eq!(desk.events("gate_end").len(), 3);
    fs::write(desk.home().join("go"), "").unwrap();
    run.wait().ok();
    assert_eq!(desk.events("gate_end").len(), 6);
    assert_eq!(desk.events("gate_end")[5]["metadata"]["gate"], "slow");
}

#[test]
fn what_was_asked_for_and_has_not_happened_yet_is_in_the_view() {
    let desk = desk();
    let run = desk.at_work();
    desk.run(["stop"]).ok();
    until(|| view(&desk)["loop"]["stopping"] == true);
    desk.go();
    run.wait().fails(4);
    assert_eq!(view(&desk)["loop"]["stopping"], false);
}
