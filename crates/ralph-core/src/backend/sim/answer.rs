//! The last words of a run: a claim as a marker in prose, or as a handoff.

use serde_json::{Map, Value, json};

use super::op::AnswerShape;
use super::scenario::{ClaimForm, ClaimStep, SimClaim};

/// Facts about a run that go into its handoff.
pub(super) struct HandoffFacts<'a> {
    pub(super) task: &'a str,
    /// Files and what was done to them.
    pub(super) touched: &'a [(String, &'static str)],
    pub(super) shape: AnswerShape,
}

pub(super) struct RenderedAnswer {
    pub(super) text: String,
    pub(super) structured: Option<Value>,
}

/// The answer that makes this claim.
pub(super) fn claim(step: &ClaimStep, facts: &HandoffFacts<'_>) -> RenderedAnswer {
    let form = match (step.form, facts.shape) {
        (ClaimForm::Auto, AnswerShape::Structured) => ClaimForm::Structured,
        (ClaimForm::Auto, AnswerShape::Free) => ClaimForm::Marker,
        (form, _) => form,
    };
    let prose = prose(step, facts);
    if step.claim == SimClaim::None {
        return RenderedAnswer { text: prose, structured: None };
    }
    match form {
        ClaimForm::Auto | ClaimForm::Marker => {
            let text = match step.claim {
                SimClaim::Done => format!("{prose}\n\n<TASK_DONE>"),
                SimClaim::Blocked => {
                    let why = why(step).replace('"', "'");
                    format!("{prose}\n\n<TASK_BLOCKED reason=\"{why}\">")
                }
                SimClaim::NotComplete | SimClaim::None => prose,
            };
            RenderedAnswer { text, structured: None }
        }
        ClaimForm::Json => {
            let handoff = handoff(step, facts, &prose);
            let text = format!("{prose}\n\n```json\n{handoff:#}\n```");
            RenderedAnswer { text, structured: None }
        }
        ClaimForm::Structured => {
            let handoff = handoff(step, facts, &prose);
            RenderedAnswer { text: handoff.to_string(), structured: Some(handoff) }
        }
    }
}

fn why(step: &ClaimStep) -> &str {
    step.why.as_deref().unwrap_or("the scenario says so")
}

fn prose(step: &ClaimStep, facts: &HandoffFacts<'_>) -> String {
    let task = facts.task;
    match step.claim {
        SimClaim::Done => format!("Finished {task}."),
        SimClaim::Blocked => format!("I cannot go on with {task}: {}.", why(step)),
        SimClaim::NotComplete => format!("A part of {task} is left to do: {}.", why(step)),
        SimClaim::None => format!("That is all for {task}."),
    }
}

/// A handoff with every field that one needs, and the scenario's own fields on top.
fn handoff(step: &ClaimStep, facts: &HandoffFacts<'_>, prose: &str) -> Value {
    let done = step.claim == SimClaim::Done;
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
    if step.claim == SimClaim::Blocked {
        put("request_human_review", json!({ "needed": true, "reason": why(step) }));
    }
    for (name, value) in &step.handoff {
        put(name, value.clone());
    }
    Value::Object(fields)
}
