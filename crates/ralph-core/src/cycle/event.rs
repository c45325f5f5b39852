//! The event stream of seed tools: a view of the journal, one line a record that people care about.

use serde::Serialize;
use serde_json::{Value, json};

use super::attempts::Fate;
use super::history::History;
use super::judge::Claimed;
use super::record::{Entry, On, PlanAmended, Record};
use crate::gate::{GateCheck, GateVerdict};
use crate::words::took;

/// One line of `events.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// When, RFC 3339.
    pub timestamp: String,
    /// What kind.
    pub event: String,
    /// In words.
    pub message: String,
    /// The numbers and ids.
    pub metadata: Value,
}

/// The events of one record. `history` holds everything up to and with it.
pub fn event_of(entry: &Entry, history: &History) -> Vec<Event> {
    let event = |event: &str, message: String, metadata: Value| Event {
        timestamp: entry.at.clone(),
        event: event.to_owned(),
        message,
        metadata,
    };
    match &entry.record {
        Record::RunStarted(run) => vec![event(
            "orchestrator_start",
            format!("ralph {} on {}", run.command, run.plan),
            json!({ "run": run.run, "mode": run.mode, "plan": run.plan }),
        )],
        Record::RunEnded { end, message, remaining } => vec![event(
            "orchestrator_end",
            message.clone(),
            json!({ "status": end, "remaining": remaining, "cost_usd": history.cost }),
        )],
        Record::AttemptStarted(started) => vec![event(
            "iteration_start",
            format!("Starting iteration {}", started.iteration),
            json!({
                "iteration": started.iteration, "task_id": started.task, "attempt": started.attempt,
                "retry": started.retries, "backend": started.backend,
            }),
        )],
        Record::BackendEnded(end) => {
            let metadata = json!({
                "attempt": end.attempt, "outcome": end.outcome, "cost_usd": end.cost,
                "changed_files": end.changed, "duration_ms": end.took_ms,
            });
            let mut events = vec![event("backend_end", end.message.clone(), metadata)];
            let asked = match &end.claimed {
                Claimed::NeedsHuman { reason } => Some(reason),
                _ => end.review.as_ref(),
            };
            if let Some(reason) = asked {
                let metadata = json!({ "attempt": end.attempt });
                events.push(event("human_review_requested", reason.clone(), metadata));
            }
            events
        }
        Record::GateStarted(start) => vec![event(
            "gate_start",
            format!("{} runs{}", start.gate, place(start.on)),
            json!({ "attempt": start.attempt, "gate": start.gate, "on": start.on }),
        )],
        Record::GateEnded(end) => {
            let (start, word) = (&end.start, if end.passed { "passed" } else { "failed" });
            vec![event(
                "gate_end",
                format!("{} {word}{} in {}", start.gate, place(start.on), took(end.took_ms)),
                json!({
                    "attempt": start.attempt, "gate": start.gate, "on": start.on,
                    "passed": end.passed, "duration_ms": end.took_ms,
                }),
            )]
        }
        Record::Judged(verdict) => {
            let word = if verdict.passed { "validation_pass" } else { "validation_fail" };
            let metadata = json!({
                "attempt": verdict.attempt, "checks": verdict.checks.iter().map(check).collect::<Vec<_>>(),
                "unproven": verdict.unproven, "judges": verdict.judges,
            });
            vec![event(word, in_words(verdict), metadata)]
        }
        Record::Landed { attempt, .. } | Record::RolledBack { attempt, .. } => {
            iteration_end(entry, history, attempt).into_iter().collect()
        }
        Record::Waiting { until, backend, reason, attempt } => vec![event(
            "waiting",
            format!("usage limit of {backend}: {reason}"),
            json!({ "attempt": attempt, "until": until, "backend": backend }),
        )],
        Record::Waited => vec![event("wait_end", "the wait is over".into(), json!({}))],
        Record::Command { id, command, argument, ignored, next } => {
            let word = match command.as_str() {
                _ if next.is_some() => "command_ignored",
                "inject-note" => "note",
                "skip-task" => "skip_task",
                other => other,
            };
            let message = argument.as_ref().unwrap_or(command);
            let message = match ignored {
                Some(why) => format!("{message}: ignored, {why}"),
                None => message.clone(),
            };
            vec![event(word, message, json!({ "command": command, "id": id }))]
        }
        Record::Indexed { iteration } => vec![event(
            "knowledge_indexed",
            format!("the knowledge index knows everything up to iteration {iteration}"),
            json!({ "iteration": iteration }),
        )],
        Record::Amended(amended) => vec![amendments(entry, amended)],
        Record::Noted { event: word, message, details } => {
            vec![event(word, message.clone(), details.clone())]
        }
        Record::ConstructStarted(start) => vec![event(
            "construct_start",
            format!("construct {}", start.spec),
            json!({ "spec": start.spec }),
        )],
        Record::IterationStarted { n } => vec![event(
            "construct_iteration",
            format!("construct iteration {n}"),
            json!({ "iteration": n, "spec": history.construct.spec }),
        )],
        Record::StageStarted(start) => vec![event(
            "stage_start",
            start.stage.to_string(),
            json!({ "stage": start.stage, "iteration": history.construct.iteration }),
        )],
        Record::StageEnded(end) => vec![event(
            "stage_end",
            end.stage.to_string(),
            json!({
                "stage": end.stage, "iteration": history.construct.iteration, "came": end.came,
                "left": end.left, "cost_usd": end.cost, "duration_ms": end.took_ms,
            }),
        )],
        Record::NotVerified(item) => vec![event(
            "not_verified",
            item.to_string(),
            json!({ "task_id": item.task, "why": item.why, "log": item.log }),
        )],
        Record::Answered(end) => vec![event(
            "agent_end",
            format!("{}: {}", end.role, end.message),
            json!({
                "role": end.role, "item": end.item, "outcome": end.outcome, "cost_usd": end.cost,
                "duration_ms": end.took_ms, "log": end.log,
            }),
        )],
        Record::Researched { task } => vec![event(
            "research_requested",
            format!("{task} waits for more research"),
            json!({ "task_id": task }),
        )],
        Record::Advised { advice } => {
            let message = advice["reason"].as_str().unwrap_or_default().to_owned();
            let mut events = vec![event("context_directive", message, advice.clone())];
            if let Some(pattern) = advice["failure_pattern"]["pattern"].as_str() {
                let metadata = advice["failure_pattern"].clone();
                events.push(event("failure_pattern", pattern.to_owned(), metadata));
            }
            events
        }
        Record::IndexUndone { why } => vec![event(
            "knowledge_index_undone",
            format!("an update of the knowledge index was undone: {}", why.join("; ")),
            json!({ "why": why }),
        )],
        Record::LandIntent(_)
        | Record::FailIntent(_)
        | Record::Consulting(_)
        | Record::Asked(_)
        | Record::Consulted { .. } => Vec::new(),
    }
}

/// A gate's result without its output, which is in the log that it names.
fn check(check: &GateCheck) -> Value {
    json!({
        "name": check.name, "passed": check.passed, "preexisting": check.preexisting,
        "blocks": check.blocks, "failing": check.failing, "log": check.log,
    })
}

/// Where a gate runs, when that is not what the backend left.
fn place(on: On) -> &'static str {
    match on {
        On::Result => "",
        On::Base => " on the tree before the attempt",
        On::Alone => " on the commit alone",
    }
}

/// What the gates said, in words that claim no more than they did.
fn in_words(verdict: &GateVerdict) -> String {
    let red: Vec<&str> =
        verdict.checks.iter().filter(|c| !c.passed).map(|c| c.name.as_str()).collect();
    match (verdict.passed, red.as_slice()) {
        (true, []) if verdict.checks.is_empty() => "no gates to pass".to_owned(),
        (true, []) => "gates passed".to_owned(),
        (true, red) => format!("tolerated: {}", red.join(", ")),
        (false, []) => "not good enough, though no gate is red".to_owned(),
        (false, red) => format!("gates failed: {}", red.join(", ")),
    }
}

fn amendments(entry: &Entry, amended: &PlanAmended) -> Event {
    let outcomes = &amended.outcomes;
    let said: Vec<String> = outcomes.iter().map(ToString::to_string).collect();
    let refused = outcomes.iter().filter(|outcome| outcome.refused.is_some()).count();
    Event {
        timestamp: entry.at.clone(),
        event: "amendments".into(),
        message: format!("{} amended the plan: {}", amended.task, said.join("; ")),
        metadata: json!({
            "attempt": amended.attempt, "iteration": amended.iteration, "task_id": amended.task,
            "made": outcomes.len() - refused, "refused": refused, "amendments": outcomes,
        }),
    }
}

fn iteration_end(entry: &Entry, history: &History, attempt: &str) -> Option<Event> {
    let view = history.attempts.iter().rev().find(|v| v.started.attempt == attempt)?;
    let started = &view.started;
    let (result, message, mut metadata) = match &view.fate {
        Fate::Landed { commit, landing, proof } => (
            "landed",
            "landed".to_owned(),
            json!({ "commit": commit, "landing": landing, "proof": proof }),
        ),
        Fate::Failed { failure, salvage } => (
            "failed",
            failure.message.clone(),
            json!({ "failure": failure.kind, "salvage": salvage }),
        ),
        Fate::Limited => ("limited", "usage limit".to_owned(), json!({})),
        Fate::Open | Fate::Interrupted => return None,
    };
    metadata["iteration"] = json!(started.iteration);
    metadata["task_id"] = json!(started.task);
    metadata["attempt"] = json!(attempt);
    metadata["result"] = json!(result);
    Some(Event {
        timestamp: entry.at.clone(),
        event: "iteration_end".into(),
        message: format!("Iteration {}: {message}", started.iteration),
        metadata,
    })
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
