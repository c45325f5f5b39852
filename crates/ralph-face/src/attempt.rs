//! Finished and running attempts in words and as JSON, for `ralph attempts` and `ralph show`.

use ralph_core::cycle::{AttemptView, Fate, Landing};
use ralph_core::needs::Running;
use serde_json::{Value, json};

use crate::words::short;

/// How an attempt ended, in a word or two. One that a killed loop left open is not under way.
pub fn result(view: &AttemptView, running: &Running) -> String {
    match &view.fate {
        Fate::Open if *running == Running::Nobody => "interrupted".to_owned(),
        Fate::Open => "under way".to_owned(),
        Fate::Limited => "usage limit".to_owned(),
        Fate::Failed { failure, .. } => failure.kind.words().to_owned(),
        Fate::Landed { landing, proof, .. } => {
            let landing = match landing {
                Landing::Complete => "landed",
                Landing::Partial => "landed in part",
            };
            let proof = proof.remark().map(|remark| format!(", {remark}")).unwrap_or_default();
            format!("{landing}{proof}")
        }
    }
}

/// What the gates said: `2 of 3`, and nothing when none ran.
pub fn gates(view: &AttemptView) -> Option<String> {
    let checks = &view.verdict.as_ref()?.checks;
    let green = checks.iter().filter(|check| check.is_green()).count();
    Some(if checks.is_empty() { "none".to_owned() } else { format!("{green} of {}", checks.len()) })
}

/// Where its work is: a commit or a ref.
pub fn kept(view: &AttemptView) -> Option<&str> {
    match &view.fate {
        Fate::Landed { commit, .. } => commit.as_deref(),
        Fate::Failed { salvage, .. } => salvage.as_deref(),
        Fate::Open | Fate::Limited => None,
    }
}

/// The same, short enough for a table.
pub fn kept_short(view: &AttemptView) -> Option<&str> {
    match &view.fate {
        Fate::Landed { .. } => kept(view).map(short),
        _ => kept(view),
    }
}

/// Everything about an attempt. The names are those of the journal and of `events.jsonl`.
pub fn as_json(view: &AttemptView, running: &Running) -> Value {
    let started = &view.started;
    let (word, more) = match &view.fate {
        Fate::Open if *running == Running::Nobody => ("interrupted", json!({})),
        Fate::Open => ("open", json!({})),
        Fate::Limited => ("limited", json!({})),
        Fate::Landed { commit, landing, proof } => {
            ("landed", json!({ "commit": commit, "landing": landing, "proof": proof }))
        }
        Fate::Failed { failure, salvage } => (
            "failed",
            json!({ "failure": failure.kind, "message": failure.message, "salvage": salvage }),
        ),
    };
    let mut value = json!({
        "attempt": started.attempt, "iteration": started.iteration, "run": started.run,
        "task_id": started.task, "name": started.name, "retry": started.retries,
        "backend": started.backend, "model": started.model, "log": started.log,
        "started_at": view.at, "ended_at": view.ended_at, "result": word,
    });
    if let Some(end) = &view.backend {
        value["outcome"] = json!(end.outcome.word());
        value["outcome_message"] = json!(end.outcome.to_string());
        value["claim"] = json!(end.claim);
        value["summary"] = json!(end.summary);
        value["session"] = json!(end.session);
        value["handoff"] = json!(end.handoff);
        value["changed_files"] = json!(end.changed);
        value["cost_usd"] = json!(end.cost);
        value["tokens"] = json!(end.tokens);
        value["duration_ms"] = json!(end.took_ms);
    }
    if let Some(verdict) = &view.verdict {
        value["checks"] = json!(verdict.checks);
        value["ruling"] = json!(verdict.ruling);
        value["judges"] = json!(verdict.judges);
        value["report"] = json!(verdict.report);
    }
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    value
}
