//! The demo project holds together.

use super::demo::{FILES, SCENARIO};
use super::scenario_tests::ask;
use super::*;
use crate::config::{ConfigTier, parse_layer};
use crate::format::{PlanFormat, codec};

fn file(path: &str) -> &'static str {
    FILES.iter().find(|file| file.path == path).map(|file| file.text).expect(path)
}

#[test]
fn the_demos_plan_and_settings_can_be_read() {
    let plan = codec(PlanFormat::Jsonl).parse(file("ralph/plan.jsonl")).expect("the plan");
    assert_eq!(plan.tasks.len(), 4);
    parse_layer(ConfigTier::Project, "ralph.toml", file("ralph.toml")).expect("the settings");
}

#[test]
fn the_built_in_scenario_knows_every_task_of_the_demo() {
    let scenario = Scenario::parse(SCENARIO).unwrap_or_else(|e| panic!("{e}"));
    let plan = codec(PlanFormat::Jsonl).parse(file("ralph/plan.jsonl")).expect("the plan");
    for task in &plan.tasks {
        let prompt = format!("## Current Task\n\nID: {}\n", task.id.as_str());
        // Whatever went wrong before, the third attempt is honest and complete.
        let choice = choose(&scenario, &prompt, &mut |_| 2);
        assert_eq!(choice.rule.task, [task.id.as_str()]);
        let performance = expand(&scenario, &choice, &prompt, &ask());
        assert_eq!(performance.ops.last(), Some(&SimOperation::Exit(0)));
    }
}
