//! The last words of a run: a claim as a marker in prose, or as a handoff.

use serde_json::{Map, Value, json};

use super::op::Shape;
use super::scenario::{Claim, ClaimStep, Form};

/// Facts about a run that go into its handoff.
pub(super) struct Facts<'a> {
    pub(super) task: &'a str,
    /// Files and what was done to them.
    pub(super) touched: &'a [(String, &'static str)],
    pub(super) shape: Shape,
}

pub(super) struct Said {
    pub(super) text: String,
    pub(super) structured: Option<Value>,
}

/// The answer that makes this claim.
pub(super) fn claim(step: &ClaimStep, facts: &Facts<'_>) -> Said {
    let form = match (step.form, facts.shape) {
        (Form::Auto, Shape::Structured) => Form::Structured,
        (Form::Auto, Shape::Free) => Form::Marker,
        (form, _) => form,
    };
    let prose = prose(step, facts);
    if step.claim == Claim::None {
        return Said { text: prose, structured: None };
    }
    match form {
        Form::Auto | Form::Marker => {
            let text = match step.claim {
                Claim::Done => format!("{prose}\n\n<TASK_DONE>"),
                Claim::Blocked => {
                    let why = why(step).replace('"', "'");
                    format!("{prose}\n\n<TASK_BLOCKED reason=\"{why}\">")
                }
                Claim::NotComplete | Claim::None => prose,
            };
            Said { text, structured: None }
        }
        Form::Json => {
            let handoff = handoff(step, facts, &prose);
            let text = format!("{prose}\n\n```json\n{handoff:#}\n```");
            Said { text, structured: None }
        }
        Form::Structured => {
            let handoff = handoff(step, facts, &prose);
            Said { text: handoff.to_string(), structured: Some(handoff) }
        }
    }
}

fn why(step: &ClaimStep) -> &str {
    step.why.as_deref().unwrap_or("the scenario says so")
}

fn prose(step: &ClaimStep, facts: &Facts<'_>) -> String {
    let task = facts.task;
    match step.claim {
        Claim::Done => format!("Finished {task}."),
        Claim::Blocked => format!("I cannot go on with {task}: {}.", why(step)),
        Claim::NotComplete => format!("A part of {task} is left to do: {}.", why(step)),
        Claim::None => format!("That is all for {task}."),
    }
}

/// A handoff with every field that one needs, and the scenario's own fields on top.
fn handoff(step: &ClaimStep, facts: &Facts<'_>, prose: &str) -> Value {
    let done = step.claim == Claim::Done;
    let files: Vec<Value> = facts
        .touched
        .iter()
        .map(|(path, action)| json!({ "path": path, "action": action }))
        .collect();
    let unfinished = if done {
        json!([])
    } else {
        json!([{ "item": facts.task, "reason": why(step), "priority": "high" }])
    };
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put(
        "task_completed",
        json!({ "task_id": facts.task, "summary": prose, "fully_complete": done }),
    );
    for empty in ["deviations", "bugs_encountered", "architectural_notes"] {
        put(empty, json!([]));
    }
    put("unfinished_business", unfinished);
    put("recommendations", json!([]));
    put("files_touched", Value::Array(files));
    for empty in ["plan_amendments", "tests_added", "constraints_discovered"] {
        put(empty, json!([]));
    }
    put("summary", json!(prose));
    put(
        "freeform",
        json!(format!(
            "{prose} This was written by the simulated backend, which follows a scenario."
        )),
    );
    if step.claim == Claim::Blocked {
        put("request_human_review", json!({ "needed": true, "reason": why(step) }));
    }
    for (name, value) in &step.handoff {
        put(name, value.clone());
    }
    Value::Object(fields)
}
